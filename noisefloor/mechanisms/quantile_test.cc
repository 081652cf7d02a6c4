// Frequencies are compared with exact probabilities at α = testing::kAlpha = 1e-6, from replayed streams.
#include "noisefloor/mechanisms/quantile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/refusal.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;
using testing::kAlpha;
using Values = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Neighbours kAddRemove{Adjacency::kAddRemove, PrivacyUnit::kRow, Rows::of(1)};
constexpr Neighbours kReplaceOne{Adjacency::kReplaceOne, PrivacyUnit::kRow, Rows::of(1)};

Bounds bounds(double lower, double upper) { return Bounds::make(lower, upper).value(); }

QuantileMechanism mechanism(Neighbours neighbours, Bounds range, double level, double epsilon) {
  return QuantileMechanism::create(neighbours, range, level, Epsilon::make(epsilon).value()).value();
}

// The scale of the scores that the guarantee asks for: two sensitivities over ε.
double right_scale(Neighbours neighbours, double level, double epsilon) {
  const double change = neighbours.adjacency == Adjacency::kReplaceOne ? 1 : std::max(level, 1 - level);
  return 2 * change * static_cast<double>(neighbours.rows_per_unit.value()) / epsilon;
}

// --- The exact law ---------------------------------------------------------------------------------------------------

// Values within [lower, upper]. The density is the same all over the interval between two neighbouring values; the grid
// is too fine to be seen.
struct Law {
  Values edges;                 // lower, the values in order, upper
  std::vector<double> weights;  // of the intervals, by rank; they add up to 1
  std::vector<double> densities;

  Law(Values values, double lower, double upper, double level, double scale) : edges(std::move(values)) {
    const double wanted = level * static_cast<double>(edges.size());
    edges.push_back(lower);
    edges.push_back(upper);
    std::sort(edges.begin(), edges.end());
    double sum = 0;
    for (std::size_t rank = 0; rank + 1 < edges.size(); ++rank) {
      densities.push_back(std::exp(-std::fabs(static_cast<double>(rank) - wanted) / scale));
      weights.push_back((edges[rank + 1] - edges[rank]) * densities.back());
      sum += weights.back();
    }
    for (double& weight : weights) weight /= sum;
    for (double& density : densities) density /= sum;
  }

  [[nodiscard]] std::size_t rank_of(double x) const {
    const auto above = std::lower_bound(edges.begin() + 1, edges.end() - 1, x);
    return static_cast<std::size_t>(above - (edges.begin() + 1));
  }
  [[nodiscard]] double density(double x) const { return densities[rank_of(x)]; }
};

// Each interval is cut in 4, so that a density which is not level inside shows as well.
constexpr std::int64_t kParts = 4;

std::vector<double> draw(const QuantileMechanism& quantile, const Values& values, std::uint64_t draws,
                         std::uint64_t seed = 1) {
  ReplayRandom source = ReplayRandom::create(seed).value();
  std::vector<double> drawn;
  drawn.reserve(draws);
  for (std::uint64_t i = 0; i < draws; ++i) drawn.push_back(quantile.release(values, source).value().value());
  return drawn;
}

double p_value(const std::vector<double>& drawn, const Law& law) {
  std::map<std::int64_t, std::uint64_t> counts;
  for (double x : drawn) {
    const std::size_t rank = law.rank_of(x);
    const double place = (x - law.edges[rank]) / (law.edges[rank + 1] - law.edges[rank]);
    const auto part = std::clamp(static_cast<std::int64_t>(place * kParts), std::int64_t{0}, kParts - 1);
    ++counts[static_cast<std::int64_t>(rank) * kParts + part];
  }
  return testing::chi_square_p_value(
      counts, drawn.size(), 0, static_cast<std::int64_t>(law.weights.size()) * kParts - 1,
      [&](std::int64_t cell) { return law.weights[static_cast<std::size_t>(cell / kParts)] / kParts; });
}

