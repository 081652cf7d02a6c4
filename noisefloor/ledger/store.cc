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
  if (std::holds_alternative<ExposureEntry>(body) || std::holds_alternative<ExposedEntry>(body) ||
      std::holds_alternative<RoleEntry>(body) || std::holds_alternative<RevokeEntry>(body) ||
      std::holds_alternative<WitnessEntry>(body)) {
    return kStoreVersionWithRoles;
  }
  const auto* budget = std::get_if<BudgetEntry>(&body);
  const auto* use = std::get_if<ReserveEntry>(&body);
  const auto* content = std::get_if<ContentEntry>(&body);
  const bool of_blocks = (budget != nullptr && budget->terms.blocks) || (use != nullptr && !use->blocks.empty()) ||
                         (content != nullptr && !content->block.empty());
  if (of_blocks) return kStoreVersionWithRoles;
  if (const auto* adopt = std::get_if<AdoptEntry>(&body)) return adopt->missing ? kStoreVersionWithRoles : 1;
  return std::holds_alternative<ClockEntry>(body) ? kStoreVersionWithClock : 1;
}

}  // namespace noisefloor
