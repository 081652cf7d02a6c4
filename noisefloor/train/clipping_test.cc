#include "noisefloor/train/clipping.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

torch::Tensor norms(std::vector<std::vector<double>> groups) {
  std::vector<torch::Tensor> rows;
  for (const auto& group : groups) rows.push_back(torch::tensor(group, torch::kDouble));
  return torch::stack(rows);
}

double at(const torch::Tensor& factors, int group, int example) { return factors[group][example].item<double>(); }

TEST(Clipping, FlatKeepsSmallGradientsAndScalesLargeOnes) {
  const torch::Tensor factors = flat_factors(norms({{0, 0.36, 9}, {0, 0.64, 16}}), ClipNorm::of(2));
  ASSERT_EQ(factors.sizes(), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(at(factors, 0, 0), 1);
  EXPECT_EQ(at(factors, 0, 1), 1);
  EXPECT_NEAR(at(factors, 0, 2), 0.4, 1e-6);
}

TEST(Clipping, LayersAreClippedByThemselves) {
  const std::vector<ClipNorm> clips = {ClipNorm::of(1), ClipNorm::of(2)};
  const torch::Tensor factors = layer_factors(norms({{4, 0.25}, {1, 16}}), clips).value();
  EXPECT_NEAR(at(factors, 0, 0), 0.5, 1e-6);
  EXPECT_EQ(at(factors, 0, 1), 1);
  EXPECT_EQ(at(factors, 1, 0), 1);
  EXPECT_NEAR(at(factors, 1, 1), 0.5, 1e-6);
  EXPECT_GE(total_clip_norm(clips).value().value(), std::sqrt(5.0));
  EXPECT_NEAR(total_clip_norm(clips).value().value(), std::sqrt(5.0), 1e-15);
  testing::expect_invalid(layer_factors(norms({{1}}), clips).error(), "2 clip norms for 1 layers");
}

TEST(Clipping, AutomaticScalesEveryGradient) {
  const torch::Tensor factors = automatic_factors(norms({{0, 9}, {0, 16}}), ClipNorm::of(2), 0.01).value();
  EXPECT_NEAR(at(factors, 0, 0), 200, 1e-3);
  EXPECT_NEAR(at(factors, 0, 1), 2 / 5.01, 1e-6);
  for (double bad : {0.0, -1.0, kInfinity, kNan})
    testing::expect_invalid(automatic_factors(norms({{1}}), ClipNorm::of(1), bad).error(), "stability");
}

TEST(Clipping, WhatIsNoNumberIsLeftOut) {
  for (double odd : {kNan, kInfinity, -kInfinity, -1.0}) {
    const torch::Tensor squared = norms({{odd, 1}, {1, 1}});
    const double expected_with_other = odd == -1.0 ? 1 : 0;  // -1 + 1 is a norm of 0
    EXPECT_EQ(at(flat_factors(squared, ClipNorm::of(1)), 0, 0), expected_with_other);
    if (odd != -1.0) {
      EXPECT_EQ(at(automatic_factors(squared, ClipNorm::of(1), 1).value(), 0, 0), 0);
    }
    const torch::Tensor layers =
        layer_factors(squared, std::vector<ClipNorm>{ClipNorm::of(2), ClipNorm::of(2)}).value();
    EXPECT_EQ(at(layers, 0, 0), 0);
    EXPECT_EQ(at(layers, 1, 0), 1);
    EXPECT_EQ(at(layers, 0, 1), 1);
  }
  // A factor that floats cannot carry with full precision.
  EXPECT_EQ(at(flat_factors(norms({{1e100}}), ClipNorm::of(1e-3)), 0, 0), 0);
}

TEST(Clipping, NoExamples) {
  const torch::Tensor none = torch::zeros({2, 0}, torch::kDouble);
  EXPECT_EQ(flat_factors(none, ClipNorm::of(1)).sizes(), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(automatic_factors(none, ClipNorm::of(1), 1).value().sizes(), (std::vector<std::int64_t>{1, 0}));
}

// The attack: gradients whose norm is just above C, of all sizes of C, each scaled in floats as training does it. The
// exact norm of the result must not be above C. The mutant without the margin is above it about every other time.
TEST(Clipping, RoundingDoesNotPassTheClipNorm) {
  torch::manual_seed(7);
  int above = 0;
  int mutant_above = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const double clip = std::exp2(static_cast<double>(trial % 60 - 30)) * 1.2345678;
    torch::Tensor gradient = torch::randn({trial % 7 + 1});
    gradient *= clip * (1 + 1e-3 * trial) / gradient.norm().item<double>();
    const torch::Tensor squared = gradient.to(torch::kDouble).square().sum().reshape({1, 1});
    // The norm may be computed too small by a part in 2^23, so its square by one in 2^22.
    const torch::Tensor factor = flat_factors(squared * (1 - 0x1p-22), ClipNorm::make(clip).value());
    const torch::Tensor mutant = clip / (squared * (1 - 0x1p-22)).sqrt();
    const auto clipped_norm = [&](const torch::Tensor& by) {
      return (gradient * by[0][0].to(torch::kFloat)).to(torch::kDouble).norm().item<double>();
    };
    above += clipped_norm(factor) > clip ? 1 : 0;
    mutant_above += clipped_norm(mutant) > clip ? 1 : 0;
  }
  EXPECT_EQ(above, 0);
  EXPECT_GT(mutant_above, 500);
}

TEST(Clipping, EvenNormsMakeTheirTotal) {
  for (std::size_t groups : {1U, 2U, 3U, 7U, 100U}) {
    const auto clips = even_clip_norms(ClipNorm::of(1.1), groups).value();
    ASSERT_EQ(clips.size(), groups);
    EXPECT_LE(total_clip_norm(clips).value().value(), 1.1);
    EXPECT_NEAR(total_clip_norm(clips).value().value(), 1.1, 1e-12);
  }
  testing::expect_invalid(even_clip_norms(ClipNorm::of(1), 0).error(), "0 layers");
}

}  // namespace
}  // namespace noisefloor
