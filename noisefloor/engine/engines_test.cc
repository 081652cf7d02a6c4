// Every engine gives the integers of the reference engine, for arbitrary rows and measurements.
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "noisefloor/engine/source.h"
#include "tests/support/random_measurement.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::engine {
namespace {

using testing::Choices;
using testing::RandomMeasurements;
using testing::TextTable;

std::string shown_value(const Int128 value) { return std::to_string(static_cast<long double>(value)); }

std::string shown_groups(const Measured& measured) {
  std::string text;
  for (const MeasuredGroup& group : measured.groups) {
    text += "[";
    for (const Cell& cell : group.keys) {
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

bool same(const Measured& a, const Measured& b) {
  return std::ranges::equal(a.groups, b.groups, [](const MeasuredGroup& x, const MeasuredGroup& y) {
    return x.keys == y.keys && x.units == y.units && x.totals == y.totals && x.values == y.values;
  });
}

void expect_like_reference(Engine& engine, const std::vector<TextTable>& tables, std::uint64_t seed, std::size_t count,
                           bool only_units = false) {
  std::vector<ReferenceTable> references;
  for (const TextTable& table : tables) references.push_back(testing::reference_of(table));
  ReferenceEngine reference(std::move(references));
  std::size_t not_empty = 0;
  for (std::size_t i = 0; i < count; ++i) {
    RandomMeasurements random(seed + i);
    const Measurement m = random.measurement(only_units || i % 4 != 0);
    const auto expected = reference.measure(m);
    ASSERT_TRUE(expected.has_value()) << expected.error().message;
    const auto measured = engine.measure(m);
    const auto sql = engine.explain(m);
    ASSERT_TRUE(measured.has_value()) << seed + i << ": " << measured.error().message << "\n" << sql.value()[0];
    ASSERT_TRUE(same(measured.value(), expected.value())) << seed + i << "\n"
                                                          << sql.value()[0] << "\nexpected\n"
                                                          << shown_groups(expected.value()) << "measured\n"
                                                          << shown_groups(measured.value());
    for (const MeasuredGroup& group : expected.value().groups) not_empty += group.units > 0 ? 1 : 0;
  }
  EXPECT_GT(not_empty, count / 2) << "the measurements must not be trivial";
}

// The tables as CSV files, in this engine.
std::unique_ptr<Engine> open_files(EngineKind kind, const std::vector<TextTable>& tables,
                                   const testing::TemporaryFolder& folder) {
  Source source{.engine = kind, .tables = {}, .folder = folder.path("")};
  for (const TextTable& table : tables) {
    std::ofstream(folder.path(table.name + ".csv")) << testing::csv_of(table);
    SourceTable& named =
        source.tables.emplace_back(SourceTable{.name = table.name, .place = table.name + ".csv", .columns = {}});
    for (const NamedColumn& column : table.columns) named.columns.push_back({column.name, column.type});
  }
  auto engine = open_engine(source);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(engine).value() : nullptr;
}

void compare_files(EngineKind kind, std::uint64_t seed, std::size_t worlds, std::size_t count) {
  for (std::size_t world = 0; world < worlds; ++world) {
    Choices choices(seed + world);
    const std::vector<TextTable> tables = testing::random_tables(choices, world == 0 ? 0 : 90);
    const testing::TemporaryFolder folder;
    const std::unique_ptr<Engine> engine = open_files(kind, tables, folder);
    ASSERT_NE(engine, nullptr);
    if (world == 0) {
      EXPECT_TRUE(engine->measure(RandomMeasurements(1).measurement(true)).has_value()) << "no rows";
      continue;
    }
    expect_like_reference(*engine, tables, 1000 * (seed + world), count);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Engines, SqliteMeasuresWhatTheReferenceMeasures) { compare_files(EngineKind::kSqlite, 1, 4, 120); }
TEST(Engines, DuckdbMeasuresWhatTheReferenceMeasures) { compare_files(EngineKind::kDuckdb, 1, 4, 60); }
TEST(SlowEngines, SqliteMeasuresWhatTheReferenceMeasures) { compare_files(EngineKind::kSqlite, 100, 20, 1000); }
TEST(SlowEngines, DuckdbMeasuresWhatTheReferenceMeasures) { compare_files(EngineKind::kDuckdb, 100, 20, 500); }

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

std::string postgres_type(Type type) {
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
std::string postgres_table(const TextTable& table, const Takes& takes) {
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
      const Value value = parse_cell(type, cell);
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

std::unique_ptr<Engine> open_postgres_on(const Databases& databases, const std::vector<TextTable>& tables) {
  Source source{.engine = EngineKind::kPostgresql, .locations = databases.locations(), .tables = {}};
  for (const TextTable& table : tables) {
    SourceTable& named = source.tables.emplace_back(SourceTable{.name = table.name, .columns = {}});
    for (const NamedColumn& column : table.columns) named.columns.push_back({column.name, column.type});
  }
  auto engine = open_engine(source);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(engine).value() : nullptr;
}

void compare_postgres(std::uint64_t seed, std::size_t servers, std::size_t worlds, std::size_t count) {
  for (std::size_t world = 0; world < worlds; ++world) {
    const Databases databases(servers);
    if (databases.locations().empty()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
    Choices choices(seed + world);
    const std::vector<TextTable> tables = testing::random_tables(choices, 90);
    // Every server has every row: each unit must still count once.
    for (const std::string& location : databases.locations()) {
      for (const TextTable& table : tables) {
        Databases::execute(location, postgres_table(table, [](std::size_t) { return true; }));
      }
    }
    const std::unique_ptr<Engine> engine = open_postgres_on(databases, tables);
    ASSERT_NE(engine, nullptr);
    expect_like_reference(*engine, tables, 1000 * (seed + world), count, servers > 1);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(Engines, PostgresMeasuresWhatTheReferenceMeasures) { compare_postgres(1, 1, 2, 120); }
TEST(Engines, PostgresCountsAUnitOnOneOfThreeServers) { compare_postgres(1, 3, 2, 80); }
TEST(SlowEngines, PostgresMeasuresWhatTheReferenceMeasures) { compare_postgres(100, 1, 10, 1000); }
TEST(SlowEngines, PostgresCountsAUnitOnOneOfThreeServers) { compare_postgres(100, 3, 10, 500); }

}  // namespace
}  // namespace noisefloor::engine
