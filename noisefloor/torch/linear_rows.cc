#include "noisefloor/torch/linear_rows.h"

#include <torch/torch.h>

#include <memory>
#include <utility>
#include <vector>

#include "noisefloor/torch/outer_product.h"
#include "noisefloor/torch/private_layer.h"
#include "noisefloor/torch/tape.h"

namespace noisefloor {
namespace {

struct Range {
  std::int64_t first;
  std::int64_t count;
  std::int64_t of;
};

// A use of the rows as one of the whole, whose other rows have the gradient 0.
class RowsUse final : public Use {
 public:
  RowsUse(std::unique_ptr<Use> rows, Range range) : rows_(std::move(rows)), range_(range) {}

  torch::Tensor squared_norms(const NormOptions& options) override { return rows_->squared_norms(options); }
  torch::Tensor weighted_gradient(const ExampleWeights& weights) override {
    return within(rows_->weighted_gradient(weights), 0);
  }
  torch::Tensor per_example_gradients(std::int64_t begin, std::int64_t end) override {
    return within(rows_->per_example_gradients(begin, end), 1);
  }

 private:
  torch::Tensor within(const torch::Tensor& part, std::int64_t dimension) const {
    std::vector<std::int64_t> shape = part.sizes().vec();
    shape[static_cast<std::size_t>(dimension)] = range_.of;
    torch::Tensor whole = torch::zeros(shape, part.options());
    whole.narrow(dimension, range_.first, range_.count).copy_(part);
    return whole;
  }

  std::unique_ptr<Use> rows_;
  Range range_;
};

torch::Tensor rows_of(const torch::Tensor& parameter, const Range& range) {
  return parameter.defined() ? parameter.narrow(0, range.first, range.count) : parameter;
}

}  // namespace

torch::Tensor private_linear_rows(const torch::Tensor& input, const torch::Tensor& weight, const torch::Tensor& bias,
                                  std::int64_t first, std::int64_t count) {
  const Range range{first, count, weight.size(0)};
  Tape* tape = Tape::recording({weight, bias});
  if (tape == nullptr) return torch::nn::functional::linear(input, rows_of(weight, range), rows_of(bias, range));
  const torch::Tensor output =
      torch::nn::functional::linear(input, rows_of(constant(weight), range), rows_of(constant(bias), range));
  const auto weight_rule = [range](const Batch& batch, const std::vector<torch::Tensor>& saved,
                                   const torch::Tensor& gradient) {
    return std::make_unique<RowsUse>(outer_use(batch, saved[0], gradient), range);
  };
  const auto bias_rule = [range](const Batch& batch, const std::vector<torch::Tensor>& /*saved*/,
                                 const torch::Tensor& gradient) {
    const torch::Tensor by_row = gradient.dim() == 2 ? gradient : gradient.flatten(1, -2).sum(1);
    return std::make_unique<RowsUse>(summed_use(batch, by_row), range);
  };
  return tape->observe(output, {input}, {{weight, weight_rule}, {bias, bias_rule}});
}

}  // namespace noisefloor
