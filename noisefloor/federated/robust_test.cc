#include "noisefloor/federated/robust.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "noisefloor/federated/attacks.h"
#include "noisefloor/federated/vector_kernels.h"
#include "noisefloor/random/gaussian_vector.h"
#include "tests/support/refusal.h"

namespace noisefloor::federated {
namespace {

using testing::expect_invalid;
using Vectors = std::vector<std::vector<float>>;

std::vector<ClientVector> of(const Vectors& vectors) {
  std::vector<ClientVector> result;
  for (std::size_t i = 0; i < vectors.size(); ++i) result.push_back({static_cast<std::uint32_t>(i), vectors[i]});
  return result;
}

// Vectors around (1, 1, …), with a spread of 0.1.
Vectors honest_vectors(std::size_t count, std::size_t dimension, BitStream& stream) {
  Vectors vectors(count, std::vector<float>(dimension));
  for (auto& vector : vectors) {
    fill_gaussian(stream, vector, 0.1F);
    for (float& value : vector) value += 1.0F;
  }
  return vectors;
}

double distance_to_ones(std::span<const float> vector) {
  const std::vector<float> ones(vector.size(), 1.0F);
  return std::sqrt(internal::squared_distance(vector, ones) / static_cast<double>(vector.size()));
}

RobustOptions options_of(RobustRule rule, std::uint32_t liars) {
  RobustOptions options{.rule = rule, .liars = liars, .norm = {}};
  if (rule == RobustRule::kCentredClipping) options.norm = 8.0;  // the norm of ones is √50
  return options;
}

class RobustTest : public ::testing::Test {
 protected:
  ReplayRandom random_ = ReplayRandom::create(11).value();
};

TEST_F(RobustTest, KeepsToTheHonestUnderEveryAttack) {
  struct Case {
    Attack attack;
    double strength;
  };
  const std::vector<Case> cases{{Attack::kSignFlip, 4},          {Attack::kGaussian, 30},  {Attack::kInnerProduct, 0.5},
                                {Attack::kLittleIsEnough, 1.5},  {Attack::kNaN, 0},        {Attack::kZero, 0},
                                {Attack::kHugeCoordinate, 1e30}, {Attack::kSignFlip, 1e18}};
  for (const auto& [name, rule] : kRobustRules) {
    if (rule == RobustRule::kMean) continue;
    for (const Case& attacked : cases) {
      Vectors vectors = honest_vectors(16, 50, random_);
      for (auto& liar : attack_with(attacked.attack, attacked.strength, vectors, 4, random_)) {
        vectors.push_back(std::move(liar));
      }
      const Combined combined = combine_robustly(options_of(rule, 4), of(vectors)).value();
      // A liar of bounded length may pull a mean of clipped vectors by 2 · 4/20 of that length; the others stay within
      // the spread of honest clients.
      const bool by_norm = rule == RobustRule::kNormBound || rule == RobustRule::kCentredClipping;
      EXPECT_LT(distance_to_ones(combined.value), by_norm ? 0.5 : 0.15)
          << name << " under " << name_of(attacked.attack) << " " << attacked.strength;
    }
  }
}

TEST_F(RobustTest, PlainMeanIsMovedAnywhere) {
  Vectors vectors = honest_vectors(16, 50, random_);
  for (auto& liar : attack_with(Attack::kSignFlip, 4, vectors, 4, random_)) vectors.push_back(liar);
  const Combined combined = combine_robustly({.rule = RobustRule::kMean, .liars = 0, .norm = {}}, of(vectors)).value();
  EXPECT_GT(distance_to_ones(combined.value), 0.9) << "16 · 1 − 4 · 4 = 0";
}

// The documented weakness: equal copies within the spread agree with each other more than any honest pair.
TEST_F(RobustTest, KrumChoosesEqualCopies) {
  Vectors vectors = honest_vectors(16, 50, random_);
  for (auto& liar : attack_with(Attack::kCopies, 0.8, vectors, 4, random_)) vectors.push_back(liar);
  const Combined combined = combine_robustly(options_of(RobustRule::kKrum, 4), of(vectors)).value();
  EXPECT_GE(combined.chosen.front(), 16U);
}

TEST_F(RobustTest, AgreesWithTheDefinitions) {
  const Vectors vectors = honest_vectors(11, 37, random_);
  const std::size_t f = 2;
  const std::size_t n = vectors.size();
  std::vector<double> scores(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> squared;
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 37; ++k) {
        sum += std::pow(static_cast<double>(vectors[i][k]) - static_cast<double>(vectors[j][k]), 2);
      }
      if (i != j) squared.push_back(sum);
    }
    std::sort(squared.begin(), squared.end());
    scores[i] = std::accumulate(squared.begin(), squared.begin() + static_cast<std::ptrdiff_t>(n - f - 2), 0.0);
  }
  const auto best = std::min_element(scores.begin(), scores.end()) - scores.begin();
  const Combined krum = combine_robustly(options_of(RobustRule::kKrum, 2), of(vectors)).value();
  EXPECT_EQ(krum.chosen, std::vector<std::uint32_t>{static_cast<std::uint32_t>(best)});
  EXPECT_EQ(krum.value, vectors[static_cast<std::size_t>(best)]);

