#include "noisefloor/accounting/gaussian_dp.h"

#include <gtest/gtest.h>

#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <vector>

#include "tests/support/golden_accounting.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

namespace golden = testing::golden;
using testing::expect_invalid;
using Wide = boost::multiprecision::cpp_bin_float_100;

PrivacyLoss loss(double e) { return PrivacyLoss::make(e).value(); }
Delta delta(double d) { return Delta::make(d).value(); }
GaussianDp mechanism(double z, std::uint64_t k) {
  return GaussianDp::of_mechanism(NoiseMultiplier::make(z).value(), Steps::make(k).value()).value();
}

Wide exact_delta(double mu_double, double e_double) {
  const Wide mu = mu_double;
  const Wide e = e_double;
  const Wide root = sqrt(Wide(2));
  return boost::math::erfc((e / mu - mu / 2) / root) / 2 - exp(e) * boost::math::erfc((e / mu + mu / 2) / root) / 2;
}

TEST(GaussianDp, GoldenRows) {
  for (const golden::Row& row : golden::kRows) {
    if (row.rate != 1 || (row.kind != golden::kGaussian && row.kind != golden::kDpSgd)) continue;
    const Interval got = mechanism(row.scale, row.count).epsilon_at(delta(row.delta)).value();
    // The rows are rounded to their last digit.
    EXPECT_LE(got.lower, row.exact * (1 + 1e-13)) << row.exact;
    EXPECT_GE(got.upper, row.exact * (1 - 1e-13)) << row.exact;
    EXPECT_LE(got.upper - got.lower, 1e-9 * got.upper) << row.exact;
  }
}

TEST(GaussianDp, EpsilonIsEnoughAndNotMore) {
  for (double mu : {1e-6, 1e-3, 0.3, 1.0, 12.0}) {
    for (double d : {1e-300, 1e-100, 1e-20, 1e-5, 0.1, 0.9}) {
      const Interval got = GaussianDp::of_mu(mu).value().epsilon_at(delta(d)).value();
      EXPECT_LE(exact_delta(mu, got.upper), Wide(d)) << mu << " " << d;
      if (got.lower > 0) {
        EXPECT_GE(exact_delta(mu, got.lower), Wide(d)) << mu << " " << d;
      }
      EXPECT_LE(got.upper - got.lower, 1e-9 * got.upper) << mu << " " << d;
    }
  }
}

TEST(GaussianDp, DeltaHoldsTheExactValue) {
  for (double mu : {1e-9, 1e-3, 0.3, 1.0, 12.0}) {
    for (double share : {0.0, 0.2, 1.0, 7.0, 30.0}) {
      const double e = mu * (share + mu / 2);
      const Interval got = GaussianDp::of_mu(mu).value().delta_at(loss(e));
      EXPECT_LE(Wide(got.lower), exact_delta(mu, e)) << mu << " " << e;
      EXPECT_GE(Wide(got.upper), exact_delta(mu, e)) << mu << " " << e;
      EXPECT_LE(got.upper - got.lower, 1e-9 * got.upper) << mu << " " << e;
    }
  }
}

TEST(GaussianDp, EdgesStayFinite) {
  for (double mu : {1e-300, 1e-30, 1e-10, 1e3, 1e6, 1e150}) {
    for (double d : {1e-300, 1e-5, 1 - 1e-6}) {
      const Interval got = GaussianDp::of_mu(mu).value().epsilon_at(delta(d)).value();
      EXPECT_TRUE(std::isfinite(got.upper) && got.lower >= 0 && got.lower <= got.upper) << mu << " " << d;
      if (mu >= 1e-10 && mu <= 1e6) {
        EXPECT_LE(got.upper - got.lower, 1e-9 * got.upper) << mu << " " << d;
      }
      EXPECT_LE(GaussianDp::of_mu(mu).value().delta_at(loss(got.upper)).lower, d);
    }
    for (double e : {0.0, 1e-300, 1.0, 1e6}) {
      const Interval got = GaussianDp::of_mu(mu).value().delta_at(loss(e));
      EXPECT_TRUE(got.lower >= 0 && got.lower <= got.upper && got.upper <= 1) << mu << " " << e;
    }
  }
  expect_invalid(GaussianDp::of_mu(1e200).value().epsilon_at(delta(0.1)).error(), "more noise");
  expect_invalid(GaussianDp::of_mu(-1).error(), "-1");
  expect_invalid(GaussianDp::of_mu(1).value().epsilon_at(delta(0)).error(), "Laplace");
  EXPECT_EQ(GaussianDp::of_mu(0).value().epsilon_at(delta(0)).value().upper, 0);
}

