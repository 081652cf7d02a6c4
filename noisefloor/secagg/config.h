// The configuration that everyone in a round must agree on, before anything else.
//
// Guarantee:     one text for one configuration; its digest is signed with every key and enters every mask, so that
//                masks cancel only between those who hold the same one.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/key_agreement.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/secagg/lane_vector.h"
#include "noisefloor/secagg/parameters.h"

namespace noisefloor::secagg {

// All clients: each one's signing key, at the place of its number. The registry must not reach clients through the
// server alone, unless someone they trust has signed it: a server that could add clients would know what those clients
// know.
using Registry = std::vector<PublicKey>;
[[nodiscard]] Digest digest_of(const Registry& registry);

struct RoundConfig {
  std::uint64_t round = 0;      // never the same twice
  Digest model{};               // digest of the model that the clients were given to work on
  Digest registry{};            // digest_of the registry
  AgreementPublicKey server{};  // the key that authenticates messages to and from the server
  ThreatModel threat = ThreatModel::kLyingServer;
  std::uint32_t clients = 0;  // in the registry
  std::uint32_t minimum_roster =
      0;                     // the fewest clients whose keys are listed: corrupt ones are a bounded share of them
  std::uint32_t degree = 0;  // clients − 1: complete graph; an even number otherwise
  std::uint32_t threshold = 0;
  std::uint32_t minimum_cohort = 0;  // a sum of fewer inputs is never computed
  std::uint64_t dimension = 0;
  std::uint8_t bits = 0;  // the modulus is 2^bits

  friend bool operator==(const RoundConfig&, const RoundConfig&) = default;
};

// Fails for a configuration that no round could run on.
[[nodiscard]] Result<void> check_config(const RoundConfig& config);

inline constexpr std::size_t kConfigBytes = 8 + 32 + 32 + 32 + 1 + 4 + 4 + 4 + 4 + 4 + 8 + 1;
[[nodiscard]] std::vector<std::uint8_t> to_bytes(const RoundConfig& config);
// Nothing unless these are the bytes of a configuration that passes check_config.
[[nodiscard]] std::optional<RoundConfig> parse_config(Bytes bytes);
[[nodiscard]] Digest digest_of(const RoundConfig& config);

// The degree of a roster of `clients` clients: less than the configuration's if there are too few of them.
[[nodiscard]] std::uint32_t degree_among(const RoundConfig& config, std::uint32_t clients);

}  // namespace noisefloor::secagg
