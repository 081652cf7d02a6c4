// Internal to engine/: tables in an SQLite file, or in CSV files that are loaded into memory.
//
// Guarantee:     the file is opened for reading. The connection allows SELECT and the functions of
//                sqlite_functions.h alone: no PRAGMA, no ATTACH, no extension, no function in a view or an index.
#pragma once

#include <memory>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/source.h"
#include "noisefloor/engine/sql_engine.h"

namespace noisefloor::engine {

[[nodiscard]] Result<std::unique_ptr<Engine>> open_sqlite(const Source& source);

}  // namespace noisefloor::engine
