#include "noisefloor/secagg/roster_tree.h"

#include <algorithm>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/wire.h"

namespace noisefloor::secagg {
namespace {

// The last node of a level of odd size has no sibling, and goes up as it is.
bool has_sibling(std::uint32_t index, std::uint32_t size) { return (index ^ 1U) < size; }

Digest joined(const Digest& left, const Digest& right) { return labelled_digest("roster node", {left, right}); }

}  // namespace

RosterTree::RosterTree(std::vector<Digest> leaves) {
  NF_CHECK(!leaves.empty(), "a tree has a leaf");
  levels_.push_back(std::move(leaves));
  while (levels_.back().size() > 1) {
    const std::vector<Digest>& below = levels_.back();
    std::vector<Digest> level;
    level.reserve((below.size() + 1) / 2);
    for (std::size_t i = 0; i < below.size(); i += 2) {
      level.push_back(i + 1 < below.size() ? joined(below[i], below[i + 1]) : below[i]);
    }
    levels_.push_back(std::move(level));
  }
}

std::vector<Digest> RosterTree::proof(const std::vector<std::uint32_t>& numbers) const {
  std::vector<Digest> hashes;
  std::vector<std::uint32_t> known = numbers;
  for (const std::vector<Digest>& level : levels_) {
    const auto size = static_cast<std::uint32_t>(level.size());
    std::vector<std::uint32_t> above;
    for (const std::uint32_t index : known) {
      NF_CHECK(index < size && (above.empty() || above.back() <= index / 2), "ascending numbers of leaves");
      const std::uint32_t sibling = index ^ 1U;
      if (has_sibling(index, size) && !std::binary_search(known.begin(), known.end(), sibling)) {
        hashes.push_back(level[sibling]);
      }
      if (above.empty() || above.back() != index / 2) above.push_back(index / 2);
    }
    known = std::move(above);
  }
  return hashes;
}

std::optional<Digest> root_of(std::uint32_t clients, std::vector<ProvenLeaf> known, Bytes proof) {
  NF_CHECK(!known.empty() && known.back().number < clients, "leaves of the tree");
  Reader in(proof);
  for (std::uint32_t size = clients; size > 1; size = (size + 1) / 2) {
    std::vector<ProvenLeaf> above;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const auto& [index, hash] = known[i];
      NF_CHECK(i == 0 || known[i - 1].number < index, "ascending numbers of leaves");
      if (!has_sibling(index, size)) {
        above.push_back({index / 2, hash});
      } else if (index % 2 == 0 && i + 1 < known.size() && known[i + 1].number == index + 1) {
        above.push_back({index / 2, joined(hash, known[i + 1].leaf)});
        ++i;
      } else {
        const Digest sibling = in.array<32>();
        above.push_back({index / 2, index % 2 == 0 ? joined(hash, sibling) : joined(sibling, hash)});
      }
    }
    known = std::move(above);
  }
  return in.done() ? std::optional(known.front().leaf) : std::nullopt;
}

}  // namespace noisefloor::secagg
