// One thread's share of a batch: sums of weighted gradients of single examples.
//
// Guarantee:     drain() adds Σ_e factor(e) · gradient(e) over the examples since the last one, where gradient(e) is
//                that of example e's loss alone (the mean over its copies), and factor(e) is what `weigh` made of its
//                norm. An example whose factor is 0 adds exactly nothing, even if its gradient is not finite. The sum
//                of one batch has the same bits if its examples come in the same blocks.
// Requires:      one program for packed weights and worker.
// Thread safety: one worker for each thread; packed weights are only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "noisefloor/lanes/program.h"

namespace noisefloor::lanes {

// factors[group · lanes + e] from squared_norms[group · lanes + e], the squared L2 norms of the gradients of example
// e's part in each group of parameters. Lanes without an example are there, with norm 0; their factors are ignored.
using Weigh = std::function<void(std::span<const float> squared_norms, std::span<float> factors)>;

// Fills with independent uniform bits.
using RandomWords = std::function<void(std::span<std::uint32_t>)>;

// At most program.lanes() examples. Each has copies · input().size() features.
struct Block {
  std::span<const float* const> examples;
  std::span<const std::int32_t> labels;   // for the losses of classes: as many as examples
  std::span<const float* const> targets;  // for the squared loss: program.outputs() numbers each
};

// Whole steps that gradients are rounded to.
struct StepGrid {
  double step = 1;   // a power of two
  double bound = 0;  // an example whose rounded gradient has more steps than this (L2) is left out; below 2^51
};

// Neighbouring examples first … last − 1 of a block, and where their gradients are added up: a number for each
// parameter.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
  std::span<float> sum;
};

class Worker {
 public:
  explicit Worker(const Program& program);

  // Adds a block. Without `weigh` all factors are 1, and norms are not computed. `random` is asked for program.words()
  // words in all. losses: added to, one for each example; may be empty.
  void add(const PackedWeights& weights, std::span<const float> parameters, const Block& block, const Weigh& weigh,
           const RandomWords& random, std::span<float> losses);

  // Adds a block of gradients that are weighted, then rounded to the grid coordinate by coordinate: sums[parameter]
  // counts steps, exactly. What an example adds does not depend on others. Requires: |sums| below 2^62.
  void add_on_grid(const PackedWeights& weights, std::span<const float> parameters, const Block& block,
                   const Weigh& weigh, const RandomWords& random, const StepGrid& grid, std::span<std::int64_t> sums);

  // Adds the gradients of a block, without weights, to the sums of its stretches. What is added to one does not depend
  // on examples outside of it, even if their gradients are not finite.
  void add_to(const PackedWeights& weights, std::span<const float> parameters, const Block& block,
              const RandomWords& random, std::span<const Stretch> stretches);

  // gradient += what add() added since the last drain.
  void drain(std::span<float> gradient);

  // The outputs for at most program.lanes() examples, the mean over copies: outputs() numbers each.
  void predict(const PackedWeights& weights, std::span<const float> parameters, std::span<const float* const> examples,
               std::span<float> outputs);

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  using Memory = std::unique_ptr<float[], Free>;  // NOLINT(modernize-avoid-c-arrays): sized at run time

  // Rows of a Linear layer's inputs and of its outputs' weighted gradients, and the sum of their products so far.
  struct Rows {
    std::vector<float> inputs;
    std::vector<float> gradients;
    std::vector<float> sum;
    std::size_t count = 0;
  };

  // Forward, backward, norms and factors of a block: gradients of the layers' own parameters are in memory_ then.
  // Returns the factors, [group][lane].
  float* weighed(const PackedWeights& weights, std::span<const float> parameters, const Block& block,
                 const Weigh& weigh, const RandomWords& random, std::span<float> losses);
  // Calls visit(values, factors, count, first parameter) for all gradients of the block: value i of lane l, times its
  // factor, is its part of the gradient of parameter first + i.
  template <class Visit>
  void each_gradient(float* factors, Visit visit);
  // The weighted gradient of one output of a Linear layer, [input][lane], where an example has several copies. It means
  // nothing in lanes whose factor is 0.
  const float* sum_over_copies(const Operation& operation, std::size_t output, const float* factor);
  void expect_block(const Block& block, std::span<float> losses) const;
  void load(std::span<const float* const> examples);
  void forward(const PackedWeights& weights, std::span<const float> parameters, const RandomWords* random);
  void seed_gradient(const Block& block, std::span<float> losses);
  void backward(const PackedWeights& weights, std::span<const float> parameters, float* own);
  void correlate(const Operation::Part& part, const float* in, float* out, std::size_t outputs, std::size_t out_channel,
                 const PackedWeights& weights, const float* bias) const;
  void convolution_gradient(const Operation& operation, float* own);
  void bias_gradient(const Operation& operation, float* own) const;
  void normalize(const Operation& operation, const Normalize& layer, std::span<const float> parameters);
  void normalize_backward(const Operation& operation, const Normalize& layer, std::span<const float> parameters,
                          float* own);
  void pool(const Operation& operation, const Pool& layer);
  void pool_backward(const Operation& operation, const Pool& layer);
  void activate(const Operation& operation, const Activate& layer);
  void activate_backward(const Operation& operation, const Activate& layer);
  void mask(const Operation& operation, const Dropout& layer, const RandomWords* random);
  void mask_backward(const Operation& operation);
  void flatten(const Operation& operation, bool back);
  void linear_norms(const Operation& operation, float* squared_norms) const;
  void add_rows(const Operation& operation, const float* factors);
  // One more row for a Linear layer: the inputs of a lane, and its outputs' gradients times a factor.
  void put_row(const Operation& operation, Rows& rows, std::size_t copy, std::size_t lane, float factor) const;
  // The products of the rows that were put, added to `sum`, which has a place for each weight.
  void flush(const Operation& operation, Rows& rows, float* sum) const;

  float* value(std::size_t tensor) const { return memory_.get() + program_->tensors()[tensor].value; }
  float* gradient(std::size_t tensor) const { return memory_.get() + program_->tensors()[tensor].gradient; }

  const Program* program_;
  const Kernels* kernels_;
  std::size_t lanes_;
  Memory memory_;           // as the program lays it out
  Memory sums_;             // weighted sums of the gradients of examples, lane by lane
  Memory lane_;             // a few vectors: norms and factors of each group, losses
  std::vector<Rows> rows_;  // one for each operation; those of Linear layers are used
  std::vector<std::uint32_t> words_;
  Memory over_copies_;  // of sum_over_copies
};

}  // namespace noisefloor::lanes
