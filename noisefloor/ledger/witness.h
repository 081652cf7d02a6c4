// A signed head outside of the ledger: whoever keeps one can tell later whether the ledger still has that history.
//
// Guarantee:     a witness that parse_witness() accepts is signed by the key that it names as its signer. A ledger that
//                has the same hash at the witness's sequence has the same entries up to there; a ledger that does not
//                was rolled back, forked or altered.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor {

struct Witness {
  PublicKey key;  // the ledger's: that of its first owner
  Head head;
  TimeMs time;
  std::optional<PublicKey> signer = {};  // who signed the head, if it was another member
};

[[nodiscard]] std::string to_json(const Witness& witness);
// Returns kVerificationFailed unless the witness is complete and its signature holds.
[[nodiscard]] Result<Witness> parse_witness(std::string_view text);

[[nodiscard]] Result<Witness> read_witness(const std::string& path);
[[nodiscard]] Result<void> write_witness(const std::string& path, const Witness& witness);

}  // namespace noisefloor
