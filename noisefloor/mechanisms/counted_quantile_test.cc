// Frequencies are compared with exact probabilities at α = testing::kAlpha = 1e-6, from replayed streams.
#include "noisefloor/mechanisms/counted_quantile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::kAlpha;
using Values = std::vector<CountedValue>;

CountedQuantile mechanism(const QuantileTerms& terms, double epsilon) {
  return CountedQuantile::create(terms, Epsilon::make(epsilon).value()).value();
}

// exp(−ε distance / 2Δ), by the definition: over all values, one by one.
std::vector<double> law(const Values& values, std::int64_t lower, std::int64_t upper, double level, double scale) {
  double count = 0;
  for (const CountedValue& one : values) count += static_cast<double>(one.times);
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t x = lower; x <= upper; ++x) {
    double below = 0;
    double at_most = 0;
    for (const CountedValue& one : values) {
      const std::int64_t clamped = std::clamp(one.value, lower, upper);
      if (clamped < x) below += static_cast<double>(one.times);
      if (clamped <= x) at_most += static_cast<double>(one.times);
    }
    const double distance = std::max({0.0, below - level * count, level * count - at_most});
    weights.push_back(std::exp(-distance / scale));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

// Detects a scale off by 10 %, a level off by 0.05, and ranks that leave out values equal to the candidate.
TEST(CountedQuantile, EveryCandidateHasItsExactProbability) {
  const Values values = {{3, 4}, {9, 1}, {5, 2}, {-7, 1}, {30, 2}};
  for (Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    for (double level : {0.0, 0.25, 0.5, 1.0}) {
      const QuantileTerms terms{level, 0, 20, Rows::of(2), adjacency};
      const CountedQuantile quantile = mechanism(terms, 1.5);
      const double change = adjacency == Adjacency::kReplaceOne ? 1 : std::max(level, 1 - level);
      EXPECT_DOUBLE_EQ(quantile.sensitivity(), 2 * change);
      const double range = adjacency == Adjacency::kAddRemove && (level == 0 || level == 1) ? 1 : 2;
      const double scale = range * 2 * change / 1.5;
      ReplayRandom random = ReplayRandom::create(7).value();
      std::map<std::int64_t, std::uint64_t> counts;
      constexpr std::uint64_t draws = 300'000;
      for (std::uint64_t i = 0; i < draws; ++i) ++counts[quantile.choose(values, random)];
      const auto p_value = [&](double claimed_level, double claimed_scale) {
        const std::vector<double> p = law(values, 0, 20, claimed_level, claimed_scale);
        return testing::chi_square_p_value(counts, draws, 0, 20,
                                           [&](std::int64_t x) { return p[static_cast<std::size_t>(x)]; });
      };
      EXPECT_GT(p_value(level, scale), kAlpha) << level;
      EXPECT_LT(p_value(level, scale * 1.1), kAlpha) << level;
      EXPECT_LT(p_value(level, scale / 1.1), kAlpha) << level;
      EXPECT_LT(p_value(level < 0.5 ? level + 0.05 : level - 0.05, scale), kAlpha) << level;
    }
  }
}

// One unit's rows are added, or exchanged, in every way: the probabilities of no candidate change by more than e^ε.
// Mutants: with the sensitivity of the other relation, or of fewer rows, some do.
TEST(CountedQuantile, NeighboursAreWithinEpsilonAndSomeComeNear) {
  constexpr std::int64_t upper = 4;
  std::vector<Values> parts = {{}};  // what a unit of up to two rows may give
  for (std::int64_t a = 0; a <= upper; ++a) {
    parts.push_back({{a, 1}});
    for (std::int64_t b = a; b <= upper; ++b) parts.push_back({{a, 1}, {b, 1}});
  }
  const Values others = {{1, 2}, {3, 1}};
  for (double level : {0.0, 0.3, 0.5, 0.95, 1.0}) {
    const auto worst = [&](Adjacency adjacency, double sensitivity) {
      double largest = 0;
      for (const Values& one : parts) {
        for (const Values& other : parts) {
          if (adjacency == Adjacency::kAddRemove && !other.empty()) continue;
          Values with = others;
          Values without = others;
          with.insert(with.end(), one.begin(), one.end());
          without.insert(without.end(), other.begin(), other.end());
          const double range = adjacency == Adjacency::kAddRemove && (level == 0 || level == 1) ? 1 : 2;
          const std::vector<double> p = law(with, 0, upper, level, range * sensitivity);  // ε = 1
          const std::vector<double> q = law(without, 0, upper, level, range * sensitivity);
          for (std::size_t i = 0; i < p.size(); ++i) largest = std::max(largest, std::fabs(std::log(p[i] / q[i])));
        }
      }
      return largest;
    };
    for (Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
      const double stated = mechanism({level, 0, upper, Rows::of(2), adjacency}, 1).sensitivity();
      EXPECT_LE(worst(adjacency, stated), 1 + 1e-12) << level;
      EXPECT_GE(worst(adjacency, stated), 0.44) << level;
      EXPECT_GT(worst(adjacency, stated / 2.5), 1) << level;
    }
  }
}

TEST(CountedQuantile, EqualValuesAreFound) {
  const CountedQuantile median = mechanism({0.5, 0, 120, Rows::of(1), Adjacency::kAddRemove}, 1);
  ReplayRandom random = ReplayRandom::create(1).value();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(median.choose(Values{{40, 1000}}, random), 40);
}

// The rank error is within the bound at its rate, and the bound is no wild guess.
TEST(CountedQuantile, RankErrorsAreWithinTheirBound) {
  Values values;
  for (std::int64_t x = 0; x < 1000; ++x) values.push_back({x * 1000, 1});
  const CountedQuantile quantile = mechanism({0.9, 0, 1'000'000, Rows::of(1), Adjacency::kAddRemove}, 0.5);
  ReplayRandom random = ReplayRandom::create(3).value();
  const double bound = quantile.rank_error_bound(Confidence::of(0.95));
  EXPECT_LT(bound, 65);
  int outside = 0;
  for (int i = 0; i < 2000; ++i) {
    const double rank = static_cast<double>(quantile.choose(values, random)) / 1000;
    outside += std::fabs(rank - 900) > bound + 1 ? 1 : 0;
  }
  EXPECT_LE(outside, 100);
}

TEST(CountedQuantile, WideBoundsHaveCellsOfEqualWidth) {
  constexpr std::int64_t far = std::int64_t{1} << 60;
  const CountedQuantile median = mechanism({0.5, -far, far, Rows::of(1), Adjacency::kAddRemove}, 1);
  ReplayRandom random = ReplayRandom::create(1).value();
  const double cell = 0x1p61 / 0x1p23;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t found = median.choose(Values{{12345, 1000}}, random);
    EXPECT_LE(std::fabs(static_cast<double>(found) - 12345), 2 * cell);
  }
  // No values, one point, and values beyond all bounds.
  const CountedQuantile point = mechanism({0.5, 5, 5, Rows::of(1), Adjacency::kAddRemove}, 1);
  EXPECT_EQ(point.choose(Values{}, random), 5);
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(point.choose(Values{{lowest, 3}, {std::numeric_limits<std::int64_t>::max(), 4}}, random), 5);
}

TEST(CountedQuantile, RefusesLevelsBoundsAndRowsOutOfRange) {
  const auto refused = [](const QuantileTerms& terms, double epsilon) {
    return !CountedQuantile::create(terms, Epsilon::make(epsilon).value()).has_value();
  };
  EXPECT_TRUE(refused({-0.1, 0, 1, Rows::of(1)}, 1));
  EXPECT_TRUE(refused({std::nan(""), 0, 1, Rows::of(1)}, 1));
  EXPECT_TRUE(refused({0.5, 1, 0, Rows::of(1)}, 1));
  EXPECT_TRUE(refused({0.5, std::numeric_limits<std::int64_t>::min(), 0, Rows::of(1)}, 1));
  EXPECT_TRUE(refused({0.5, 0, 1, Rows::of(std::uint64_t{1} << 33)}, 1));
  EXPECT_TRUE(refused({0.5, 0, 1, Rows::of(1)}, 1e-12));
  EXPECT_FALSE(refused({0.5, 0, 1, Rows::of(std::uint64_t{1} << 32)}, 0x1p-30));
  EXPECT_FALSE(refused({0.5, 0, 1, Rows::of(1)}, 1e9));
}

}  // namespace
}  // namespace noisefloor
