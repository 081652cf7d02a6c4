// The text of entries about roles. Internal to ledger/.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/ledger/canonical_json.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor::internal {

// The entry from its kind on: "role","name":…
[[nodiscard]] std::string fields_of(const RoleEntry& e);
[[nodiscard]] std::string fields_of(const RevokeEntry& e);

// Nothing if the reader has failed.
[[nodiscard]] std::optional<EntryBody> read_role(CanonicalReader& in);
[[nodiscard]] std::optional<EntryBody> read_revoke(CanonicalReader& in);

}  // namespace noisefloor::internal
