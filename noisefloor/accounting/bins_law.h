// The laws of balls in bins: a unit that is thrown into one of b bins, whose noisy sums are all released.
//
// Without the unit the sums are b independent N(0, 1), after division by their noise; with it, one of them, any with
// the same probability, is around μ. So the likelihood ratio is the mean of b independent log-normal numbers. δ is the
// mean of a convex function of it: it grows if each of these numbers is replaced by one that is larger in convex order,
// and falls with a smaller one. Both are put on a lattice, added up by one Fourier transform, and are laws of losses of
// their own.
//
// Guarantee:     `above` dominates the pair and `below` is dominated by it (docs/proofs/streams_and_samples.md,
//                Balls in bins).
// Not promised:  narrow bounds. They are where μ is below 2 or so: beyond, one bin decides, and a known bin costs
//                hardly more.
//
// Internal to accounting/.
#pragma once

#include <cstdint>
#include <memory>

#include "noisefloor/accounting/loss_law.h"

namespace noisefloor::internal {

// From removing a unit, or from adding one. Nothing where the numbers do not suit: bounds would be void.
struct BinsLaws {
  std::unique_ptr<LossLaw> above;
  std::unique_ptr<LossLaw> below;
};
// Requires μ > 0 and 2 ≤ bins.
[[nodiscard]] BinsLaws bins_laws(double mu, std::uint64_t bins, bool remove);

}  // namespace noisefloor::internal
