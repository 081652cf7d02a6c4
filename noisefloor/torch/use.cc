#include "noisefloor/torch/use.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace noisefloor {
namespace {

class SummedUse final : public Use {
 public:
  explicit SummedUse(torch::Tensor gradients) : gradients_(std::move(gradients)) {}

  torch::Tensor squared_norms(const NormOptions& options) override {
    return squared_row_norms(gradients_, options.buffer_bytes);
  }
  torch::Tensor weighted_gradient(const ExampleWeights& weights) override { return weights.times(gradients_).sum(0); }
  torch::Tensor per_example_gradients(std::int64_t begin, std::int64_t end) override {
    return gradients_.slice(0, begin, end).to(torch::kDouble);
  }

 private:
  torch::Tensor gradients_;  // [examples, shape…]
};

}  // namespace

torch::Tensor Batch::by_example(const torch::Tensor& rows) const {
  std::vector<std::int64_t> shape = rows.sizes().vec();
  shape[0] = rows_each;
  shape.insert(shape.begin(), examples);
  return rows.reshape(shape);
}

ExampleWeights::ExampleWeights(const torch::Tensor& weights) : values_(weights) {
  const torch::Tensor nonzero = weights != 0;
  if (nonzero.all().item<bool>()) return;
  kept_ = nonzero.nonzero().squeeze(1);
  values_ = weights.index_select(0, kept_);
}

torch::Tensor ExampleWeights::select(const torch::Tensor& by_example) const {
  return kept_.defined() ? by_example.index_select(0, kept_) : by_example;
}

torch::Tensor ExampleWeights::times(const torch::Tensor& by_example) const {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(by_example.dim()), 1);
  shape[0] = -1;
  return select(by_example) * values_.to(by_example.scalar_type()).reshape(shape);
}

std::unique_ptr<Use> summed_use(const Batch& batch, const torch::Tensor& row_gradients) {
  return std::make_unique<SummedUse>(batch.rows_each == 1 ? row_gradients : batch.by_example(row_gradients).sum(1));
}

torch::Tensor squared_row_norms(const torch::Tensor& rows, std::int64_t buffer_bytes) {
  const std::int64_t count = rows.size(0);
  torch::Tensor norms = torch::zeros({count}, rows.options().dtype(torch::kDouble));
  if (rows.numel() == 0) return norms;
  const std::int64_t step = examples_at_once(rows.numel() / count * std::int64_t{sizeof(double)} * 2, buffer_bytes);
  for (std::int64_t begin = 0; begin < count; begin += step) {
    const std::int64_t end = std::min(begin + step, count);
    norms.slice(0, begin, end).copy_(rows.slice(0, begin, end).flatten(1).to(torch::kDouble).square().sum(1));
  }
  return norms;
}

std::int64_t examples_at_once(std::int64_t bytes_each, std::int64_t buffer_bytes) {
  return std::max<std::int64_t>(1, buffer_bytes / std::max<std::int64_t>(1, bytes_each));
}

}  // namespace noisefloor
