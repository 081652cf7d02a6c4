// What marks a layer whose parameters have gradients for each example.
#pragma once

#include <torch/nn/cloneable.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <optional>
#include <string>

namespace noisefloor {

// A custom module may state that it gives its parameters to private functions only (private_linear, …).
class PrivateLayer {
 public:
  PrivateLayer() = default;
  PrivateLayer(const PrivateLayer&) = default;
  PrivateLayer& operator=(const PrivateLayer&) = default;
  virtual ~PrivateLayer() = default;

  // What about this layer's options does not go together with privacy, and the remedy; nothing in most layers.
  [[nodiscard]] virtual std::optional<std::string> objection() const { return std::nullopt; }
};

// The base of the layers here.
template <class Derived>
class PrivateModule : public torch::nn::Cloneable<Derived>, public PrivateLayer {
 public:
  // From now on the layer uses the tensors of `other` as its parameters; `other` has them under the same names and
  // shapes. Parameters of submodules stay.
  void share_parameters(const torch::nn::Module& other) {
    for (const auto& item : other.named_parameters(false)) this->parameters_[item.key()] = item.value();
    bind();
  }

 protected:
  // Reads the members anew that name registered parameters.
  virtual void bind() = 0;
};

// The parameter as a constant: undefined stays undefined.
[[nodiscard]] inline torch::Tensor constant(const torch::Tensor& parameter) {
  return parameter.defined() ? parameter.detach() : parameter;
}

}  // namespace noisefloor
