// What an answer of an ensemble costs given its votes: bounds that are small where the teachers agree.
//
// Guarantee:     each bound is at least the Rényi divergence between the answer's law for these votes and for votes of
//                which one was moved, in both directions, up to 1e-12 of itself. Rounding is not covered beyond that.
// Implements:    Papernot et al. 2018, Proposition 7, Theorem 6 and Proposition 10 (Gaussian noise and thresholds);
//                Papernot et al. 2017, Lemma 4 and Theorem 3 (Laplace noise).
// Privacy:       these numbers are functions of private votes: two neighbours have different ones. They must not be
//                published, and nothing that is public may depend on them: neither what is asked next, nor when asking
//                stops. Only the data-independent cost (vote_events.h) and a sanitised one may.
// Noise:         continuous noise, as in the papers; or discrete noise in whole votes, which ties make slightly worse.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

enum class VoteNoise : std::uint8_t {
  kContinuous,
  kDiscrete,  // integers; a tie counts as a wrong answer. Requires σ ≥ 2 where it is Gaussian
};

// ln erfc(x), also where erfc(x) is too small for a number. Relative error below 1e-13, absolute one below 1e-15.
[[nodiscard]] double log_erfc(double x);
// The x with ln erfc(x) = value. Requires value < ln 2.
[[nodiscard]] double inverse_log_erfc(double value);

// ln of an upper bound on the probability that noise σ on each count makes another class win than the one with most
// votes; at most ln(1 − 1/classes). Requires at least two classes (checked).
[[nodiscard]] double log_wrong_gaussian(std::span<const std::uint32_t> votes, NoiseScale sigma,
                                        VoteNoise noise = VoteNoise::kContinuous);
// The same for Laplace noise of this scale.
[[nodiscard]] double log_wrong_laplace(std::span<const std::uint32_t> votes, NoiseScale scale);
// ln of the probability that the largest count with noise σ is at or above the threshold.
[[nodiscard]] double log_above(std::span<const std::uint32_t> votes, double threshold, NoiseScale sigma);

// The bound for GNMax at an order above 1, where ln q bounds the probability of another answer. At most order/σ².
[[nodiscard]] double gaussian_votes_divergence(double log_wrong, NoiseScale sigma, double order);
// The bound for the comparison with a threshold; `log_above` as above. At most order/2σ².
[[nodiscard]] double threshold_divergence(double log_above, NoiseScale sigma, double order);
// The bound for LNMax. At most 2/b, and what 2/b-DP gives at the order.
[[nodiscard]] double laplace_votes_divergence(double log_wrong, NoiseScale scale, double order);

}  // namespace noisefloor
