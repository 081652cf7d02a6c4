#include "noisefloor/random/subset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::kAlpha;
using testing::p_value_of_sampler;

SamplingRate rate(double q) { return SamplingRate::make(q).value(); }

// All 20 subsets of 3 of 6. Detects a subset off by 5 %. Mutant: three draws with replacement.
TEST(UniformSubset, EverySubsetIsEquallyLikely) {
  ReplayRandom stream = ReplayRandom::create(1).value();
  const auto code = [](const std::vector<std::uint64_t>& subset) {
    std::int64_t mask = 0;
    for (std::uint64_t i : subset) mask |= std::int64_t{1} << i;
    return mask;
  };
  const auto exact = [](std::int64_t mask) {
    return __builtin_popcountll(static_cast<unsigned long long>(mask)) == 3 ? 0.05 : 0;
  };
  EXPECT_GT(p_value_of_sampler(
                400'000, [&] { return code(uniform_subset(stream, 3, 6).value()); }, 0, 63, exact),
            kAlpha);
  EXPECT_LT(p_value_of_sampler(
                400'000,
                [&] {
                  return code({stream.next_u64() % 6, stream.next_u64() % 6, stream.next_u64() % 6});
                },
                0, 63, exact),
            kAlpha);
}

TEST(UniformSubset, IsSortedDistinctAndOfTheRightSize) {
  ReplayRandom stream = ReplayRandom::create(2).value();
  for (std::uint64_t size : {0ULL, 1ULL, 10ULL, 999ULL, 1000ULL}) {
    const auto subset = uniform_subset(stream, size, 1000).value();
    EXPECT_EQ(subset.size(), size);
    EXPECT_TRUE(std::is_sorted(subset.begin(), subset.end()));
    EXPECT_EQ(std::adjacent_find(subset.begin(), subset.end()), subset.end());
    if (!subset.empty()) {
      EXPECT_LT(subset.back(), 1000U);
    }
  }
  EXPECT_EQ(uniform_subset(stream, 5, 4).error().message, "a subset of 5 does not fit in a population of 4");
}

// The first chosen index is geometric: 40 bins of the exact law. Detects a rate off by 3 %, on both sides of the rate
// where the method changes (1/16), and far below.
TEST(PoissonSubsampler, GapsAreGeometric) {
  for (double q : {0.5, 0.07, 0.06, 1e-3, 1e-6}) {
    const auto p_value_against = [&](double claimed) {
      ReplayRandom stream = ReplayRandom::create(3).value();
      const PoissonSubsampler sampler(rate(q));
      const auto population = static_cast<std::uint64_t>(4 / q);
      const double bin = std::max(1.0, std::floor(0.1 / q));
      const auto survive = [&](double k) { return std::exp(std::log1p(-claimed) * k); };
      return p_value_of_sampler(
          150'000,
          [&] {
            const auto chosen = sampler.sample(stream, population);
            const double first = chosen.empty() ? static_cast<double>(population) : static_cast<double>(chosen.front());
            return static_cast<std::int64_t>(first / bin);
          },
          0, static_cast<std::int64_t>(3 / q / bin),
          [&](std::int64_t i) {
            const auto k = static_cast<double>(i);
            return survive(k * bin) - survive((k + 1) * bin);
          });
    };
    EXPECT_GT(p_value_against(q), kAlpha) << q;
    EXPECT_LT(p_value_against(q * 1.03), kAlpha) << q;
  }
}

// Every index is chosen at the same rate, also at the seams of stretches (1024) and of tables (1024²); pairs are
// independent.
TEST(PoissonSubsampler, EveryIndexHasTheSameChance) {
  const double q = 0.01;
  const PoissonSubsampler sampler(rate(q));
  ReplayRandom stream = ReplayRandom::create(4).value();
  std::vector<std::uint64_t> hits(3000);
  std::uint64_t adjacent = 0;
  constexpr std::uint64_t runs = 40'000;
  for (std::uint64_t run = 0; run < runs; ++run) {
    std::uint64_t last = hits.size() + 1;
    for (std::uint64_t i : sampler.sample(stream, hits.size())) {
      ++hits[i];
      if (i == last + 1) ++adjacent;
      last = i;
    }
  }
  for (std::size_t i = 0; i < hits.size(); ++i) {
    ASSERT_GT(testing::coin_p_value(hits[i], runs, q), kAlpha / static_cast<double>(hits.size())) << i;
  }
  EXPECT_GT(testing::coin_p_value(adjacent, runs * (hits.size() - 1), q * q), kAlpha);
  EXPECT_LT(testing::coin_p_value(adjacent, runs * (hits.size() - 1), q * q * 1.08),
            kAlpha);  // the mutant: neighbours that attract each other
}

TEST(PoissonSubsampler, DrawsForTheChosenAndNotForTheRows) {
  ReplayRandom stream = ReplayRandom::create(5).value();
  const PoissonSubsampler sampler(rate(1e-7));
  // 10^12 rows: a draw a row would take hours.
  const auto chosen = sampler.sample(stream, 1'000'000'000'000ULL);
  EXPECT_NEAR(static_cast<double>(chosen.size()), 1e5, 5 * std::sqrt(1e5));
}

TEST(PoissonSubsampler, Extremes) {
  ReplayRandom stream = ReplayRandom::create(6).value();
  EXPECT_EQ(PoissonSubsampler(rate(1)).sample(stream, 100).size(), 100U);
  EXPECT_TRUE(PoissonSubsampler(rate(0.3)).sample(stream, 0).empty());
  EXPECT_TRUE(PoissonSubsampler(rate(0.01)).sample(stream, 0).empty());
  EXPECT_TRUE(PoissonSubsampler(rate(5e-324)).sample(stream, 1'000'000'000'000ULL).empty());
}

}  // namespace
}  // namespace noisefloor
