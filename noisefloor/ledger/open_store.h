// Opens the store of a location: a path names a SQLite file, postgresql://… a database.
#pragma once

#include <memory>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/store.h"

namespace noisefloor {

[[nodiscard]] Result<std::unique_ptr<LedgerStore>> open_store(const std::string& location, const StoreOptions& options);

}  // namespace noisefloor
