// The Laplace mechanism for numbers and vectors, on a power-of-two grid.
//
// Guarantee:     ε-DP for neighbours that move the answer by at most the stated L1 sensitivity, at every bit of the
//                output: the noise is integer, exact and in whole grid steps. The event is discrete Laplace, in
//                steps.
// Implements:    Dwork, McSherry, Nissim, Smith 2006; discrete noise of Ghosh, Roughgarden, Sundararajan 2009.
// Added error:   rounding to the grid moves a number by at most 2^-33 of the sensitivity (2^-21 where ε is below
//                2^-18), and the scale exceeds Δ/ε by less than 2^-20 of itself (2^-32 typically).
// Requires:      the sensitivity is true of the answer as it is passed in. A sum of doubles rounds: use BoundedSum.
// Thread safety: const after construction.
#pragma once

#include <span>
#include <vector>

#include "noisefloor/mechanisms/lattice.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/random/discrete_laplace.h"

namespace noisefloor {

class LaplaceMechanism {
 public:
  [[nodiscard]] static Result<LaplaceMechanism> create(const Sensitivity& sensitivity, Epsilon epsilon,
                                                       Dimension dimension = kScalar);

  // For a number that is the sum of values which are rounded to the lattice one by one, `rows` of them for one unit.
  [[nodiscard]] static Result<LaplaceMechanism> create_for_sum(const Sensitivity& sensitivity, Epsilon epsilon,
                                                               Rows rows);

  // Requires dimension 1.
  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, double>> release(double answer, Source& source) const {
    NF_TRY_VOID(check_dimension(1));
    return release_point(lattice().nearest(answer), source);
  }

  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, std::vector<double>>> release(std::span<const double> answer,
                                                                     Source& source) const {
    NF_TRY_VOID(check_dimension(answer.size()));
    std::vector<double> noised;
    noised.reserve(answer.size());
    for (double one : answer) noised.push_back(add_noise(lattice().nearest(one), source));
    return Release<Source, std::vector<double>>(std::move(noised), statement_);
  }

  // For an answer that was computed on the lattice, in steps.
  template <RandomSource Source>
  [[nodiscard]] Release<Source, double> release_point(Int128 point, Source& source) const {
    return Release<Source, double>(add_noise(point, source), statement_);
  }

  [[nodiscard]] const DpStatement& statement() const { return statement_; }
  [[nodiscard]] const Lattice& lattice() const { return calibration_.lattice; }

  // The scale b of the noise that is really added, in the units of the answer.
  [[nodiscard]] double scale() const { return calibration_.scale.value() * lattice().step(); }

  // A released number is within this of the truth with at least the given probability, rounding included.
  [[nodiscard]] double error_bound(Confidence confidence) const;

 private:
  [[nodiscard]] static Result<LaplaceMechanism> create_rounded(const Sensitivity& sensitivity, Epsilon epsilon,
                                                               Dimension dimension, std::uint64_t roundings);

  LaplaceMechanism(LaplaceOnLattice calibration, DiscreteLaplace noise, Dimension dimension, DpStatement statement);

  [[nodiscard]] Result<void> check_dimension(std::size_t got) const;
  [[nodiscard]] double add_noise(Int128 point, BitStream& stream) const;

  LaplaceOnLattice calibration_;
  DiscreteLaplace noise_;
  Dimension dimension_;
  DpStatement statement_;
};

}  // namespace noisefloor
