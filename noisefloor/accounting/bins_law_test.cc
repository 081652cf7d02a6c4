// The laws of balls in bins before anything is composed: an upper and a lower one around quadrature for two and three
// bins, and around each other for many.
#include "noisefloor/accounting/bins_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

namespace noisefloor::internal {
namespace {

double tail(double x) { return std::erfc(x / std::numbers::sqrt2) / 2; }

// E(X − strike)⁺ and E(strike − X)⁺ for X = e^{μg − μ²/2}.
double call(double strike, double mu) {
  if (strike <= 0) return 1 - strike;
  const double a = std::log(strike) / mu + mu / 2;
  return tail(a - mu) - strike * tail(a);
}
double put(double strike, double mu) {
  if (strike <= 0) return 0;
  const double a = std::log(strike) / mu + mu / 2;
  return strike * tail(-a) - tail(mu - a);
}

// δ of two or three bins: the trapezoid rule over all but one of the numbers.
double true_delta(double mu, int bins, bool remove, double epsilon) {
  constexpr double step = 1.0 / 64;
  std::vector<double> numbers;
  std::vector<double> weights;
  for (double g = -9; g <= 9; g += step) {
    numbers.push_back(std::exp(mu * g - mu * mu / 2));
    weights.push_back(std::exp(-g * g / 2) / std::sqrt(2 * std::numbers::pi) * step);
  }
  const double strike = bins * std::exp(remove ? epsilon : -epsilon);
  const auto one = [&](double rest) { return remove ? call(rest, mu) : put(rest, mu); };
  double sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (bins == 2) {
      sum += weights[i] * one(strike - numbers[i]);
      continue;
    }
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      if (weights[i] * weights[j] > 1e-16) sum += weights[i] * weights[j] * one(strike - numbers[i] - numbers[j]);
    }
  }
  return sum * (remove ? 1 : std::exp(epsilon)) / bins;
}

TEST(BinsLaw, IsAroundQuadrature) {
  for (const double mu : {0.2, 1.0, 1.6}) {
    for (const int bins : {2, 3}) {
      for (const bool remove : {true, false}) {
        const BinsLaws laws = bins_laws(mu, static_cast<std::uint64_t>(bins), remove);
        ASSERT_TRUE(laws.above != nullptr && laws.below != nullptr);
        for (const double share : {0.3, 1.0, 2.5}) {
          const double epsilon = share * mu;
          const double truth = true_delta(mu, bins, remove, epsilon);
          SCOPED_TRACE(testing::Message() << mu << ' ' << bins << ' ' << remove << ' ' << epsilon << ' ' << truth);
          const double above = single_delta(*laws.above, epsilon).upper;
          const double below = single_delta(*laws.below, epsilon).lower;
          EXPECT_GE(above, truth * (1 - 1e-5) - 1e-13);  // the rule has a kink to cross
          EXPECT_LE(below, truth * (1 + 1e-5) + 1e-13);
          if (truth < 1e-8) continue;
          // A law for one percent less noise is not around it.
          const BinsLaws mutant = bins_laws(1.01 * mu, static_cast<std::uint64_t>(bins), remove);
          EXPECT_GT(single_delta(*mutant.above, epsilon).upper, truth);
          EXPECT_LE(above - below, 0.02 * truth + 1e-9);
        }
      }
    }
  }
}

// For every ε, not only those of the quadrature: the two never contradict each other, for many bins as well.
TEST(BinsLaw, AboveIsAboveBelow) {
  for (const double mu : {0.05, 0.3, 1.0, 2.0}) {
    for (const std::uint64_t bins : {std::uint64_t{2}, std::uint64_t{7}, std::uint64_t{100}, std::uint64_t{5000}}) {
      for (const bool remove : {true, false}) {
        const BinsLaws laws = bins_laws(mu, bins, remove);
        if (laws.above == nullptr || laws.below == nullptr) continue;
        double before = std::numeric_limits<double>::infinity();
        for (double epsilon = 0; epsilon < 6 * mu; epsilon += 0.1 * mu) {
          const double above = single_delta(*laws.above, epsilon).upper;
          EXPECT_GE(above, single_delta(*laws.below, epsilon).lower) << mu << ' ' << bins << ' ' << remove;
          EXPECT_LE(above, before * (1 + 1e-12) + 1e-15);
          before = above;
        }
      }
    }
  }
}

// More bins hide more, and never less than a known bin; much noise hides more than little.
TEST(BinsLaw, MoreBinsHideMore) {
  for (const bool remove : {true, false}) {
    double before = single_epsilon(*gaussian_law(1), std::log(1e-4)).upper;
    for (const std::uint64_t bins : {std::uint64_t{2}, std::uint64_t{10}, std::uint64_t{100}, std::uint64_t{1000}}) {
      const Interval found = single_epsilon(*bins_laws(1, bins, remove).above, std::log(1e-4));
      EXPECT_LT(found.upper, before);
      EXPECT_GT(found.upper, single_epsilon(*bins_laws(0.9, bins, remove).above, std::log(1e-4)).upper);
      before = found.upper;
    }
  }
}

TEST(BinsLaw, KnowsNothingOfWhatDoesNotSuit) {
  EXPECT_EQ(bins_laws(100, 10, true).above, nullptr);
  EXPECT_EQ(bins_laws(1, std::uint64_t{1} << 40, true).above, nullptr);
}

}  // namespace
}  // namespace noisefloor::internal
