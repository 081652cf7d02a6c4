// The ledger in a PostgreSQL database, for several hosts. A lock of the head admits one writer at a time.
//
// Guarantee:     as in store.h, with synchronous_commit on. Entries that a failover of the server loses are lost: keep
//                a witness.
// Requires:      PostgreSQL 12 or later; the right to create a schema, once. There is one ledger per database, in the
//                schema noisefloor_ledger.
// Thread safety: one owner at a time, with its own connection.
#pragma once

#include <memory>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/store.h"

namespace noisefloor {

// `location` is a connection string as libpq takes it: postgresql://user@host/database.
[[nodiscard]] Result<std::unique_ptr<LedgerStore>> open_postgres(const std::string& location,
                                                                 const StoreOptions& options);

}  // namespace noisefloor
