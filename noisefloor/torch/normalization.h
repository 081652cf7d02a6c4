// Normalizations within one example, with a gradient for each, in the place of torch::nn::LayerNorm, GroupNorm and
// InstanceNorm1d/2d: same options, parameters and names. RMSNorm is as in later versions of torch.
//
// Inputs: LayerNorm, RMSNorm (batch, …, normalized shape); GroupNorm, InstanceNorm (batch, channels, …). Running
// statistics tie examples together, so InstanceNorm refuses them where a tape is active.
#pragma once

#include <torch/nn/modules/instancenorm.h>
#include <torch/nn/modules/normalization.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/torch/private_layer.h"

namespace noisefloor {

// Which dimensions of the input weight and bias have.
enum class AffineOver : std::uint8_t { kLastDimensions, kChannels };

// input · weight + bias, recorded where a tape is active. Weight and bias may be undefined.
[[nodiscard]] torch::Tensor private_affine(const torch::Tensor& input, const torch::Tensor& weight,
                                           const torch::Tensor& bias, AffineOver over);

namespace nn {

class LayerNormImpl : public PrivateModule<LayerNormImpl> {
 public:
  explicit LayerNormImpl(std::vector<std::int64_t> normalized_shape)
      : LayerNormImpl(torch::nn::LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(const torch::nn::LayerNormOptions& options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  torch::Tensor forward(const torch::Tensor& input);

  torch::nn::LayerNormOptions options;
  torch::Tensor weight;
  torch::Tensor bias;

 protected:
  void bind() override;
};
TORCH_MODULE(LayerNorm);

struct RMSNormOptions {
  explicit RMSNormOptions(std::vector<std::int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  TORCH_ARG(std::vector<std::int64_t>, normalized_shape);
  TORCH_ARG(double, eps) = 1e-5;
  TORCH_ARG(bool, elementwise_affine) = true;
};

class RMSNormImpl : public PrivateModule<RMSNormImpl> {
 public:
  explicit RMSNormImpl(std::vector<std::int64_t> normalized_shape)
      : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}
  explicit RMSNormImpl(RMSNormOptions options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  torch::Tensor forward(const torch::Tensor& input);

  RMSNormOptions options;
  torch::Tensor weight;

 protected:
  void bind() override;
};
TORCH_MODULE(RMSNorm);

class GroupNormImpl : public PrivateModule<GroupNormImpl> {
 public:
  GroupNormImpl(std::int64_t num_groups, std::int64_t num_channels)
      : GroupNormImpl(torch::nn::GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const torch::nn::GroupNormOptions& options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  torch::Tensor forward(const torch::Tensor& input);

  torch::nn::GroupNormOptions options;
  torch::Tensor weight;
  torch::Tensor bias;

 protected:
  void bind() override;
};
TORCH_MODULE(GroupNorm);

// D dimensions of positions.
template <std::size_t D, class Derived>
class InstanceNormImpl : public PrivateModule<Derived> {
 public:
  explicit InstanceNormImpl(std::int64_t num_features)
      : InstanceNormImpl(torch::nn::InstanceNormOptions(num_features)) {}
  explicit InstanceNormImpl(const torch::nn::InstanceNormOptions& options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  torch::Tensor forward(const torch::Tensor& input);
  [[nodiscard]] std::optional<std::string> objection() const override;

  torch::nn::InstanceNormOptions options;
  torch::Tensor weight;
  torch::Tensor bias;

 protected:
  void bind() override;
};

class InstanceNorm1dImpl : public InstanceNormImpl<1, InstanceNorm1dImpl> {
 public:
  using InstanceNormImpl::InstanceNormImpl;
};
TORCH_MODULE(InstanceNorm1d);

class InstanceNorm2dImpl : public InstanceNormImpl<2, InstanceNorm2dImpl> {
 public:
  using InstanceNormImpl::InstanceNormImpl;
};
TORCH_MODULE(InstanceNorm2d);

}  // namespace nn
}  // namespace noisefloor
