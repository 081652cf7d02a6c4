// The neighbours of each client: the permuted Harary graph of parameters.h, from a public seed that clients and server
// both compute.
//
// Guarantee:     neighbours are mutual; everyone has `degree` of them, or all others if there are no more than that.
//                The order on the circle is uniform, up to 2^-30, if the seed is.
// Thread safety: const after construction.
//
// Internal to secagg/.
#pragma once

#include <cstdint>
#include <vector>

#include "noisefloor/crypto/hash.h"

namespace noisefloor::secagg {

class Graph {
 public:
  // Requires an even degree if degree + 1 < clients (checked).
  Graph(std::uint32_t clients, std::uint32_t degree, const Digest& seed);

  [[nodiscard]] std::uint32_t clients() const { return static_cast<std::uint32_t>(at_.size()); }
  // The neighbours in ascending order. Requires client < clients().
  [[nodiscard]] std::vector<std::uint32_t> neighbours(std::uint32_t client) const;
  // All clients as they stand on the circle.
  [[nodiscard]] const std::vector<std::uint32_t>& circle() const { return at_; }
  // The clients that confirm the survivors to everyone, in ascending order: `degree` of them that stand side by side,
  // or everyone if the graph is complete.
  [[nodiscard]] std::vector<std::uint32_t> committee() const;

 private:
  std::uint32_t degree_;
  std::vector<std::uint32_t> at_;     // the client at each place
  std::vector<std::uint32_t> place_;  // the place of each client
};

}  // namespace noisefloor::secagg