TEST(GaussianDp, CompositionIsTheRootOfSquaresAndNotBelow) {
  std::vector<GaussianDp> parts;
  Wide squares = 0;
  for (int i = 1; i < 200; ++i) {
    const double mu = std::exp2(20 * std::sin(1.3 * i));
    parts.push_back(GaussianDp::of_mu(mu).value());
    squares += Wide(mu) * Wide(mu);
  }
  const double total = GaussianDp::compose(parts).value().mu();
  EXPECT_GE(Wide(total) * Wide(total), squares);
  EXPECT_LE(Wide(total), sqrt(squares) * Wide(1 + 1e-13));
  // Neither overflow nor underflow loses anything.
  for (double mu : {1e-310, 1e-200, 1e200}) {
    const std::vector<GaussianDp> four(4, GaussianDp::of_mu(mu).value());
    EXPECT_NEAR(GaussianDp::compose(four).value().mu() / mu, 2, 1e-12);
  }
  EXPECT_EQ(GaussianDp::compose(std::vector<GaussianDp>{}).value().mu(), 0);
  const double third = mechanism(3, 1).mu();
  EXPECT_GE(Wide(third) * 3, Wide(1));
}

// The curve is the trade-off of a threshold test, and δ(ε) is its conjugate: α ↦ 1 − e^ε α − β(α) peaks at δ(ε).
TEST(GaussianDp, TradeOffCurveIsTheConjugateOfTheProfile) {
  for (double mu : {0.2, 1.0, 3.0}) {
    const GaussianDp gdp = GaussianDp::of_mu(mu).value();
    EXPECT_EQ(gdp.type_two_error(0).value(), 1);
    EXPECT_EQ(gdp.type_two_error(1).value(), 0);
    for (double e : {0.0, 0.5, 2.0}) {
      double peak = 0;
      for (int i = 1; i < 20000; ++i) {
        const double alpha = std::exp(-20.0 * i / 20000);
        peak = std::max(peak, 1 - std::exp(e) * alpha - gdp.type_two_error(alpha).value());
      }
      EXPECT_NEAR(peak, gdp.delta_at(loss(e)).upper, 1e-6);
    }
  }
  expect_invalid(GaussianDp::of_mu(1).value().type_two_error(1.5).error(), "1.5");
}

// opacus_gdp_clt rows of accounting_golden.csv; the exact ε of the same settings is larger: no bound.
TEST(GaussianDp, CentralLimitEstimate) {
  struct Row {
    double rate;
    double sigma;
    std::uint64_t steps;
    double delta;
    double expected;
  };
  for (const Row& row :
       {Row{0.0001, 1.0, 100000, 1e-5, 0.13040751130985742}, Row{0.01, 1.0, 1000, 1e-5, 1.6177118087467202},
        Row{0.0256, 1.0, 390, 1e-5, 2.7348880645585525}, Row{0.1, 2.0, 1000, 1e-7, 9.728133251230833}}) {
    const auto rate = SamplingRate::make(row.rate).value();
    const auto z = NoiseMultiplier::make(row.sigma).value();
    const auto steps = Steps::make(row.steps).value();
    const double mu = central_limit_estimate_poisson(rate, z, steps).value().mu;
    EXPECT_NEAR(GaussianDp::of_mu(mu).value().epsilon_at(delta(row.delta)).value().upper, row.expected,
                1e-6 * row.expected);
  }
  // Much noise: e^(1/σ²) − 1 ≈ 1/σ², and the uniform form has the same limit.
  const auto rate = SamplingRate::of(0.01);
  for (double z : {1e3, 1e7}) {
    const auto sigma = NoiseMultiplier::make(z).value();
    EXPECT_NEAR(central_limit_estimate_poisson(rate, sigma, Steps::of(10000)).value().mu * z, 1, 1e-5);
    EXPECT_NEAR(central_limit_estimate_uniform(rate, sigma, Steps::of(10000)).value().mu * z, 1, 2e-3);
  }
}

}  // namespace
}  // namespace noisefloor
