// What the program needs libtorch for. Loading it takes half a second, so `noisefloor` is without it; where it is needed, the
// program becomes `noisefloor-torch`, the same program with a backend, and nobody else notices.
//
// Thread safety: none; before there are threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/torch_network.h"
#include "noisefloor/model/augmentation.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/sgd/worker_group.h"

namespace noisefloor::cli {

struct Meeting {
  std::string place;  // HOST:PORT, where rank 0 listens; or a file of workers on this machine
  bool is_file = false;
  std::size_t rank = 0;
  std::size_t size = 1;
  std::chrono::milliseconds timeout{0};
};

struct TorchWish {
  std::int32_t tokens = 0;  // 0 unless the data are a text
  std::size_t threads = 1;
  std::int64_t memory_limit = 0;  // bytes, for the examples that are at work at once
  Augmentation augmentation = {};
  bool cuda = false;
};

struct TorchBackend {
  Result<std::unique_ptr<TrainableModel>> (*make_model)(const TorchNetwork& network, const Dataset& data,
                                                        const TorchWish& wish);
  Result<std::unique_ptr<WorkerGroup>> (*meet)(const Meeting& meeting);
};

void register_torch_backend(const TorchBackend& backend);

// Returns the backend. Without one this process becomes `noisefloor-torch` with the same arguments, and begins anew; if that
// program does not stand beside this one, kInvalidArgument. `why` reads before "needs libtorch". So nothing may have been
// done before that cannot be done twice.
[[nodiscard]] Result<const TorchBackend*> require_torch(std::string_view why);

// This program once more, with OPENBLAS_CORETYPE set, if it was not: OpenBLAS reads it while it is loaded. Returns if there is
// nothing to do.
void restart_with_openblas_core();

// The arguments that this process was started with, its name first.
[[nodiscard]] std::vector<std::string> own_arguments();

}  // namespace noisefloor::cli
