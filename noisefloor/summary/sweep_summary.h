// Sweeps, for people and as JSON: what privacy costs in quality, and what finding it out would charge.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/summary/summary.h"
#include "noisefloor/training/sweep.h"

namespace noisefloor {

// What stands below a sweep with repeated noise, unless the front end says it in its own words.
inline constexpr const char* kRepeatedNoise =
    "The noise was repeated from a seed, so nothing here is private: it is for data that are public.";

// What the sweep came to.
[[nodiscard]] Summary summary_of(const SweepJob& job, const std::vector<SweepRun>& runs,
                                 const std::string& repeated = kRepeatedNoise);

// What it would charge.
[[nodiscard]] Summary cost_summary(const SweepJob& job);

}  // namespace noisefloor
