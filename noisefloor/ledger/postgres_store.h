// The ledger in a PostgreSQL database, for several hosts: one writer at a time, by a lock of the head.
//
// Guarantee:     as store.h, with synchronous_commit on. What a failover of the server loses is lost: keep a witness.
// Requires:      PostgreSQL 12 or later; the right to create a schema, once. One ledger a database, in the schema
//                noisefloor_ledger.
// Thread safety: one owner at a time, with a connection of its own.
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
