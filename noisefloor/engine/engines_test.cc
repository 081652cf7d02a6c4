// Every engine gives the integers of the reference engine, for arbitrary rows and measurements.
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/engine_places.h"
#include "tests/support/random_measurement.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::engine {
namespace {

using testing::Choices;
using testing::Databases;
using testing::open_files;
using testing::open_postgres_on;
using testing::postgres_table;
using testing::RandomMeasurements;
using testing::same;
using testing::shown_groups;
using testing::TextTable;

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