  const Combined median = combine_robustly(options_of(RobustRule::kMedian, 2), of(vectors)).value();
  const Combined trimmed = combine_robustly(options_of(RobustRule::kTrimmedMean, 2), of(vectors)).value();
  for (std::size_t k = 0; k < 37; ++k) {
    std::vector<double> column;
    for (const auto& vector : vectors) column.push_back(static_cast<double>(vector[k]));
    std::sort(column.begin(), column.end());
    EXPECT_EQ(static_cast<double>(median.value[k]), column[5]);
    EXPECT_NEAR(static_cast<double>(trimmed.value[k]), std::accumulate(column.begin() + 2, column.end() - 2, 0.0) / 7,
                1e-6);
  }
}

// The sum of distances is least at the geometric median: no small move makes it less.
TEST_F(RobustTest, GeometricMedianHasTheLeastSumOfDistances) {
  const Vectors vectors = honest_vectors(9, 4, random_);
  const auto objective = [&](const std::vector<float>& z) {
    double sum = 0;
    for (const auto& vector : vectors) sum += std::sqrt(internal::squared_distance(vector, z));
    return sum;
  };
  const auto z = combine_robustly(options_of(RobustRule::kGeometricMedian, 4), of(vectors)).value().value;
  for (std::size_t k = 0; k < 4; ++k) {
    for (const float move : {-0.02F, 0.02F}) {
      auto moved = z;
      moved[k] += move;
      EXPECT_GT(objective(moved), objective(z)) << k;
    }
  }
}

TEST_F(RobustTest, DoesNotDependOnTheOrderOfVectors) {
  const Vectors vectors = honest_vectors(15, 70, random_);
  for (const auto& [name, rule] : kRobustRules) {
    auto order = of(vectors);
    const RobustOptions options = options_of(rule, rule == RobustRule::kMean ? 0 : 3);
    const Combined one = combine_robustly(options, order).value();
    std::reverse(order.begin(), order.end());
    std::swap(order[2], order[9]);
    const Combined other = combine_robustly(options, order).value();
    EXPECT_EQ(one.value, other.value) << name;
    EXPECT_EQ(one.chosen, other.chosen) << name;
  }
}

