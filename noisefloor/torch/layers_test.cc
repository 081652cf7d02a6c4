// Every layer once more, with parameters that are frozen one by one, and used twice: what is clipped is the sum of both
// uses, of what is trained.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "noisefloor/torch/attention.h"
#include "noisefloor/torch/convolution.h"
#include "noisefloor/torch/embedding.h"
#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/lora.h"
#include "noisefloor/torch/normalization.h"
#include "noisefloor/torch/recurrent.h"
#include "noisefloor/torch/residual.h"
#include "tests/support/per_example_oracle.h"

namespace noisefloor {
namespace {

using Forward = std::function<torch::Tensor(const torch::Tensor&)>;

struct Case {
  std::string name;
  std::shared_ptr<torch::nn::Module> module;
  Forward forward;
  torch::Tensor rows;
};

template <class Layer>
Case plain(const std::string& name, Layer layer, const std::vector<std::int64_t>& shape) {
  return {name, layer.ptr(), [layer](const torch::Tensor& x) mutable { return layer->forward(x); },
          torch::randn(shape)};
}

template <class Layer>
Case recurrent(const std::string& name, Layer layer) {
  return {name, layer.ptr(), [layer](const torch::Tensor& x) mutable { return std::get<0>(layer->forward(x)); },
          torch::randn({3, 4, 3})};
}

std::vector<Case> cases() {
  torch::manual_seed(11);
  const std::vector<std::int64_t> features{5};
  std::vector<Case> all{
      plain("linear", nn::Linear(5, 4), {3, 2, 5}),
      plain("conv1d", nn::Conv1d(torch::nn::Conv1dOptions(2, 3, 3)), {3, 2, 6}),
      plain("conv2d", nn::Conv2d(torch::nn::Conv2dOptions(2, 3, 2)), {3, 2, 4, 4}),
      plain("layer norm", nn::LayerNorm(features), {3, 2, 5}),
      plain("group norm", nn::GroupNorm(2, 4), {3, 4, 3}),
      plain("instance norm 1d", nn::InstanceNorm1d(torch::nn::InstanceNormOptions(4).affine(true)), {3, 4, 5}),
      plain("instance norm 2d", nn::InstanceNorm2d(torch::nn::InstanceNormOptions(4).affine(true)), {3, 4, 3, 2}),
      plain("rms norm", nn::RMSNorm(features), {3, 2, 5}),
      recurrent("lstm", nn::LSTM(torch::nn::LSTMOptions(3, 4).batch_first(true).num_layers(2))),
      recurrent("gru", nn::GRU(torch::nn::GRUOptions(3, 4).batch_first(true).bidirectional(true))),
      plain("attention", nn::MultiheadAttention(6, 2), {3, 4, 6}),
      plain("residual", nn::Residual(torch::nn::Sequential(nn::Linear(5, 5), torch::nn::Tanh(), nn::Linear(5, 5))),
            {3, 5}),
      plain("lora", nn::LoraLinear(nn::LoraOptions(5, 4, 2)), {3, 2, 5}),
  };
  nn::Embedding embedding(6, 3);
  all.push_back({"embedding", embedding.ptr(),
                 [embedding](const torch::Tensor& x) mutable { return embedding->forward(x); },
                 torch::tensor({{1, 1, 2}, {3, 0, 5}, {4, 4, 4}})});
  return all;
}

void check(const Case& layer, bool twice) {
  for (const torch::ScalarType type : {torch::kDouble, torch::kFloat}) {
    layer.module->to(type);
    const bool is_real = layer.rows.is_floating_point();
    const torch::Tensor rows = is_real ? layer.rows.to(type) : layer.rows;
    const testing::RowLosses losses = [&](const torch::Tensor& x) {
      torch::Tensor loss = testing::wavy_loss(layer.forward(x));
      if (!twice) return loss;
      const torch::Tensor second = is_real ? (x * 1.7 + 0.3).sin() : torch::remainder(x * 5 + 1, 6);
      return loss + testing::wavy_loss(layer.forward(second)) * 0.6;
    };
    const double tolerance = type == torch::kDouble ? 1e-9 : 1e-5;
    for (const NormRule rule : {NormRule::kCheapest, NormRule::kGhost, NormRule::kDirect}) {
      testing::check_recording(*layer.module, rows, 1, losses, {rule}, tolerance);
    }
    testing::check_recording(*layer.module, rows, 3, losses, {}, tolerance);
    testing::check_recording(*layer.module, rows.slice(0, 0, 0), 1, losses, {}, tolerance);
  }
}

TEST(EveryLayer, UsedTwiceHasTheGradientOfTheSum) {
  for (const Case& layer : cases()) {
    SCOPED_TRACE(layer.name);
    check(layer, true);
  }
}

TEST(EveryLayer, FrozenParametersHaveNoGradientAndChangeNoOther) {
  for (const Case& layer : cases()) {
    const auto parameters = layer.module->named_parameters();
    std::vector<std::string> trainable;
    for (const auto& item : parameters)
      if (item.value().requires_grad()) trainable.push_back(item.key());
    if (trainable.size() < 2) continue;
    for (const std::string& frozen : trainable) {
      SCOPED_TRACE(layer.name + ", " + frozen);
      torch::Tensor parameter = parameters[frozen];
      parameter.set_requires_grad(false);
      EXPECT_EQ(Tape(*layer.module).parameters().size(), trainable.size() - 1);
      check(layer, false);
      check(layer, true);
      parameter.set_requires_grad(true);
    }
  }
}

}  // namespace
}  // namespace noisefloor
