#include "noisefloor/torch/normalization.h"

#include <torch/torch.h>

#include <utility>

#include "noisefloor/torch/tape.h"

namespace noisefloor {
namespace {

namespace F = torch::nn::functional;

// A parameter in a shape that stands against the input.
torch::Tensor aligned(const torch::Tensor& parameter, const torch::Tensor& input, AffineOver over) {
  if (over == AffineOver::kLastDimensions) return parameter;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = -1;
  return parameter.reshape(shape);
}

torch::Tensor affine(const torch::Tensor& input, const torch::Tensor& weight, const torch::Tensor& bias,
                     AffineOver over) {
  torch::Tensor output = input;
  if (weight.defined()) output = output * aligned(weight, input, over);
  if (bias.defined()) output = output + aligned(bias, input, over);
  return output;
}

// The sum over the dimensions that the parameter does not have, except the batch.
torch::Tensor reduced(const torch::Tensor& gradient, std::int64_t parameter_dims, AffineOver over) {
  if (over == AffineOver::kChannels) return gradient.dim() == 2 ? gradient : gradient.flatten(2).sum(2);
  const std::int64_t between = gradient.dim() - 1 - parameter_dims;
  return between <= 0 ? gradient : gradient.flatten(1, between).sum(1);
}

torch::Tensor group_normalized(const torch::Tensor& input, std::int64_t groups, double eps) {
  return input.numel() == 0 ? input : F::group_norm(input, F::GroupNormFuncOptions(groups).eps(eps));
}

}  // namespace

torch::Tensor private_affine(const torch::Tensor& input, const torch::Tensor& weight, const torch::Tensor& bias,
                             AffineOver over) {
  Tape* tape = Tape::recording({weight, bias});
  if (tape == nullptr) return affine(input, weight, bias, over);
  const std::int64_t dims = weight.defined() ? weight.dim() : bias.dim();
  if (input.dim() < dims + 1)
    tape->refuse("a normalization got an input without a batch dimension: put the batch first");
  const auto weight_rule = [over, dims](const Batch& batch, const std::vector<torch::Tensor>& saved,
                                        const torch::Tensor& gradient) {
    return summed_use(batch, reduced(gradient * saved[0], dims, over));
  };
  const auto bias_rule = [over, dims](const Batch& batch, const std::vector<torch::Tensor>& /*saved*/,
                                      const torch::Tensor& gradient) {
    return summed_use(batch, reduced(gradient, dims, over));
  };
  return tape->observe(affine(input, constant(weight), constant(bias), over), {input},
                       {{weight, weight_rule}, {bias, bias_rule}});
}

namespace nn {

LayerNormImpl::LayerNormImpl(const torch::nn::LayerNormOptions& options_) : options(options_) {
  LayerNormImpl::reset();
}

void LayerNormImpl::reset() {
  const torch::nn::LayerNormImpl initial(options);
  register_parameter("weight", initial.weight, options.elementwise_affine());
  register_parameter("bias", initial.bias, options.elementwise_affine());
  LayerNormImpl::bind();
}

void LayerNormImpl::bind() {
  weight = parameters_["weight"];
  bias = parameters_["bias"];
}

void LayerNormImpl::pretty_print(std::ostream& stream) const {
  stream << "noisefloor::nn::LayerNorm(" << torch::IntArrayRef(options.normalized_shape()) << ", eps=" << options.eps()
         << ")";
}

torch::Tensor LayerNormImpl::forward(const torch::Tensor& input) {
  const torch::Tensor normalized =
      F::layer_norm(input, F::LayerNormFuncOptions(options.normalized_shape()).eps(options.eps()));
  return private_affine(normalized, weight, bias, AffineOver::kLastDimensions);
}

RMSNormImpl::RMSNormImpl(RMSNormOptions options_) : options(std::move(options_)) { RMSNormImpl::reset(); }

void RMSNormImpl::reset() {
  const bool affine = options.elementwise_affine();
  register_parameter("weight", affine ? torch::ones(options.normalized_shape()) : torch::Tensor(), affine);
  RMSNormImpl::bind();
}

void RMSNormImpl::bind() { weight = parameters_["weight"]; }

void RMSNormImpl::pretty_print(std::ostream& stream) const {
  stream << "noisefloor::nn::RMSNorm(" << torch::IntArrayRef(options.normalized_shape()) << ", eps=" << options.eps()
         << ")";
}

torch::Tensor RMSNormImpl::forward(const torch::Tensor& input) {
  std::vector<std::int64_t> last;
  for (std::size_t i = 1; i <= options.normalized_shape().size(); ++i) last.push_back(-static_cast<std::int64_t>(i));
  const torch::Tensor normalized = input * (input.square().mean(last, true) + options.eps()).rsqrt();
  return private_affine(normalized, weight, {}, AffineOver::kLastDimensions);
}

GroupNormImpl::GroupNormImpl(const torch::nn::GroupNormOptions& options_) : options(options_) {
  GroupNormImpl::reset();
}

void GroupNormImpl::reset() {
  const torch::nn::GroupNormImpl initial(options);
  register_parameter("weight", initial.weight, options.affine());
  register_parameter("bias", initial.bias, options.affine());
  GroupNormImpl::bind();
}

void GroupNormImpl::bind() {
  weight = parameters_["weight"];
  bias = parameters_["bias"];
}

void GroupNormImpl::pretty_print(std::ostream& stream) const {
  stream << "noisefloor::nn::GroupNorm(" << options.num_groups() << ", " << options.num_channels()
         << ", eps=" << options.eps() << ")";
}

torch::Tensor GroupNormImpl::forward(const torch::Tensor& input) {
  return private_affine(group_normalized(input, options.num_groups(), options.eps()), weight, bias,
                        AffineOver::kChannels);
}

template <std::size_t D, class Derived>
InstanceNormImpl<D, Derived>::InstanceNormImpl(const torch::nn::InstanceNormOptions& options_) : options(options_) {
  InstanceNormImpl::reset();
}

template <std::size_t D, class Derived>
void InstanceNormImpl<D, Derived>::reset() {
  const bool affine = options.affine();
  const std::int64_t features = options.num_features();
  this->register_parameter("weight", affine ? torch::ones({features}) : torch::Tensor(), affine);
  this->register_parameter("bias", affine ? torch::zeros({features}) : torch::Tensor(), affine);
  InstanceNormImpl::bind();
}

template <std::size_t D, class Derived>
void InstanceNormImpl<D, Derived>::bind() {
  weight = this->parameters_["weight"];
  bias = this->parameters_["bias"];
}

template <std::size_t D, class Derived>
void InstanceNormImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << "noisefloor::nn::InstanceNorm" << D << "d(" << options.num_features() << ", eps=" << options.eps() << ")";
}

template <std::size_t D, class Derived>
std::optional<std::string> InstanceNormImpl<D, Derived>::objection() const {
  if (!options.track_running_stats()) return std::nullopt;
  return "running statistics tie examples together: set track_running_stats(false)";
}

template <std::size_t D, class Derived>
torch::Tensor InstanceNormImpl<D, Derived>::forward(const torch::Tensor& input) {
  if (Tape* tape = Tape::recording({weight, bias})) {
    if (const std::optional<std::string> why = objection()) tape->refuse("instance normalization: " + *why);
    if (input.dim() != static_cast<std::int64_t>(D) + 2)
      tape->refuse("an instance normalization got an input without a batch dimension: put the batch first");
  }
  return private_affine(group_normalized(input, options.num_features(), options.eps()), weight, bias,
                        AffineOver::kChannels);
}

template class InstanceNormImpl<1, InstanceNorm1dImpl>;
template class InstanceNormImpl<2, InstanceNorm2dImpl>;

}  // namespace nn
}  // namespace noisefloor
