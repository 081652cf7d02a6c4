// How many nodes of a binary tree over a stream one privacy unit can change: what the event `tree_aggregation` and the
// running totals of mechanisms/tree_count.h are charged for.
//
// The nodes are the intervals ((i − 1) 2^l, i 2^l] that end at or before the last step. Under add-remove a unit is in
// the stream or not: it changes the nodes above its step, h = ⌊log₂ steps⌋ + 1 of them at most. Under replace-one it
// may also move from one step to another: it leaves the nodes above the old step and enters those above the new one.
// Nodes above both keep their sum only if the unit contributes the same, so that they are free where the move changes
// most. docs/proofs/selection_and_counting.md.
//
// Guarantee:     the largest number over all pairs of steps, exactly; at most 2h − 1.
// Thread safety: pure.
#pragma once

#include <cstdint>

#include "noisefloor/base/privacy_types.h"

namespace noisefloor {

[[nodiscard]] std::uint64_t tree_nodes(Steps steps, Adjacency adjacency);

}  // namespace noisefloor
