// A linear layer by some rows of a larger matrix, as attention has it: queries from one input, keys and values from
// another.
//
// Internal to torch/.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace noisefloor {

// input · weight[first … first + count − 1]ᵀ + bias[the same], recorded where a tape is active. Bias may be undefined.
[[nodiscard]] torch::Tensor private_linear_rows(const torch::Tensor& input, const torch::Tensor& weight,
                                                const torch::Tensor& bias, std::int64_t first, std::int64_t count);

}  // namespace noisefloor
