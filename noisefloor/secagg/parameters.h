// How many neighbours a client needs, and how many of them must answer: the degree and threshold of a round.
//
// Clients stand on a circle in random order; each is a neighbour of the degree/2 next ones on either side (a randomly
// permuted Harary graph). A secret is shared among the neighbours of its owner.
//
// Guarantee:     `log2_insecure` bounds the probability, over the order, that some client has so many corrupt
//                neighbours that they and the server could recover both its secrets, or that the honest clients that
//                stay fall apart into groups whose sums the server would see. `log2_incorrect` bounds the probability
//                that too few neighbours of some client stay, so that the round ends without a sum.
// Implements:    Bell et al. 2020, "Secure Single-Server Aggregation with (Poly)Logarithmic Overhead". Corrupt
//                neighbours are hypergeometric: at least `threshold` of them are fatal with a curious server. A server
//                that lies may ask different neighbours for different secrets: 2·threshold − degree are fatal. Union
//                bound over clients. The honest fall apart only if degree/2 in a row are missing at two places; with
//                2·threshold > degree no client next to such a place would have enough neighbours to answer, hence
//                never.
// Complete:      in a complete graph (degree = clients − 1) the threshold is above the number of corrupt clients, or
//                2·threshold above clients + corrupt; then nothing is left to chance.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "noisefloor/base/result.h"

namespace noisefloor::secagg {

inline constexpr std::uint32_t kMaxClients = 1U << 17;

enum class ThreatModel : std::uint8_t {
  kCuriousServer,  // follows the protocol, looks at everything, and knows what corrupt clients know
  kLyingServer,    // may also tell different clients different things
};
[[nodiscard]] std::string_view name_of(ThreatModel threat);  // "curious-server", "lying-server"

struct Assumptions {
  std::uint32_t clients;
  double corrupt;  // share of the clients that work with the server, in [0, 1)
  double drop;     // share that drops out after the keys are known, in [0, 1)
  ThreatModel threat = ThreatModel::kCuriousServer;
  double security_bits = 40;
  double correctness_bits = 20;
};

struct Topology {
  std::uint32_t degree;
  std::uint32_t threshold;
  double log2_insecure;  // −∞ if it cannot happen
  double log2_incorrect;
};

// The smallest degree, and the smallest threshold for it, that keep both bounds. The graph is complete for up to 32
// clients.
[[nodiscard]] Result<Topology> find_topology(const Assumptions& assumptions);

// The two probabilities for a given degree and threshold. Requires (refused otherwise): 1 ≤ threshold ≤ degree <
// clients, and an even degree unless it is clients − 1.
[[nodiscard]] Result<Topology> evaluate_topology(const Assumptions& assumptions, std::uint32_t degree,
                                                 std::uint32_t threshold);

}  // namespace noisefloor::secagg
