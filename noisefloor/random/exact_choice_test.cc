#include "noisefloor/random/exact_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::kAlpha;

const std::vector<ExpWeight> kOptions = {{1, 0}, {3, 5}, {1, 10}, {1000, 60}, {1, Uint128{1} << 120}, {7, 20}};
constexpr Uint128 kDenominator = 10;

double p_value(double margin, double claimed_factor, std::uint64_t draws) {
  std::vector<double> p;
  double sum = 0;
  for (const ExpWeight& option : kOptions) {
    p.push_back(static_cast<double>(option.multiplicity) *
                std::exp(-static_cast<double>(option.numerator) / 10 * claimed_factor));
    sum += p.back();
  }
  ReplayRandom stream = ReplayRandom::create(1).value();
  return testing::p_value_of_sampler(
      draws, [&] { return static_cast<std::int64_t>(exact_choice(stream, kOptions, kDenominator, margin)); }, 0,
      static_cast<std::int64_t>(p.size()) - 1, [&](std::int64_t i) { return p[static_cast<std::size_t>(i)] / sum; });
}

// Detects exponents off by 2 %.
TEST(ExactChoice, HasTheExactLaw) {
  EXPECT_GT(p_value(0x1p-36, 1, 500'000), kAlpha);
  EXPECT_LT(p_value(0x1p-36, 1.02, 500'000), kAlpha);
}

// The decision with 320 bits, taken for every draw. Detects exponents off by 10 %.
TEST(ExactChoice, TheWideDecisionHasTheExactLawToo) {
  EXPECT_GT(p_value(2, 1, 30'000), kAlpha);
  EXPECT_LT(p_value(2, 1.1, 30'000), kAlpha);
}

TEST(ExactChoice, OneOptionIsCertain) {
  ReplayRandom stream = ReplayRandom::create(2).value();
  const std::vector<ExpWeight> one = {{5, 0}};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(exact_choice(stream, one, 1), 0U);
}

}  // namespace
}  // namespace noisefloor
