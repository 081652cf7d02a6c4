// The Gaussian mechanism for numbers and vectors, on a power-of-two grid.
//
// Guarantee:     (ε, δ)-DP for neighbours that move the answer by at most the stated L2 sensitivity, at every bit of
//                the output: the noise is discrete Gaussian, exact and in whole grid steps. The event is discrete
//                Gaussian, in steps.
// Implements:    analytic calibration (Balle and Wang 2018), tightened by what separates the discrete law from a
//                rounded continuous one; docs/proofs/gaussian_on_a_grid.md has the argument.
// Added error:   rounding moves a coordinate by at most 2^-21 of the sensitivity divided by √dimension; sigma exceeds
//                the continuous optimum by about 2^-20 of itself. (2^-11 and 2^-10 where sigma is above 2^30
//                sensitivities: a coarser grid, lost in that much noise.)
// Requires:      the sensitivity is true of the answer as it is passed in. A sum of doubles rounds: use BoundedSum.
// Thread safety: const after construction.
#pragma once

#include <cstdint>

#include "noisefloor/mechanisms/noise_on_lattice.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/random/discrete_gaussian.h"

namespace noisefloor {

enum class GaussianCalibration : std::uint8_t {
  kAnalytic,                 // smallest sigma, valid for every ε
  kClassical,                // √(2 ln(1.25/δ))/ε, for ε < 1
  kClassicalBeyondItsProof,  // the same formula for any ε; the event tells what it is really worth
};

class GaussianMechanism : public NoiseOnLattice<DiscreteGaussian> {
 public:
  [[nodiscard]] static Result<GaussianMechanism> create(
      const Sensitivity& sensitivity, Epsilon epsilon, Delta delta, Dimension dimension = kScalar,
      GaussianCalibration calibration = GaussianCalibration::kAnalytic);

  // For a number that is the sum of values which are rounded to the lattice one by one, `rows` of them for one unit.
  [[nodiscard]] static Result<GaussianMechanism> create_for_sum(const Sensitivity& sensitivity, Epsilon epsilon,
                                                                Delta delta, Rows rows);

  // Noise given by its multiplier σ/Δ₂ instead of a target, for accounting by the event.
  [[nodiscard]] static Result<GaussianMechanism> create(const Sensitivity& sensitivity, NoiseMultiplier multiplier,
                                                        Dimension dimension = kScalar);

  // The standard deviation of the noise that is really added, in the units of the answer.
  [[nodiscard]] double sigma() const { return noise().sigma().value() * lattice().step(); }

  // A released coordinate is within this of the truth with at least the given probability, rounding included.
  [[nodiscard]] double error_bound(Confidence confidence) const;

 private:
  using NoiseOnLattice::NoiseOnLattice;

  // `rounding` bounds the norm of the rounding errors of one unit's change, in steps; 0 for one number that is rounded
  // as a whole.
  [[nodiscard]] static Result<GaussianMechanism> calibrated(const Sensitivity& sensitivity, Epsilon epsilon,
                                                            Delta delta, Dimension dimension, double rounding,
                                                            GaussianCalibration calibration);
  [[nodiscard]] static Result<GaussianMechanism> on_lattice(const Neighbours& neighbours, Lattice lattice,
                                                            double l2_steps, NoiseMultiplier multiplier,
                                                            Dimension dimension);
};

}  // namespace noisefloor
