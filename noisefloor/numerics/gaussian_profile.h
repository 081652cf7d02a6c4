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

namespace noisefloor {

// Bounds on δ(ε), in [0, 1].
struct DeltaBounds {
  double lower;
  double upper;
};
[[nodiscard]] DeltaBounds gaussian_delta(NoiseMultiplier multiplier, PrivacyLoss epsilon);

// The smallest noise multiplier whose δ(ε) is at most delta: analytic calibration, valid for every ε. The result is
// verified with the upper bound above, and within a relative 1e-9 of the smallest for ε from 1e-3 on. Requires delta > 0.
[[nodiscard]] Result<NoiseMultiplier> analytic_gaussian_multiplier(Epsilon epsilon, Delta delta);

// The textbook multiplier √(2 ln(1.25/δ))/ε. Proved for ε < 1 only, and too small from ε ≈ 8.4 on (at δ = 1e-5); there
// it is refused, unless `beyond_its_proof` asks for it all the same. Requires delta > 0.
[[nodiscard]] Result<NoiseMultiplier> classical_gaussian_multiplier(Epsilon epsilon, Delta delta,
                                                                    bool beyond_its_proof = false);

}  // namespace noisefloor
