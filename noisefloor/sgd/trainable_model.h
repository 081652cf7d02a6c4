// A model with its private examples: what training needs besides gradients, whichever backend computes them.
//
// Guarantee:     (of every implementation) all weights are in one vector; name_weights and take_weights are inverses of
//                each other. Only gradients look at the private examples.
// Thread safety: none; an implementation may use threads inside.
#pragma once

#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/model/safetensors.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/gradient_source.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

class TrainableModel : public GradientSource {
 public:
  // The weights that training begins with if it is given none.
  [[nodiscard]] virtual std::vector<float> initial_weights(BitStream& stream) const = 0;

  [[nodiscard]] virtual std::vector<NamedTensor> name_weights(std::span<const float> weights) const = 0;
  // The inverse of name_weights. kInputData if a tensor is missing, left over, or of another shape.
  [[nodiscard]] virtual Result<std::vector<float>> take_weights(const TensorFile& file) const = 0;

  // The outputs for every example of `data`, one example after the other. Requires: `data` has the model's features.
  [[nodiscard]] virtual std::vector<float> predict(std::span<const float> at, const Dataset& data) = 0;

  // How good these predictions are. Requires: as for predict().
  [[nodiscard]] virtual Quality quality(std::span<const float> at, const Dataset& data) {
    return quality_of(predict(at, data), data);
  }
};

}  // namespace noisefloor
