// Certified ε(δ) and δ(ε) of event trees, by the law of the privacy loss.
//
// Guarantee:     lower ≤ the smallest ε for which every mechanism that the event describes is (ε, δ)-DP ≤ upper, in
//                both directions of the neighbouring relation; the same for δ at ε. It composes mechanisms whose
//                parameters are fixed beforehand; for spending that depends on earlier answers use filters.h.
// Method:        Gaussians alone are exact (gaussian_dp.h), and so is one mechanism alone; equal (ε, δ) bounds compose
//                optimally (composition.h); Poisson-subsampled Gaussians go through contour.h; everything else through
//                loss_lattice.h. Exponential mechanisms have a dominating pair for their bounded range. Where a
//                mechanism has no known dominating pair (Skellam noise on vectors, sums of discrete Gaussians, zCDP and
//                shuffled parts), where losses are too large for doubles and where parts are too many, the upper bound
//                comes from Rényi divergences, amplification, basic composition or merged parts, and the lower bound
//                may be loose or 0.
// Requires:      noise multipliers and sensitivities that hold for the adjacency. Within Poisson samples they hold for
//                a record being there or not, under replace-one too: there, with Gaussian noise, the exact pair is two
//                records that pull in opposite directions, and with other noise replacing is removing and adding.
// Errors:        kInvalidArgument where no valid bound is known, with the reason, where δ is too small for any ε, where
//                the noise is too small for a finite ε, and for more than 2^53 repetitions.
// Thread safety: pure functions.
#pragma once

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// ε is infinite, and δ 1, if any part is non-private. δ = 0 asks for pure DP.
[[nodiscard]] Result<Interval> pld_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta);

[[nodiscard]] Result<Interval> pld_delta(const DpEvent& event, Adjacency adjacency, PrivacyLoss epsilon);

}  // namespace noisefloor
