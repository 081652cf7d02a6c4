#include "noisefloor/query/error_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "noisefloor/random/discrete_gaussian.h"
#include "noisefloor/random/discrete_laplace.h"
#include "tests/support/statistics.h"

namespace noisefloor::query {
namespace {

using noisefloor::testing::coin_p_value;
using noisefloor::testing::kAlpha;

TEST(ErrorLaw, SingleNoisesHaveTheirClosedForms) {
  EXPECT_NEAR(half_width({4, {}, 0}, Confidence::of(0.95)), 2 * 1.959963984540054, 1e-9);
  EXPECT_NEAR(half_width({0, {{3, 1}}, 0.5}, Confidence::of(0.95)), 3 * std::log(20) + 0.5, 1e-9);
  EXPECT_EQ(half_width({}, Confidence::of(0.95)), 0);
}

// The sum of two Laplace variables of scale b has P(|S| > x) = e^{-x/b} (1 + x/2b).
TEST(ErrorLaw, TwoLaplacePartsHaveTheirClosedForm) {
  for (double x : {0.1, 1.0, 3.0, 8.0, 15.0}) {
    const double expected = 1 - std::exp(-x / 2) * (1 + x / 4);
    EXPECT_NEAR(probability_within({0, {{2, 2}}, 0}, x), expected, 1e-6) << x;
  }
}

// Laplace parts of two scales: P(|S| > x) = (a² e^{-x/a} − b² e^{-x/b})/(a² − b²).
TEST(ErrorLaw, UnequalScalesHaveTheirClosedForm) {
  for (double b : {0.9, 0.4, 0.2}) {
    for (double x : {0.5, 1.0, 4.0}) {
      const double expected = 1 - (std::exp(-x) - b * b * std::exp(-x / b)) / (1 - b * b);
      EXPECT_NEAR(probability_within({0, {{b, 1}, {1, 1}}, 0}, x), expected, 2e-6) << b << ' ' << x;
    }
  }
}

// Sums of what is really drawn are within the half width at its rate. Mutants: one noise fewer, and variances that add
// up as deviations do.
TEST(ErrorLaw, SumsOfDrawnNoiseAreCoveredAtTheirRate) {
  const DiscreteLaplace laplace = DiscreteLaplace::create(NoiseScale::of(40)).value();
  const DiscreteGaussian gaussian = DiscreteGaussian::create(NoiseScale::of(60)).value();
  const ErrorLaw one{0, {{40, 1}}, 0};
  const ErrorLaw law = sum_of(repeated(one, 3), {3600, {}, 0});
  const Confidence confidence = Confidence::of(0.9);
  const double half = half_width(law, confidence);
  const double fewer = half_width(sum_of(repeated(one, 2), {3600, {}, 0}), confidence);
  const double wider = 3 * half_width(one, confidence) + 60 * 1.645;
  ReplayRandom random = ReplayRandom::create(11).value();
  constexpr std::uint64_t draws = 200'000;
  std::uint64_t inside = 0;
  std::uint64_t inside_fewer = 0;
  std::uint64_t inside_wider = 0;
  for (std::uint64_t i = 0; i < draws; ++i) {
    double sum = static_cast<double>(gaussian.sample(random));
    for (int part = 0; part < 3; ++part) sum += static_cast<double>(laplace.sample(random));
    inside += std::fabs(sum) <= half ? 1 : 0;
    inside_fewer += std::fabs(sum) <= fewer ? 1 : 0;
    inside_wider += std::fabs(sum) <= wider ? 1 : 0;
  }
  EXPECT_GT(coin_p_value(inside, draws, 0.9), kAlpha);
  EXPECT_LT(coin_p_value(inside_fewer, draws, 0.9), kAlpha);
  EXPECT_LT(coin_p_value(inside_wider, draws, 0.9), kAlpha);
}

TEST(ErrorLaw, ScalingAndRepeatingChangeTheVarianceAsTheyShould) {
  const ErrorLaw law{2, {{1, 1}, {3, 2}}, 0.5};
  EXPECT_DOUBLE_EQ(variance_of(law), 2 + 2 + 36);
  EXPECT_DOUBLE_EQ(variance_of(repeated(law, 5)), 200);
  EXPECT_DOUBLE_EQ(variance_of(scaled(law, -2)), 160);
  EXPECT_DOUBLE_EQ(scaled(law, -2).rounding, 1);
  EXPECT_EQ(sum_of(law, law), repeated(law, 2));
}

}  // namespace
}  // namespace noisefloor::query
