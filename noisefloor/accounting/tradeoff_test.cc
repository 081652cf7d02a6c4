#include "noisefloor/accounting/tradeoff.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/accounting/gaussian_dp.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

std::vector<double> grid() {
  std::vector<double> alphas;
  for (int i = 0; i <= 50; ++i) alphas.push_back(i / 50.0);
  return alphas;
}

// β(α) = Φ(Φ⁻¹(1 − α) − μ) is known exactly; so is the piecewise linear curve of a pure ε.
TEST(Tradeoff, HoldsTheCurveOfAGaussian) {
  for (double mu : {0.3, 1.0, 3.0}) {
    const auto curve =
        tradeoff_curve(GaussianEvent{NoiseMultiplier::make(1 / mu).value()}, Adjacency::kAddRemove, grid()).value();
    const GaussianDp exact = GaussianDp::of_mu(mu).value();
    double widest = 0;
    for (const TradeoffPoint& p : curve) {
      const double beta = exact.type_two_error(p.alpha).value();
      EXPECT_LE(p.beta_lower, beta + 1e-9) << mu << " " << p.alpha;
      EXPECT_GE(p.beta_upper, beta - 1e-9) << mu << " " << p.alpha;
      widest = std::max(widest, p.beta_upper - p.beta_lower);
    }
    EXPECT_LT(widest, 0.01) << mu;
    // A mutant: another μ does not fit.
    const GaussianDp other = GaussianDp::of_mu(mu * 1.05).value();
    int outside = 0;
    for (const TradeoffPoint& p : curve) {
      const double beta = other.type_two_error(p.alpha).value();
      outside += p.beta_lower > beta || p.beta_upper < beta ? 1 : 0;
    }
    EXPECT_GT(outside, 10) << mu;
  }
}

TEST(Tradeoff, HoldsTheCurveOfRandomizedResponse) {
  const double epsilon = 1;
  const auto curve =
      tradeoff_curve(RandomizedResponseEvent{Epsilon::of(1), kTwoCategories}, Adjacency::kReplaceOne, grid()).value();
  for (const TradeoffPoint& p : curve) {
    const double beta = std::max({0.0, 1 - std::exp(epsilon) * p.alpha, std::exp(-epsilon) * (1 - p.alpha)});
    EXPECT_LE(p.beta_lower, beta + 1e-9) << p.alpha;
    EXPECT_GE(p.beta_upper, beta - 1e-9) << p.alpha;
  }
}

TEST(Tradeoff, ComposedStepsAreEasierToTellApart) {
  const auto curve_of = [](std::uint64_t steps) {
    return tradeoff_curve(
               SelfComposedEvent{Steps::make(steps).value(),
                                 PoissonSampledEvent{SamplingRate::of(0.01), GaussianEvent{NoiseMultiplier::of(1)}}},
               Adjacency::kAddRemove, std::vector<double>{0.1, 0.5}, 32)
        .value();
  };
  EXPECT_GT(curve_of(100)[0].beta_lower, curve_of(10'000)[0].beta_upper);
}

TEST(Tradeoff, RefusesWhatIsNoErrorProbability) {
  expect_invalid(tradeoff_curve(ZeroCostEvent{}, Adjacency::kAddRemove, std::vector<double>{1.5}).error(), "1.5");
  expect_invalid(tradeoff_curve(NonPrivateEvent{""}, Adjacency::kAddRemove, std::vector<double>{0.5}).error(),
                 "not private");
}

}  // namespace
}  // namespace noisefloor
