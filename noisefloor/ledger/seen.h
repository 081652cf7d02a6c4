// What somebody outside of a ledger has seen of its history.
#pragma once

#include <cstdint>

#include "noisefloor/crypto/hash.h"

namespace noisefloor {

// The ledger `ledger` had an entry `sequence` with this hash, and was in this epoch. The hash covers every entry before
// it, so a ledger with another entry there, or with none, has lost what was seen.
struct Seen {
  Digest ledger;
  std::uint64_t epoch;
  std::uint64_t sequence;
  Digest hash;
  friend bool operator==(const Seen&, const Seen&) = default;
};

// Whether `later` was seen after `earlier` in one life of the ledger. Adoptions raise the epoch.
[[nodiscard]] inline bool is_later(const Seen& later, const Seen& earlier) {
  return later.epoch != earlier.epoch ? later.epoch > earlier.epoch : later.sequence > earlier.sequence;
}

}  // namespace noisefloor