TEST_F(RobustTest, TakesEqualScoresByClient) {
  const Vectors equal(9, std::vector<float>{1, 2, 3});
  auto vectors = of(equal);
  std::reverse(vectors.begin(), vectors.end());
  EXPECT_EQ(combine_robustly(options_of(RobustRule::kKrum, 3), vectors).value().chosen, std::vector<std::uint32_t>{0});
  EXPECT_EQ(combine_robustly(options_of(RobustRule::kMultiKrum, 3), vectors).value().chosen,
            (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
}

TEST_F(RobustTest, LeavesOutNumbersThatAreNotFiniteFirst) {
  Vectors vectors = honest_vectors(15, 20, random_);
  vectors[3][19] = std::numeric_limits<float>::infinity();
  vectors[8][0] = std::numeric_limits<float>::quiet_NaN();
  Vectors rest = vectors;
  rest.erase(rest.begin() + 8);
  rest.erase(rest.begin() + 3);
  for (const auto& [name, rule] : kRobustRules) {
    const std::uint32_t f = rule == RobustRule::kMean ? 0 : 2;
    const Combined combined = combine_robustly(options_of(rule, f), of(vectors)).value();
    EXPECT_EQ(combined.left_out, (std::vector<std::uint32_t>{3, 8})) << name;
    EXPECT_EQ(combined.value, combine_robustly(options_of(rule, 0), of(rest)).value().value)
        << name << ": the two that are out count as the two liars";
  }
  vectors[1][1] = -std::numeric_limits<float>::infinity();
  const auto refused = combine_robustly(options_of(RobustRule::kMedian, 2), of(vectors));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kProtocol);
}

TEST_F(RobustTest, CentredClippingPullsFromTheLastResultByTheRadiusAtMost) {
  Vectors vectors = honest_vectors(7, 10, random_);
  const std::vector<float> centre(10, 1.0F);
  for (float& value : vectors[0]) value = 1e20F;
  const Combined combined =
      combine_robustly({.rule = RobustRule::kCentredClipping, .liars = 3, .norm = 0.7}, of(vectors), centre).value();
  EXPECT_LT(std::sqrt(internal::squared_distance(combined.value, centre)), 0.7 * 1.0001);
}

TEST_F(RobustTest, RefusesTooFewClientsAtConfiguration) {
  using enum RobustRule;
  struct Least {
    RobustRule rule;
    std::uint64_t clients;
  };
  for (const Least& least :
       {Least{kMedian, 7}, Least{kTrimmedMean, 7}, Least{kGeometricMedian, 7}, Least{kCentredClipping, 7},
        Least{kNormBound, 7}, Least{kKrum, 9}, Least{kMultiKrum, 9}, Least{kBulyan, 15}}) {
    const RobustOptions options = options_of(least.rule, 3);
    EXPECT_TRUE(check_robust(options, least.clients).has_value()) << name_of(least.rule);
    expect_invalid(check_robust(options, least.clients - 1).error(), "with 3 liars needs at least");
  }
  expect_invalid(check_robust({.rule = kMean, .liars = 1, .norm = {}}, 100).error(), "stands no liars");
  expect_invalid(check_robust({.rule = kMedian, .liars = 1, .norm = 2.0}, 100).error(), "takes no norm");
  expect_invalid(check_robust({.rule = kNormBound, .liars = 1, .norm = std::nan("")}, 100).error(), "above 0");
  expect_invalid(check_robust({.rule = kCentredClipping, .liars = 1, .norm = {}}, 100).error(), "needs a norm");
}

TEST_F(RobustTest, RefusesVectorsThatDoNotFit) {
  const std::vector<float> three(3);
  const std::vector<float> four(4);
  const RobustOptions options;
  expect_invalid(combine_robustly(options, {}).error(), "no vector");
  expect_invalid(combine_robustly(options, {{1, three}, {2, four}}).error(), "has 4 numbers where others have 3");
  expect_invalid(combine_robustly(options, {{1, three}, {1, three}}).error(), "client 1 is there twice");
  expect_invalid(combine_robustly(options, {{1, three}}, four).error(), "the centre has 4");
}

TEST_F(RobustTest, SortsColumnsOfAnyNumberOfRows) {
  for (std::size_t n = 1; n <= 70; ++n) {
    const Vectors vectors = honest_vectors(n, 45, random_);
    internal::FloatRows rows(vectors.begin(), vectors.end());
    internal::for_sorted_columns(rows, [&](std::size_t first, std::size_t count, const float* sorted) {
      for (std::size_t k = 0; k < count; ++k) {
        std::vector<float> column;
        std::vector<float> found;
        for (std::size_t i = 0; i < n; ++i) {
          column.push_back(vectors[i][first + k]);
          found.push_back(sorted[i * internal::kSortedWidth + k]);
        }
        std::sort(column.begin(), column.end());
        ASSERT_EQ(found, column) << n;
      }
    });
  }
}

TEST_F(RobustTest, HidesALittleWhereTheFormulaSays) {
  EXPECT_NEAR(little_is_enough_z(20, 4), 0.157, 0.001);
  EXPECT_EQ(little_is_enough_z(3, 2), 0) << "no probability";
}

}  // namespace
}  // namespace noisefloor::federated
