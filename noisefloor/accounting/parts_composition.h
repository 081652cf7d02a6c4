// ε and δ of all the parts of a tree that have a law, composed by closed forms, the contour integral or the lattice.
//
// Guarantee:     true values lie in the intervals; of a single bound, at or below it
//                (docs/proofs/certified_accounting.md).
// Not promised:  a public interface; pld.h is.
//
// Internal to accounting/.
#pragma once

#include <cstdint>

#include "noisefloor/accounting/event_parts.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

enum class NeighbourDirection : std::uint8_t { kRemoved, kAdded, kBoth };

[[nodiscard]] bool is_narrow(Interval epsilon);

// For the worse of both directions.
[[nodiscard]] Result<Interval> epsilon_of(const Parts& parts, Delta delta);
[[nodiscard]] Result<Interval> delta_of(const Parts& parts, PrivacyLoss epsilon);

// From above only, in the directions that are asked for.
[[nodiscard]] Result<double> epsilon_above(const Parts& parts, Delta delta, NeighbourDirection which, bool coarse);

}  // namespace noisefloor
