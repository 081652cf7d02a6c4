// Internal to engine/: tables in a DuckDB file, in Parquet files that are read in place, or in CSV files that are
// loaded into memory.
//
// Guarantee:     before the first measurement the engine is closed to all files but the tables' own, to extensions and
//                to further settings, and it writes no temporary files.
#pragma once

#include <memory>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/source.h"

namespace noisefloor::engine {

[[nodiscard]] Result<std::unique_ptr<Engine>> open_duckdb(const Source& source);

}  // namespace noisefloor::engine
