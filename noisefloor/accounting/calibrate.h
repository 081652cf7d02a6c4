// Parameters that reach a target (ε, δ): the least noise, the most steps, the largest sampling rate or batch.
//
// Guarantee:     at the value returned the certified upper bound of pld.h is at most ε. At every value beyond `limit`
//                (less noise, more steps, a larger rate) the true ε is above the target, by the certified lower bound:
//                the best value lies between the two. is_best() says whether that is all that there is to find. (Where
//                nothing is proved up to the end of what is searched, `limit` is that end.)
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

// What was solved for, the certified ε there, and the value beyond which nothing reaches the target.
template <class T>
struct Calibrated {
  T value;
  Interval epsilon;
  T limit;

  // By how much the best value may differ from this one, relatively.
  [[nodiscard]] double gap() const {
    const auto here = static_cast<double>(value.value());
    const auto there = static_cast<double>(limit.value());
    return (here > there ? here - there : there - here) / here;
  }
  // No whole number is better, and no other number by more than a millionth.
  [[nodiscard]] bool is_best() const { return value == limit || gap() <= 1e-6; }
};

// The smallest noise multiplier. Refused if none up to 1e6 is enough.
[[nodiscard]] Result<Calibrated<NoiseMultiplier>> calibrate_noise(
    const Target& target, const std::function<DpEvent(NoiseMultiplier)>& event_with);

// The largest number of steps (or queries). Refused if one is too many. At most 2^40.
[[nodiscard]] Result<Calibrated<Steps>> calibrate_steps(const Target& target,
                                                        const std::function<DpEvent(Steps)>& event_with);

// The largest batch of at most `rows`. Refused if one row is too many.
[[nodiscard]] Result<Calibrated<Rows>> calibrate_batch(const Target& target, Rows rows,
                                                       const std::function<DpEvent(Rows)>& event_with);

// The largest sampling rate. Refused if 1e-9 is too much.
[[nodiscard]] Result<Calibrated<SamplingRate>> calibrate_rate(const Target& target,
                                                              const std::function<DpEvent(SamplingRate)>& event_with);

}  // namespace noisefloor
