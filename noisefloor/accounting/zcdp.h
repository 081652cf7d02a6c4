// What an event costs in zero-concentrated DP: ρ, except with probability δ.
//
// Guarantee:     the event is δ-approximately ρ-zCDP for the adjacency. Pure ε-DP counts as ρ = ε²/2 and bounded range
//                as ε²/8 (Bun and Steinke 2016; Cesar and Rogers 2021). Sampling is not used: zCDP is not amplified by
//                it.
// Rounding:      results are rounded up.
// Errors:        kInvalidArgument for kinds without a bound, and for Poisson samples under replace-one.
// Thread safety: a pure function.
#pragma once

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

struct ZcdpCost {
  Rho rho;
  Delta delta;
};

[[nodiscard]] Result<ZcdpCost> zcdp_cost(const DpEvent& event, Adjacency adjacency);

}  // namespace noisefloor
