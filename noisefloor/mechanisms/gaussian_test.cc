#include "noisefloor/mechanisms/gaussian.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "noisefloor/numerics/gaussian_profile.h"
#include "tests/support/statistics.h"

namespace noisefloor {
namespace {

using testing::kAlpha;

Sensitivity scalar(double change) {
  return Sensitivity::of_scalar({Adjacency::kAddRemove, PrivacyUnit::kRow, Rows::of(1)}, change).value();
}

Result<GaussianMechanism> make(double sensitivity, double epsilon, double delta, std::uint64_t dimension = 1) {
  return GaussianMechanism::create(scalar(sensitivity), Epsilon::make(epsilon).value(), Delta::make(delta).value(),
                                   Dimension::make(dimension).value());
}

// δ(ε) of discrete Gaussian noise for a shift of one number, by adding up the law itself:
// Σ max(0, P(x) − e^ε P(x − s)) over all integers. No closed form and no continuous approximation is used.
double exact_delta(double sigma, double shift, double epsilon) {
  // P(x) > e^ε P(x − s) holds below a threshold; the sum runs over ten million terms, all positive.
  const double threshold = shift / 2 - epsilon * sigma * sigma / shift;
  long double sum = 0;
  long double norm = 0;
  const double reach = 12 * sigma;
  for (double x = std::floor(-reach); x <= reach; ++x) {
    const long double p = std::exp(-(x * x) / (2 * sigma * sigma));
    norm += p;
    if (x < threshold) {
      const double y = x - shift;
      sum += p - std::exp(epsilon - y * y / (2 * sigma * sigma));
    }
  }
  return static_cast<double>(sum / norm);
}

// The proof of docs/proofs/gaussian_on_a_grid.md, attacked by brute force.
TEST(Gaussian, TheDiscreteLawItselfKeepsEpsilonAndDelta) {
  const struct {
    double epsilon;
    double delta;
  } cases[] = {{0.5, 1e-3}, {1, 1e-5}, {3, 1e-6}};
  for (const auto& c : cases) {
    const GaussianMechanism gaussian = make(1, c.epsilon, c.delta).value();
    const auto& event = std::get<DiscreteGaussianEvent>(gaussian.statement().event.kind());
    const double sigma = event.sigma.value();
    const double shift = event.l2_sensitivity.value();
    EXPECT_EQ(shift, std::floor(shift));
    const double delta = exact_delta(sigma, shift, c.epsilon);
    EXPECT_LE(delta, c.delta) << c.epsilon;
    EXPECT_GE(delta, c.delta * 0.999) << c.epsilon;
    // Mutant: noise that is 0.1 % too small breaks the promise, so the test would notice.
    EXPECT_GT(exact_delta(std::floor(sigma * 0.999), shift, c.epsilon), c.delta) << c.epsilon;
  }
}

TEST(Gaussian, SigmaIsTheAnalyticOneAndHardlyMore) {
  for (double epsilon : {0.01, 0.1, 1.0, 8.0}) {
    for (std::uint64_t dimension : {1ULL, 100ULL, 1'000'000ULL}) {
      const GaussianMechanism gaussian = make(0.01, epsilon, 1e-5, dimension).value();
      const double continuous =
          0.01 * analytic_gaussian_multiplier(Epsilon::make(epsilon).value(), Delta::of(1e-5)).value().value();
      EXPECT_GE(gaussian.sigma(), continuous);
      EXPECT_LE(gaussian.sigma(), continuous * (1 + 0x1p-18)) << epsilon << " " << dimension;
    }
  }
}

// The printed values of a widely read text are ten times too small; these are right.
TEST(Gaussian, ErrataValues) {
  EXPECT_NEAR(make(0.01, 0.1, 1e-5).value().sigma(), 0.307496, 1e-6);
  EXPECT_NEAR(make(0.01, 1, 1e-5).value().sigma(), 0.0373063, 1e-7);
  const auto classical = GaussianMechanism::create(scalar(0.01), Epsilon::of(0.1), Delta::of(1e-5), Dimension::of(1),
                                                   GaussianCalibration::kClassical);
  EXPECT_NEAR(classical.value().sigma(), 0.48448, 1e-5);
}

TEST(Gaussian, ClassicalCalibrationIsRefusedWhereItIsNotProvedUnlessAskedFor) {
  const auto with = [](GaussianCalibration calibration) {
    return GaussianMechanism::create(scalar(1), Epsilon::of(1), Delta::of(1e-5), Dimension::of(1), calibration);
  };
  EXPECT_FALSE(with(GaussianCalibration::kClassical).has_value());
  EXPECT_NEAR(with(GaussianCalibration::kClassicalBeyondItsProof).value().sigma(), 4.8448, 1e-4);
}

// 100 bins of equal probability. Detects sigma off by 2 %.
TEST(Gaussian, NoiseHasTheStatedSigma) {
  const GaussianMechanism gaussian = make(1, 1, 1e-5).value();
  const auto p_value_against = [&](double claimed) {
    ReplayRandom source = ReplayRandom::create(1).value();
    return testing::p_value_of_sampler(
        300'000,
        [&] {
          const double noise = gaussian.release(72.5, source).value().value() - 72.5;
          return static_cast<std::int64_t>(std::erfc(noise / (claimed * std::sqrt(2.0))) * 50);
        },
        0, 99, [](std::int64_t) { return 1.0 / 100; });
  };
  EXPECT_GT(p_value_against(gaussian.sigma()), kAlpha);
  EXPECT_LT(p_value_against(gaussian.sigma() * 1.02), kAlpha);
}

TEST(Gaussian, OutputsLieOnAPublicGrid) {
  ReplayRandom source = ReplayRandom::create(2).value();
  const GaussianMechanism gaussian = make(0.3, 1, 1e-5).value();
  for (double answer : {0.0, 1.0 / 3, -1e9, 1e-300}) {
    for (int i = 0; i < 100; ++i) {
      const double steps = gaussian.release(answer, source).value().value() / gaussian.lattice().step();
      EXPECT_EQ(steps, std::floor(steps));
    }
  }
}

TEST(Gaussian, NoiseByMultiplierIsWhatTheEventSays) {
  const GaussianMechanism gaussian =
      GaussianMechanism::create(scalar(2), NoiseMultiplier::of(1.1), Dimension::of(50)).value();
  const auto& event = std::get<DiscreteGaussianEvent>(gaussian.statement().event.kind());
  EXPECT_GE(event.sigma.value() / event.l2_sensitivity.value(), 1.1);
  EXPECT_NEAR(gaussian.sigma(), 2.2, 1e-5);
  EXPECT_EQ(event.dimension.value(), 50U);
}

TEST(Gaussian, ErrorBoundCoversAsOftenAsItSays) {
  ReplayRandom source = ReplayRandom::create(3).value();
  const GaussianMechanism gaussian = make(1, 1, 1e-5).value();
  const double bound = gaussian.error_bound(Confidence::of(0.95));
  std::uint64_t covered = 0;
  constexpr std::uint64_t draws = 200'000;
  for (std::uint64_t i = 0; i < draws; ++i) {
    covered += std::fabs(gaussian.release(0.1, source).value().value() - 0.1) <= bound ? 1U : 0U;
  }
  EXPECT_GT(testing::coin_p_value(covered, draws, 0.95), kAlpha);
  EXPECT_LT(testing::coin_p_value(covered, draws, 0.955), kAlpha);
}

TEST(Gaussian, ExtremesAreAnsweredOrRefusedClearly) {
  EXPECT_FALSE(make(1, 1, 0).has_value());
  for (double epsilon : {1e-9, 1e-4, 100.0, 700.0, 1e6}) {
    for (double delta : {1e-300, 1e-30, 0.5}) {
      const auto made = make(1, epsilon, delta);
      if (made.has_value()) {
        EXPECT_TRUE(std::isfinite(made.value().sigma()));
      } else {
        EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
      }
    }
  }
}

}  // namespace
}  // namespace noisefloor
