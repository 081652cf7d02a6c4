#include "noisefloor/mechanisms/gaussian.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "noisefloor/base/rounding.h"
#include "noisefloor/numerics/gaussian_profile.h"

namespace noisefloor {
namespace {

// Steps to a sensitivity (divided by √dimension): rounding then costs 2^-20 of the noise, the discrete law far less.
constexpr int kSensitivityBits = 20;
constexpr double kMinSigma = 0x1p16;
constexpr double kMaxSigma = 0x1p50;
// The sampler ends the process on events of probability 2^-200: a smaller δ would have no meaning.
constexpr double kMinDelta = 1e-60;

struct LatticeSensitivity {
  Lattice lattice;
  double l2;  // in steps
};

// Rounding one coordinate moves a difference by less than a step; the vector of these has a norm below √dimension. One
// number alone moves to the next whole number of steps at most, without a rounding error on top.
double rounding_of(Dimension dimension) {
  return dimension.value() == 1 ? 0 : std::sqrt(static_cast<double>(dimension.value()));
}

LatticeSensitivity choose_lattice(L2Sensitivity sensitivity, double rounding, int bits) {
  const int exponent = floor_log2(sensitivity.value() / std::max(rounding, 1.0)) - bits;
  const double exact = std::ldexp(sensitivity.value(), -exponent);
  return {Lattice(exponent), rounding == 0 ? std::ceil(exact) : next_up(exact + rounding) + 1};
}

// How far the discrete Gaussian is from a rounded continuous one; docs/proofs/gaussian_on_a_grid.md.
struct Closeness {
  double epsilon;  // add this to ε
  double tail;     // and this to δ
};

Closeness closeness(double sigma, Dimension dimension, double epsilon, double delta) {
  const double d = static_cast<double>(dimension.value());
  const double l = std::log(0x1p40 / delta) + epsilon;
  const double radius = sigma * (std::sqrt(d) + std::sqrt(2 * l)) + std::sqrt(d) / 2;
  const double inner = d / (24 * sigma * sigma);
  const double outer = radius / (sigma * sigma) * (radius / (sigma * sigma)) / 24;
  // The tail of the rounded law has probability e^-l and enters δ times e^ε: together 2^-40 δ.
  return {(inner + outer) * (1 + 1e-9), std::exp(epsilon - l)};
}

// The target that the continuous mechanism must reach so that the discrete one with noise of at least `sigma` steps
// reaches (ε, δ).
struct Target {
  Epsilon epsilon;
  Delta delta;
};

Result<Target> tightened_target(Epsilon epsilon, Delta delta, double sigma, Dimension dimension) {
  const Closeness close = closeness(sigma, dimension, epsilon.value(), delta.value());
  const double e = epsilon.value() - close.epsilon;
  if (e <= 0) {
    return invalid_argument(fmt::format("epsilon {} is too small for exact noise in {} dimensions: use a larger one",
                                        epsilon.value(), dimension.value()));
  }
  NF_TRY(const Epsilon tight_epsilon, Epsilon::make(e));
  NF_TRY(const Delta tight_delta, Delta::make(delta.value() * std::exp(-close.epsilon) - close.tail));
  return Target{tight_epsilon, tight_delta};
}

// The grid for noise of about `multiplier` times the sensitivity: fine, but with noise within what the sampler can do.
Result<LatticeSensitivity> lattice_for(L2Sensitivity sensitivity, NoiseMultiplier multiplier, double rounding) {
  const auto fits = [&](double sigma) { return sigma >= kMinSigma && sigma <= kMaxSigma; };
  for (int bits : {kSensitivityBits, kSensitivityBits + 10, kSensitivityBits + 20, kSensitivityBits - 10}) {
    const LatticeSensitivity chosen = choose_lattice(sensitivity, rounding, bits);
    if (fits(multiplier.value() * chosen.l2) && chosen.lattice.step() > 0) return chosen;
  }
  return invalid_argument(fmt::format("no exact noise for a noise multiplier of {} and sensitivity {}",
                                      multiplier.value(), sensitivity.value()));
}

}  // namespace

Result<GaussianMechanism> GaussianMechanism::create(const Sensitivity& sensitivity, Epsilon epsilon, Delta delta,
                                                    Dimension dimension, GaussianCalibration calibration) {
  return calibrated(sensitivity, epsilon, delta, dimension, rounding_of(dimension), calibration);
}

Result<GaussianMechanism> GaussianMechanism::create_for_sum(const Sensitivity& sensitivity, Epsilon epsilon,
                                                            Delta delta, Rows rows) {
  const double rounding = rows.value() == 1 ? 0 : static_cast<double>(rows.value());
  return calibrated(sensitivity, epsilon, delta, kScalar, rounding, GaussianCalibration::kAnalytic);
}

Result<GaussianMechanism> GaussianMechanism::calibrated(const Sensitivity& sensitivity, Epsilon epsilon, Delta delta,
                                                        Dimension dimension, double rounding,
                                                        GaussianCalibration calibration) {
  if (delta.value() > 0 && delta.value() < kMinDelta) {
    return invalid_argument(
        fmt::format("delta {} is below {}, the least that exact Gaussian noise can promise", delta.value(), kMinDelta));
  }
  NF_TRY(const NoiseMultiplier continuous, analytic_gaussian_multiplier(epsilon, delta));
  const Result<LatticeSensitivity> found = lattice_for(sensitivity.l2, continuous, rounding);
  if (!found.has_value()) {
    return invalid_argument(
        fmt::format("epsilon {} at delta {}: {}", epsilon.value(), delta.value(), found.error().message));
  }
  const LatticeSensitivity& chosen = found.value();
  // The correction shrinks as sigma grows, so that what it is at the uncorrected sigma is enough.
  NF_TRY(const Target target, tightened_target(epsilon, delta, continuous.value() * chosen.l2, dimension));
  NF_TRY(NoiseMultiplier multiplier, analytic_gaussian_multiplier(target.epsilon, target.delta));
  if (calibration != GaussianCalibration::kAnalytic) {
    const bool beyond = calibration == GaussianCalibration::kClassicalBeyondItsProof;
    NF_TRY(const NoiseMultiplier classical, classical_gaussian_multiplier(epsilon, delta, beyond));
    multiplier = beyond ? classical : std::max(classical, multiplier);
  }
  return on_lattice(sensitivity.neighbours, chosen.lattice, chosen.l2, multiplier, dimension);
}

Result<GaussianMechanism> GaussianMechanism::create(const Sensitivity& sensitivity, NoiseMultiplier multiplier,
                                                    Dimension dimension) {
  NF_TRY(const LatticeSensitivity chosen, lattice_for(sensitivity.l2, multiplier, rounding_of(dimension)));
  return on_lattice(sensitivity.neighbours, chosen.lattice, chosen.l2, multiplier, dimension);
}

Result<GaussianMechanism> GaussianMechanism::on_lattice(const Neighbours& neighbours, Lattice lattice, double l2_steps,
                                                        NoiseMultiplier multiplier, Dimension dimension) {
  NF_TRY(const NoiseScale sigma, NoiseScale::make(times_up(multiplier.value(), l2_steps)));
  NF_TRY(DiscreteGaussian noise, DiscreteGaussian::create(sigma));
  NF_TRY(const L2Sensitivity l2, L2Sensitivity::make(l2_steps));
  const double root = sqrt_up(static_cast<double>(dimension.value()));
  NF_TRY(const L1Sensitivity l1, L1Sensitivity::make(times_up(l2_steps, root)));
  DpStatement statement{neighbours.adjacency, neighbours.unit,
                        DiscreteGaussianEvent{sigma, Contributors::of(1), l1, l2, dimension}};
  return GaussianMechanism(lattice, std::move(noise), dimension, std::move(statement));
}

double GaussianMechanism::error_bound(Confidence confidence) const {
  return sigma() * std::sqrt(2.0) * boost::math::erf_inv(confidence.value()) + lattice().step();
}

}  // namespace noisefloor
