// How many neighbours a client needs, and how many of them must answer: the degree and threshold of a round.
//
// Clients stand on a circle in random order; each is a neighbour of the degree/2 next ones on either side (a randomly
// permuted Harary graph). A secret is shared among the neighbours of its owner.
//
// Guarantee:     `log2_insecure` bounds the probability, over the order on the circle, that the server and the corrupt
//                clients learn anything beside the sum of all honest survivors; for every roster of at least
//                `minimum_roster` clients with every corrupt client of the registry in it, and, where the server may
//                lie, even if it tries 2^grinding_bits rosters. `log2_incorrect` bounds the probability that too few
//                neighbours of some client stay, so that the round ends without a sum; the committee, one group more
//                beside those of all clients, is not counted.
// Implements:    Bell et al. 2020, "Secure Single-Server Aggregation with (Poly)Logarithmic Overhead", with a bound of
//                our own for servers that lie (docs/proofs/secure_sums.md). Corrupt neighbours are hypergeometric. With
//                a curious server, `threshold` of them are fatal, or two stretches of degree/2 places in which everyone
//                is corrupt or drops out. With a lying one, 2·threshold − degree of them are fatal, in the neighbours
//                of a client or in the committee that confirms the survivors; or two stretches of degree/2 places with
//                threshold − degree/2 corrupt clients each: corrupt clients answer from within a gap, and the server
//                chooses who else drops out.
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

// A lying server, or a corrupt client, can make keys until the order on the circle suits it: about 2^33 tries a day on
// one core. No one makes 2^60.
inline constexpr double kGrindingBits = 60;

struct Assumptions {
  std::uint32_t clients;  // in the registry
  double corrupt;         // share of the registry that works with the server, in [0, 1)
  double drop;            // share of the roster that drops out after the keys are known, in [0, 1)
  ThreatModel threat = ThreatModel::kCuriousServer;
  double security_bits = 40;  // that are left after all tries
  double correctness_bits = 20;
  std::uint32_t minimum_roster = 0;      // no roster has fewer clients; 0: every client of the registry takes part
  double grinding_bits = kGrindingBits;  // a lying server tries 2^this many rosters; of no account for a curious one
};

// How many clients of a registry are corrupt if this share of them is: rounded up; a share such as 0.29 of 100 is 29.
[[nodiscard]] std::uint32_t corrupt_clients(double share, std::uint32_t clients);

// The fewest m such that none of `groups` random groups of at most `size` clients has more than m corrupt ones, except
// with probability 2^-security_bits; with a lying server after 2^grinding_bits tries. Requires (refused otherwise):
// 1 ≤ size, groups ≤ clients.
[[nodiscard]] Result<std::uint32_t> most_corrupt_in(const Assumptions& assumptions, std::uint32_t size,
                                                    std::uint32_t groups);

struct Topology {
  std::uint32_t degree;
  std::uint32_t threshold;
  double log2_insecure;  // −∞ if it cannot happen
  double log2_incorrect;
  std::uint32_t minimum_roster = 0;  // as assumed
};

// The smallest degree, and the smallest threshold for it, that keep both bounds. The graph is complete for up to 32
// clients.
[[nodiscard]] Result<Topology> find_topology(const Assumptions& assumptions);

// The two probabilities for a given degree and threshold. Requires (refused otherwise): 1 ≤ threshold ≤ degree <
// clients, and an even degree unless it is clients − 1.
[[nodiscard]] Result<Topology> evaluate_topology(const Assumptions& assumptions, std::uint32_t degree,
                                                 std::uint32_t threshold);

}  // namespace noisefloor::secagg
