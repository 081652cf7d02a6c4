#include "noisefloor/secagg/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/statistics.h"

namespace noisefloor::secagg {
namespace {

Digest seed_of(std::uint64_t number) { return blake2b({reinterpret_cast<const char*>(&number), sizeof number}); }

TEST(Graph, HasMutualDistinctNeighboursOfTheRightNumber) {
  for (const auto& [clients, degree] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
           {2, 1}, {5, 4}, {5, 2}, {6, 4}, {100, 12}, {1000, 66}, {7, 6}, {7, 100}}) {
    const Graph graph(clients, degree, seed_of(clients));
    for (std::uint32_t client = 0; client < clients; ++client) {
      const std::vector<std::uint32_t> neighbours = graph.neighbours(client);
      EXPECT_EQ(neighbours.size(), std::min(degree, clients - 1));
      EXPECT_TRUE(std::is_sorted(neighbours.begin(), neighbours.end()));
      EXPECT_EQ(std::set<std::uint32_t>(neighbours.begin(), neighbours.end()).size(), neighbours.size());
      for (const std::uint32_t other : neighbours) {
        EXPECT_NE(other, client);
        const std::vector<std::uint32_t> theirs = graph.neighbours(other);
        EXPECT_TRUE(std::binary_search(theirs.begin(), theirs.end(), client));
      }
    }
  }
}

TEST(Graph, HasACommitteeOfTheDegreeSideBySide) {
  const Graph sparse(100, 12, seed_of(5));
  const std::vector<std::uint32_t> committee = sparse.committee();
  EXPECT_EQ(committee.size(), 12U);
  EXPECT_TRUE(std::is_sorted(committee.begin(), committee.end()));
  const std::set<std::uint32_t> first(sparse.circle().begin(), sparse.circle().begin() + 12);
  EXPECT_EQ(std::set<std::uint32_t>(committee.begin(), committee.end()), first);
  EXPECT_EQ(Graph(7, 6, seed_of(6)).committee(), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
}

// α = 1e-6; detects that any pair is favoured by 10 %. The mutant is a graph that is not permuted.
TEST(Graph, MakesEveryoneANeighbourEquallyOften) {
  std::map<std::int64_t, std::uint64_t> counts;
  constexpr std::uint64_t graphs = 20000;
  for (std::uint64_t seed = 0; seed < graphs; ++seed) {
    // Takes one neighbour of client 0 from each graph: independent draws.
    ++counts[Graph(11, 2, seed_of(seed)).neighbours(0)[seed % 2]];
  }
  // The lower and the higher of two random neighbours are taken in turn: together they are uniform.
  EXPECT_GT(testing::chi_square_p_value(counts, graphs, 1, 10, [](std::int64_t) { return 0.1; }), testing::kAlpha);
  const std::map<std::int64_t, std::uint64_t> unpermuted = {{1, graphs / 2}, {10, graphs / 2}};
  EXPECT_LT(testing::chi_square_p_value(unpermuted, graphs, 1, 10, [](std::int64_t) { return 0.1; }), testing::kAlpha);
}

}  // namespace
}  // namespace noisefloor::secagg
