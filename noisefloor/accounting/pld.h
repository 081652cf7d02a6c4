// Certified ε(δ) and δ(ε) of event trees, by the law of the privacy loss.
//
// Guarantee:     lower ≤ the smallest ε for which every mechanism that the event describes is (ε, δ)-DP ≤ upper, in both
//                directions of the neighbouring relation; the same for δ at ε. Composition is of mechanisms that are fixed
//                beforehand; for spending that depends on earlier answers use filters.h.
// Method:        Gaussians alone are exact (gaussian_dp.h), and so is one mechanism alone; equal (ε, δ) bounds compose
//                optimally (composition.h); Poisson-subsampled Gaussians go through contour.h; everything else through
//                lattice.h. Where a mechanism has no known dominating pair (Skellam noise, sums of discrete Gaussians, zCDP
//                and shuffled parts) its upper bound comes from Rényi divergences or amplification and its lower bound may
//                be 0.
// Errors:        kInvalidArgument where no valid bound is known, with the reason, and where δ is too small for any ε.
// Thread safety: pure functions.
#pragma once

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// ε is infinite for non-private events.
[[nodiscard]] Result<Interval> pld_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta);

[[nodiscard]] Result<Interval> pld_delta(const DpEvent& event, Adjacency adjacency, PrivacyLoss epsilon);

}  // namespace noisefloor
