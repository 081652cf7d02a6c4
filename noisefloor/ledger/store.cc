#include "noisefloor/ledger/store.h"

namespace noisefloor {

Result<std::optional<StoredEntry>> LedgerTransaction::entry(std::uint64_t sequence) {
  std::optional<StoredEntry> found;
  NF_TRY_VOID(entries(sequence, sequence, [&](const StoredEntry& stored) -> Result<void> {
    found = stored;
    return success();
  }));
  return found;
}

}  // namespace noisefloor
