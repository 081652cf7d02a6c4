// The model of a training file, bound to examples: small networks run on lanes, others on the back end that the caller
// passes in.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/training/backend.h"

namespace noisefloor {

inline constexpr std::size_t kMaxModelBytes = std::size_t{1} << 30;

// The resources that this process offers to a training.
struct Machine {
  std::size_t threads = 1;
  TorchProvider torch = no_torch;
  std::string version = {};  // version of the program, for certificates
};

// Requests the back end that the model needs, if any. Call this before anything that cannot be done twice.
[[nodiscard]] Result<void> require_backend(const Training& training, const std::string& location,
                                           const TorchProvider& torch);

// The file's model for these examples, which must outlive it.
[[nodiscard]] Result<std::unique_ptr<TrainableModel>> bind_model(const Training& training, const Dataset& data,
                                                                 const Machine& machine);

// The weights in a safetensors file.
[[nodiscard]] Result<std::vector<float>> load_weights(const std::string& path, const TrainableModel& model);
[[nodiscard]] Result<std::vector<float>> weights_in(std::string_view bytes, const TrainableModel& model);

}  // namespace noisefloor
