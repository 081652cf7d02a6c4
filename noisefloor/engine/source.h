// Where tables are, in public terms, and opening an engine on them.
//
// Guarantee:     a source's text never holds a password: PostgreSQL's is taken from the environment or a password file
//                as libpq does. Paths are relative to the folder of the file that states them.
// Thread safety: pure functions; plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/engine.h"

namespace noisefloor::engine {

enum class EngineKind : std::uint8_t { kSqlite, kDuckdb, kPostgresql };

// A column as the owner states it. A cell that does not fit the type is NULL (a text in a column of integers, NaN).
struct SourceColumn {
  std::string name;
  Type type = Type::kText;
};
struct SourceTable {
  std::string name;  // in queries
  std::string place =
      {};  // a CSV or Parquet file, or the table's name in the database, with its schema; or like `name`
  std::vector<SourceColumn> columns;
  std::string unit = {};  // the column that tells units apart, where the table has one: servers are divided by it
};
struct Source {
  EngineKind engine = EngineKind::kSqlite;
  // A database file; for PostgreSQL connection strings, one for each server that holds a part of the rows. Empty: the
  // tables are files, which SQLite loads into memory and DuckDB reads in place.
  std::vector<std::string> locations = {};
  std::vector<SourceTable> tables;
  std::string folder = {};                  // that paths start from
  std::chrono::milliseconds time_limit{0};  // of one statement; 0: none
  bool without_rows = false;                // CSV files are not read, and their tables are empty: for explain()
};

// kInvalidArgument if the engine is not installed, with the command that installs it; kIo if it cannot be reached.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_engine(const Source& source);

}  // namespace noisefloor::engine
