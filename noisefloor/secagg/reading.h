// What a server that lies can read of a round, with everything that its clients and honest ones gave it: the groups of
// honest clients whose inputs it knows the sum of. Masks are either known or uniform, so this is a question about a
// graph (docs/proofs/secure_sums.md, "What can be read"), and the answer does not depend on how clever the server is.
//
// Internal to secagg/, for its tests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "noisefloor/secagg/graph.h"
#include "noisefloor/secagg/messages.h"

namespace noisefloor::secagg {

using Places = std::set<std::uint32_t>;

// What one honest client was told, and how far it went with it. Sets are of places.
struct Told {
  std::optional<ClientSet> sharing;    // it sent a masked input, with masks for its neighbours in this set
  std::optional<ClientSet> survivors;  // it answered with shares, for this set
};

class Reading {
 public:
  Reading(const Graph& graph, std::uint32_t threshold, Places corrupt, std::map<std::uint32_t, Told> told);

  // The groups, each as small as can be: any sum that can be read is a sum of some of these.
  [[nodiscard]] std::vector<Places> groups() const;

 private:
  [[nodiscard]] const Told* at(std::uint32_t place) const;
  [[nodiscard]] bool shared_with(std::uint32_t place, std::uint32_t other) const;
  // Whether a threshold of the neighbours gave a share of the place's own mask, or of its mask key.
  [[nodiscard]] bool is_own_mask_known(std::uint32_t place) const;
  [[nodiscard]] bool is_mask_key_known(std::uint32_t place) const;
  [[nodiscard]] bool is_mask_known(std::uint32_t place, std::uint32_t other) const;

  std::uint32_t threshold_;
  Places corrupt_;
  std::map<std::uint32_t, Told> told_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::vector<char> own_known_;
  std::vector<char> key_known_;
};

inline Reading::Reading(const Graph& graph, std::uint32_t threshold, Places corrupt, std::map<std::uint32_t, Told> told)
    : threshold_(threshold), corrupt_(std::move(corrupt)), told_(std::move(told)) {
  for (std::uint32_t place = 0; place < graph.clients(); ++place) neighbours_.push_back(graph.neighbours(place));
  for (std::uint32_t place = 0; place < graph.clients(); ++place) {
    own_known_.push_back(is_own_mask_known(place) ? 1 : 0);
    key_known_.push_back(is_mask_key_known(place) ? 1 : 0);
  }
}

inline const Told* Reading::at(std::uint32_t place) const {
  const auto found = told_.find(place);
  return found == told_.end() ? nullptr : &found->second;
}

// Whether the place sent a masked input with a mask for the other.
inline bool Reading::shared_with(std::uint32_t place, std::uint32_t other) const {
  const Told* told = at(place);
  return told != nullptr && told->sharing.has_value() && told->sharing->contains(other);
}

inline bool Reading::is_own_mask_known(std::uint32_t place) const {
  std::uint32_t shares = 0;
  for (const std::uint32_t holder : neighbours_[place]) {
    const Told* told = at(holder);
    const bool gave = shared_with(holder, place) && told->survivors.has_value() && told->survivors->contains(place);
    if (corrupt_.contains(holder) || gave) ++shares;
  }
  return shares >= threshold_;
}

inline bool Reading::is_mask_key_known(std::uint32_t place) const {
  std::uint32_t shares = 0;
  for (const std::uint32_t holder : neighbours_[place]) {
    const Told* told = at(holder);
    const bool gave = shared_with(holder, place) && told->survivors.has_value() && !told->survivors->contains(place);
    if (corrupt_.contains(holder) || gave) ++shares;
  }
  return shares >= threshold_;
}

inline bool Reading::is_mask_known(std::uint32_t place, std::uint32_t other) const {
  if (corrupt_.contains(place) || corrupt_.contains(other)) return true;
  if (key_known_[place] != 0 || key_known_[other] != 0) return true;
  // Whoever answers names its masks with those who left.
  for (const auto& [one, two] : {std::pair(place, other), std::pair(other, place)}) {
    const Told* told = at(one);
    if (shared_with(one, two) && told->survivors.has_value() && !told->survivors->contains(two)) return true;
  }
  return false;
}

inline std::vector<Places> Reading::groups() const {
  std::set<std::uint32_t> left;
  for (const auto& [place, told] : told_) {
    if (told.sharing.has_value() && own_known_[place] != 0) left.insert(place);
  }
  const std::set<std::uint32_t> candidates = left;
  std::vector<Places> found;
  while (!left.empty()) {
    Places group;
    bool readable = true;
    std::vector<std::uint32_t> open = {*left.begin()};
    left.erase(left.begin());
    while (!open.empty()) {
      const std::uint32_t place = open.back();
      open.pop_back();
      group.insert(place);
      for (const std::uint32_t other : neighbours_[place]) {
        if (!shared_with(place, other) || is_mask_known(place, other)) continue;
        if (!candidates.contains(other) || !shared_with(other, place)) {
          readable = false;  // a mask that nobody takes off, and that is on no other vector
        } else if (left.erase(other) > 0) {
          open.push_back(other);
        }
      }
    }
    if (readable) found.push_back(std::move(group));
  }
  return found;
}

}  // namespace noisefloor::secagg
