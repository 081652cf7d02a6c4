#include "noisefloor/random/skellam.h"

#include <gtest/gtest.h>

#include <boost/math/special_functions/bessel.hpp>
#include <cmath>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::kAlpha;
using testing::p_value_of_sampler;

double p_value(double variance, double claimed, std::uint64_t draws) {
  ReplayRandom stream = ReplayRandom::create(1).value();
  const Skellam law = Skellam::create(NoiseVariance::make(variance).value()).value();
  const auto reach = static_cast<std::int64_t>(8 * std::sqrt(claimed) + 8);
  return p_value_of_sampler(
      draws, [&] { return law.sample(stream); }, -reach, reach,
      [&](std::int64_t x) {
        return std::exp(-claimed) * boost::math::cyl_bessel_i(static_cast<double>(std::abs(x)), claimed);
      });
}

// Detects a variance off by 5 %. The exact law comes from Boost's Bessel function, which the sampler does not use.
TEST(Skellam, HasTheExactLaw) {
  for (double variance : {0.1, 1.0, 7.3, 100.0, 600.0}) {
    EXPECT_GT(p_value(variance, variance, 400'000), kAlpha) << variance;
    EXPECT_LT(p_value(variance, variance * 1.05, 400'000), kAlpha) << variance;
    EXPECT_LT(p_value(variance, variance / 1.05, 400'000), kAlpha) << variance;
  }
}

// Large variances, where the noise is a sum of parts: the law is normal to 1e-4 there. Detects a variance off by 5 %,
// as when one part too many or too few is added.
TEST(Skellam, LargeVarianceIsTheSumOfItsParts) {
  const double variance = 0x1p25;
  const Skellam law = Skellam::create(NoiseVariance::of(0x1p25)).value();
  const auto p_value_against = [&](double claimed) {
    ReplayRandom stream = ReplayRandom::create(2).value();
    return p_value_of_sampler(
        50'000,
        [&] {
          return static_cast<std::int64_t>(std::erfc(static_cast<double>(law.sample(stream)) / std::sqrt(2 * claimed)) *
                                           20);
        },
        0, 39, [](std::int64_t) { return 1.0 / 40; });
  };
  EXPECT_GT(p_value_against(variance), kAlpha);
  EXPECT_LT(p_value_against(variance * 9 / 8), kAlpha);
  EXPECT_LT(p_value_against(variance * 7 / 8), kAlpha);
}

TEST(Skellam, RefusesVariancesItCannotSample) {
  EXPECT_FALSE(Skellam::create(NoiseVariance::of(0x1p-11)).has_value());
  EXPECT_FALSE(Skellam::create(NoiseVariance::of(0x1p31)).has_value());
}

}  // namespace
}  // namespace noisefloor
