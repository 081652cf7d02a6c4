// A tape records what one forward pass does with the trainable parameters of a module. After one backward pass it knows
// the norm of every example's gradient, and gives the sum of the gradients with a weight for each example. The gradient
// of the batch without weights is never computed.
//
//   Tape tape(*model);
//   {
//     Tape::Recording recording(tape);
//     loss_of_each_example(model->forward(x), y).sum().backward();   // the sum, not the mean
//   }
//   NF_TRY(const torch::Tensor norms, tape.squared_norms());
//   NF_TRY(const std::vector<torch::Tensor> sums, tape.weighted_gradients(factors_of(rule, norms).factors));
//   tape.clear();
//
// Guarantee:     every trainable parameter is covered: one that a layer without a rule used (its .grad appears), or
//                that no layer used, is an error that names it, and nothing is given out. What is given for an example
//                is the gradient of its own loss, if no layer mixes examples (validator.h). Where a parameter is used
//                more than once, the norm is that of the sum of its uses. An example of weight 0 adds exactly 0,
//                whatever its gradient.
// Requires:      the first dimension of every layer's input is the batch; the parameters' .grad undefined before (that
//                is how a layer without a rule is noticed).
// Thread safety: a tape records on one thread at a time. Several threads may have a tape each.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/torch/use.h"

namespace noisefloor {

struct TapeParameter {
  std::string name;  // its path in the module; the first one, if it has several
  torch::Tensor tensor;
  std::size_t group;  // of squared_norms
};

class Tape {
 public:
  // For the parameters of `module` that are trainable now, in the order of module.parameters(), each once. The
  // parameters of one layer make a group.
  explicit Tape(const torch::nn::Module& module, NormOptions options = {});
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape();

  [[nodiscard]] const std::vector<TapeParameter>& parameters() const { return parameters_; }
  // The paths of the layers that make the groups.
  [[nodiscard]] const std::vector<std::string>& groups() const { return groups_; }

  // While it lives, layers of this thread record on the tape. Each example is `multiplicity` consecutive rows of the
  // batch, and its gradient the sum of theirs.
  class Recording {
   public:
    explicit Recording(Tape& tape, std::int64_t multiplicity = 1);
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording();

   private:
    Tape* outer_;
    std::int64_t outer_multiplicity_;
  };

  // [groups, examples], in double precision. After backward().
  [[nodiscard]] Result<torch::Tensor> squared_norms();

  // Σ factor · gradient over the examples, one tensor a parameter. Factors are [groups, examples] or [1, examples]; one
  // that is not finite counts as 0.
  [[nodiscard]] Result<std::vector<torch::Tensor>> weighted_gradients(const torch::Tensor& factors);
  // The same, added to `sums`.
  [[nodiscard]] Result<void> add_weighted_gradients(const torch::Tensor& factors, std::span<const torch::Tensor> sums);

  // The gradient of every example: [examples, shape…] a parameter, in double precision. For tests and small models.
  [[nodiscard]] Result<std::vector<torch::Tensor>> per_example_gradients();

  // Forgets the recording and frees what it holds. The next one may have another batch size.
  void clear();

  // For layers --------------------------------------------------------------------------------------------------------

  // What a layer makes of the gradient of its output, for one parameter. `saved` is what it asked to save.
  using Rule = std::function<std::unique_ptr<Use>(const Batch& batch, const std::vector<torch::Tensor>& saved,
                                                  const torch::Tensor& output_gradient)>;
  struct Term {
    torch::Tensor parameter;
    Rule rule;
  };

  // The tape that records on this thread, if gradients are enabled and one of the parameters is trainable; else null.
  // The layer then computes its output from detached parameters and has it observed.
  [[nodiscard]] static Tape* recording(std::initializer_list<torch::Tensor> parameters);

  // `output` as it is, connected to the parameters: its gradient reaches the rules, and no parameter gets a .grad.
  // Terms without a parameter, or with a frozen one, are left out. The first dimension of the output is the batch.
  [[nodiscard]] torch::Tensor observe(const torch::Tensor& output, std::vector<torch::Tensor> saved,
                                      std::vector<Term> terms);

  // A layer that cannot go on privately says why; squared_norms and weighted_gradients then refuse.
  void refuse(std::string why);

 private:
  struct Observation;
  struct Observe;

  [[nodiscard]] Result<std::int64_t> check() const;  // the number of examples
  [[nodiscard]] std::optional<std::size_t> index_of(const torch::Tensor& parameter) const;
  [[nodiscard]] std::vector<std::vector<Use*>> uses() const;  // of each parameter
  [[nodiscard]] torch::Tensor norms_of_sum(const std::vector<Use*>& uses, std::int64_t examples,
                                           std::int64_t numbers) const;

  NormOptions options_;
  std::vector<TapeParameter> parameters_;
  std::vector<std::string> groups_;
  std::vector<c10::intrusive_ptr<Observation>> observations_;
  std::optional<std::string> refusal_;
};

}  // namespace noisefloor
