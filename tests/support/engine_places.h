// The same tables in every engine: as CSV files, and in databases of the tests' PostgreSQL server.
#pragma once

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "noisefloor/engine/source.h"
#include "tests/support/random_measurement.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::testing {

inline std::string shown_value(const Int128 value) { return std::to_string(static_cast<long double>(value)); }

inline std::string shown_groups(const engine::Measured& measured) {
  std::string text;
  for (const engine::MeasuredGroup& group : measured.groups) {
    text += "[";
    for (const engine::Cell& cell : group.keys) {
      if (const auto* whole = std::get_if<std::int64_t>(&cell)) text += std::to_string(*whole) + ",";
      if (const auto* word = std::get_if<std::string>(&cell)) text += "'" + *word + "',";
      if (std::holds_alternative<std::monostate>(cell)) text += "NULL,";
    }
    text += "] units " + std::to_string(group.units) + ":";
    for (const Int128 total : group.totals) text += " " + shown_value(total);
    for (const auto& values : group.values) {
      text += " {";
      for (const auto& [value, count] : values) text += std::to_string(value) + "x" + std::to_string(count) + " ";
      text += "}";
    }
    text += "\n";
  }
  return text;
}

inline bool same(const engine::Measured& a, const engine::Measured& b) {
  return std::ranges::equal(a.groups, b.groups, [](const engine::MeasuredGroup& x, const engine::MeasuredGroup& y) {
    return x.keys == y.keys && x.units == y.units && x.totals == y.totals && x.values == y.values;
  });
}

// The tables as CSV files, in this engine.
inline std::unique_ptr<engine::Engine> open_files(engine::EngineKind kind, const std::vector<TextTable>& tables,
                                                  const TemporaryFolder& folder) {
  engine::Source source{.engine = kind, .tables = {}, .folder = folder.path("")};
  for (const TextTable& table : tables) {
    std::ofstream(folder.path(table.name + ".csv")) << csv_of(table);
    engine::SourceTable& named = source.tables.emplace_back(
        engine::SourceTable{.name = table.name, .place = table.name + ".csv", .columns = {}});
    for (const NamedColumn& column : table.columns) named.columns.push_back({column.name, column.type});
  }
  auto engine = engine::open_engine(source);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(engine).value() : nullptr;
}

class Databases {
 public:
  explicit Databases(std::size_t count) {
    const char* file = std::getenv("NOISEFLOOR_TEST_POSTGRES");
    if (file == nullptr) return;
    std::getline(std::ifstream(file) >> std::ws, server_);
    for (std::size_t i = 0; i < count; ++i) {
      static int made = 0;
      names_.push_back("engine_" + std::to_string(::getpid()) + "_" + std::to_string(++made));
      execute(server_, "CREATE DATABASE " + names_.back());
      std::string location = server_;
      locations_.push_back(location.replace(location.find("/postgres?"), 10, "/" + names_.back() + "?"));
    }
  }
  Databases(const Databases&) = delete;
  Databases& operator=(const Databases&) = delete;
  ~Databases() {
    for (const std::string& name : names_) execute(server_, "DROP DATABASE " + name + " WITH (FORCE)");
  }
  [[nodiscard]] const std::vector<std::string>& locations() const { return locations_; }

  static std::string execute(const std::string& location, const std::string& sql) {
    PGconn* connection = PQconnectdb(location.c_str());
    PGresult* result = PQexec(connection, sql.c_str());
    EXPECT_TRUE(PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK)
        << PQerrorMessage(connection);
    std::string text = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
    PQclear(result);
    PQfinish(connection);
    return text;
  }

 private:
  std::string server_;
  std::vector<std::string> names_;
  std::vector<std::string> locations_;
};

inline std::string postgres_type(Type type) {
  switch (type) {
    case Type::kInteger:
      return "bigint";
    case Type::kNumber:
      return "double precision";
    case Type::kText:
      return "text";
    case Type::kDate:
      return "date";
    default:
      return "boolean";
  }
}

// The rows whose number `takes` accepts.
template <class Takes>
inline std::string postgres_table(const TextTable& table, const Takes& takes) {
  std::string sql = "CREATE TABLE " + table.name + " (";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    sql += (i == 0 ? "" : ", ") + table.columns[i].name + " " + postgres_type(table.columns[i].type);
  }
  sql += ");";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    if (!takes(r)) continue;
    sql += "INSERT INTO " + table.name + " VALUES (";
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const Type type = table.columns[i].type;
      std::string cell = table.rows[r][i];
      const Value value = engine::parse_cell(type, cell);
      if (type == Type::kDate && std::holds_alternative<std::int64_t>(value)) cell = cell.substr(0, 10);
      std::string quoted;
      for (const char c : cell) quoted += c == '\'' ? "''" : std::string(1, c);
      const bool odd_number =
          type == Type::kNumber && (cell == "nan" || cell == "inf" || cell == "1e200" || cell == "1e-200");
      const bool is_null = std::holds_alternative<std::monostate>(value) && !odd_number;
      sql += std::string(i == 0 ? "" : ", ") + (is_null ? "NULL" : "'" + quoted + "'");
    }
    sql += ");";
  }
  return sql;
}

inline std::unique_ptr<engine::Engine> open_postgres_on(const Databases& databases,
                                                        const std::vector<TextTable>& tables) {
  engine::Source source{.engine = engine::EngineKind::kPostgresql, .locations = databases.locations(), .tables = {}};
  for (const TextTable& table : tables) {
    engine::SourceTable& named = source.tables.emplace_back(engine::SourceTable{.name = table.name, .columns = {}});
    for (const NamedColumn& column : table.columns) named.columns.push_back({column.name, column.type});
  }
  auto engine = engine::open_engine(source);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(engine).value() : nullptr;
}

}  // namespace noisefloor::testing
