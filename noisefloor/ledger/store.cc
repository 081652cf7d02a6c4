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

std::uint64_t store_version_of(const EntryBody& body) {
  if (std::holds_alternative<WitnessEntry>(body)) return kStoreVersionWithRoles;
  if (const auto* adopt = std::get_if<AdoptEntry>(&body)) return adopt->missing ? kStoreVersionWithRoles : 1;
  return std::holds_alternative<ClockEntry>(body) ? kStoreVersionWithClock : 1;
}

}  // namespace noisefloor
