#include "noisefloor/torch/tape.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/torch/factors.h"
#include "noisefloor/torch/linear.h"
#include "tests/support/per_example_oracle.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;
using testing::wavy_loss;

TEST(Tape, NamesAParameterThatNoPrivateLayerUsed) {
  torch::nn::Sequential model(nn::Linear(3, 3), torch::nn::Linear(3, 3));
  Tape tape(*model);
  const Tape::Recording recording(tape);
  wavy_loss(model->forward(torch::randn({2, 3}))).sum().backward();
  expect_invalid(tape.squared_norms().error(), "1.weight");
  expect_invalid(tape.weighted_gradients(torch::ones({1, 2})).error(), "1.weight");
}

TEST(Tape, NamesAParameterThatWasNotUsedAtAll) {
  torch::nn::Sequential model(nn::Linear(3, 3), nn::Linear(3, 3));
  Tape tape(*model);
  const Tape::Recording recording(tape);
  wavy_loss(model[0]->as<nn::LinearImpl>()->forward(torch::randn({2, 3}))).sum().backward();
  expect_invalid(tape.squared_norms().error(), "parameter 1.weight was not used by a private layer");
}

// Covered once by a private layer, and used once more behind its back.
TEST(Tape, NoticesAUseOutsideOfPrivateLayers) {
  nn::Linear layer(3, 3);
  Tape tape(*layer);
  const Tape::Recording recording(tape);
  const torch::Tensor hidden = layer->forward(torch::randn({2, 3}));
  wavy_loss(hidden.matmul(layer->weight)).sum().backward();
  expect_invalid(tape.squared_norms().error(), "weight has a .grad");
}

TEST(Tape, WantsOneBackwardPass) {
  nn::Linear layer(3, 3);
  Tape tape(*layer);
  const Tape::Recording recording(tape);
  const torch::Tensor loss = wavy_loss(layer->forward(torch::randn({2, 3}))).sum();
  expect_invalid(tape.squared_norms().error(), "call backward()");
  loss.backward({}, true);
  EXPECT_TRUE(tape.squared_norms().has_value());
  loss.backward();
  expect_invalid(tape.squared_norms().error(), "more than once");
}

TEST(Tape, WantsTheBatchFirst) {
  nn::Linear layer(3, 3);
  Tape tape(*layer);
  {
    const Tape::Recording recording(tape);
    wavy_loss(layer->forward(layer->forward(torch::randn({2, 3})).sum(0, true).expand({4, 3}))).sum().backward();
    expect_invalid(tape.squared_norms().error(), "4 examples, where weight has 2");
  }
  tape.clear();
  {
    const Tape::Recording recording(tape);
    layer->forward(torch::randn({3})).sum().backward();
    expect_invalid(tape.squared_norms().error(), "without a batch dimension");
  }
  tape.clear();
  const Tape::Recording recording(tape, 2);
  layer->forward(torch::randn({3, 3})).sum().backward();
  expect_invalid(tape.squared_norms().error(), "not a multiple of 2");
}

TEST(Tape, RefusesParametersOfOthersAndFactorsOfOtherShapes) {
  nn::Linear layer(3, 3);
  nn::Linear stranger(3, 3);
  Tape tape(*layer);
  const Tape::Recording recording(tape);
  wavy_loss(layer->forward(torch::randn({2, 3}))).sum().backward();
  expect_invalid(tape.weighted_gradients(torch::ones({1, 3})).error(), "[1, 2]");
  EXPECT_TRUE(tape.weighted_gradients(torch::ones({1, 2})).has_value());
  wavy_loss(stranger->forward(torch::randn({2, 3}))).sum().backward();
  expect_invalid(tape.squared_norms().error(), "does not know");
}

TEST(Tape, AddsToSumsOfEarlierBatches) {
  torch::manual_seed(1);
  nn::Linear layer(3, 2);
  Tape tape(*layer);
  const torch::Tensor rows = torch::randn({5, 3});
  const auto losses = [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); };
  std::vector<torch::Tensor> sums;
  for (const TapeParameter& parameter : tape.parameters()) sums.push_back(torch::zeros_like(parameter.tensor.detach()));
  for (const auto& [begin, end] : {std::pair(0, 2), std::pair(2, 2), std::pair(2, 5)}) {
    const Tape::Recording recording(tape);
    losses(rows.slice(0, begin, end)).sum().backward();
    ASSERT_TRUE(tape.add_weighted_gradients(torch::ones({1, end - begin}), sums).has_value());
    tape.clear();
  }
  losses(rows).sum().backward();
  EXPECT_TRUE(torch::allclose(sums[0], layer->weight.grad()));
  EXPECT_TRUE(torch::allclose(sums[1], layer->bias.grad()));
}

