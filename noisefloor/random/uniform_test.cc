#include "noisefloor/random/uniform.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::kAlpha;
using testing::p_value_of_sampler;

// Detects a bias of 1 % towards any value. Mutant: taking a word modulo a bound near 2^63, which favours the low half.
TEST(Uniform, IsUniformForSmallAndAwkwardBounds) {
  ReplayRandom stream = ReplayRandom::create(1).value();
  for (std::uint64_t bound : {1ULL, 2ULL, 3ULL, 6ULL, 10ULL, 1000ULL}) {
    const auto last = static_cast<std::int64_t>(bound) - 1;
    const double p = 1 / static_cast<double>(bound);
    EXPECT_GT(p_value_of_sampler(
                  300'000, [&] { return static_cast<std::int64_t>(uniform_below(stream, bound)); }, 0, last,
                  [&](std::int64_t) { return p; }),
              kAlpha)
        << bound;
  }
  const std::uint64_t awkward = (1ULL << 63) + (1ULL << 62);  // a third of all words must be rejected or redistributed
  const auto third = [&](std::uint64_t x) { return static_cast<std::int64_t>(x / (1ULL << 62)); };
  const auto uniform = [](std::int64_t) { return 1.0 / 3; };
  EXPECT_GT(p_value_of_sampler(
                300'000, [&] { return third(uniform_below(stream, awkward)); }, 0, 2, uniform),
            kAlpha);
  EXPECT_LT(p_value_of_sampler(
                300'000, [&] { return third(stream.next_u64() % awkward); }, 0, 2, uniform),
            kAlpha);
}

TEST(Uniform, WideIntegersAreUniformToo) {
  ReplayRandom stream = ReplayRandom::create(2).value();
  const auto uniform = [](std::int64_t) { return 1.0 / 5; };
  const Uint128 part = Uint128{1} << 100;
  EXPECT_GT(
      p_value_of_sampler(
          100'000, [&] { return static_cast<std::int64_t>(uniform_below_wide<Uint128>(stream, part * 5) / part); }, 0,
          4, uniform),
      kAlpha);
  using Big = boost::multiprecision::uint512_t;
  const Big big_part = Big(1) << 400;
  EXPECT_GT(
      p_value_of_sampler(
          100'000,
          [&] { return static_cast<std::int64_t>(Big(uniform_below_wide<Big>(stream, big_part * 5) / big_part)); }, 0,
          4, uniform),
      kAlpha);
  EXPECT_TRUE(uniform_below_wide<Uint128>(stream, 1) == 0);
}

}  // namespace
}  // namespace noisefloor
