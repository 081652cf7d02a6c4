// A commitment to who takes part in a round, with which keys: a hash tree with one leaf for each client of the
// registry.
//
// Guarantee:     a leaf belongs to a number of the registry, so that no client is in a roster twice. Who has the root
//                and the number of leaves accepts other leaves than those it was made of with the probability of a
//                collision only. One proof for a set of leaves: hashes of siblings that are not known, from the leaves
//                up, in ascending order.
// Size:          at most (leaves proven) · log2(clients) hashes; fewer the more leaves are proven.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/secret.h"

namespace noisefloor::secagg {

class RosterTree {
 public:
  // Requires at least one leaf (checked).
  explicit RosterTree(std::vector<Digest> leaves);

  [[nodiscard]] const Digest& root() const { return levels_.back().front(); }
  // Requires ascending numbers below the number of leaves (checked).
  [[nodiscard]] std::vector<Digest> proof(const std::vector<std::uint32_t>& numbers) const;

 private:
  std::vector<std::vector<Digest>> levels_;  // the leaves first
};

struct ProvenLeaf {
  std::uint32_t number;
  Digest leaf;
};

// The root that these leaves and the proof of them give; nothing if there are more or fewer hashes than a proof has.
// Requires ascending numbers below `clients`, at least one (checked).
[[nodiscard]] std::optional<Digest> root_of(std::uint32_t clients, std::vector<ProvenLeaf> leaves, Bytes proof);

}  // namespace noisefloor::secagg
