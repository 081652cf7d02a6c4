// The attack on membership that needs no other models: what the target's confidence should be in an example that it has
// not seen is learned from examples that it has not seen (Bertran et al. 2023, with a Gaussian head).
//
// Implements:    a small network predicts the mean of the target's confidence from the features, another one its
//                spread; the score is how many spreads an example lies above the mean.
// Requires:      `unseen` are places of examples that were not trained on. Whoever measures the attack leaves them out,
//                because their scores are those of examples that were fitted.
// Determinism:   the same arguments give the same bits.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor::audit {

// A score for each example of the pool. kInvalidArgument for fewer than 20 unseen examples, or another number of
// confidences than examples.
[[nodiscard]] Result<std::vector<double>> quantile_scores(const Dataset& pool, std::span<const double> target,
                                                          std::span<const std::uint64_t> unseen, std::uint64_t seed);

}  // namespace noisefloor::audit
