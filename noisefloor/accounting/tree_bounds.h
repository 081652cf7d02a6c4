// ε(δ) and δ(ε) of trees that were lowered (lowering.h): pld.h without the richer kinds.
//
// Internal to accounting/.
#pragma once

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor::internal {

[[nodiscard]] Result<Interval> tree_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta);
[[nodiscard]] Result<Interval> tree_delta(const DpEvent& event, Adjacency adjacency, PrivacyLoss epsilon);

}  // namespace noisefloor::internal
