// Gradients of matrices: an example's gradient is Σ_t g_t a_tᵀ over its rows t, with a_t what went in and g_t the
// gradient of what came out. Linear layers, convolutions (a_t: patches) and recurrent matrices (t: time) are all of
// this form.
//
// Implements:    ghost norms (Goodfellow 2015; Li et al. 2022): ‖Σ_t g_t a_tᵀ‖² = Σ_{s,t} (a_s·a_t)(g_s·g_t).
// Guarantee:     that of Use. The terms of a ghost norm can cancel: it is computed in double precision, and 2^-40 of
//                what it would be without cancelling is added, which is more than rounding can take away for rows of up
//                to 2^12 numbers in all.
//
// Internal to torch/.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "noisefloor/torch/use.h"

namespace noisefloor {

// The sizes of one example's factors: `blocks` matrices of outputs × inputs, each a sum over `rows`.
struct OuterShape {
  std::int64_t examples = 0;
  std::int64_t blocks = 1;
  std::int64_t rows = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

// What is cheapest for this shape, in multiplications and passes over memory.
enum class NormMethod : std::uint8_t { kGhost, kKept, kRecomputed };
[[nodiscard]] NormMethod choose_method(const OuterShape& shape, std::int64_t bytes_per_number,
                                       const NormOptions& options);

class OuterProducts : public Use {
 public:
  struct Factors {
    torch::Tensor inputs;     // [examples, blocks, rows, inputs]
    torch::Tensor gradients;  // [examples, blocks, rows, outputs]
  };

  torch::Tensor squared_norms(const NormOptions& options) final;
  torch::Tensor weighted_gradient(const ExampleWeights& weights) final;
  torch::Tensor per_example_gradients(std::int64_t begin, std::int64_t end) final;

 protected:
  OuterProducts(OuterShape shape, std::vector<std::int64_t> parameter_shape);

  [[nodiscard]] virtual Factors factors(std::int64_t begin, std::int64_t end) const = 0;
  // The gradients of all examples, to keep: [examples, …], in the order of the parameter.
  [[nodiscard]] virtual torch::Tensor gradients_to_keep() const;
  // Σ weight · gradient where no gradients were kept.
  [[nodiscard]] virtual torch::Tensor weighted_from_factors(const ExampleWeights& weights) const = 0;

  [[nodiscard]] const std::vector<std::int64_t>& parameter_shape() const { return parameter_shape_; }

 private:
  [[nodiscard]] torch::Tensor norms_of(const Factors& part, NormMethod method) const;

  OuterShape shape_;
  std::vector<std::int64_t> parameter_shape_;
  torch::Tensor kept_;  // [examples, blocks · outputs · inputs], if that was cheapest
};

// For inputs [rows of the batch, …, F] and output gradients [rows of the batch, …, O] of a matrix O × F.
[[nodiscard]] std::unique_ptr<Use> outer_use(const Batch& batch, const torch::Tensor& inputs,
                                             const torch::Tensor& gradients);

}  // namespace noisefloor
