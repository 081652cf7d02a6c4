#include "noisefloor/random/bernoulli_exp.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::coin_p_value;
using testing::kAlpha;

constexpr std::uint64_t kDraws = 400'000;

template <class UInt>
double p_value(BitStream& stream, UInt numerator, UInt denominator, double claimed_gamma) {
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) hits += bernoulli_exp<UInt>(stream, numerator, denominator) ? 1U : 0U;
  return coin_p_value(hits, kDraws, std::exp(-claimed_gamma));
}

// Detects γ off by 2 % where exp(−γ) is neither 0 nor 1.
TEST(BernoulliExp, HasTheExactProbabilityOnBothSidesOfOne) {
  ReplayRandom stream = ReplayRandom::create(1).value();
  for (double gamma : {0.125, 0.5, 1.0, 1.75, 2.0, 3.25}) {
    const auto numerator = static_cast<std::uint64_t>(gamma * 8);
    EXPECT_GT(p_value<std::uint64_t>(stream, numerator, 8, gamma), kAlpha) << gamma;
    EXPECT_GT(p_value<Uint128>(stream, Uint128{numerator} << 90, Uint128{8} << 90, gamma), kAlpha) << gamma;
    if (gamma >= 0.5) {
      EXPECT_LT(p_value<std::uint64_t>(stream, numerator, 8, gamma * 1.02), kAlpha) << gamma;
    }
  }
  using Big = boost::multiprecision::uint512_t;
  EXPECT_GT(p_value<Big>(stream, Big(3) << 300, Big(2) << 300, 1.5), kAlpha);
}

TEST(BernoulliExp, EndsAreCertain) {
  ReplayRandom stream = ReplayRandom::create(2).value();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(bernoulli_exp<std::uint64_t>(stream, 0, 7));
    EXPECT_FALSE(bernoulli_exp<Uint128>(stream, Uint128{1} << 120, 1));  // exp(−10^36), and it returns at once
  }
}

}  // namespace
}  // namespace noisefloor
