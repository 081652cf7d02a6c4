#include "noisefloor/torch/convolution.h"

#include <torch/torch.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "noisefloor/torch/outer_product.h"
#include "noisefloor/torch/tape.h"

namespace noisefloor {
namespace {

namespace F = torch::nn::functional;

// Patches of the input against gradients of the output, one row a position.
class ConvolutionUse final : public OuterProducts {
 public:
  // Input, weight and gradient with two dimensions of positions.
  ConvolutionUse(const Batch& batch, torch::Tensor input, torch::Tensor weight, torch::Tensor gradient,
                 const ConvolutionGeometry& geometry, std::vector<std::int64_t> parameter_shape)
      : OuterProducts({batch.examples, geometry.groups, batch.rows_each * gradient.size(2) * gradient.size(3),
                       weight.numel() / weight.size(0), weight.size(0) / geometry.groups},
                      std::move(parameter_shape)),
        batch_(batch),
        input_(std::move(input)),
        weight_(std::move(weight)),
        gradient_(std::move(gradient)),
        geometry_(geometry) {}

 private:
  Factors factors(std::int64_t begin, std::int64_t end) const override {
    const torch::Tensor patches = torch::im2col(rows_of(input_, begin, end), geometry_.kernel, geometry_.dilation,
                                                geometry_.padding, geometry_.stride);
    return {by_position(patches, end - begin), by_position(rows_of(gradient_, begin, end).flatten(2), end - begin)};
  }

  // One convolution in which each example is a group of its own: many times faster than products of patches.
  torch::Tensor gradients_to_keep() const override {
    std::vector<std::int64_t> shape = weight_.sizes().vec();
    shape[0] *= batch_.examples;
    return weight_gradient(as_channels(gradient_), as_channels(input_), weight_.new_zeros(shape),
                           batch_.examples * geometry_.groups)
        .reshape({batch_.examples, -1});
  }

  torch::Tensor weighted_from_factors(const ExampleWeights& weights) const override {
    const torch::Tensor gradient = weights.times(batch_.by_example(gradient_)).flatten(0, 1);
    const torch::Tensor input = weights.select(batch_.by_example(input_)).flatten(0, 1);
    return weight_gradient(gradient, input, weight_, geometry_.groups).reshape(parameter_shape());
  }

  torch::Tensor weight_gradient(const torch::Tensor& gradient, const torch::Tensor& input, const torch::Tensor& weight,
                                std::int64_t groups) const {
    return std::get<1>(at::convolution_backward(gradient, input, weight, c10::nullopt, geometry_.stride,
                                                geometry_.padding, geometry_.dilation, false, {0, 0}, groups,
                                                {false, true, false}));
  }

  // [rows, channels, …] → [rows_each, examples · channels, …].
  torch::Tensor as_channels(const torch::Tensor& rows) const {
    return batch_.by_example(rows).transpose(0, 1).flatten(1, 2);
  }

  torch::Tensor rows_of(const torch::Tensor& rows, std::int64_t begin, std::int64_t end) const {
    return rows.slice(0, begin * batch_.rows_each, end * batch_.rows_each);
  }

  // [rows, groups · width, positions] → [examples, groups, rows_each · positions, width].
  torch::Tensor by_position(const torch::Tensor& rows, std::int64_t examples) const {
    const std::int64_t width = rows.size(1) / geometry_.groups;
    return rows.reshape({examples, batch_.rows_each, geometry_.groups, width, rows.size(2)})
        .permute({0, 2, 1, 4, 3})
        .reshape({examples, geometry_.groups, batch_.rows_each * rows.size(2), width});
  }

