// A whole roster, and the messages that a server makes of it: for tests in which the server lies.
//
// Internal to secagg/, for its tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "noisefloor/secagg/graph.h"
#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/messages.h"
#include "noisefloor/secagg/roster_tree.h"

namespace noisefloor::secagg {

// Everyone's keys, by ascending number.
class TestRoster {
 public:
  TestRoster(const RoundConfig& config, std::vector<Advertisement> entries)
      : entries_(std::move(entries)), present_(config.clients), tree_(leaves(config)) {
    for (const Advertisement& each : entries_) present_.insert(each.client);
    context_ = context_of(digest_of(config), tree_.root(), present_.bytes());
    const auto clients = static_cast<std::uint32_t>(entries_.size());
    graph_.emplace_back(clients, degree_among(config, clients), graph_seed(context_));
  }

  [[nodiscard]] const Digest& context() const { return context_; }
  [[nodiscard]] const Graph& graph() const { return graph_.front(); }
  [[nodiscard]] const Advertisement& at(std::uint32_t place) const { return entries_[place]; }

  // The message for a client, whether it is in the roster or not (then it gets the neighbours of the first place).
  [[nodiscard]] Message message(std::uint32_t to, const Secret32& channel) const {
    const auto own = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.client == to; });
    const auto place = own == entries_.end() ? 0U : static_cast<std::uint32_t>(own - entries_.begin());
    RosterPart part{tree_.root(), present_};
    std::vector<std::uint32_t> numbers{entries_[place].client};
    for (const std::uint32_t other : graph().neighbours(place)) {
      part.neighbours.push_back(entries_[other]);
      numbers.push_back(entries_[other].client);
    }
    std::sort(numbers.begin(), numbers.end());
    std::vector<std::uint8_t> proof;
    for (const Digest& hash : tree_.proof(numbers)) proof.insert(proof.end(), hash.begin(), hash.end());
    part.proof = proof;
    return roster_message(to, part, channel);
  }

 private:
  [[nodiscard]] std::vector<Digest> leaves(const RoundConfig& config) const {
    std::vector<Digest> leaves(config.clients, roster_leaf({}));
    for (const Advertisement& each : entries_) leaves[each.client] = roster_leaf(to_bytes(each));
    return leaves;
  }

  std::vector<Advertisement> entries_;
  ClientSet present_;
  RosterTree tree_;
  Digest context_{};
  std::vector<Graph> graph_;  // one
};

}  // namespace noisefloor::secagg
