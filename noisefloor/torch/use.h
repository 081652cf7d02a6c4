// One use of one parameter in a forward pass, once its gradient is known: what the tape asks of it.
//
// Guarantee:     squared_norms are at least (1 − 2^-22) of the exact squared norms of the exact gradients: of those
//                that exact arithmetic makes from the recorded inputs and output gradients, or, where gradients were
//                kept, of the very floats that weighted_gradient adds up.
// Thread safety: not thread-safe; one owner at a time.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>

namespace noisefloor {

// How norms are found; tests force one way or the other.
enum class NormRule : std::uint8_t {
  kCheapest,  // by cost, for each layer and shape
  kGhost,     // from Gram matrices of inputs and output gradients; no gradient of an example is formed
  kDirect,    // from the gradients of all examples, which are kept for weighting if the buffer is large enough
};

struct NormOptions {
  NormRule rule = NormRule::kCheapest;
  std::int64_t buffer_bytes = std::int64_t{256} << 20;  // for what is held at once, of each use
};

// The rows of a batch: `rows_each` in a row for each example.
struct Batch {
  std::int64_t examples = 0;
  std::int64_t rows_each = 1;

  // [rows, shape…] with the rows of an example as a dimension of their own: [examples, rows_each, shape…].
  [[nodiscard]] torch::Tensor by_example(const torch::Tensor& rows) const;
};

// One weight an example. Examples of weight 0 are left out, so that no NaN of theirs survives a product with 0.
class ExampleWeights {
 public:
  // [examples], finite.
  explicit ExampleWeights(const torch::Tensor& weights);

  // The weights of the examples that are left, and their part of a tensor [examples, …].
  [[nodiscard]] const torch::Tensor& values() const { return values_; }
  [[nodiscard]] torch::Tensor select(const torch::Tensor& by_example) const;
  [[nodiscard]] bool empty() const { return values_.size(0) == 0; }
  // select(x) with each example multiplied by its weight, in the precision of x.
  [[nodiscard]] torch::Tensor times(const torch::Tensor& by_example) const;

 private:
  torch::Tensor values_;
  torch::Tensor kept_;  // undefined if all are
};

class Use {
 public:
  Use() = default;
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  virtual ~Use() = default;

  // The squared norm of each example's gradient: [examples], in double precision.
  [[nodiscard]] virtual torch::Tensor squared_norms(const NormOptions& options) = 0;
  // Σ weight · gradient over the examples, in the parameter's shape and precision. Requires one example with a weight.
  [[nodiscard]] virtual torch::Tensor weighted_gradient(const ExampleWeights& weights) = 0;
  // The gradients of examples begin … end − 1, in double precision: [end − begin, shape…].
  [[nodiscard]] virtual torch::Tensor per_example_gradients(std::int64_t begin, std::int64_t end) = 0;
};

// A small parameter, such as a bias: the gradients of the rows are at hand, [rows, shape…].
[[nodiscard]] std::unique_ptr<Use> summed_use(const Batch& batch, const torch::Tensor& row_gradients);

// Σ over all dimensions but the first of x², in double precision; at most about `buffer_bytes` at once.
[[nodiscard]] torch::Tensor squared_row_norms(const torch::Tensor& rows, std::int64_t buffer_bytes);

// How many examples to take at once if each needs `bytes_each`: 1 at least.
[[nodiscard]] std::int64_t examples_at_once(std::int64_t bytes_each, std::int64_t buffer_bytes);

}  // namespace noisefloor
