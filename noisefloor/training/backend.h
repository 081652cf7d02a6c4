// What a training needs from libtorch. A program that has libtorch passes it in: this folder is built without torch,
// and never starts or replaces a process.
//
// A TorchProvider is called before anything is read or spent. It returns the back end, or an error that says how to get
// one; `why` reads before "needs libtorch". It may also not return at all, because the program starts again with
// libtorch.
// Thread safety: that of the functions passed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/config/torch_network.h"
#include "noisefloor/model/augmentation.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/sgd/worker_group.h"

namespace noisefloor {

// Where and how the workers of one training find each other.
struct Meeting {
  std::string place;  // HOST:PORT, where rank 0 listens; or a file, for workers on one machine
  bool is_file = false;
  std::size_t rank = 0;
  std::size_t size = 1;
  std::chrono::milliseconds timeout{0};
};

struct TorchWish {
  std::int32_t tokens = 0;  // 0 unless the data are a text
  std::size_t threads = 1;
  std::int64_t memory_limit = 0;  // bytes, for the examples that are processed at once
  Augmentation augmentation = {};
  bool cuda = false;
};

struct TorchBackend {
  Result<std::unique_ptr<TrainableModel>> (*make_model)(const TorchNetwork& network, const Dataset& data,
                                                        const TorchWish& wish);
  Result<std::unique_ptr<WorkerGroup>> (*meet)(const Meeting& meeting);
};

using TorchProvider = std::function<Result<const TorchBackend*>(std::string_view why)>;

// The provider of programs without libtorch: always fails.
[[nodiscard]] Result<const TorchBackend*> no_torch(std::string_view why);

}  // namespace noisefloor
