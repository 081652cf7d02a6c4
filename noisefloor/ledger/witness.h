// A signed head outside of the ledger: whoever keeps one can tell later whether the ledger still has that history.
//
// Guarantee:     a witness that was read is signed by the key it names. A ledger that has the same hash at the witness's
//                sequence has the same entries up to there; one that has not was rolled back, forked or altered.
#pragma once

#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor {

struct Witness {
  PublicKey key;
  Head head;
  TimeMs time;
};

[[nodiscard]] std::string to_json(const Witness& witness);
// kVerificationFailed unless it is whole and signed.
[[nodiscard]] Result<Witness> parse_witness(std::string_view text);

[[nodiscard]] Result<Witness> read_witness(const std::string& path);
[[nodiscard]] Result<void> write_witness(const std::string& path, const Witness& witness);

}  // namespace noisefloor
