// Composition theorems for mechanisms of which only (ε, δ) is known: basic, advanced, optimal.
//
// Guarantee:     every result bounds the privacy of adaptively chosen mechanisms whose parameters are fixed beforehand.
//                (Where the parameters themselves depend on earlier answers, use accounting/filters.h.) Results are
//                rounded up; the optimal ones are intervals that hold the true value.
// Implements:    basic, Dwork and Roth 2014, Theorem 3.16;
//                advanced, Dwork, Rothblum and Vadhan 2010 in the form of Dwork and Roth 2014, Theorem 3.20;
//                unequal parameters, Kairouz, Oh and Viswanath 2015, Theorem 3.5;
//                optimal, the same, Theorem 3.3, at every ε: the composition of k randomized responses is the worst.
// Thread safety: pure functions.
#pragma once

#include <span>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/numerics/gaussian_profile.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// (ε, δ)-DP.
struct ApproxDp {
  PrivacyLoss epsilon;
  Delta delta;
};

// (Σε, Σδ). An error where the deltas add up to 1 or more, since then nothing is promised.
[[nodiscard]] Result<ApproxDp> basic_composition(std::span<const ApproxDp> parts);
[[nodiscard]] Result<ApproxDp> basic_composition(ApproxDp part, Steps count);

// (ε √(2k ln(1/δ')) + k ε (e^ε − 1), kδ + δ') for slack δ' > 0. Above ε ≈ 1 this is worse than basic composition; the
// function still returns it, except where it exceeds all doubles: there it returns the basic ε.
[[nodiscard]] Result<ApproxDp> advanced_composition(ApproxDp part, Steps count, Delta slack);

// With E = Σ ε (e^ε − 1)/(e^ε + 1) and V = Σ ε²: the least of Σε, E + √(2V ln(1/δ')) and E + √(2V ln(e + √V/δ')), at
// 1 − (1 − δ') Π (1 − δ). Requires slack δ' > 0.
[[nodiscard]] Result<ApproxDp> advanced_composition(std::span<const ApproxDp> parts, Delta slack);

// The exact privacy of the worst k mechanisms, each (ε₀, δ₀)-DP. Intervals have a relative width below 1e-10 for
// counts up to 1e9, δ from 1e-300 to 1 − 1e-9 and ε above 1e-4 ε₀. Counts up to 2^40 are taken.
[[nodiscard]] Result<Interval> optimal_composition_delta(ApproxDp part, Steps count, PrivacyLoss epsilon);
// An error where no ε is enough, because k mechanisms fail with probability 1 − (1 − δ₀)^k > δ.
[[nodiscard]] Result<Interval> optimal_composition_epsilon(ApproxDp part, Steps count, Delta delta);

}  // namespace noisefloor