  Batch batch_;
  torch::Tensor input_;
  torch::Tensor weight_;
  torch::Tensor gradient_;
  ConvolutionGeometry geometry_;
};

torch::Tensor convolve(const torch::Tensor& input, const torch::Tensor& weight, const torch::Tensor& bias,
                       const ConvolutionGeometry& geometry) {
  return torch::conv2d(input, weight, bias, geometry.stride, geometry.padding, geometry.dilation, geometry.groups);
}

// One dimension of positions becomes two, the first of size 1.
torch::Tensor widen(const torch::Tensor& tensor, bool narrow) { return narrow ? tensor.unsqueeze(2) : tensor; }

// What the padding comes to, on both sides of each dimension of positions.
template <std::size_t D>
std::array<std::pair<std::int64_t, std::int64_t>, D> padding_of(const torch::nn::ConvOptions<D>& options) {
  std::array<std::pair<std::int64_t, std::int64_t>, D> result{};
  for (std::size_t i = 0; i < D; ++i) {
    if (c10::get_if<torch::enumtype::kSame>(&options.padding())) {
      const std::int64_t total = (*options.dilation())[i] * ((*options.kernel_size())[i] - 1);
      result[i] = {total / 2, total - total / 2};
    } else if (const auto* amounts = c10::get_if<torch::ExpandingArray<D>>(&options.padding())) {
      result[i] = {(**amounts)[i], (**amounts)[i]};
    }
  }
  return result;
}

F::PadFuncOptions::mode_t pad_mode(const torch::nn::detail::conv_padding_mode_t& mode) {
  if (c10::get_if<torch::enumtype::kReflect>(&mode)) return torch::kReflect;
  if (c10::get_if<torch::enumtype::kReplicate>(&mode)) return torch::kReplicate;
  if (c10::get_if<torch::enumtype::kCircular>(&mode)) return torch::kCircular;
  return torch::kConstant;
}

}  // namespace

torch::Tensor private_convolution(const torch::Tensor& input, const torch::Tensor& weight, const torch::Tensor& bias,
                                  const ConvolutionGeometry& geometry) {
  const bool narrow = weight.dim() == 3;
  Tape* tape = Tape::recording({weight, bias});
  if (tape != nullptr && input.dim() != weight.dim())
    tape->refuse("a convolution got an input without a batch dimension: give (batch, channels, positions…)");
  const torch::Tensor wide_input = widen(input, narrow);
  if (tape == nullptr) {
    const torch::Tensor output = convolve(wide_input, widen(weight, narrow), bias, geometry);
    return narrow ? output.squeeze(2) : output;
  }
  const torch::Tensor wide_weight = widen(weight.detach(), narrow);
  const torch::Tensor output = convolve(wide_input, wide_weight, constant(bias), geometry);
  const auto weight_rule = [wide_weight, geometry, shape = weight.sizes().vec()](
                               const Batch& batch, const std::vector<torch::Tensor>& saved,
                               const torch::Tensor& gradient) {
    return std::make_unique<ConvolutionUse>(batch, saved[0], wide_weight, gradient, geometry, shape);
  };
  const auto bias_rule = [](const Batch& batch, const std::vector<torch::Tensor>& /*saved*/,
                            const torch::Tensor& gradient) { return summed_use(batch, gradient.flatten(2).sum(2)); };
  const torch::Tensor observed = tape->observe(output, {wide_input}, {{weight, weight_rule}, {bias, bias_rule}});
  return narrow ? observed.squeeze(2) : observed;
}

namespace nn {

template <std::size_t D, class Derived>
ConvolutionImpl<D, Derived>::ConvolutionImpl(const torch::nn::ConvOptions<D>& options_) : options(options_) {
  ConvolutionImpl::reset();
}

template <std::size_t D, class Derived>
void ConvolutionImpl<D, Derived>::reset() {
  using Plain = std::conditional_t<D == 1, torch::nn::Conv1dImpl, torch::nn::Conv2dImpl>;
  const Plain initial(options);
  this->register_parameter("weight", initial.weight);
  this->register_parameter("bias", initial.bias, options.bias());
  ConvolutionImpl::bind();
}

template <std::size_t D, class Derived>
void ConvolutionImpl<D, Derived>::bind() {
  weight = this->parameters_["weight"];
  bias = this->parameters_["bias"];
}

template <std::size_t D, class Derived>
void ConvolutionImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << "noisefloor::nn::Conv" << D << "d(" << options.in_channels() << ", " << options.out_channels()
         << ", kernel_size=" << options.kernel_size() << ", stride=" << options.stride() << ")";
}

template <std::size_t D, class Derived>
torch::Tensor ConvolutionImpl<D, Derived>::forward(const torch::Tensor& input) {
  ConvolutionGeometry geometry;
  geometry.groups = options.groups();
  const auto padding = padding_of<D>(options);
  bool by_itself = !c10::get_if<torch::enumtype::kZeros>(&options.padding_mode());
  std::vector<std::int64_t> amounts;  // as F::pad wants them: the last dimension first
  for (std::size_t i = 0; i < D; ++i) {
    const std::size_t place = 2 - D + i;
    geometry.kernel[place] = (*options.kernel_size())[i];
    geometry.stride[place] = (*options.stride())[i];
    geometry.dilation[place] = (*options.dilation())[i];
    geometry.padding[place] = padding[i].first;
    by_itself = by_itself || padding[i].first != padding[i].second;
    amounts.insert(amounts.begin(), {padding[i].first, padding[i].second});
  }
  if (!by_itself) return private_convolution(input, weight, bias, geometry);
  geometry.padding = {0, 0};
  const auto padded = F::pad(input, F::PadFuncOptions(amounts).mode(pad_mode(options.padding_mode())));
  return private_convolution(padded, weight, bias, geometry);
}

template class ConvolutionImpl<1, Conv1dImpl>;
template class ConvolutionImpl<2, Conv2dImpl>;

}  // namespace nn
}  // namespace noisefloor
