// ε of a composition where few large losses decide, and of any other whose losses have masses: from atoms close to the
// losses, and an integral that a little Gaussian noise makes short.
//
// Guarantee:     the bounds hold for the composition of the given laws (docs/proofs/certified_accounting.md, steps 29
//                to 32); they are {0, ∞} where nothing is known.
// Thread safety: pure functions.
//
// Internal to accounting/.
#pragma once

#include <span>

#include "noisefloor/accounting/loss_lattice.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// Bounds on the smallest ε ≥ 0 with δ(ε) ≤ e^log_delta, refined until they are `relative_width` wide or the lattice has
// `most_nodes`. `about` is an ε to begin with.
[[nodiscard]] Interval smoothed_epsilon(std::span<const RepeatedLaw> laws, double log_delta, double about,
                                        double relative_width, double most_nodes);

}  // namespace noisefloor
