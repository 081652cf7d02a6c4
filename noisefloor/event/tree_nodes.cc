#include "noisefloor/event/tree_nodes.h"

#include <algorithm>
#include <bit>

namespace noisefloor {

std::uint64_t tree_nodes(Steps steps, Adjacency adjacency) {
  const auto height = static_cast<std::uint64_t>(std::bit_width(steps.value()));
  if (adjacency == Adjacency::kAddRemove) return height;
  // Two steps below the top node share it, so that at most height − 1 nodes above each are its own. A step to the right
  // of the top node shares none with the first step, and is in as many as the rest of the stream is high.
  const std::uint64_t rest = steps.value() - std::bit_floor(steps.value());
  return std::max(2 * (height - 1), height + static_cast<std::uint64_t>(std::bit_width(rest)));
}

}  // namespace noisefloor
