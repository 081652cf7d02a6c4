// The privacy profile δ(ε) of one Gaussian mechanism, and the noise that reaches a given (ε, δ).
//
// Implements:  Balle and Wang 2018, "Improving the Gaussian Mechanism for Differential Privacy", Theorems 8 and 9:
//              δ(ε) = Φ(1/2z − εz) − e^ε Φ(−1/2z − εz) for noise multiplier z = σ/Δ₂.
// Guarantee:   the upper bound is above the true δ and the lower bound below it, by at most 2^-45 of the larger of
//              the two terms, given that Boost's erfc for long double has a relative error below 2^-58 (it states
//              2^-62).
#pragma once

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// Bounds on δ(ε), in [0, 1].
[[nodiscard]] Interval gaussian_delta(NoiseMultiplier multiplier, PrivacyLoss epsilon);

// Bounds on ln δ(ε) of N(0, 1) against N(μ, 1), i.e. multiplier 1/μ, for all finite μ > 0 and ε, however small δ is.
// They are within 2^-59 of ln δ, relatively, while ε/μ − μ/2 is below 2^40 (and μ above 2^-40: below, within 2μ).
// Computed with 168 bits; the guarantee takes Boost's erfc for that type to be good to 2^-140. The upper one is at most
// 0; the lower one may be −∞.
struct LogDeltaBounds {
  long double lower;
  long double upper;
};
[[nodiscard]] LogDeltaBounds gaussian_log_delta(double mu, PrivacyLoss epsilon);

// The smallest noise multiplier whose δ(ε) is at most delta: analytic calibration, valid for every ε. The result is
// verified with the upper bound above, and within a relative 1e-9 of the smallest for ε from 1e-3 on. Requires delta >
// 0.
[[nodiscard]] Result<NoiseMultiplier> analytic_gaussian_multiplier(Epsilon epsilon, Delta delta);

// The textbook multiplier √(2 ln(1.25/δ))/ε. Proved for ε < 1 only, and too small from ε ≈ 8.4 on (at δ = 1e-5); there
// it is refused, unless `beyond_its_proof` asks for it. Requires delta > 0.
[[nodiscard]] Result<NoiseMultiplier> classical_gaussian_multiplier(Epsilon epsilon, Delta delta,
                                                                    bool beyond_its_proof = false);

}  // namespace noisefloor
