#include "noisefloor/torch/normalization.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/per_example_oracle.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::check_layer;
using testing::wavy_loss;

// Weights and biases other than the 1 and 0 that layers start from.
template <class Layer>
Layer shaken(Layer layer) {
  const torch::NoGradGuard no_grad;
  for (torch::Tensor parameter : layer->parameters()) parameter.add_(torch::randn_like(parameter), 0.3);
  return layer;
}

template <class Layer>
void check(Layer layer, const torch::Tensor& rows) {
  check_layer(*layer, rows, [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); });
}

// Private and plain layer, with the same parameters, have the same output.
template <class Layer, class Plain>
void expect_same(Layer layer, Plain plain, const torch::Tensor& rows) {
  plain->weight = layer->weight;
  plain->bias = layer->bias;
  EXPECT_TRUE(torch::allclose(layer->forward(rows), plain->forward(rows), 1e-5, 1e-6));
}

TEST(Normalization, LayerNorm) {
  torch::manual_seed(1);
  const auto layer = shaken(nn::LayerNorm(std::vector<std::int64_t>{5}));
  const torch::Tensor rows = torch::randn({6, 3, 5});
  expect_same(layer, torch::nn::LayerNorm(std::vector<std::int64_t>{5}), rows);
  check(layer, rows);
  check(layer, rows.select(1, 0));
  check(shaken(nn::LayerNorm(std::vector<std::int64_t>{3, 5})), rows);
}

TEST(Normalization, GroupNorm) {
  torch::manual_seed(2);
  const auto layer = shaken(nn::GroupNorm(2, 6));
  expect_same(layer, torch::nn::GroupNorm(2, 6), torch::randn({3, 6, 2, 4}));
  check(layer, torch::randn({6, 6, 2, 4}));
  check(layer, torch::randn({3, 6}));
}

TEST(Normalization, InstanceNorm) {
  torch::manual_seed(3);
  const auto options = torch::nn::InstanceNormOptions(4).affine(true);
  const auto narrow = shaken(nn::InstanceNorm1d(options));
  expect_same(narrow, torch::nn::InstanceNorm1d(options), torch::randn({3, 4, 5}));
  check(narrow, torch::randn({3, 4, 5}));
  const auto wide = shaken(nn::InstanceNorm2d(options));
  expect_same(wide, torch::nn::InstanceNorm2d(options), torch::randn({3, 4, 5, 2}));
  check(wide, torch::randn({3, 4, 5, 2}));
}

TEST(Normalization, RMSNorm) {
  torch::manual_seed(4);
  const auto layer = shaken(nn::RMSNorm(std::vector<std::int64_t>{5}));
  check(layer, torch::randn({3, 2, 5}));
  const torch::Tensor output = nn::RMSNorm(std::vector<std::int64_t>{5})->forward(torch::randn({3, 5}) * 10);
  EXPECT_TRUE(torch::allclose(output.square().mean(1), torch::ones({3}), 1e-4));
}

TEST(Normalization, OneOfTheTwoFrozenOrNone) {
  torch::manual_seed(5);
  const auto layer = shaken(nn::GroupNorm(2, 4));
  layer->weight.set_requires_grad(false);
  EXPECT_EQ(Tape(*layer).parameters().size(), 1);
  check(layer, torch::randn({3, 4, 3}));
  nn::LayerNorm bare(torch::nn::LayerNormOptions({4}).elementwise_affine(false));
  EXPECT_TRUE(Tape(*bare).parameters().empty());
  EXPECT_EQ(bare->forward(torch::randn({3, 4})).sizes(), (std::vector<std::int64_t>{3, 4}));
}

TEST(Normalization, RefusesRunningStatistics) {
  nn::InstanceNorm1d layer(torch::nn::InstanceNormOptions(4).affine(true).track_running_stats(true));
  Tape tape(*layer);
  const Tape::Recording recording(tape);
  wavy_loss(layer->forward(torch::randn({3, 4, 5}))).sum().backward();
  testing::expect_invalid(tape.squared_norms().error(), "track_running_stats(false)");
}

}  // namespace
}  // namespace noisefloor
