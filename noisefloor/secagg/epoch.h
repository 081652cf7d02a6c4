// Many rounds among the same clients on one key agreement: an epoch begins with an ordinary round, and later rounds
// take their keys from it. For sites that meet every round (5 to 100 of them); a fresh round stays the default, and a
// client resumes no epoch unless its policy says how many rounds one may have.
//
// Guarantee:     a round of an epoch has the guarantee of an ordinary one (client.h, server.h), if those who are
//                corrupt at any time of the epoch are counted. Every round has keys of its own, and secrets of its own
//                masks that are shared anew. Whoever takes a client's state learns nothing of rounds that are over, and
//                can read along until the epoch is renewed.
// How:           the channel secrets of the first round begin chains of keys, which are never shared nor disclosed. A
//                round takes one key from each chain; the chain goes on by HKDF, and what came before is wiped. The
//                first round's graph has to be complete (docs/proofs/secure_sums.md).
// Requires:      rounds by ascending numbers; a state is used once, so it cannot be copied, and is not stored.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/secret.h"
#include "noisefloor/secagg/messages.h"

namespace noisefloor::secagg {

// An epoch has at most this many rounds after the first.
inline constexpr std::uint64_t kMaxEpochRounds = 4096;

// A key for each round, of which the earlier ones cannot be computed any more.
class KeyChain {
 public:
  explicit KeyChain(Secret32 first) : key_(std::move(first)) {}
  // The key of a round, 0 for the first. Requires a higher index than before (checked).
  [[nodiscard]] Secret32 take(std::uint64_t index);

 private:
  Secret32 key_;
  std::uint64_t next_ = 0;
};

// What both sides know of an epoch.
struct EpochTerms {
  Digest id{};  // RoundConfig::epoch of its rounds
  Digest registry{};
  std::uint64_t first_round = 0;  // the number of the ordinary round; later ones have higher numbers
  std::uint64_t next_round = 0;   // rounds below this one are over
  ClientSet present{0};           // by number in the registry

  // The place of a round in the chains. Requires first_round < round ≤ first_round + kMaxEpochRounds.
  [[nodiscard]] std::uint64_t index_of(std::uint64_t round) const { return round - first_round - 1; }
  // Whether a round of this number can follow.
  [[nodiscard]] bool can_follow(std::uint64_t round) const {
    return round >= next_round && round - first_round <= kMaxEpochRounds;
  }
};

// A client's side: Client::epoch() makes it, Client::resume() uses it.
class ClientEpoch {
 public:
  [[nodiscard]] const EpochTerms& terms() const { return terms_; }

 private:
  friend class Client;
  struct Member {
    std::uint32_t number;
    KeyChain chain;
  };
  EpochTerms terms_;
  std::uint32_t number_ = 0;
  std::vector<Member> others_;  // by ascending number
  std::optional<KeyChain> server_;
};

// The server's side: Server::epoch() makes it, Server::resume() uses it.
class ServerEpoch {
 public:
  [[nodiscard]] const EpochTerms& terms() const { return terms_; }

 private:
  friend class Server;
  struct Member {
    std::uint32_t number;
    KeyChain chain;
  };
  EpochTerms terms_;
  std::vector<Member> clients_;  // by ascending number
};

}  // namespace noisefloor::secagg
