// Internal to engine/: SQLite's connections and statements, and tables that are written to them.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/relation.h"
#include "noisefloor/engine/table_writer.h"

namespace noisefloor::engine {

struct CloseSqlite {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeSqlite {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using SqliteDatabase = std::unique_ptr<sqlite3, CloseSqlite>;
using SqliteStatement = std::unique_ptr<sqlite3_stmt, FinalizeSqlite>;

// Makes the table, and fills it within one transaction.
[[nodiscard]] Result<std::unique_ptr<TableWriter>> write_sqlite_table(sqlite3* database, const std::string& table,
                                                                      const std::vector<NamedColumn>& columns);

}  // namespace noisefloor::engine
