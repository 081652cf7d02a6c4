#include "noisefloor/random/discrete_laplace.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::kAlpha;
using testing::p_value_of_sampler;

double pmf(double scale, std::int64_t x) {
  const double r = std::exp(-1 / scale);
  return (1 - r) / (1 + r) * std::pow(r, std::fabs(static_cast<double>(x)));
}

double p_value(double scale, double claimed_scale, std::uint64_t draws) {
  ReplayRandom stream = ReplayRandom::create(1).value();
  const DiscreteLaplace law = DiscreteLaplace::create(NoiseScale::make(scale).value()).value();
  const auto reach = static_cast<std::int64_t>(40 * claimed_scale + 10);
  return p_value_of_sampler(
      draws, [&] { return law.sample(stream); }, -reach, reach, [&](std::int64_t x) { return pmf(claimed_scale, x); });
}

// Detects a scale off by 3 % either way, at whole, fractional and small scales.
TEST(DiscreteLaplace, HasTheExactLaw) {
  for (double scale : {0.3, 1.0, 2.0, 2.5, 10.0 / 3.0, 40.0}) {
    EXPECT_GT(p_value(scale, scale, 400'000), kAlpha) << scale;
    EXPECT_LT(p_value(scale, scale * 1.03, 400'000), kAlpha) << scale;
    EXPECT_LT(p_value(scale, scale / 1.03, 400'000), kAlpha) << scale;
  }
}

// Large scales, as mechanisms use them: 64 bins of equal probability on each side. Detects a scale off by 3 %.
TEST(DiscreteLaplace, HasTheExactLawAtLargeScales) {
  const double scale = 0x1p40 + 12345;
  const auto p_value_against = [&](double claimed) {
    ReplayRandom stream = ReplayRandom::create(2).value();
    const DiscreteLaplace law = DiscreteLaplace::create(NoiseScale::make(scale).value()).value();
    return p_value_of_sampler(
        400'000,
        [&] {
          const auto x = static_cast<double>(law.sample(stream));
          const double u = std::exp(-std::fabs(x) / claimed);  // uniform on (0, 1] under the claimed law
          const auto bin = static_cast<std::int64_t>(u * 63.999);
          return x < 0 ? -bin - 1 : bin;
        },
        -64, 63, [](std::int64_t) { return 1.0 / 128; });
  };
  EXPECT_GT(p_value_against(scale), kAlpha);
  EXPECT_LT(p_value_against(scale * 1.03), kAlpha);
}

TEST(DiscreteLaplace, MagnitudeQuantileIsTheSmallestThatCovers) {
  for (double scale : {0.4, 1.0, 2.0, 7.5, 1000.0}) {
    const DiscreteLaplace law = DiscreteLaplace::create(NoiseScale::make(scale).value()).value();
    const double r = std::exp(-1 / scale);
    for (double level : {0.5, 0.9, 0.95, 0.999}) {
      const auto m = static_cast<double>(law.quantile_of_magnitude(Confidence::make(level).value()));
      EXPECT_LE(2 * std::pow(r, m + 1) / (1 + r), (1 - level) * (1 + 1e-9));
      if (m > 0) {
        EXPECT_GT(2 * std::pow(r, m) / (1 + r), (1 - level) * (1 - 1e-9));
      }
    }
  }
}

TEST(DiscreteLaplace, RefusesScalesItCannotSample) {
  EXPECT_FALSE(DiscreteLaplace::create(NoiseScale::of(0x1p-11)).has_value());
  EXPECT_FALSE(DiscreteLaplace::create(NoiseScale::of(0x1p57)).has_value());
  EXPECT_TRUE(DiscreteLaplace::create(NoiseScale::of(0x1p-10)).has_value());
  EXPECT_TRUE(DiscreteLaplace::create(NoiseScale::of(0x1p56)).has_value());
}

}  // namespace
}  // namespace noisefloor
