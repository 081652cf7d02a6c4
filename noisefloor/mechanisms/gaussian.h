// The Gaussian mechanism for numbers and vectors, on a power-of-two grid.
//
// Guarantee:     (ε, δ)-DP for neighbours that move the answer by at most the stated L2 sensitivity, at every bit of
//                the output: the noise is discrete Gaussian, exact and in whole grid steps. The event is discrete
//                Gaussian, in steps.
// Implements:    analytic calibration (Balle and Wang 2018), tightened by what separates the discrete law from a
//                rounded continuous one; docs/proofs/gaussian_on_a_grid.md has the argument.
// Added error:   rounding moves a coordinate by at most 2^-21 of the sensitivity divided by √dimension; sigma exceeds
//                the continuous optimum by about 2^-20 of itself.
// Requires:      the sensitivity is true of the answer as it is passed in. A sum of doubles rounds: use BoundedSum.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/mechanisms/lattice.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/random/discrete_gaussian.h"

namespace noisefloor {

enum class GaussianCalibration : std::uint8_t {
  kAnalytic,                 // smallest sigma, valid for every ε
  kClassical,                // √(2 ln(1.25/δ))/ε, for ε < 1
  kClassicalBeyondItsProof,  // the same formula for any ε; the event tells what it is really worth
};

class GaussianMechanism {
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

  // Requires dimension 1.
  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, double>> release(double answer, Source& source) const {
    NF_TRY_VOID(check_dimension(1));
    return release_point(lattice_.nearest(answer), source);
  }

  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, std::vector<double>>> release(std::span<const double> answer,
                                                                     Source& source) const {
    NF_TRY_VOID(check_dimension(answer.size()));
    std::vector<double> noised;
    noised.reserve(answer.size());
    for (double one : answer) noised.push_back(add_noise(lattice_.nearest(one), source));
    return Release<Source, std::vector<double>>(std::move(noised), statement_);
  }

  // For an answer that was computed on the lattice, in steps.
  template <RandomSource Source>
  [[nodiscard]] Release<Source, double> release_point(Int128 point, Source& source) const {
    return Release<Source, double>(add_noise(point, source), statement_);
  }

  // For mechanisms that release something derived from a noised whole number, under a statement of their own.
  [[nodiscard]] double noised(std::int64_t whole, BitStream& stream) const {
    return add_noise(lattice_.nearest_to_whole(whole), stream);
  }
  // The same, rounded to a whole number.
  [[nodiscard]] std::int64_t noised_whole(std::int64_t whole, BitStream& stream) const {
    return lattice_.to_whole(saturating_add(lattice_.nearest_to_whole(whole), noise_.sample(stream)));
  }

  [[nodiscard]] const DpStatement& statement() const { return statement_; }
  [[nodiscard]] const Lattice& lattice() const { return lattice_; }

  // The standard deviation of the noise that is really added, in the units of the answer.
  [[nodiscard]] double sigma() const { return noise_.sigma().value() * lattice_.step(); }

  // A released coordinate is within this of the truth with at least the given probability, rounding included.
  [[nodiscard]] double error_bound(Confidence confidence) const;

 private:
  GaussianMechanism(Lattice lattice, DiscreteGaussian noise, Dimension dimension, DpStatement statement);

  // `rounding` bounds the norm of the rounding errors of one unit's change, in steps; 0 for one number that is rounded
  // as a whole.
  [[nodiscard]] static Result<GaussianMechanism> calibrated(const Sensitivity& sensitivity, Epsilon epsilon,
                                                            Delta delta, Dimension dimension, double rounding,
                                                            GaussianCalibration calibration);
  [[nodiscard]] static Result<GaussianMechanism> on_lattice(const Neighbours& neighbours, Lattice lattice,
                                                            double l2_steps, NoiseMultiplier multiplier,
                                                            Dimension dimension);

  [[nodiscard]] Result<void> check_dimension(std::size_t got) const;
  [[nodiscard]] double add_noise(Int128 point, BitStream& stream) const;

  Lattice lattice_;
  DiscreteGaussian noise_;
  Dimension dimension_;
  DpStatement statement_;
};

}  // namespace noisefloor
