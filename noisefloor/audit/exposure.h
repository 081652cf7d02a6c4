// How much a text model remembers of a planted secret: its rank among all secrets that could have been planted
// (Carlini et al. 2019, "The Secret Sharer").
//
// Guarantee:     of a secret that was planted once, (ε, δ)-DP allows a rank of at most k with probability at most
//                e^ε k / candidates + δ; most_exposure() says what that makes of the median.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor::audit {

// log2(candidates) − log2(rank), in bits. kInvalidArgument unless 1 ≤ rank ≤ candidates.
[[nodiscard]] Result<double> exposure(std::uint64_t rank, std::uint64_t candidates);

// With probability one half or more, the exposure of a secret that was planted once is at most this: −log2 of the share
// k/candidates at which e^ε k/candidates + δ is one half. 1 without privacy loss.
[[nodiscard]] double most_median_exposure(PrivacyLoss epsilon, Delta delta);

}  // namespace noisefloor::audit
