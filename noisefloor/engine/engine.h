// A place that holds tables and computes on them: SQLite, DuckDB, PostgreSQL (one server or several), or CSV files that
// are loaded into one of these.
//
//   NF_TRY(const std::unique_ptr<Engine> engine, open_engine(source));   // source.h
//   NF_TRY(const Measured exact, engine->measure(measurement));
//
// Guarantee:     the engine runs only SQL that this folder wrote from a Measurement: identifiers are quoted, constants
//                are parameters or checked literals. It is opened for reading, without access to files, functions or
//                settings that the SQL does not need. An error of measure() is one constant text that depends on
//                nothing in the tables; its class (SQLSTATE without 22xxx, "time", "connection") is all that is told.
// Thread safety: an engine is used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/measurement.h"

namespace noisefloor::engine {

// What the catalogue says about a table: its columns and declared keys, no rows.
struct CatalogueColumn {
  std::string name;
  Type type = Type::kText;
  bool nullable = true;
};
struct CatalogueKey {
  std::string column;
  std::string table;   // that it refers to
  std::string refers;  // the column there
};
struct CatalogueTable {
  std::string name;
  std::vector<CatalogueColumn> columns;
  std::vector<std::string> unique = {};  // columns whose values differ in all rows
  std::vector<CatalogueKey> foreign = {};
};

// A row of a table as texts, for the recognition of rows; NULL is an empty text.
using TakeRow = std::function<Result<void>(std::span<const std::string_view> cells)>;

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  [[nodiscard]] virtual std::string name() const = 0;  // "sqlite", "duckdb", "postgresql"
  [[nodiscard]] virtual Result<std::vector<CatalogueTable>> catalogue() = 0;
  [[nodiscard]] virtual Result<Measured> measure(const Measurement& measurement) = 0;
  // The SQL that measure() would send, one text for each server. Reads no table. kInvalidArgument if an engine would
  // not take it, whatever the rows are: SQLite takes only so many subqueries within each other. Ask before a
  // reservation.
  [[nodiscard]] virtual Result<std::vector<std::string>> explain(const Measurement& measurement) = 0;
  // Every row of a table, in any order, with all its columns in the order of the catalogue.
  [[nodiscard]] virtual Result<void> read_rows(const std::string& table, const TakeRow& take) = 0;
};

}  // namespace noisefloor::engine
