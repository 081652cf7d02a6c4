// The laws of events that draw what a unit contributes: mixtures of Gaussians, truncated Poisson samples, samples with
// replacement, balls in bins.
//
// Guarantee:     the leaf's laws dominate the event, and are dominated by it, as event_parts.h says.
//                docs/proofs/streams_and_samples.md.
// Refused:       kinds without a law of their own, noise without one, and too many numbers of draws.
//
// Internal to accounting/.
#pragma once

#include "noisefloor/accounting/event_parts.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor::internal {

// Requires an event that was lowered (lowering.h).
[[nodiscard]] Result<KeyedLeaf> sampled_leaf(const DpEvent& event, Adjacency adjacency);

}  // namespace noisefloor::internal
