// Secure sums, for people and as JSON: what a round needs and costs, and a demonstration.
//
// Thread safety: pure functions.
#pragma once

#include "noisefloor/secagg/costs.h"
#include "noisefloor/secagg/demonstration.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

[[nodiscard]] Summary summary_of(const secagg::PlannedRound& round);

[[nodiscard]] Summary summary_of(const secagg::Demonstration& demonstration);

}  // namespace noisefloor
