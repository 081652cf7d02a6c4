#include "noisefloor/mechanisms/sensitivity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace noisefloor {
namespace {

constexpr Neighbours kAddRemove{Adjacency::kAddRemove, PrivacyUnit::kRow, Rows::of(1)};
constexpr Neighbours kReplaceOne{Adjacency::kReplaceOne, PrivacyUnit::kRow, Rows::of(1)};

Bounds bounds(double lower, double upper) { return Bounds::make(lower, upper).value(); }

using Query = std::function<double(const std::vector<double>&)>;

double mean(const std::vector<double>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double sample_variance(const std::vector<double>& x) {
  const double m = mean(x);
  double sum = 0;
  for (double v : x) sum += (v - m) * (v - m);
  return sum / static_cast<double>(x.size() - 1);
}

// The largest change over all data sets of `rows` values from {a, (a+b)/2, b} and all their neighbours of that kind.
double largest_change(const Query& query, Bounds b, std::size_t rows, Adjacency adjacency) {
  const std::vector<double> choices = {b.lower(), b.middle(), b.upper()};
  double largest = 0;
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < rows; ++i) combinations *= choices.size();
  for (std::size_t code = 0; code < combinations; ++code) {
    std::vector<double> data;
    for (std::size_t i = 0, rest = code; i < rows; ++i, rest /= choices.size())
      data.push_back(choices[rest % choices.size()]);
    const double here = query(data);
    if (adjacency == Adjacency::kReplaceOne) {
      for (double other : choices) {
        std::vector<double> neighbour = data;
        neighbour[0] = other;
        largest = std::max(largest, std::fabs(query(neighbour) - here));
      }
    } else {
      std::vector<double> neighbour(data.begin() + 1, data.end());
      largest = std::max(largest, std::fabs(query(neighbour) - here));
    }
  }
  return largest;
}

// Brute force over small data sets: the bound holds, and is reached.
TEST(Sensitivity, HoldsOverAllSmallDataSetsAndIsNotWasteful) {
  const Bounds b = bounds(-2, 3);
  const std::size_t n = 5;
  const Query sum = [](const auto& x) { return std::accumulate(x.begin(), x.end(), 0.0); };
  const Query count = [](const auto& x) { return static_cast<double>(x.size()); };
  const Query max = [](const auto& x) { return *std::max_element(x.begin(), x.end()); };
  const struct {
    Query query;
    Neighbours neighbours;
    double claimed;
  } cases[] = {
      {count, kAddRemove, count_sensitivity(kAddRemove).value().l1.value()},
      {sum, kAddRemove, sum_sensitivity(kAddRemove, b).value().l1.value()},
      {sum, kReplaceOne, sum_sensitivity(kReplaceOne, b).value().l1.value()},
      {mean, kReplaceOne, mean_sensitivity(kReplaceOne, b, Rows::of(5)).value().l1.value()},
      {sample_variance, kReplaceOne, variance_sensitivity(kReplaceOne, b, Rows::of(5)).value().l1.value()},
      {max, kReplaceOne, max_sensitivity(kReplaceOne, b).value().l1.value()},
      {max, kAddRemove, max_sensitivity(kAddRemove, b).value().l1.value()},
  };
  for (const auto& c : cases) {
    const double truth = largest_change(c.query, b, n, c.neighbours.adjacency);
    EXPECT_LE(truth, c.claimed * (1 + 1e-12));
    EXPECT_GE(truth, c.claimed * (1 - 1e-12));
  }
}

TEST(Sensitivity, MeansAndVariancesOfAPrivateNumberOfRowsAreRefusedWithTheRemedy) {
  for (const auto& result : {mean_sensitivity(kAddRemove, bounds(0, 1), Rows::of(10)),
                             variance_sensitivity(kAddRemove, bounds(0, 1), Rows::of(10))}) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(result.error().message.find("sum and a count"), std::string::npos);
  }
}

TEST(Sensitivity, HistogramsAndGradientsDependOnTheNeighbours) {
  const Sensitivity add = histogram_sensitivity(kAddRemove).value();
  EXPECT_EQ(add.l1.value(), 1);
  EXPECT_NEAR(add.l2.value(), 1, 1e-12);
  const Sensitivity replace = histogram_sensitivity(kReplaceOne).value();
  EXPECT_EQ(replace.l1.value(), 2);
  EXPECT_NEAR(replace.l2.value(), std::sqrt(2), 1e-12);
  EXPECT_NEAR(histogram_sensitivity(kAddRemove, 9).value().l2.value(), 3, 1e-12);
  EXPECT_EQ(clipped_gradient_sensitivity(kAddRemove, ClipNorm::of(1.5), Dimension::of(10)).value().l2.value(), 1.5);
  EXPECT_EQ(clipped_gradient_sensitivity(kReplaceOne, ClipNorm::of(1.5), Dimension::of(10)).value().l2.value(), 3);
}

TEST(Sensitivity, PersonsWithSeveralRowsCountAsManyTimes) {
  const Neighbours persons{Adjacency::kAddRemove, PrivacyUnit::kPerson, Rows::of(4)};
  EXPECT_EQ(count_sensitivity(persons).value().l1.value(), 4);
  EXPECT_EQ(sum_sensitivity(persons, bounds(0, 10)).value().l1.value(), 40);
  EXPECT_EQ(histogram_sensitivity(persons).value().l1.value(), 4);
  EXPECT_NEAR(histogram_sensitivity(persons).value().l2.value(), 4, 1e-12);  // all four rows in one bin
  EXPECT_FALSE(count_sensitivity({Adjacency::kAddRemove, PrivacyUnit::kRow, Rows::of(4)}).has_value());
}

TEST(Bounds, RefuseWhatIsNotAnInterval) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (auto [lower, upper] : std::vector<std::pair<double, double>>{
           {1, 1}, {2, 1}, {nan, 1}, {0, nan}, {-inf, 0}, {0, inf}, {-1.7e308, 1.7e308}}) {
    EXPECT_FALSE(Bounds::make(lower, upper).has_value()) << lower << " " << upper;
  }
}

// The difference of these doubles rounds down; the width must not.
TEST(Bounds, WidthIsRoundedUp) {
  const double lower = -0x1.00000008p-33;
  const double upper = 0x1.ffffffffp-1;
  EXPECT_GE(static_cast<long double>(bounds(lower, upper).width()), static_cast<long double>(upper) - lower);
  EXPECT_EQ(bounds(-2, 3).width(), 5);
  EXPECT_EQ(bounds(0, 0.1).width(), 0.1);
}

TEST(Bounds, ClampingIsTotal) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(bounds(-1, 2).clamp(5), 2);
  EXPECT_EQ(bounds(-1, 2).clamp(-inf), -1);
  EXPECT_EQ(bounds(-1, 2).clamp(nan), 0);
  EXPECT_EQ(bounds(1, 2).clamp(nan), 1);
  EXPECT_EQ(bounds(-3, -2).clamp(nan), -2);
}

}  // namespace
}  // namespace noisefloor
