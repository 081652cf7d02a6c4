// The configuration that everyone in a round must agree on, before anything else.
//
// Guarantee:     one text for one configuration; its digest is signed with every key and enters every mask, so that
//                masks cancel only between those who hold the same one.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/key_agreement.h"
#include "noisefloor/crypto/signing.h"
#include "noisefloor/secagg/distributed_noise.h"
#include "noisefloor/secagg/lane_vector.h"
#include "noisefloor/secagg/parameters.h"

namespace noisefloor::secagg {

// All clients: each one's signing key, at the place of its number. The registry must not reach clients through the
// server alone, unless someone they trust has signed it: a server that could add clients would know what those clients
// know.
using Registry = std::vector<PublicKey>;
[[nodiscard]] Digest digest_of(const Registry& registry);

// The noise that clients add before masking (round_noise.h makes the encoding from it). What the sum's statement rests
// on is here and nowhere else; the fewest survivors for which there is a statement are the round's minimum cohort.
struct NoiseContract {
  NoiseLaw law = NoiseLaw::kSkellam;
  std::uint64_t values;  // numbers in each client's vector, before they are padded
  ClipNorm clip;
  NoiseMultiplier multiplier;   // as in DistributedNoiseOptions
  std::uint32_t colluders = 0;  // clients that may leave their noise out
  Digest rotation{};            // the seed of the rotation

  friend bool operator==(const NoiseContract&, const NoiseContract&) = default;
};

struct RoundConfig {
  std::uint64_t round = 0;      // never the same twice
  Digest model{};               // digest of the model that the clients were given to work on
  Digest registry{};            // digest_of the registry
  AgreementPublicKey server{};  // the key that authenticates messages to and from the server
  Digest challenge{};           // Server::challenge: what the server will ask about shares, not yet disclosed
  Digest epoch{};               // of an earlier round whose key agreement this one reuses (epoch.h); zeros: of none
  ThreatModel threat = ThreatModel::kLyingServer;
  std::uint32_t clients = 0;  // in the registry
  std::uint32_t minimum_roster =
      0;                     // the fewest clients whose keys are listed: corrupt ones are a bounded share of them
  std::uint32_t degree = 0;  // clients − 1: complete graph; an even number otherwise
  std::uint32_t threshold = 0;
  std::uint32_t minimum_cohort = 0;  // a sum of fewer inputs is never computed
  std::uint64_t dimension = 0;
  std::uint8_t bits = 0;  // the modulus is 2^bits
  bool replayed = false;  // clients draw from a ReplayRandom: a test or a demonstration, without privacy
  std::optional<NoiseContract> noise;

  friend bool operator==(const RoundConfig&, const RoundConfig&) = default;
};

// Fails for a configuration that no round could run on.
[[nodiscard]] Result<void> check_config(const RoundConfig& config);

inline constexpr std::size_t kNoiseBytes = 1 + 8 + 8 + 8 + 4 + 32;
inline constexpr std::size_t kConfigBytes = 8 + 5 * 32 + 1 + 4 + 4 + 4 + 4 + 4 + 8 + 1 + 1 + kNoiseBytes;
[[nodiscard]] std::vector<std::uint8_t> to_bytes(const RoundConfig& config);
// Nothing unless these are the bytes of a configuration that passes check_config.
[[nodiscard]] std::optional<RoundConfig> parse_config(Bytes bytes);
[[nodiscard]] Digest digest_of(const RoundConfig& config);

// The degree of a roster of `clients` clients: less than the configuration's if there are too few of them.
[[nodiscard]] std::uint32_t degree_among(const RoundConfig& config, std::uint32_t clients);

}  // namespace noisefloor::secagg
