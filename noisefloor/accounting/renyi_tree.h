// The Rényi curve of a tree of events, at one order.
//
// Guarantee:     upper bounds; rdp.h states them.
// Not promised:  a public interface; rdp.h is.
#pragma once

#include <optional>

#include "noisefloor/accounting/rdp.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor::internal {

// At a finite order above 1. `depth` counts the samples around the event: bounds of samples within samples are summed
// over fewer orders.
[[nodiscard]] Result<RenyiBound> tree_bound(const DpEvent& event, Adjacency adjacency, double order, int depth);

// Σ 1/z² if the event is exactly a Gaussian mechanism. Gaussians in a row are one (also if chosen adaptively: the pair
// of the composition is dominated by that of one Gaussian).
[[nodiscard]] std::optional<double> gaussian_precision(const DpEvent& event);

// The pure ε of the event, apart from its delta; +∞ if there is none.
[[nodiscard]] double pure_epsilon(const DpEvent& event, Adjacency adjacency);

// The share of the population in a sample, rounded up.
[[nodiscard]] double fraction_of(const FixedSizeSampledEvent& event);

}  // namespace noisefloor::internal
