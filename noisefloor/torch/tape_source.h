// Gradients of any torch module whose layers record on a tape, for DP-SGD (sgd/dp_sgd.h).
//
//   auto model = make_private(torch::nn::Sequential(…)).model;
//   auto forward = [&](const torch::Tensor& x) { return model->forward(x); };
//   auto source = TapeSource::create(*model, forward, data, {}).value();
//   auto sgd = DpSgd::create(options, sampler, *source, source->weights()).value();
//   sgd.step(random);
//
// Guarantee:     as GradientSource; a module that mixes examples or has parameters without a rule is refused at
//                creation.
// People:        if the data say whose rows are whose, people are drawn and clipped (sgd/people.h). People with as many
//                rows go through the module together, each as one example of the tape with that many rows; whoever has
//                more rows than a micro-batch goes alone, in several, and is clipped when all are added up.
// Memory:        that of one micro-batch, whatever the size of the batch. How many examples that are is found out, on
//                examples of zeros, before the first one: as many as stay within the limit, up to 64 rows.
// Thread safety: none. The module's parameters are overwritten while it works.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "noisefloor/model/augmentation.h"
#include "noisefloor/sgd/clipped_mean.h"
#include "noisefloor/sgd/gradient_source.h"
#include "noisefloor/sgd/people.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/torch/tape.h"

namespace noisefloor {

class TapeSource final : public GradientSource {
 public:
  using Forward = std::function<torch::Tensor(const torch::Tensor&)>;
  // One loss for each example, from outputs and labels (or targets).
  using Losses = std::function<torch::Tensor(const torch::Tensor& outputs, const torch::Tensor& labels)>;

  struct Options {
    std::size_t micro_batch = 0;                        // examples at once; 0: as many as fit
    std::int64_t memory_limit = std::int64_t{1} << 30;  // bytes of tensors for them; one example at least is taken
    Augmentation augmentation = {};                     // of images
    Losses losses = {};  // cross-entropy of classes, or half the squared distance to targets, if empty
    torch::Device device = torch::kCPU;
  };

  // `module` and `data` must outlive the source. Fails if the module cannot be trained privately, naming its layers.
  [[nodiscard]] static Result<std::unique_ptr<TapeSource>> create(torch::nn::Module& module, Forward forward,
                                                                  const Dataset& data, Options options);

  [[nodiscard]] std::size_t examples() const override { return people_ ? people_->size() : data_->rows; }
  [[nodiscard]] const People* people() const override { return people_ ? &*people_ : nullptr; }
  [[nodiscard]] std::size_t parameters() const override { return parameters_; }
  [[nodiscard]] std::size_t groups() const override { return tape_.groups().size(); }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                        const ClipRule* rule, BitStream& stream, std::span<float> sum) override;

  // One example of zeros, all the way: a module that fails is found before anything is spent.
  [[nodiscard]] Result<void> rehearse();
  // How many examples go through the module at once, with this rule.
  [[nodiscard]] std::size_t micro_batch(const ClipRule* rule);

  // The trainable parameters of the module now, as one vector; and back.
  [[nodiscard]] std::vector<float> weights() const;
  void set_weights(std::span<const float> weights);

 private:
  TapeSource(const torch::nn::Module& module, Forward forward, const Dataset& data, Options options,
             std::optional<People> people);

  // The tensors of some examples.
  struct Examples {
    torch::Tensor features;  // [examples · copies, shape…]
    torch::Tensor labels;    // [examples · copies]
  };
  // What all of them together add, and how many norms were within the rule's bound.
  struct Sums {
    std::vector<torch::Tensor> gradients;
    std::size_t within = 0;
  };

  [[nodiscard]] std::int64_t copies() const { return static_cast<std::int64_t>(options_.augmentation.copies); }
  Result<Examples> take(std::span<const std::uint64_t> rows, BitStream& stream) const;
  [[nodiscard]] std::vector<float> copies_of(const Dataset& batch, BitStream& stream) const;
  [[nodiscard]] Examples zeros(std::int64_t examples) const;
  void forget();  // what was recorded before
  // Of examples that have `rows_each` rows: the mean over these is an example's gradient.
  Result<Sums> sums_of(const Examples& examples, std::int64_t rows_each, const ClipRule* rule);
  Result<std::size_t> add_micro_batch(std::span<const std::uint64_t> rows, std::size_t rows_each, const ClipRule* rule,
                                      BitStream& stream, std::span<float> sum);
  // The same for any number of rows, in micro-batches of at most `most` rows. Requires rows_each <= most.
  Result<std::size_t> add_rows(std::span<const std::uint64_t> rows, std::size_t rows_each, std::size_t most,
                               const ClipRule* rule, BitStream& stream, std::span<float> sum);
  // People with several rows.
  Result<std::size_t> add_people(const PeoplesRows& taken, std::size_t most, const ClipRule* rule, BitStream& stream,
                                 std::span<float> sum);
  // What so many examples take at most, in bytes.
  std::int64_t memory_for(std::int64_t examples, const ClipRule* rule);

  Tape tape_;
  Forward forward_;
  const Dataset* data_;
  Options options_;
  std::optional<People> people_;
  internal::ParameterGroups parameter_groups_;
  std::size_t parameters_ = 0;
  std::size_t found_micro_batch_ = 0;
};

}  // namespace noisefloor
