// Convolutions with a gradient for each example, in the place of torch::nn::Conv1d and Conv2d: same options, parameters
// and names. Inputs are (batch, channels, positions…).
#pragma once

#include <torch/nn/modules/conv.h>

#include <array>
#include <cstdint>

#include "noisefloor/torch/private_layer.h"

namespace noisefloor {

// The geometry of a convolution over two dimensions, padded by zeros.
struct ConvolutionGeometry {
  std::array<std::int64_t, 2> kernel{1, 1};
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> padding{0, 0};
  std::array<std::int64_t, 2> dilation{1, 1};
  std::int64_t groups = 1;
};

// The convolution is recorded where a tape is active. Input (batch, C, H, W) and weight (O, C/groups, kernel); where
// the weight has one dimension less, input and output have too, and the first numbers of the geometry do not matter.
// Bias may be undefined.
[[nodiscard]] torch::Tensor private_convolution(const torch::Tensor& input, const torch::Tensor& weight,
                                                const torch::Tensor& bias, const ConvolutionGeometry& geometry);

namespace nn {

template <std::size_t D, class Derived>
class ConvolutionImpl : public PrivateModule<Derived> {
 public:
  ConvolutionImpl(std::int64_t in_channels, std::int64_t out_channels, torch::ExpandingArray<D> kernel_size)
      : ConvolutionImpl(torch::nn::ConvOptions<D>(in_channels, out_channels, kernel_size)) {}
  explicit ConvolutionImpl(const torch::nn::ConvOptions<D>& options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  torch::Tensor forward(const torch::Tensor& input);

  torch::nn::ConvOptions<D> options;
  torch::Tensor weight;
  torch::Tensor bias;

 protected:
  void bind() override;
};

class Conv1dImpl : public ConvolutionImpl<1, Conv1dImpl> {
 public:
  using ConvolutionImpl::ConvolutionImpl;
};
TORCH_MODULE(Conv1d);

class Conv2dImpl : public ConvolutionImpl<2, Conv2dImpl> {
 public:
  using ConvolutionImpl::ConvolutionImpl;
};
TORCH_MODULE(Conv2d);

}  // namespace nn
}  // namespace noisefloor
