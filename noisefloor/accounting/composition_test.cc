#include "noisefloor/accounting/composition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <vector>

#include "tests/support/golden_accounting.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

namespace golden = testing::golden;
using testing::expect_invalid;
// 400 digits: small δ are differences of numbers near 1.
using Wide = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<400>>;

ApproxDp part(double e, double d = 0) { return {PrivacyLoss::make(e).value(), Delta::make(d).value()}; }
Steps steps(std::uint64_t k) { return Steps::make(k).value(); }
Delta delta(double d) { return Delta::make(d).value(); }
PrivacyLoss loss(double e) { return PrivacyLoss::make(e).value(); }

// Kairouz, Oh and Viswanath's sum, term by term with 400 digits.
Wide exact_delta(double e0, double d0, int k, double e) {
  Wide sum = 0;
  Wide choose = 1;
  const Wide base = exp(Wide(e0));
  const Wide lifted = exp(Wide(e));
  const Wide all = pow(1 + base, k);
  std::vector<Wide> powers{Wide(1)};
  for (int l = 0; l < k; ++l) powers.push_back(powers.back() * base);
  for (int l = 0; l <= k; ++l) {
    const Wide difference =
        (powers[static_cast<std::size_t>(k - l)] - lifted * powers[static_cast<std::size_t>(l)]) / all;
    if (difference > 0) sum += choose * difference;
    choose = choose * (k - l) / (l + 1);
  }
  return d0 == 0 ? sum : Wide(1 - pow(1 - Wide(d0), k) * (1 - sum));
}

TEST(Composition, BasicAddsUp) {
  const std::vector<ApproxDp> parts{part(0.5, 1e-6), part(1, 0), part(0.1, 1e-7)};
  const ApproxDp total = basic_composition(parts).value();
  EXPECT_DOUBLE_EQ(total.epsilon.value(), 1.6);
  EXPECT_GE(Wide(total.epsilon.value()), Wide(0.5) + Wide(1) + Wide(0.1));
  EXPECT_DOUBLE_EQ(total.delta.value(), 1.1e-6);
  const ApproxDp many = basic_composition(part(4.844805262605389, 1e-5), steps(1000)).value();
  EXPECT_NEAR(many.epsilon.value(), 4844.8, 0.1);
  EXPECT_NEAR(many.delta.value(), 1e-2, 1e-15);
  EXPECT_EQ(basic_composition(std::vector<ApproxDp>{}).value().epsilon.value(), 0);
}

TEST(Composition, DeltasThatReachOneAreRefused) {
  expect_invalid(basic_composition(part(1, 0.2), steps(5)).error(), "smaller deltas");
  expect_invalid(advanced_composition(part(1), steps(5), delta(0)).error(), "basic composition");
  expect_invalid(optimal_composition_epsilon(part(1, 1e-3), steps(100), delta(1e-2)).error(), "no epsilon");
  expect_invalid(optimal_composition_epsilon(part(1), steps(std::uint64_t{1} << 41), delta(1e-2)).error(), "2^40");
  expect_invalid(optimal_composition_epsilon(part(1e300), steps(1000000000), delta(1e-2)).error(), "exceed");
  EXPECT_FALSE(basic_composition(part(1e300), steps(1000000000)).has_value());
  EXPECT_FALSE(advanced_composition(part(1e300), steps(1000000000), delta(1e-5)).has_value());
  EXPECT_FALSE(advanced_composition(std::vector<ApproxDp>(3, part(1e308)), delta(1e-5)).has_value());
}

// The source prints 1.51, which lacks the second term.
TEST(Composition, AdvancedMatchesItsFormula) {
  const ApproxDp total = advanced_composition(part(0.01, 1e-9), steps(1000), delta(1e-5)).value();
  EXPECT_NEAR(total.epsilon.value(), 1.6179, 5e-5);
  EXPECT_NEAR(total.delta.value(), 1e-5 + 1e-6, 1e-18);
  // Finite where e^ε is not.
  EXPECT_EQ(advanced_composition(part(1e6), steps(10), delta(1e-5)).value().epsilon.value(), 1e7);
}

TEST(Composition, UnequalPartsMatchTheirFormula) {
  const std::vector<ApproxDp> parts{part(0.1, 1e-8), part(0.2), part(0.05), part(0.1)};
  const ApproxDp total = advanced_composition(parts, delta(1e-6)).value();
  EXPECT_DOUBLE_EQ(total.epsilon.value(), 0.45) << "basic is best for so few";
  EXPECT_NEAR(total.delta.value(), 1.01e-6, 1e-13);
  const std::vector<ApproxDp> many(1000, part(0.01));
  const double spread = std::sqrt(1000 * 0.01 * 0.01);
  const double log_term = std::min(std::log(1e5), std::log(std::exp(1.0) + spread / 1e-5));
  EXPECT_NEAR(advanced_composition(many, delta(1e-5)).value().epsilon.value(),
              1000 * 0.01 * std::tanh(0.005) + spread * std::sqrt(2 * log_term), 1e-12);
}

// No theorem may promise less than what the worst mechanisms really lose.
TEST(Composition, NoTheoremIsBelowTheOptimum) {
  for (double e : {0.001, 0.03, 0.5, 2.0}) {
    for (double d0 : {0.0, 1e-9}) {
      for (std::uint64_t k : {1ULL, 7ULL, 100ULL, 3000ULL}) {
        for (double slack : {1e-10, 1e-5, 0.1}) {
          const ApproxDp p = part(e, d0);
          const ApproxDp advanced = advanced_composition(p, steps(k), delta(slack)).value();
          EXPECT_GE(advanced.epsilon.value(), optimal_composition_epsilon(p, steps(k), advanced.delta).value().lower);
          const std::vector<ApproxDp> parts(k, p);
          const ApproxDp unequal = advanced_composition(parts, delta(slack)).value();
          EXPECT_GE(unequal.epsilon.value(), optimal_composition_epsilon(p, steps(k), unequal.delta).value().lower);
          EXPECT_LE(unequal.epsilon.value(), advanced.epsilon.value() * (1 + 1e-12));
        }
      }
    }
  }
}

