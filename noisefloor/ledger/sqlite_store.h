// The ledger in one SQLite file: write-ahead log, full synchronisation, one writer at a time.
//
// Guarantee:     as in store.h. A file that was moved or replaced while it was open is refused at the next transaction.
// Requires:      a local file system with working locks and fsync (not NFS).
// Thread safety: one owner at a time. Several processes may have the same file open.
#pragma once

#include <memory>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/store.h"

namespace noisefloor {

[[nodiscard]] Result<std::unique_ptr<LedgerStore>> open_sqlite(const std::string& path, const StoreOptions& options);

}  // namespace noisefloor
