// The ledger in one SQLite file: write-ahead log, full synchronisation, one writer at a time.
//
// Guarantee:     as in store.h. A file that was moved or replaced while it was open is refused at the next transaction.
// Read-only:     who may read the file and not write to its folder can read the ledger, too. While a writer has it
//                open, SQLite's own index serves such readers. If there is none, and no log with entries, the file is
//                opened as one that does not change, and every transaction checks that it did not: kIo if it did. A
//                change that this check misses (within one tick of the file system's clock) cannot pass for a history,
//                because chain and signature are checked as always.
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
