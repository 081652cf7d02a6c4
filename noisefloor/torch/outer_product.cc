#include "noisefloor/torch/outer_product.h"

#include <algorithm>
#include <utility>

namespace noisefloor {
namespace {

constexpr double kCancellingSlack = 0x1p-40;
// What a number of a kept gradient costs, in multiplications of a matrix product: it is written, squared in double
// precision, and read again with its weight.
constexpr double kPassCost = 8;
// A multiplication in double precision, in those of single precision.
constexpr double kDoubleCost = 2;

class MatrixUse final : public OuterProducts {
 public:
  MatrixUse(torch::Tensor inputs, torch::Tensor gradients)
      : OuterProducts({inputs.size(0), 1, inputs.size(1), inputs.size(2), gradients.size(2)},
                      {gradients.size(2), inputs.size(2)}),
        inputs_(std::move(inputs)),
        gradients_(std::move(gradients)) {}

 private:
  Factors factors(std::int64_t begin, std::int64_t end) const override {
    return {inputs_.slice(0, begin, end).unsqueeze(1), gradients_.slice(0, begin, end).unsqueeze(1)};
  }

  torch::Tensor weighted_from_factors(const ExampleWeights& weights) const override {
    return weights.times(gradients_).flatten(0, 1).t().matmul(weights.select(inputs_).flatten(0, 1));
  }

  torch::Tensor inputs_;     // [examples, rows, F]
  torch::Tensor gradients_;  // [examples, rows, O]
};

// [examples, rows of an example, last dimension], whatever stands between.
torch::Tensor as_sequences(const Batch& batch, const torch::Tensor& rows) {
  const std::int64_t width = rows.size(-1);
  const std::int64_t length = rows.numel() / std::max<std::int64_t>(1, batch.examples * width);
  return rows.reshape({batch.examples, length, width});
}

}  // namespace

NormMethod choose_method(const OuterShape& shape, std::int64_t bytes_per_number, const NormOptions& options) {
  const auto rows = static_cast<double>(shape.rows);
  const auto inputs = static_cast<double>(shape.inputs);
  const auto outputs = static_cast<double>(shape.outputs);
  const double one_product = rows * inputs * outputs;
  const double ghost = kDoubleCost * rows * rows * (inputs + outputs) + one_product;
  const double kept = one_product + kPassCost * inputs * outputs;
  const double recomputed = (1 + kDoubleCost) * one_product;
  const double kept_bytes = static_cast<double>(shape.examples * shape.blocks * bytes_per_number) * inputs * outputs;
  const bool fits = kept_bytes <= static_cast<double>(options.buffer_bytes);
  if (options.rule == NormRule::kGhost) return NormMethod::kGhost;
  if (options.rule == NormRule::kDirect) return fits ? NormMethod::kKept : NormMethod::kRecomputed;
  if (shape.rows <= 1 || ghost <= std::min(recomputed, fits ? kept : ghost)) return NormMethod::kGhost;
  return fits ? NormMethod::kKept : NormMethod::kRecomputed;
}

OuterProducts::OuterProducts(OuterShape shape, std::vector<std::int64_t> parameter_shape)
    : shape_(shape), parameter_shape_(std::move(parameter_shape)) {}

torch::Tensor OuterProducts::norms_of(const Factors& part, NormMethod method) const {
  const torch::Tensor inputs = part.inputs.to(torch::kDouble);
  const torch::Tensor gradients = part.gradients.to(torch::kDouble);
  if (method == NormMethod::kRecomputed)
    return gradients.transpose(2, 3).matmul(inputs).square().sum(std::vector<std::int64_t>{1, 2, 3});
  if (shape_.rows == 1)
    return (inputs.square().sum(3) * gradients.square().sum(3)).sum(std::vector<std::int64_t>{1, 2});
  const torch::Tensor input_products = inputs.matmul(inputs.transpose(2, 3));
  const torch::Tensor gradient_products = gradients.matmul(gradients.transpose(2, 3));
  const torch::Tensor lengths = (input_products.diagonal(0, 2, 3) * gradient_products.diagonal(0, 2, 3)).sqrt().sum(2);
  return (input_products * gradient_products).sum(std::vector<std::int64_t>{1, 2, 3}) +
         kCancellingSlack * lengths.square().sum(1);
}

torch::Tensor OuterProducts::gradients_to_keep() const {
  const Factors all = factors(0, shape_.examples);
  return all.gradients.transpose(2, 3).matmul(all.inputs);
}

torch::Tensor OuterProducts::squared_norms(const NormOptions& options) {
  const Factors first = factors(0, std::min<std::int64_t>(1, shape_.examples));
  const NormMethod method = choose_method(shape_, first.inputs.element_size(), options);
  if (method == NormMethod::kKept) {
    kept_ = gradients_to_keep().flatten(1);
    return squared_row_norms(kept_, options.buffer_bytes);
  }
  const std::int64_t products =
      method == NormMethod::kGhost ? 2 * shape_.rows * shape_.rows : 2 * shape_.inputs * shape_.outputs;
  const std::int64_t numbers = shape_.blocks * (products + shape_.rows * (shape_.inputs + shape_.outputs));
  const std::int64_t step = examples_at_once(numbers * std::int64_t{sizeof(double)}, options.buffer_bytes);
  torch::Tensor norms = torch::zeros({shape_.examples}, first.inputs.options().dtype(torch::kDouble));
  for (std::int64_t begin = 0; begin < shape_.examples; begin += step) {
    const std::int64_t end = std::min(begin + step, shape_.examples);
    norms.slice(0, begin, end).copy_(norms_of(factors(begin, end), method));
  }
  return norms;
}

torch::Tensor OuterProducts::weighted_gradient(const ExampleWeights& weights) {
  if (!kept_.defined()) return weighted_from_factors(weights);
  const torch::Tensor kept = weights.select(kept_);
  return weights.values().to(kept.scalar_type()).unsqueeze(0).matmul(kept).reshape(parameter_shape_);
}

torch::Tensor OuterProducts::per_example_gradients(std::int64_t begin, std::int64_t end) {
  const Factors part = factors(begin, end);
  std::vector<std::int64_t> shape = parameter_shape_;
  shape.insert(shape.begin(), end - begin);
  return part.gradients.to(torch::kDouble).transpose(2, 3).matmul(part.inputs.to(torch::kDouble)).reshape(shape);
}

std::unique_ptr<Use> outer_use(const Batch& batch, const torch::Tensor& inputs, const torch::Tensor& gradients) {
  return std::make_unique<MatrixUse>(as_sequences(batch, inputs), as_sequences(batch, gradients));
}

}  // namespace noisefloor
