// Parameters that reach a target (ε, δ): the least noise, the most steps, the largest sampling rate.
//
// Guarantee:     at the value returned the certified upper bound of pld.h is at most ε. It is within 1e-7 of the best
//                value relatively where that bound is that narrow, and the best whole number for counts.
// Requires:      ε grows with the parameter (steps, rates) or falls with it (noise multipliers).
// Thread safety: pure functions, if the function passed in is.
#pragma once

#include <cstdint>
#include <functional>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

struct Target {
  Adjacency adjacency;
  Epsilon epsilon;
  Delta delta;
};

// What was solved for, and the certified ε there.
template <class T>
struct Calibrated {
  T value;
  Interval epsilon;
};

// The smallest noise multiplier. Refused if none up to 1e6 is enough.
[[nodiscard]] Result<Calibrated<NoiseMultiplier>> calibrate_noise(
    const Target& target, const std::function<DpEvent(NoiseMultiplier)>& event_with);

// The largest number of steps (or queries). Refused if one is too many. At most 2^40.
[[nodiscard]] Result<Calibrated<Steps>> calibrate_steps(const Target& target,
                                                        const std::function<DpEvent(Steps)>& event_with);

// The largest sampling rate. Refused if 1e-9 is too much.
[[nodiscard]] Result<Calibrated<SamplingRate>> calibrate_rate(const Target& target,
                                                              const std::function<DpEvent(SamplingRate)>& event_with);

}  // namespace noisefloor
