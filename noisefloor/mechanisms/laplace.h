// The Laplace mechanism for numbers and vectors, on a power-of-two grid.
//
// Guarantee:     ε-DP for neighbours that move the answer by at most the stated L1 sensitivity, at every bit of the
//                output: the noise is integer, exact and in whole grid steps (up to an event of probability below
//                2^-183, in which it saturates). The event is discrete Laplace, in steps.
// Implements:    Dwork, McSherry, Nissim, Smith 2006; discrete noise of Ghosh, Roughgarden, Sundararajan 2009.
// Added error:   rounding to the grid moves a number by at most 2^-33 of the sensitivity (2^-21 where ε is below
//                2^-18), and the scale exceeds Δ/ε by less than 2^-20 of itself (2^-32 typically; more where ε is
//                above 2^12, where the scale is one grid step more at most).
// Requires:      the sensitivity is true of the answer as it is passed in. A sum of doubles rounds: use BoundedSum.
// Thread safety: const after construction.
#pragma once

#include <cstdint>

#include "noisefloor/mechanisms/noise_on_lattice.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/random/discrete_laplace.h"

namespace noisefloor {

class LaplaceMechanism : public NoiseOnLattice<DiscreteLaplace> {
 public:
  [[nodiscard]] static Result<LaplaceMechanism> create(const Sensitivity& sensitivity, Epsilon epsilon,
                                                       Dimension dimension = kScalar);

  // For a number that is the sum of values which are rounded to the lattice one by one, `rows` of them for one unit.
  [[nodiscard]] static Result<LaplaceMechanism> create_for_sum(const Sensitivity& sensitivity, Epsilon epsilon,
                                                               Rows rows);

  // The scale b of the noise that is really added, in the units of the answer.
  [[nodiscard]] double scale() const { return noise().scale().value() * lattice().step(); }

  // A released number is within this of the truth with at least the given probability, rounding included.
  [[nodiscard]] double error_bound(Confidence confidence) const;

 private:
  [[nodiscard]] static Result<LaplaceMechanism> create_rounded(const Sensitivity& sensitivity, Epsilon epsilon,
                                                               Dimension dimension, std::uint64_t roundings);

  using NoiseOnLattice::NoiseOnLattice;
};

}  // namespace noisefloor
