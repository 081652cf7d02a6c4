#include "noisefloor/torch/linear.h"

#include <torch/torch.h>

#include "noisefloor/torch/outer_product.h"
#include "noisefloor/torch/tape.h"

namespace noisefloor {

torch::Tensor private_linear(const torch::Tensor& input, const torch::Tensor& weight, const torch::Tensor& bias) {
  Tape* tape = Tape::recording({weight, bias});
  if (tape == nullptr) return torch::nn::functional::linear(input, weight, bias);
  if (input.dim() < 2) tape->refuse("a linear layer got an input without a batch dimension: give (batch, …, features)");
  const torch::Tensor output = torch::nn::functional::linear(input, constant(weight), constant(bias));
  const auto weight_rule = [](const Batch& batch, const std::vector<torch::Tensor>& saved,
                              const torch::Tensor& gradient) { return outer_use(batch, saved[0], gradient); };
  const auto bias_rule = [](const Batch& batch, const std::vector<torch::Tensor>& /*saved*/,
                            const torch::Tensor& gradient) {
    return summed_use(batch, gradient.dim() == 2 ? gradient : gradient.flatten(1, -2).sum(1));
  };
  return tape->observe(output, {input}, {{weight, weight_rule}, {bias, bias_rule}});
}

namespace nn {

LinearImpl::LinearImpl(const torch::nn::LinearOptions& options_) : options(options_) { LinearImpl::reset(); }

void LinearImpl::reset() {
  const torch::nn::LinearImpl initial(options);
  register_parameter("weight", initial.weight);
  register_parameter("bias", initial.bias, options.bias());
  LinearImpl::bind();
}

void LinearImpl::bind() {
  weight = parameters_["weight"];
  bias = parameters_["bias"];
}

void LinearImpl::pretty_print(std::ostream& stream) const {
  stream << "noisefloor::nn::Linear(in_features=" << options.in_features()
         << ", out_features=" << options.out_features() << std::boolalpha << ", bias=" << options.bias() << ")";
}

torch::Tensor LinearImpl::forward(const torch::Tensor& input) { return private_linear(input, weight, bias); }

}  // namespace nn
}  // namespace noisefloor
