// The weights of a small network: their initial values, and the names under which they are stored.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/lanes/program.h"
#include "noisefloor/model/safetensors.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

// Uniform in ±1/√(inputs of a unit), as in torch; scales 1 and shifts 0. Looks at no data.
[[nodiscard]] std::vector<float> initial_weights(const lanes::Program& program, BitStream& stream);

// "0.weight", "0.bias", "3.weight", …: by the number of the layer, as torch names those of a Sequential.
[[nodiscard]] std::vector<NamedTensor> name_weights(const lanes::Program& program, std::span<const float> weights);

// The inverse of name_weights. kInputData if a tensor is missing, left over, or of another shape.
[[nodiscard]] Result<std::vector<float>> take_weights(const lanes::Program& program, const TensorFile& file);

}  // namespace noisefloor
