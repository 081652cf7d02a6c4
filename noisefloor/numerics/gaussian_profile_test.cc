#include "noisefloor/numerics/gaussian_profile.h"

#include <gtest/gtest.h>

#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>

namespace noisefloor {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_100;

NoiseMultiplier multiplier(double z) { return NoiseMultiplier::make(z).value(); }
PrivacyLoss loss(double e) { return PrivacyLoss::make(e).value(); }
double analytic(double e, double d) {
  return analytic_gaussian_multiplier(Epsilon::make(e).value(), Delta::make(d).value()).value().value();
}

// The same formula with 100 digits.
Wide exact_delta(double z_double, double e_double) {
  const Wide z = z_double;
  const Wide e = e_double;
  const Wide root = sqrt(Wide(2));
  const Wide first = boost::math::erfc((e * z - 1 / (2 * z)) / root) / 2;
  const Wide second = exp(e) * boost::math::erfc((e * z + 1 / (2 * z)) / root) / 2;
  return first - second;
}

TEST(GaussianProfile, BoundsEncloseTheTruthClosely) {
  for (double z : {0.05, 0.3, 1.0, 3.73, 30.0, 1e3, 1e5}) {
    for (double e : {0.0, 1e-4, 0.01, 0.1, 1.0, 5.0, 20.0}) {
      const Wide truth = exact_delta(z, e);
      const Interval bounds = gaussian_delta(multiplier(z), loss(e));
      EXPECT_LE(Wide(bounds.lower), truth) << z << " " << e;
      EXPECT_GE(Wide(bounds.upper), truth) << z << " " << e;
      EXPECT_LE(bounds.upper - bounds.lower, 6e-14) << z << " " << e;
    }
  }
}

TEST(GaussianProfile, ExtremesAreBoundedAndFinite) {
  for (double z : {1e-300, 1e-6, 1.0, 1e6, 1e300}) {
    for (double e : {0.0, 1e-300, 1.0, 1e4, 1e300}) {
      const Interval bounds = gaussian_delta(multiplier(z), loss(e));
      EXPECT_GE(bounds.lower, 0) << z << " " << e;
      EXPECT_LE(bounds.lower, bounds.upper) << z << " " << e;
      EXPECT_LE(bounds.upper, 1) << z << " " << e;
    }
  }
}

// Expected values: reference tables of the project (for sensitivity 0.01 they are printed as 0.307496 and 0.0373063).
TEST(GaussianProfile, AnalyticCalibrationMatchesPublishedValues) {
  EXPECT_NEAR(analytic(0.1, 1e-5), 30.7496, 5e-5);
  EXPECT_NEAR(analytic(1, 1e-5), 3.73063, 5e-6);
}

TEST(GaussianProfile, LogDeltaHoldsTheExactValue) {
  using Huge = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<150>>;
  const Huge root = sqrt(Huge(2));
  for (double mu : {1e-14, 1e-9, 1e-3, 0.5, 1.0, 7.0, 40.0, 300.0}) {
    for (double a : {-140.0, -20.0, -8.0, -0.4, 0.0, 0.7, 7.9, 8.1, 37.0, 120.0}) {
      const double e = (a + mu / 2) * mu;
      if (e < 0) continue;
      const Huge first = boost::math::erfc((Huge(e) / mu - Huge(mu) / 2) / root) / 2;
      const Huge second = exp(Huge(e)) * boost::math::erfc((Huge(e) / mu + Huge(mu) / 2) / root) / 2;
      // log1p of the complement, as δ may be within 1e-100 of 1.
      const Huge exact = a < -8 ? log1p(-(boost::math::erfc(-(Huge(e) / mu - Huge(mu) / 2) / root) / 2 + second))
                                : log(first - second);
      const LogDeltaBounds got = gaussian_log_delta(mu, loss(e));
      EXPECT_LE(Huge(got.lower), exact) << mu << " " << a;
      EXPECT_GE(Huge(got.upper), exact) << mu << " " << a;
      EXPECT_LE(got.upper - got.lower, 0x1p-58L * std::fabs(got.lower) + 3e-14L) << mu << " " << a;
    }
  }
}

TEST(GaussianProfile, LogDeltaIsABoundAtTheEdges) {
  for (double mu : {1e-300, 1e-20, 1.0, 1e6, 1e300}) {
    for (double e : {0.0, 1e-300, 1.0, 1e6, 1e300}) {
      const LogDeltaBounds got = gaussian_log_delta(mu, loss(e));
      EXPECT_LE(got.lower, got.upper) << mu << " " << e;
      EXPECT_LE(got.upper, 0) << mu << " " << e;
      EXPECT_FALSE(std::isnan(got.upper) || std::isinf(got.upper)) << mu << " " << e;
    }
  }
  EXPECT_NEAR(static_cast<double>(gaussian_log_delta(1e-20, loss(0)).upper), std::log(1e-20 / std::sqrt(2 * M_PI)),
              1e-12);
}

TEST(GaussianProfile, AnalyticCalibrationIsEnoughAndNotMore) {
  for (double e : {1e-3, 0.1, 1.0, 8.0, 50.0}) {
    for (double d : {1e-30, 1e-12, 1e-5, 0.1}) {
      const double z = analytic(e, d);
      EXPECT_LE(exact_delta(z, e), Wide(d)) << e << " " << d;
      EXPECT_GT(exact_delta(z * (1 - 1e-9), e), Wide(d)) << e << " " << d;
    }
  }
}

TEST(GaussianProfile, ClassicalFormulaIsRefusedWhereItIsNotProved) {
  const auto e1 = Epsilon::of(1);
  const auto d = Delta::of(1e-5);
  EXPECT_NEAR(classical_gaussian_multiplier(Epsilon::of(0.1), d).value().value(), 48.448, 5e-4);
  EXPECT_FALSE(classical_gaussian_multiplier(e1, d).has_value());
  EXPECT_NEAR(classical_gaussian_multiplier(e1, d, true).value().value(), 4.8448, 5e-5);
}

// Why it is refused: at ε = 9.69 it gives z = 0.5, which is not (9.69, 1e-5)-DP; the true ε is 9.997.
TEST(GaussianProfile, ClassicalFormulaIsTooSmallForLargeEpsilon) {
  const auto z = classical_gaussian_multiplier(Epsilon::of(9.69), Delta::of(1e-5), true).value();
  EXPECT_GT(gaussian_delta(z, loss(9.69)).lower, 1e-5);
  EXPECT_LT(gaussian_delta(z, loss(9.998)).upper, 1e-5);
}

TEST(GaussianProfile, PureDpIsRefusedWithTheRemedy) {
  const auto result = analytic_gaussian_multiplier(Epsilon::of(1), Delta::of(0));
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("Laplace"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
