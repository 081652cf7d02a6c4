// Any bytes as an entry of a ledger or as a witness: never a crash; and what is accepted is the one text of what it
// says.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "noisefloor/base/check.h"
#include "noisefloor/ledger/entry.h"
#include "noisefloor/ledger/state.h"
#include "noisefloor/ledger/witness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace noisefloor;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto entry = parse_entry(text); entry.has_value()) {
    NF_CHECK(to_json(entry.value()) == text, "an entry has two texts");
    // The rules may refuse it, and must bear it.
    static_cast<void>(LedgerState().apply(entry.value()));
  }
  if (const auto witness = parse_witness(text); witness.has_value()) {
    NF_CHECK(to_json(witness.value()) == text, "a witness has two texts");
  }
  return 0;
}