// An input or a loss that is no number spoils its example, and nothing else: its part is exactly 0.
TEST(Tape, ExamplesWithNanGradientsAddNothing) {
  for (const NormRule rule : {NormRule::kGhost, NormRule::kDirect}) {
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e38F}) {
      torch::manual_seed(1);
      torch::nn::Sequential model(nn::Linear(3, 4), torch::nn::Tanh(), nn::Linear(4, 2));
      Tape tape(*model, {rule});
      torch::Tensor rows = torch::randn({4, 2, 3});
      const auto sums_of = [&](const torch::Tensor& x, float scale) {
        const Tape::Recording recording(tape);
        torch::Tensor losses = wavy_loss(model->forward(x));
        if (losses.size(0) == 4) losses = losses * torch::tensor({1.F, scale, 1.F, 1.F});
        losses.sum().backward();
        const auto factors =
            factors_of(ClipRule::create(FlatClip{ClipNorm::of(0.5)}).value(), tape.squared_norms().value()).factors;
        auto sums = tape.weighted_gradients(factors).value();
        tape.clear();
        return sums;
      };
      const auto expected = sums_of(torch::cat({rows.slice(0, 0, 1), rows.slice(0, 2)}), 1);
      if (odd != 1e38F) {
        const auto with_odd_loss = sums_of(rows, odd);
        for (std::size_t p = 0; p < expected.size(); ++p) EXPECT_TRUE(torch::equal(with_odd_loss[p], expected[p]));
      }
      rows[1][0][0] = odd;
      const auto with_odd_input = sums_of(rows, 1);
      for (std::size_t p = 0; p < expected.size(); ++p) {
        EXPECT_TRUE(torch::isfinite(with_odd_input[p]).all().item<bool>());
        if (odd != 1e38F) {
          EXPECT_TRUE(torch::equal(with_odd_input[p], expected[p]));
        }
      }
    }
  }
}

// Ghost norms by themselves would lose everything here: the rows of an example cancel to a part in 2^20.
TEST(Tape, NormsHoldWhereRowsCancel) {
  torch::manual_seed(3);
  nn::Linear layer(torch::nn::LinearOptions(16, 16).bias(false));
  const torch::Tensor half = torch::randn({8, 1, 16});
  const torch::Tensor rows = torch::cat({half, -half * (1 + 0x1p-20)}, 1);
  for (const NormRule rule : {NormRule::kGhost, NormRule::kDirect}) {
    Tape tape(*layer, {rule, 1});
    {
      const Tape::Recording recording(tape);
      (layer->forward(rows) * 1e3).sum().backward();
    }
    const torch::Tensor norms = tape.squared_norms().value()[0];
    const torch::Tensor exact = tape.per_example_gradients().value()[0].flatten(1).square().sum(1);
    EXPECT_TRUE((norms >= exact * (1 - 0x1p-22)).all().item<bool>());
    EXPECT_TRUE(torch::allclose(norms, exact, 5));  // at most 4 · 2^-40 is added, to about 2^-40
  }
}

// One example at a time, through layers of both kinds of norm: what comes out, in floats, has a norm of at most C.
// Without the margin it would not: the mutant is above C in a good part of the trials.
TEST(Tape, ClippedGradientsStayWithinTheClipNorm) {
  int mutant_above = 0;
  for (int trial = 0; trial < 300; ++trial) {
    torch::manual_seed(static_cast<std::uint64_t>(trial));
    torch::nn::Sequential model(nn::Linear(5, 7), torch::nn::Tanh(), nn::Linear(7, 3));
    Tape tape(*model, {trial % 2 == 0 ? NormRule::kGhost : NormRule::kDirect});
    {
      const Tape::Recording recording(tape);
      (wavy_loss(model->forward(torch::randn({1, trial % 4 + 1, 5}))) * 100).sum().backward();
    }
    const torch::Tensor norms = tape.squared_norms().value();
    const auto norm_of = [&](const torch::Tensor& factors) {
      double sum = 0;
      const std::vector<torch::Tensor> gradients = tape.weighted_gradients(factors).value();
      for (const torch::Tensor& gradient : gradients) sum += gradient.to(torch::kDouble).square().sum().item<double>();
      return std::sqrt(sum);
    };
    const double clip = 0.1 + 1e-3 * trial;
    EXPECT_LE(norm_of(factors_of(ClipRule::create(FlatClip{ClipNorm::make(clip).value()}).value(), norms).factors),
              clip);
    mutant_above += norm_of((clip / norms.sum(0, true).sqrt()).clamp_max(1)) > clip ? 1 : 0;
  }
  EXPECT_GT(mutant_above, 75);
}

// Tied weights have two names and one gradient; frozen ones have none.
TEST(Tape, HasEveryTrainableParameterOnce) {
  nn::Linear shared(3, 3);
  nn::Linear frozen(3, 3);
  for (torch::Tensor parameter : frozen->parameters()) parameter.set_requires_grad(false);
  torch::nn::Sequential model(shared, frozen, shared, nn::Linear(3, 2));
  EXPECT_EQ(model->parameters().size(), 8);
  Tape tape(*model);
  std::vector<std::string> names;
  for (const TapeParameter& parameter : tape.parameters()) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias"}));
  const Tape::Recording recording(tape);
  wavy_loss(model->forward(torch::randn({2, 3}))).sum().backward();
  EXPECT_EQ(tape.weighted_gradients(torch::ones({1, 2})).value().size(), 4);
}

TEST(Tape, DoesNotRecordWithoutGradientsNorOutsideOfRecordings) {
  nn::Linear layer(3, 3);
  Tape tape(*layer);
  {
    const Tape::Recording recording(tape);
    const torch::NoGradGuard no_grad;
    EXPECT_FALSE(layer->forward(torch::randn({2, 3})).requires_grad());
  }
  wavy_loss(layer->forward(torch::randn({2, 3}))).sum().backward();
  EXPECT_TRUE(layer->weight.grad().defined());
  expect_invalid(tape.squared_norms().error(), "weight has a .grad");
}

// Saved inputs that are changed before backward are noticed, as in torch.
TEST(Tape, RefusesInputsThatWereOverwritten) {
  nn::Linear layer(3, 3);
  Tape tape(*layer);
  const Tape::Recording recording(tape);
  torch::Tensor input = torch::randn({2, 3});
  const torch::Tensor loss = layer->forward(input).sum();
  input.mul_(2);
  EXPECT_THROW(loss.backward(), c10::Error);
}

}  // namespace
}  // namespace noisefloor
