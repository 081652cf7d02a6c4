#include "noisefloor/event/tree_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace noisefloor {
namespace {

// All nodes that a unit changes which contributes `from` to step a before and `to` to step b after. A step of 0 stands
// for no contribution.
std::uint64_t changed(std::uint64_t steps, std::uint64_t a, std::uint64_t b, int from, int to) {
  std::uint64_t nodes = 0;
  for (std::uint64_t width = 1; width <= steps; width *= 2) {
    for (std::uint64_t end = width; end <= steps; end += width) {
      const auto holds = [&](std::uint64_t step) { return step > end - width && step <= end; };
      const int change = (holds(b) ? to : 0) - (holds(a) ? from : 0);
      if (change != 0) ++nodes;
    }
  }
  return nodes;
}

// Every pair of neighbouring streams of up to 70 steps. Detects a tree that charges for the height under replace-one,
// and one that charges for nodes which nobody changes.
TEST(TreeNodes, AreTheMostThatAnyNeighboursDifferIn) {
  for (std::uint64_t steps = 1; steps <= 70; ++steps) {
    std::uint64_t added = 0;
    std::uint64_t replaced = 0;
    for (std::uint64_t a = 0; a <= steps; ++a) {
      added = std::max(added, changed(steps, a, 0, 1, 0));
      for (std::uint64_t b = 0; b <= steps; ++b) replaced = std::max(replaced, changed(steps, a, b, 1, 1));
    }
    EXPECT_EQ(tree_nodes(Steps::make(steps).value(), Adjacency::kAddRemove), added) << steps;
    EXPECT_EQ(tree_nodes(Steps::make(steps).value(), Adjacency::kReplaceOne), replaced) << steps;
    EXPECT_LE(replaced, std::max<std::uint64_t>(1, 2 * added - 1)) << steps;
  }
  EXPECT_EQ(tree_nodes(Steps::of(15), Adjacency::kReplaceOne), 7);
  EXPECT_EQ(tree_nodes(Steps::of(1'000'000), Adjacency::kReplaceOne), 39);
  EXPECT_EQ(tree_nodes(Steps::make(~std::uint64_t{0} >> 1).value(), Adjacency::kReplaceOne), 125);
}

}  // namespace
}  // namespace noisefloor
