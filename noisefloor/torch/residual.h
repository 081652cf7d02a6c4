// A block that adds its input to what its layers make of it.
#pragma once

#include <torch/nn/modules/container/sequential.h>

#include <utility>

#include "noisefloor/torch/private_layer.h"

namespace noisefloor::nn {

class ResidualImpl : public torch::nn::Module {
 public:
  explicit ResidualImpl(torch::nn::Sequential inner_) : inner(register_module("inner", std::move(inner_))) {}

  torch::Tensor forward(const torch::Tensor& input) { return input + inner->forward(input); }

  std::shared_ptr<torch::nn::Module> clone(const c10::optional<torch::Device>& device = c10::nullopt) const override {
    const auto copy = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(inner->clone(device));
    return std::make_shared<ResidualImpl>(torch::nn::Sequential(copy));
  }

  torch::nn::Sequential inner;
};
TORCH_MODULE(Residual);

}  // namespace noisefloor::nn
