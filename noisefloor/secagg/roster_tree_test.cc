#include "noisefloor/secagg/roster_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/uniform.h"
#include "noisefloor/secagg/test_roster.h"

namespace noisefloor::secagg {
namespace {

std::vector<Digest> some_leaves(std::uint32_t count) {
  std::vector<Digest> leaves;
  for (std::uint32_t i = 0; i < count; ++i) leaves.push_back(blake2b({reinterpret_cast<const char*>(&i), sizeof i}));
  return leaves;
}

std::vector<std::uint8_t> joined(const std::vector<Digest>& hashes) {
  std::vector<std::uint8_t> bytes;
  for (const Digest& hash : hashes) bytes.insert(bytes.end(), hash.begin(), hash.end());
  return bytes;
}

std::vector<ProvenLeaf> proven(const std::vector<Digest>& leaves, const std::vector<std::uint32_t>& numbers) {
  std::vector<ProvenLeaf> result;
  for (const std::uint32_t number : numbers) result.push_back({number, leaves[number]});
  return result;
}

TEST(RosterTree, ProvesEverySetOfLeavesOfSmallTrees) {
  for (std::uint32_t count = 1; count <= 9; ++count) {
    const std::vector<Digest> leaves = some_leaves(count);
    const RosterTree tree(leaves);
    for (std::uint32_t set = 1; set < 1U << count; ++set) {
      std::vector<std::uint32_t> numbers;
      for (std::uint32_t i = 0; i < count; ++i) {
        if ((set >> i & 1U) != 0) numbers.push_back(i);
      }
      const std::vector<std::uint8_t> proof = joined(tree.proof(numbers));
      EXPECT_EQ(root_of(count, proven(leaves, numbers), proof), tree.root()) << count << " " << set;
      if (numbers.size() == count) {
        EXPECT_TRUE(proof.empty());
      }
      // More or fewer hashes, another leaf, another hash.
      std::vector<std::uint8_t> wrong = proof;
      wrong.resize(proof.size() + 32);
      EXPECT_FALSE(root_of(count, proven(leaves, numbers), wrong).has_value());
      if (!proof.empty()) {
        EXPECT_FALSE(root_of(count, proven(leaves, numbers), Bytes(proof).first(proof.size() - 32)).has_value());
        wrong = proof;
        wrong[0] ^= 1;
        EXPECT_NE(root_of(count, proven(leaves, numbers), wrong), tree.root());
      }
      std::vector<ProvenLeaf> other = proven(leaves, numbers);
      other.back().leaf[31] ^= 1;
      EXPECT_NE(root_of(count, other, proof), tree.root());
    }
  }
}

// A leaf stands for its number: the same leaf at another number has another root.
TEST(RosterTree, HasALeafForEachNumber) {
  std::vector<Digest> leaves = some_leaves(6);
  const Digest root = RosterTree(leaves).root();
  std::swap(leaves[4], leaves[5]);
  EXPECT_NE(RosterTree(leaves).root(), root);
  EXPECT_NE(RosterTree(some_leaves(5)).root(), root);
}

// The message that tells a client of 10^5 others who takes part and with which keys: 13 KB for the set of clients, and
// for each neighbour its keys and its share of the proof. The whole roster has 13 MB.
TEST(RosterTree, MakesTheRosterOfManyClientsSmall) {
  constexpr std::uint32_t kClients = 100'000;
  const Topology topology = find_topology({kClients, .05, .05, ThreatModel::kLyingServer}).value();
  RoundConfig config;
  config.clients = kClients;
  config.degree = topology.degree;
  ReplayRandom stream = ReplayRandom::create(1).value();
  std::vector<Advertisement> entries(kClients);
  for (std::uint32_t i = 0; i < kClients; ++i) {
    entries[i].client = i;
    stream.fill(std::as_writable_bytes(std::span(entries[i].channel_key)));
  }
  const TestRoster roster(config, entries);
  const Message message = roster.message(77, Secret32());
  const double neighbours = topology.degree * (kKeysBytes + 32 * std::log2(kClients));
  EXPECT_LT(static_cast<double>(message.size()), 13'000 + neighbours);
  EXPECT_GT(static_cast<double>(message.size()), 12'500 + topology.degree * kKeysBytes);
  EXPECT_LT(message.size(), 80U * 1024);
}

}  // namespace
}  // namespace noisefloor::secagg
