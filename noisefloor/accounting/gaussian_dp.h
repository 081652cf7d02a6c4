// Gaussian differential privacy: the exact privacy of composed Gaussian mechanisms.
//
// Guarantee:     the intervals hold the true value. They are narrower than 1e-9 relatively for μ from 1e-10 to 1e6 and
//                δ from 1e-300 to 1 − 1e-6, and valid for all parameters. Only the function whose name says
//                estimate bounds nothing.
// Implements:    Dong, Roth and Su 2022, "Gaussian Differential Privacy": Definition 2.6 (trade-off curve), Corollary
//                2.13 (δ at ε), Corollary 3.3 (composition, also adaptive with fixed parameters); Bu, Dong, Long and Su
//                2020, "Deep Learning with Gaussian Differential Privacy" (the central-limit estimate).
// Requires:      for composition, that the μ of all mechanisms are fixed beforehand.
// Thread safety: const after construction.
#pragma once

#include <span>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/numerics/gaussian_profile.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// μ-GDP: telling two neighbours apart is at least as hard as telling N(0, 1) from N(μ, 1).
class GaussianDp {
 public:
  // Requires a finite μ ≥ 0; 0 reveals nothing.
  [[nodiscard]] static Result<GaussianDp> of_mu(double mu);
  // One Gaussian mechanism, μ = 1/z rounded up, `count` times.
  [[nodiscard]] static Result<GaussianDp> of_mechanism(NoiseMultiplier multiplier, Steps count);

  // √(Σ μ²), rounded up.
  [[nodiscard]] static Result<GaussianDp> compose(std::span<const GaussianDp> parts);

  [[nodiscard]] double mu() const { return mu_; }

  // δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) for this μ.
  [[nodiscard]] Interval delta_at(PrivacyLoss epsilon) const;
  // The smallest ε for δ. Requires δ > 0 unless μ is 0.
  [[nodiscard]] Result<Interval> epsilon_at(Delta delta) const;

  // β(α) = Φ(Φ⁻¹(1 − α) − μ): the least type II error of a test with type I error α, within 1e-12 of it, absolutely.
  // Requires α in [0, 1].
  [[nodiscard]] Result<double> type_two_error(double alpha) const;

 private:
  explicit GaussianDp(double mu) : mu_(mu) {}

  double mu_;
};

// The μ that the central limit theorem suggests for `steps` Poisson-subsampled Gaussian steps:
// q √(T (e^(1/σ²) − 1)), the limit for q √T fixed and T → ∞. NOT a bound: for real T the true ε is often larger.
struct GaussianDpEstimate {
  double mu;
};
[[nodiscard]] Result<GaussianDpEstimate> central_limit_estimate_poisson(SamplingRate rate, NoiseMultiplier multiplier,
                                                                        Steps steps);
// The same for batches of fixed size drawn uniformly: q √(2T (e^(1/σ²) Φ(1.5/σ) + 3 Φ(−0.5/σ) − 2)).
[[nodiscard]] Result<GaussianDpEstimate> central_limit_estimate_uniform(SamplingRate rate, NoiseMultiplier multiplier,
                                                                        Steps steps);

}  // namespace noisefloor
