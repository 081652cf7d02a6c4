#include "noisefloor/federated/client_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "noisefloor/random/gaussian_vector.h"
#include "tests/support/refusal.h"
#include "tests/support/statistics.h"

namespace noisefloor::federated {
namespace {

using noisefloor::testing::expect_invalid;
using noisefloor::testing::kAlpha;

class ClientSumTest : public ::testing::Test {
 protected:
  ReplayRandom random_ = ReplayRandom::create(6).value();
};

// Whatever a client sends, it moves the sum by the clip norm at most.
TEST_F(ClientSumTest, NoClientMovesTheSumByMoreThanTheClipNorm) {
  const ClipNorm clip = ClipNorm::of(0.75);
  for (const float scale : {1e-12F, 0.02F, 1.0F, 1e10F, 1e30F}) {
    for (int i = 0; i < 50; ++i) {
      std::vector<float> vector(200);
      fill_gaussian(random_, vector, scale);
      ClientSum sum({.clip = clip}, 200, clip);
      sum.add(vector);
      double squares = 0;
      for (const std::int64_t steps : sum.sum().steps())
        squares += std::pow(static_cast<double>(steps) * ExactSum::kStep, 2);
      ASSERT_LE(std::sqrt(squares), 0.75) << scale;
    }
  }
  ClientSum odd({.clip = clip}, 2, clip);
  odd.add(std::vector<float>{std::numeric_limits<float>::quiet_NaN(), 1});
  odd.add(std::vector<float>{std::numeric_limits<float>::infinity(), 1});
  EXPECT_EQ(odd.sum().steps(), (std::vector<std::int64_t>{0, 0})) << "legal, and zero";
}

// χ² of the noise against what the event says; a sum with 10 % less noise must be found out.
TEST_F(ClientSumTest, NoiseIsWhatTheEventSays) {
  constexpr std::size_t kDimension = 40'000;
  const ClipNorm clip = ClipNorm::of(2.0);
  for (const bool is_adaptive : {false, true}) {
    ClientSumOptions options{.clip = clip, .noise = NoiseMultiplier::of(1.5), .denominator = 40};
    if (is_adaptive) options.adaptive = ClientAdaptiveClip{};
    ASSERT_TRUE(check_client_sum(options).has_value());
    const auto variance_ratio = [&](double factor) {
      ClientSumOptions used = options;
      used.noise = NoiseMultiplier::make(1.5 * factor).value();
      ClientSum sum(used, kDimension, clip);
      double squares = 0;
      for (const double value : sum.finish(random_).mean) squares += value * 40 * value * 40;
      const double stated = multiplier_on_sum(options) * clip.value();
      return squares / (stated * stated * kDimension);
    };
    // The mean of d squares of standard normals has a standard deviation of √(2/d).
    const double margin = 4.9 * std::sqrt(2.0 / kDimension);  // α = 1e-6, two-sided
    EXPECT_NEAR(variance_ratio(1), 1, margin);
    EXPECT_LT(variance_ratio(0.9), 1 - margin) << "the mutant";
  }
}

// The joint event: sum and count together are one Gaussian of the stated multiplier.
TEST_F(ClientSumTest, SumAndCountTogetherCostOneMultiplier) {
  ClientSumOptions options{.clip = ClipNorm::of(1.0), .noise = NoiseMultiplier::of(1.0), .denominator = 100};
  options.adaptive = ClientAdaptiveClip{.count_noise = 5};
  const double z_sum = multiplier_on_sum(options);
  EXPECT_GT(z_sum, 1.0);
  EXPECT_LE(1 / (z_sum * z_sum) + 1 / (10.0 * 10.0), 1.0);
  EXPECT_EQ(client_event(options), DpEvent(GaussianEvent{NoiseMultiplier::of(1.0)}));
  options.noise.reset();
  EXPECT_TRUE(contains<NonPrivateEvent>(client_event(options)));
}

// The norm settles at the median of clients' norms: the count is of clients that are not clipped. With the count of
// those that are, it would run away.
TEST_F(ClientSumTest, AdaptiveNormSettlesAtTheQuantile) {
  ClientSumOptions options{.clip = ClipNorm::of(0.1), .noise = NoiseMultiplier::of(0.5), .denominator = 100};
  options.adaptive = ClientAdaptiveClip{};
  ClipNorm clip = options.clip;
  for (int round = 0; round < 200; ++round) {
    ClientSum sum(options, 1, clip);
    for (int client = 0; client < 100; ++client) sum.add(std::vector<float>{0.02F * static_cast<float>(client + 1)});
    clip = sum.finish(random_).next_clip;
  }
  EXPECT_NEAR(clip.value(), 1.0, 0.25);
}

// Dividing by who came would be another mechanism.
TEST_F(ClientSumTest, DividesByTheFixedNumber) {
  const ClipNorm clip = ClipNorm::of(1.0);
  ClientSum sum({.clip = clip, .denominator = 10}, 1, clip);
  sum.add(std::vector<float>{0.5F});
  EXPECT_NEAR(sum.finish(random_).mean[0], 0.05, 1e-9);
  ClientSum nobody({.clip = clip, .noise = NoiseMultiplier::of(1.0), .denominator = 10}, 1, clip);
  EXPECT_NE(nobody.finish(random_).mean[0], 0) << "a round of nobody has its noise";
}

TEST_F(ClientSumTest, RefusesWhatHasNoMeaning) {
  ClientSumOptions options{.clip = ClipNorm::of(1.0), .noise = NoiseMultiplier::of(1.0), .denominator = 5};
  EXPECT_TRUE(check_client_sum(options).has_value());
  options.adaptive = ClientAdaptiveClip{};
  expect_invalid(check_client_sum(options).error(), "not below twice the count's noise 0.25");
  options.adaptive->count_noise = std::nan("");
  expect_invalid(check_client_sum(options).error(), "0 or above");
  options.adaptive = ClientAdaptiveClip{.quantile = 1};
  expect_invalid(check_client_sum(options).error(), "quantile");
  options = {.clip = ClipNorm::of(1e9), .denominator = 5};
  expect_invalid(check_client_sum(options).error(), "clip norm");
  options = {.clip = ClipNorm::of(1.0), .denominator = 0};
  expect_invalid(check_client_sum(options).error(), "denominator");
}

}  // namespace
}  // namespace noisefloor::federated
