// Gradients of any torch module whose layers record on a tape, for DP-SGD (sgd/dp_sgd.h).
//
//   auto model = make_private(torch::nn::Sequential(…)).model;
//   auto source = TapeSource::create(*model, [&](const torch::Tensor& x) { return model->forward(x); }, data, {}).value();
//   auto sgd = DpSgd::create(options, sampler, *source, source->weights()).value();
//   sgd.step(random);
//
// Guarantee:     as GradientSource; a module that mixes examples or has parameters without a rule is refused at creation.
// Memory:        that of one micro-batch, whatever the size of the batch.
// Thread safety: none. The module's parameters are overwritten while it works.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "noisefloor/sgd/gradient_source.h"
#include "noisefloor/table/dataset.h"
#include "noisefloor/train/tape.h"

namespace noisefloor {

class TapeSource final : public GradientSource {
 public:
  using Forward = std::function<torch::Tensor(const torch::Tensor&)>;
  // One loss for each example, from outputs and labels (or targets).
  using Losses = std::function<torch::Tensor(const torch::Tensor& outputs, const torch::Tensor& labels)>;

  struct Options {
    std::size_t micro_batch = 64;
    Losses losses = {};  // cross-entropy of classes, or half the squared distance to targets, if empty
    torch::Device device = torch::kCPU;
  };

  // `module` and `data` must outlive the source. Fails if the module cannot be trained privately, naming its layers.
  [[nodiscard]] static Result<std::unique_ptr<TapeSource>> create(torch::nn::Module& module, Forward forward,
                                                                  const Dataset& data, Options options);

  [[nodiscard]] std::size_t examples() const override { return data_->rows; }
  [[nodiscard]] std::size_t parameters() const override { return parameters_; }
  [[nodiscard]] std::size_t groups() const override { return tape_.groups().size(); }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> rows,
                                        const ClipRule* rule, BitStream& stream, std::span<float> sum) override;

  // The trainable parameters of the module now, as one vector; and back.
  [[nodiscard]] std::vector<float> weights() const;
  void set_weights(std::span<const float> weights);

 private:
  TapeSource(const torch::nn::Module& module, Forward forward, const Dataset& data, Options options);

  Result<std::size_t> add_micro_batch(std::span<const std::uint64_t> rows, const ClipRule* rule, std::span<float> sum);

  Tape tape_;
  Forward forward_;
  const Dataset* data_;
  Options options_;
  std::size_t parameters_ = 0;
};

}  // namespace noisefloor
