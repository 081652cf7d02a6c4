#include "noisefloor/torch/lora.h"

#include <torch/torch.h>

namespace noisefloor::nn {

LoraLinearImpl::LoraLinearImpl(const LoraOptions& options_) : options(options_) {
  TORCH_CHECK(options.rank() > 0, "rank must be 1 or above");
  LoraLinearImpl::reset();
}

void LoraLinearImpl::reset() {
  const torch::nn::LinearImpl base(
      torch::nn::LinearOptions(options.in_features(), options.out_features()).bias(options.bias()));
  const torch::nn::LinearImpl down(options.in_features(), options.rank());
  register_parameter("weight", base.weight, false);
  register_parameter("bias", base.bias, false);
  register_parameter("lora_a", down.weight);
  register_parameter("lora_b", torch::zeros({options.out_features(), options.rank()}));
  LoraLinearImpl::bind();
}

void LoraLinearImpl::bind() {
  weight = parameters_["weight"];
  bias = parameters_["bias"];
  lora_a = parameters_["lora_a"];
  lora_b = parameters_["lora_b"];
  weight.set_requires_grad(false);
  if (bias.defined()) bias.set_requires_grad(false);
}

void LoraLinearImpl::pretty_print(std::ostream& stream) const {
  stream << "noisefloor::nn::LoraLinear(in_features=" << options.in_features()
         << ", out_features=" << options.out_features() << ", rank=" << options.rank() << ", alpha=" << options.alpha()
         << ")";
}

torch::Tensor LoraLinearImpl::forward(const torch::Tensor& input) {
  const torch::Tensor change = private_linear(private_linear(input, lora_a, {}), lora_b, {});
  return private_linear(input, weight, bias) + change * scale();
}

torch::Tensor LoraLinearImpl::merged_weight() const {
  const torch::NoGradGuard no_grad;
  return weight + lora_b.matmul(lora_a) * scale();
}

LoraLinear adapted(const Linear& layer, std::int64_t rank, double alpha) {
  const auto& of = layer->options;
  LoraLinear result(LoraOptions(of.in_features(), of.out_features(), rank).alpha(alpha).bias(of.bias()));
  result->to(layer->weight.device(), layer->weight.scalar_type());
  result->share_parameters(*layer);
  return result;
}

}  // namespace noisefloor::nn