// Detects a scale off by 10 %, the sensitivity of the other neighbouring relation, a level off by 0.05, and the wanted
// rank (n − 1) · level.
TEST(Quantile, IntervalsBetweenValuesHaveTheirExactProbability) {
  const Values values = {8, 3, 5, 5.5, 3.75, 9};
  for (Neighbours neighbours : {kAddRemove, kReplaceOne}) {
    for (double level : {0.0, 0.25, 0.5, 0.9, 1.0}) {
      const double epsilon = 2.5;
      const std::vector<double> drawn = draw(mechanism(neighbours, bounds(0, 10), level, epsilon), values, 200'000);
      const auto against = [&](double claimed_level, double scale) {
        return p_value(drawn, Law(values, 0, 10, claimed_level, scale));
      };
      const double scale = right_scale(neighbours, level, epsilon);
      EXPECT_GT(against(level, scale), kAlpha) << level;
      EXPECT_LT(against(level, scale * 1.1), kAlpha) << level;
      EXPECT_LT(against(level, scale / 1.1), kAlpha) << level;
      EXPECT_LT(against(level < 0.5 ? level + 0.05 : level - 0.05, scale), kAlpha) << level;
      if (level > 0) {
        EXPECT_LT(against(level * 5 / 6, scale), kAlpha) << level;
      }
      if (level > 0 && level < 1) {
        const Neighbours other = neighbours.adjacency == Adjacency::kAddRemove ? kReplaceOne : kAddRemove;
        EXPECT_LT(against(level, right_scale(other, level, epsilon)), kAlpha) << level;
      }
    }
  }
}

// Detects rows per person that do not count.
TEST(Quantile, APersonWithSeveralRowsGetsAsManyTimesTheNoise) {
  const Values values = {8, 3, 5, 5.5, 3.75, 9};
  for (Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const Neighbours persons{adjacency, PrivacyUnit::kPerson, Rows::of(3)};
    const std::vector<double> drawn = draw(mechanism(persons, bounds(0, 10), 0.5, 4), values, 200'000);
    const double scale = right_scale(persons, 0.5, 4);
    EXPECT_GT(p_value(drawn, Law(values, 0, 10, 0.5, scale)), kAlpha);
    EXPECT_LT(p_value(drawn, Law(values, 0, 10, 0.5, scale / 3)), kAlpha);
    EXPECT_LT(p_value(drawn, Law(values, 0, 10, 0.5, scale / 1.1)), kAlpha);
  }
}

// Detects duplicates that count once.
TEST(Quantile, DuplicatesCountEachTime) {
  const std::vector<double> drawn =
      draw(mechanism(kAddRemove, bounds(0, 10), 0.5, 1), {6, 2, 6, 6, 2, 6, 6, 6}, 200'000);
  EXPECT_GT(p_value(drawn, Law({2, 2, 6, 6, 6, 6, 6, 6}, 0, 10, 0.5, 1)), kAlpha);
  EXPECT_LT(p_value(drawn, Law({2, 6}, 0, 10, 0.5, 1)), kAlpha);
}

// Detects values outside the bounds that are dropped, and NaN that is anything but the place in the bounds nearest to
// 0.
TEST(Quantile, ValuesOutsideTheBoundsAreMovedToThem) {
  const Values values = {-50, kInfinity, 4, kNan, 11, -kInfinity, 1e300};
  const auto against = [&](double lower, double upper, const Values& moved) {
    const std::vector<double> drawn = draw(mechanism(kAddRemove, bounds(lower, upper), 0.5, 1), values, 200'000);
    return p_value(drawn, Law(moved, lower, upper, 0.5, 1));
  };
  EXPECT_GT(against(0, 10, {0, 10, 4, 0, 10, 0, 10}), kAlpha);
  EXPECT_GT(against(2, 10, {2, 10, 4, 2, 10, 2, 10}), kAlpha);
  EXPECT_GT(against(-9, 10, {-9, 10, 4, 0, 10, -9, 10}), kAlpha);
  EXPECT_GT(against(-9, -1, {-9, -1, -1, -1, -1, -9, -1}), kAlpha);
  EXPECT_LT(against(0, 10, {0, 4}), kAlpha);                     // those outside dropped
  EXPECT_LT(against(0, 10, {0, 10, 4, 10, 0, 10}), kAlpha);      // NaN dropped
  EXPECT_LT(against(0, 10, {0, 10, 4, 10, 10, 0, 10}), kAlpha);  // NaN at the top
}

// Without values every candidate is alike, under either relation. Detects a density that leans by 5 %.
TEST(Quantile, NoValuesGiveAUniformResult) {
  for (Neighbours neighbours : {kAddRemove, kReplaceOne}) {
    for (double level : {0.0, 0.5, 1.0}) {
      const std::vector<double> drawn = draw(mechanism(neighbours, bounds(-3, 7), level, 1), {}, 50'000);
      EXPECT_GT(p_value(drawn, Law({}, -3, 7, level, 1)), kAlpha);
      const auto left =
          static_cast<std::uint64_t>(std::count_if(drawn.begin(), drawn.end(), [](double x) { return x < 2; }));
      EXPECT_GT(testing::coin_p_value(left, 50'000, 0.5), kAlpha);
      EXPECT_LT(testing::coin_p_value(left, 50'000, 0.525), kAlpha);
      EXPECT_LT(testing::coin_p_value(left, 50'000, 0.475), kAlpha);
    }
  }
}

// Detects a scale off by 10 %.
TEST(Quantile, OneValueSplitsTheRange) {
  const double scale = right_scale(kAddRemove, 0.9, 3);
  const std::vector<double> drawn = draw(mechanism(kAddRemove, bounds(0, 10), 0.9, 3), {6}, 200'000);
  EXPECT_GT(p_value(drawn, Law({6}, 0, 10, 0.9, scale)), kAlpha);
  EXPECT_LT(p_value(drawn, Law({6}, 0, 10, 0.9, scale * 1.1)), kAlpha);
  EXPECT_LT(p_value(drawn, Law({6}, 0, 10, 0.9, scale / 1.1)), kAlpha);
}

// Bounds of 2^40 make the grid that of whole numbers. With n values at p and n at p + 1 the candidate p + 1 alone has
// the wanted rank n, against 2^40 others that are n off. Detects a scale off by 1 %, ranks that count the candidate's
// own value, and a grid twice as fine.
TEST(Quantile, TheLawIsExactOnTheGridOfCandidates) {
  constexpr double kRange = 0x1p40;
  constexpr double p = 0x1p39 + 12345;
  constexpr std::size_t n = 28;
  Values values(n, p);
  values.insert(values.end(), n, p + 1);
  const double epsilon = 0.95;
  const auto hit_probability = [&](double scale, double others) {
    return 1 / (1 + others * std::exp(-static_cast<double>(n) / scale));
  };
  const std::vector<double> drawn = draw(mechanism(kAddRemove, bounds(0, kRange), 0.5, epsilon), values, 100'000);
  const auto hits = static_cast<std::uint64_t>(std::count(drawn.begin(), drawn.end(), p + 1));
  const double scale = 1 / epsilon;
  EXPECT_GT(testing::coin_p_value(hits, drawn.size(), hit_probability(scale, kRange)), kAlpha);
  EXPECT_LT(testing::coin_p_value(hits, drawn.size(), hit_probability(scale * 1.01, kRange)), kAlpha);
  EXPECT_LT(testing::coin_p_value(hits, drawn.size(), hit_probability(scale / 1.01, kRange)), kAlpha);
  EXPECT_LT(testing::coin_p_value(hits, drawn.size(), hit_probability(scale, 2 * kRange)), kAlpha);
  for (double x : drawn) EXPECT_EQ(x, std::floor(x));
  EXPECT_LT(std::count(drawn.begin(), drawn.end(), p), 2);
}

// --- Privacy ---------------------------------------------------------------------------------------------------------

double loss(const Values& a, const Values& b, double level, double scale) {
  const Law law_a(a, 0, 10, level, scale);
  const Law law_b(b, 0, 10, level, scale);
  Values points = law_a.edges;
  points.insert(points.end(), law_b.edges.begin(), law_b.edges.end());
  std::sort(points.begin(), points.end());
  double worst = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    if (points[i] == points[i + 1]) continue;
    const double x = (points[i] + points[i + 1]) / 2;
    worst = std::max(worst, std::fabs(std::log(law_a.density(x) / law_b.density(x))));
  }
  return worst;
}

// Every neighbour of hard data sets: values crowded at one end, so that nearly all candidates share a rank. Detects a
// scale that is 3 % too small, and the add-remove scale under replace-one.
TEST(Quantile, NoNeighbourHasOddsBeyondEpsilon) {
  const std::vector<Values> data = {
      {}, {5}, {1e-5, 2e-5, 3e-5, 4e-5}, {9.99999, 9.99998, 9.99997, 9.99996}, {1, 2, 3, 7}, {4, 4, 4, 4, 4}};
  const Values additions = {0, 1.5e-5, 2, 4, 5, 9.999975, 10};
  for (double level : {0.0, 0.1, 0.5, 0.7, 1.0}) {
    const double epsilon = 1.2;
    const auto worst_loss = [&](Adjacency adjacency, double scale) {
      double worst = 0;
      for (const Values& values : data) {
        for (double addition : additions) {
          if (adjacency == Adjacency::kAddRemove) {
            Values more = values;
            more.push_back(addition);
            worst = std::max(worst, loss(values, more, level, scale));
            continue;
          }
          for (std::size_t i = 0; i < values.size(); ++i) {
            Values replaced = values;
            replaced[i] = addition;
            worst = std::max(worst, loss(values, replaced, level, scale));
          }
        }
      }
      return worst;
    };
    for (Neighbours neighbours : {kAddRemove, kReplaceOne}) {
      const double scale = right_scale(neighbours, level, epsilon);
      EXPECT_LE(worst_loss(neighbours.adjacency, scale), epsilon + 1e-9) << level;
    }
    // At level ½ the cases come up to ε; at others the bound on all candidates has some slack.
    if (level == 0.5) {
      EXPECT_GT(worst_loss(Adjacency::kAddRemove, right_scale(kAddRemove, level, epsilon) / 1.03), epsilon + 1e-9);
      EXPECT_GT(worst_loss(Adjacency::kReplaceOne, right_scale(kReplaceOne, level, epsilon) / 1.03), epsilon + 1e-9);
      EXPECT_GT(worst_loss(Adjacency::kReplaceOne, right_scale(kAddRemove, level, epsilon)), 1.9 * epsilon);
    }
  }
}

// --- Results ---------------------------------------------------------------------------------------------------------

TEST(Quantile, ResultsStayWithinTheBounds) {
  const std::vector<Bounds> ranges = {bounds(0, 1),
                                      bounds(0.1, 0.3),
                                      bounds(-0.7, -0.1),
                                      bounds(1e15, 1e15 + 3),
                                      bounds(-1e300, 1e300),
                                      bounds(-1e-300, 1e-300),
                                      bounds(1e9, 1e9 + 1e-3),
                                      bounds(-5e-290, 4e-291),
                                      bounds(1 - 0x1p-30, 1 + 0x1p-30)};
  const Values values = {kNan, -kInfinity, kInfinity, 0, 0.2, 1e15 + 1, -1e300, 5e-324, 1, 1, 1};
  for (const Bounds& range : ranges) {
    for (double level : {0.0, 0.5, 1.0}) {
      for (double epsilon : {0.01, 1e6}) {
        for (double x : draw(mechanism(kReplaceOne, range, level, epsilon), values, 300)) {
          EXPECT_GE(x, range.lower());
          EXPECT_LE(x, range.upper());
        }
      }
    }
  }
}

TEST(Quantile, ALargeEpsilonFindsTheQuantile) {
  Values values;
  for (int i = 1; i <= 1000; ++i) values.push_back(i);
  for (double x : draw(mechanism(kAddRemove, bounds(0, 2000), 0.25, 100), values, 100)) EXPECT_NEAR(x, 250.5, 1.5);
  for (double x : draw(mechanism(kAddRemove, bounds(0, 2000), 0, 100), values, 100)) EXPECT_LE(x, 2);
  for (double x : draw(mechanism(kAddRemove, bounds(0, 2000), 1, 100), values, 100)) EXPECT_GE(x, 999);
}

// The hardest case: a single candidate at the wanted rank, all 2^40 others beyond the bound. Detects a bound that is 3
// rows too small.
TEST(Quantile, TheRankErrorBoundHolds) {
  for (double epsilon : {0.2, 1.0}) {
    for (double confidence : {0.5, 0.9, 0.999}) {
      const double scale = right_scale(kAddRemove, 0.5, epsilon);
      const double bound =
          mechanism(kAddRemove, bounds(0, 0x1p40), 0.5, epsilon).rank_error_bound(Confidence::make(confidence).value());
      const auto miss = [&](double rows) { return 1 - 1 / (1 + 0x1p40 * std::exp(-rows / scale)); };
      EXPECT_LE(miss(bound), 1 - confidence);
      EXPECT_GT(miss(bound - 1 - 2 * scale), 1 - confidence);
    }
  }
}

// --- Statements and bad input ----------------------------------------------------------------------------------------

TEST(Quantile, StatesTheExponentialMechanism) {
  for (Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const Neighbours neighbours{adjacency, PrivacyUnit::kPerson, Rows::of(4)};
    const DpStatement expected{adjacency, PrivacyUnit::kPerson, ExponentialEvent{Epsilon::of(0.7)}};
    EXPECT_EQ(mechanism(neighbours, bounds(0, 1), 0.3, 0.7).statement(), expected);
  }
}

TEST(Quantile, AReplayIsAnotherTypeAndSaysThatItIsNotPrivate) {
  SecureRandom secure = SecureRandom::create().value();
  ReplayRandom replay = ReplayRandom::create(5).value();
  const QuantileMechanism quantile = mechanism(kAddRemove, bounds(0, 1), 0.5, 1);
  const auto one = quantile.release(Values{0.5}, secure).value();
  const auto replayed = quantile.release(Values{0.5}, replay).value();
  using Private = std::decay_t<decltype(one)>;
  using Replayed = std::decay_t<decltype(replayed)>;
  static_assert(std::is_same_v<Private, PrivateRelease<double>>);
  static_assert(std::is_same_v<Replayed, ReplayedRelease<double>>);
  static_assert(!std::is_constructible_v<Private, Replayed> && !std::is_assignable_v<Private&, Replayed>);
  EXPECT_EQ(one.statement(), quantile.statement());
  EXPECT_FALSE(contains<NonPrivateEvent>(one.statement().event));
  EXPECT_TRUE(contains<NonPrivateEvent>(replayed.statement().event));
}

TEST(Quantile, RefusesBadParameters) {
  const auto refusal = [](Neighbours neighbours, Bounds range, double level, double epsilon) {
    return QuantileMechanism::create(neighbours, range, level, Epsilon::make(epsilon).value()).error();
  };
  expect_invalid(refusal(kAddRemove, bounds(0, 1), -0.1, 1), "got -0.1");
  expect_invalid(refusal(kAddRemove, bounds(0, 1), 1.5, 1), "got 1.5");
  expect_invalid(refusal(kAddRemove, bounds(0, 1), kNan, 1), "nan");
  expect_invalid(refusal(kAddRemove, bounds(0, 1), kInfinity, 1), "inf");
  expect_invalid(refusal(kAddRemove, bounds(0, 1), 0.5, 1e-12), "1e-12");
  expect_invalid(refusal(kAddRemove, bounds(0, 1), 0.5, 1e-300), "1e-300");
  expect_invalid(refusal({Adjacency::kAddRemove, PrivacyUnit::kRow, Rows::of(2)}, bounds(0, 1), 0.5, 1), "got 2");
  // Widths below the smallest grid.
  expect_invalid(refusal(kAddRemove, bounds(0, 5e-324), 0.5, 1), "5e-324");
  expect_invalid(refusal(kAddRemove, bounds(0, 1e-315), 0.5, 1), "1e-315");
}

TEST(Quantile, NarrowBoundsFarFromZeroWorkOrAreRefused) {
  for (double lower : {1.0, 1e10, 1e300}) {
    const auto made =
        QuantileMechanism::create(kAddRemove, bounds(lower, std::nextafter(lower, kInfinity)), 0.5, Epsilon::of(1));
    if (!made.has_value()) {
      EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
      continue;
    }
    for (double x : draw(made.value(), {lower}, 100)) {
      EXPECT_TRUE(x == lower || x == std::nextafter(lower, kInfinity));
    }
  }
}

// The number of values is private under add-remove: the refusal names the limit only.
TEST(Quantile, RefusesTooManyValuesWithoutNamingTheirNumber) {
  ReplayRandom source = ReplayRandom::create(6).value();
  const Values values(std::size_t{1} << 24, 0.987);
  const auto refused = mechanism(kAddRemove, bounds(0, 1), 0.5, 1).release(values, source);
  ASSERT_FALSE(refused.has_value());
  expect_invalid(refused.error(), "16777215");
  EXPECT_EQ(refused.error().message.find("16777216"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
