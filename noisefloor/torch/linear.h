// The linear layer with a gradient for each example, in the place of torch::nn::Linear: same options, parameters and
// names.
//
// Any number of dimensions may stand between the batch and the features: (batch, …, features).
#pragma once

#include <torch/nn/modules/linear.h>

#include "noisefloor/torch/private_layer.h"

namespace noisefloor {

// input · weightᵀ + bias, recorded where a tape is active. Bias may be undefined.
[[nodiscard]] torch::Tensor private_linear(const torch::Tensor& input, const torch::Tensor& weight,
                                           const torch::Tensor& bias);

namespace nn {

class LinearImpl : public PrivateModule<LinearImpl> {
 public:
  LinearImpl(std::int64_t in_features, std::int64_t out_features)
      : LinearImpl(torch::nn::LinearOptions(in_features, out_features)) {}
  explicit LinearImpl(const torch::nn::LinearOptions& options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  torch::Tensor forward(const torch::Tensor& input);

  torch::nn::LinearOptions options;
  torch::Tensor weight;
  torch::Tensor bias;

 protected:
  void bind() override;
};
TORCH_MODULE(Linear);

}  // namespace nn
}  // namespace noisefloor
