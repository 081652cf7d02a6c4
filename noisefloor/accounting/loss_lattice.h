// δ(ε) of composed mechanisms on a lattice of losses: works for every law, atoms and small numbers of steps included.
//
// Each law is replaced by one on the lattice h·ℤ that dominates it and by one that it dominates; both are tilted by
// e^{cL}, composed by one Fourier transform, and read off.
//
//   from above  the mass of a cell goes to its two ends such that P and Q are kept (Doroshenko et al. 2022)
//   from below  masses around a lattice point are merged to it, which is post-processing; what would come out below the
//               point goes to the next lower one
//
// Guarantee:   lower ≤ ε(δ) ≤ upper: discretisation by the two replacements, truncation by treating what is cut off as
//              an infinite loss or as nothing, wrap-around by Chernoff, rounding by a running bound. The width falls
//              like h². docs/proofs/certified_accounting.md.
// Thread safety: pure functions.
//
// Internal to accounting/.
#pragma once

#include <cstddef>
#include <span>

#include "noisefloor/accounting/loss_law.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

struct RepeatedLaw {
  const LossLaw* law;
  double count;  // a whole number, 1 or above
};

// Bounds on the smallest ε ≥ 0 with δ(ε) ≤ e^log_delta. The lattice is refined until the interval is `relative_width`
// wide or has 2^max_bits points. The upper bound is infinite if infinite losses alone have a probability above δ.
[[nodiscard]] Interval lattice_epsilon(std::span<const RepeatedLaw> laws, double log_delta, double relative_width,
                                       int max_bits);

// Bounds on δ(ε).
[[nodiscard]] Interval lattice_delta(std::span<const RepeatedLaw> laws, double epsilon, double relative_width,
                                     int max_bits);

}  // namespace noisefloor
