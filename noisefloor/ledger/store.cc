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

Result<void> LedgerTransaction::allow(const std::string& /*database_role*/, const std::string& /*member*/,
                                      Role /*role*/) {
  return invalid_argument("this database has no roles: only a ledger in PostgreSQL can tie a member to one");
}

Result<void> LedgerTransaction::disallow(const std::string& /*member*/) { return success(); }

std::uint64_t store_version_of(const EntryBody& body) {
  if (std::holds_alternative<RoleEntry>(body) || std::holds_alternative<RevokeEntry>(body)) {
    return kStoreVersionWithRoles;
  }
  return std::holds_alternative<ClockEntry>(body) ? kStoreVersionWithClock : 1;
}

}  // namespace noisefloor