TEST(Composition, OptimalDeltaHoldsTheExactSum) {
  const Wide tiny = pow(Wide(10), -390);  // rounding of the reference
  for (double e0 : {1e-7, 0.01, 0.3, 1.0, 5.0, 60.0}) {
    for (double d0 : {0.0, 1e-12, 1e-3}) {
      for (int k : {1, 2, 9, 150}) {
        for (double share : {0.0, 1e-3, 0.05, 0.31, 0.5, 0.9, 0.9999, 1.0, 1.5}) {
          const double e = share * e0 * k;
          const Interval got =
              optimal_composition_delta(part(e0, d0), steps(static_cast<std::uint64_t>(k)), loss(e)).value();
          const Wide exact = exact_delta(e0, d0, k, e);
          EXPECT_LE(Wide(got.lower), exact * (1 + Wide(1e-300)) + tiny) << e0 << " " << d0 << " " << k << " " << e;
          EXPECT_GE(Wide(got.upper), exact * (1 - Wide(1e-300)) - tiny) << e0 << " " << d0 << " " << k << " " << e;
          if (exact > 1e-290 && d0 == 0) {
            EXPECT_LT(got.upper - got.lower, 1e-10 * got.upper);
          }
        }
      }
    }
  }
}

TEST(Composition, OptimalEpsilonIsEnoughAndNotMore) {
  for (double e0 : {1e-7, 0.01, 0.3, 1.0, 5.0, 60.0}) {
    for (double d0 : {0.0, 1e-12}) {
      for (int k : {1, 2, 9, 150}) {
        for (double d : {1e-300, 1e-30, 1e-6, 1e-2, 0.5, 0.99}) {
          if (d < 1e-3 && d0 > 0) continue;
          const Interval got =
              optimal_composition_epsilon(part(e0, d0), steps(static_cast<std::uint64_t>(k)), delta(d)).value();
          EXPECT_LE(exact_delta(e0, d0, k, got.upper), Wide(d)) << e0 << " " << k << " " << d;
          if (got.lower > 0) {
            EXPECT_GE(exact_delta(e0, d0, k, got.lower), Wide(d)) << e0 << " " << k << " " << d;
          }
          EXPECT_LE(got.upper - got.lower, 1e-10 * got.upper + 1e-17 * e0) << e0 << " " << k << " " << d;
          EXPECT_LE(got.upper, e0 * k * (1 + 1e-15));
        }
      }
    }
  }
}

TEST(Composition, GoldenRandomizedResponses) {
  for (const golden::Row& row : golden::kRows) {
    if (row.kind != golden::kResponse) continue;
    const Interval got = optimal_composition_epsilon(part(row.scale), steps(row.count), delta(row.delta)).value();
    // The rows are themselves rounded, to a few units of the last digit.
    EXPECT_LE(got.lower, row.exact * (1 + 1e-13));
    EXPECT_GE(got.upper, row.exact * (1 - 1e-13));
    EXPECT_LT(got.upper - got.lower, 1e-10 * got.upper);
  }
}

// A billion mechanisms: the interval stays narrow, and agrees with the Gaussian limit as far as that holds.
TEST(Composition, ManyMechanisms) {
  const std::uint64_t k = 1000000000;
  for (double d : {1e-300, 1e-100, 1e-10, 1e-5, 0.1, 0.8}) {
    const double e0 = 1e-4;
    const Interval got = optimal_composition_epsilon(part(e0), steps(k), delta(d)).value();
    EXPECT_LT(got.upper - got.lower, 1e-10 * got.upper) << d;
    const Interval at_upper = optimal_composition_delta(part(e0), steps(k), loss(got.upper)).value();
    const Interval at_lower = optimal_composition_delta(part(e0), steps(k), loss(got.lower)).value();
    EXPECT_LE(at_upper.lower, d);
    EXPECT_GE(at_lower.upper, d);
    // The losses are ±ε₀: a Gaussian of μ = 2 √(k p (1 − p)) ε₀ in the limit.
    const NoiseMultiplier z = NoiseMultiplier::make(1 / (std::sqrt(static_cast<double>(k)) * e0)).value();
    if (d > 1e-20) {
      EXPECT_NEAR(gaussian_delta(z, loss(got.upper)).upper / d, 1, 1e-3) << d;
    }
  }
  // The edges give finite numbers, too.
  for (double e0 : {1e-300, 1e-12, 1.0, 800.0, 20000.0, 1e200}) {
    for (double d : {1e-300, 1e-5, 1 - 1e-16}) {
      const Interval got = optimal_composition_epsilon(part(e0), steps(k), delta(d)).value();
      EXPECT_TRUE(std::isfinite(got.upper) && got.lower >= 0 && got.lower <= got.upper) << e0 << " " << d;
      const Interval back = optimal_composition_delta(part(e0), steps(k), loss(got.upper)).value();
      EXPECT_LE(back.lower, d);
      EXPECT_TRUE(back.lower >= 0 && back.lower <= back.upper && back.upper <= 1);
    }
  }
}

}  // namespace
}  // namespace noisefloor
