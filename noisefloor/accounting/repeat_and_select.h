// Repeat and select: run a private mechanism a random number of times and publish only the best result.
//
// Guarantee:     an upper bound on the Rényi divergence of the whole procedure at an order, rounded up, and at most +∞.
//                The number of runs K must be drawn as stated, be kept secret, and not depend on the data; results are
//                compared by a fixed total order (a score is part of the result).
// Implements:    Papernot and Steinke 2022, "Hyperparameter Tuning with Rényi Differential Privacy": Theorem 2
//                (truncated negative binomial, with the free order λ̂ minimised over), its pure-DP corollary (2 + η) ε,
//                and Theorem 6 (Poisson). As a divergence grows with its order, the bound at an order is the least of
//                the bounds at it and above.
// Difference:    for Poisson, K = 0 has probability e^-μ, and something must be published then. The theorem's
//                ε + μ δ̂ + ln(μ)/(λ−1) leaves that outcome out: for μ < 1 it falls below 0. Here it is counted:
//                e^((λ−1) ε') = e^-μ + μ e^((λ−1)(ε + μ δ̂)), by the same proof.
// Requires:      the base curve bounds the divergence of one run in both directions, at every order above 1 it is asked
//                for; +∞ means that nothing is known there. It is called a few hundred times.
// Thread safety: pure functions, if the curve is one.
#pragma once

#include <functional>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

// An upper bound on the Rényi divergence at an order above 1.
using RenyiCurve = std::function<double(double order)>;
// An upper bound on δ at an ε ≥ 0.
using DeltaProfile = std::function<double(double epsilon)>;

// K ≥ 1 with P(K = k) ∝ (1 − γ)^k Π_{l<k} (l + η)/(l + 1). η = 1 is the geometric law, η = 0 the logarithmic one.
class TruncatedNegativeBinomial {
 public:
  // Requires a finite η > −1 and γ in (0, 1).
  [[nodiscard]] static Result<TruncatedNegativeBinomial> create(double eta, double gamma);

  [[nodiscard]] double eta() const { return eta_; }
  [[nodiscard]] double gamma() const { return gamma_; }
  // ln E[K].
  [[nodiscard]] long double log_mean() const;

 private:
  TruncatedNegativeBinomial(double eta, double gamma) : eta_(eta), gamma_(gamma) {}

  double eta_;
  double gamma_;
};

// ε + (1 + η) (1 − 1/λ̂) ε̂ + (1 + η) ln(1/γ)/λ̂ + ln E[K]/(λ − 1), least over λ̂ ≥ 1 with ε̂ = base(λ̂).
[[nodiscard]] Result<double> repeat_and_select_rdp(const RenyiCurve& base, const TruncatedNegativeBinomial& runs,
                                                   double order);

// Poisson with mean μ > 0. δ̂ is that of one run at ε̂ = ln(1 + 1/(λ−1)), from its profile …
[[nodiscard]] Result<double> repeat_and_select_rdp_poisson(const RenyiCurve& base, const DeltaProfile& profile,
                                                           double mean, double order);
// … or from its Rényi curve (Canonne, Kamath and Steinke 2020, Proposition 12).
[[nodiscard]] Result<double> repeat_and_select_rdp_poisson(const RenyiCurve& base, double mean, double order);

// (2 + η) ε, for a base that is ε-DP.
[[nodiscard]] Result<PrivacyLoss> repeat_and_select_pure(PrivacyLoss base, const TruncatedNegativeBinomial& runs);

}  // namespace noisefloor
