#include "noisefloor/ledger/open_store.h"

#include "noisefloor/ledger/postgres_store.h"
#include "noisefloor/ledger/sqlite_store.h"

namespace noisefloor {

Result<std::unique_ptr<LedgerStore>> open_store(const std::string& location, const StoreOptions& options) {
  if (location.starts_with("postgresql://") || location.starts_with("postgres://")) {
    return open_postgres(location, options);
  }
  return open_sqlite(location, options);
}

}  // namespace noisefloor
