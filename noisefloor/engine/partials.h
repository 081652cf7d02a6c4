// Internal to engine/: bounds of what one unit adds to one group, and of the norm of what it adds to all.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "noisefloor/base/wide_int.h"
#include "noisefloor/engine/measurement.h"

namespace noisefloor::engine {

[[nodiscard]] inline Int128 clamped(Int128 partial, const Aggregate& aggregate) {
  if (aggregate.lower && partial < *aggregate.lower) return *aggregate.lower;
  if (aggregate.upper && partial > *aggregate.upper) return *aggregate.upper;
  return partial;
}

// Whether an L2 norm bounds the partials of this kind.
[[nodiscard]] inline bool has_norm(Aggregate::Kind kind) {
  return kind == Aggregate::Kind::kSum || kind == Aggregate::Kind::kRows || kind == Aggregate::Kind::kUnits;
}

// Scales the partials towards zero so that the sum of their squares is at most norm². Partials whose norm is not above
// it stay as they are, except that each is clamped to ±2^53 first.
void scale_to_norm(std::span<Int128> partials, std::int64_t norm);

}  // namespace noisefloor::engine
