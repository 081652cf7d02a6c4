// How far one unit moves C x, for the events of matrix factorisation: bounds of the largest norm of C u, where u has
// rows of norm at most 1 at the steps to which the unit contributes, and no others.
//
// C is lower triangular and Toeplitz with first column c. Column i is c moved down by i, and cut off at the last step.
// docs/proofs/streams_and_samples.md.
//
// Guarantee:     lower ≤ the largest norm ≤ upper, over all sets of at most `participations` steps any two of which are
//                `min_separation` apart. They are equal up to 1e-12, relatively, where no two columns of a set overlap
//                (at most `min_separation` coefficients), and where the coefficients fall and are not negative.
// Thread safety: pure functions.
//
// Internal to accounting/.
#pragma once

#include <cstdint>
#include <span>

#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor::internal {

// The norm of the first column, cut off after `rows` rows.
[[nodiscard]] Interval column_norm(std::span<const double> coefficients, std::uint64_t rows);

// Requires fields that agree (event_fields.h).
[[nodiscard]] Interval factorization_sensitivity(const MatrixFactorizationEvent& event);

}  // namespace noisefloor::internal
