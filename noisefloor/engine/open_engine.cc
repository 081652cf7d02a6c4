#include "noisefloor/base/check.h"
#include "noisefloor/engine/duckdb_engine.h"
#include "noisefloor/engine/postgres_engine.h"
#include "noisefloor/engine/source.h"
#include "noisefloor/engine/sqlite_engine.h"

namespace noisefloor::engine {

Result<std::unique_ptr<Engine>> open_engine(const Source& source) {
  switch (source.engine) {
    case EngineKind::kSqlite:
      return open_sqlite(source);
    case EngineKind::kDuckdb:
      return open_duckdb(source);
    case EngineKind::kPostgresql:
      return open_postgres(source);
  }
  NF_UNREACHABLE("there are three engines");
}

}  // namespace noisefloor::engine
