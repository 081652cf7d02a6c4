// Queries in every engine: the same integers as in the plainest one, bit for bit, for all cases and for arbitrary
// queries on arbitrary rows; and what engines do with odd cells, broken connections and views that want to do harm.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/query/planner.h"
#include "tests/support/engine_places.h"
#include "tests/support/query_cases.h"
#include "tests/support/query_neighbours.h"
#include "tests/support/query_rows.h"
#include "tests/support/random_query.h"

namespace noisefloor::query {
namespace {

using namespace noisefloor::testing;  // NOLINT(google-build-using-namespace)
using engine::Engine;
using engine::EngineKind;

// An engine with these tables; null where there is none to be had.
class Opened {
 public:
  Opened(const DescribedTables& policy, const TextTables& tables, EngineKind kind, std::size_t servers) {
    if (kind != EngineKind::kPostgresql) {
      engine_ = open_files(kind, tables, folder_);
      return;
    }
    databases_ = std::make_unique<Databases>(servers);
    if (databases_->locations().empty()) return;
    for (std::size_t s = 0; s < servers; ++s) {
      for (const TextTable& table : tables) {
        // Each server has all rows of all persons, of which each must count once; rows that are units of their own, and
        // have no column that says whose they are, are on one server.
        const DescribedTable& described = *find_table(policy, table.name);
        const bool is_divided = !described.is_public && !described.unit;
        Databases::execute(databases_->locations()[s],
                           postgres_table(table, [&](std::size_t row) { return !is_divided || row % servers == s; }));
      }
    }
    engine_ = open_postgres_on(*databases_, tables);
  }
  [[nodiscard]] Engine* engine() { return engine_.get(); }
  [[nodiscard]] bool is_possible() const { return databases_ == nullptr || !databases_->locations().empty(); }

 private:
  TemporaryFolder folder_;
  std::unique_ptr<Databases> databases_;
  std::unique_ptr<Engine> engine_;
};

struct Policy {
  const DescribedTables* tables;
  std::vector<const QueryCase*> cases;
};

// The policies of all files, each with its cases.
std::vector<Policy> policies() {
  static const auto* const all = new std::vector<QueryCase>(read_all_query_cases(NOISEFLOOR_QUERY_CASES));
  std::vector<Policy> list;
  std::string last;
  for (const QueryCase& each : *all) {
    std::string text = each.file;
    for (const DescribedTable& table : each.policy.tables.tables) {
      text += fmt::format(" {} {}", table.name, table.columns.size());
    }
    if (text != last) list.push_back({&each.policy, {}});
    last = text;
    list.back().cases.push_back(&each);
  }
  return list;
}

void draw_order(Plan& plan, std::uint64_t seed) {
  Choices choices(seed);
  for (std::uint8_t& byte : plan.measurement.order_key.bytes()) byte = static_cast<std::uint8_t>(choices.below(256));
}

void compare(EngineKind kind, std::size_t servers, std::uint64_t seed, std::size_t worlds, std::size_t arbitrary) {
  std::size_t measured_cases = 0;
  std::size_t not_empty = 0;
  std::size_t refused = 0;  // by SQLite, which takes only so many subqueries within each other
  for (const Policy& policy : policies()) {
    for (std::uint64_t world = seed; world < seed + worlds; ++world) {
      RandomRows random(*policy.tables, world);
      const TextTables tables = random.tables(6, 20);
      Opened opened(*policy.tables, tables, kind, servers);
      if (!opened.is_possible()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
      ASSERT_NE(opened.engine(), nullptr);
      Data reference(tables);
      const auto expect_same = [&](const std::string& text, const PlanOptions& options, std::uint64_t key) {
        Result<Plan> plan = plan_query(*policy.tables, text, options);
        if (!plan) return false;
        draw_order(plan.value(), key);
        const engine::Measurement& m = plan.value().measurement;
        const auto statements = opened.engine()->explain(m);
        if (!statements && kind == EngineKind::kSqlite) {  // refused before anything is spent
          ++refused;
          return true;
        }
        EXPECT_TRUE(statements.has_value()) << statements.error().message;
        if (!statements) return true;
        const std::string& sql = statements.value().at(0);
        const engine::Measured expected = reference.measure(m);
        const auto measured = opened.engine()->measure(m);
        EXPECT_TRUE(measured.has_value()) << measured.error().message << "\n" << text << "\n" << sql;
        if (!measured) return true;
        EXPECT_TRUE(same(measured.value(), expected)) << "rows of seed " << world << ", order of seed " << key << "\n"
                                                      << text << "\n"
                                                      << sql << "\nexpected\n"
                                                      << shown_groups(expected) << "measured\n"
                                                      << shown_groups(measured.value());
        for (const auto& group : expected.groups) {
          if (!group.totals.empty() && group.totals[0] != 0) ++not_empty;
        }
        return true;
      };
      for (const QueryCase* each : policy.cases) {
        if (expect_same(each->text, each->options, world)) ++measured_cases;
      }
      for (std::size_t i = 0; i < arbitrary; ++i) {
        RandomQueries queries(*policy.tables, 1000 * world + i);
        const std::string text = queries.query();
        static_cast<void>(expect_same(text, queries.options(), 1000 * world + i));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(measured_cases, 60U);
  EXPECT_GT(not_empty, 100U);
  EXPECT_LE(refused, 2 + worlds * arbitrary / 20);
}

TEST(QueryEngines, SqliteMeasuresAllCases) { compare(EngineKind::kSqlite, 1, 1, 1, 40); }
TEST(QueryEngines, DuckdbMeasuresAllCases) { compare(EngineKind::kDuckdb, 1, 1, 1, 20); }
TEST(QueryEngines, PostgresMeasuresAllCases) { compare(EngineKind::kPostgresql, 1, 1, 1, 20); }
TEST(QueryEngines, ThreePostgresServersMeasureAllCases) { compare(EngineKind::kPostgresql, 3, 1, 1, 10); }
TEST(SlowQueryEngines, SqliteMeasuresArbitraryQueries) { compare(EngineKind::kSqlite, 1, 100, 10, 500); }
TEST(SlowQueryEngines, DuckdbMeasuresArbitraryQueries) { compare(EngineKind::kDuckdb, 1, 100, 10, 200); }
TEST(SlowQueryEngines, PostgresMeasuresArbitraryQueries) { compare(EngineKind::kPostgresql, 1, 100, 5, 300); }
TEST(SlowQueryEngines, ThreePostgresServersMeasureArbitraryQueries) {
  compare(EngineKind::kPostgresql, 3, 100, 5, 200);
}

// --- odd cells -------------------------------------------------------------------------------------------------------

constexpr const char* kVisits = R"(policy
  protects persons
  adjacency add-remove
  table visits
    unit pid
    groups 3
    rows 2
    column pid integer
    column dept text values ICU ER
    column cost number 0..5000 step 0.01
    column pieces integer 0..1000
case one
SELECT dept, count(*), count(cost), sum(cost), count(pieces), sum(pieces) FROM visits GROUP BY dept
plan:
  l1: count 6, count 6, count 6, sum 3000000, sum 6000
)";

class OddCells : public ::testing::Test {
 protected:
  OddCells() {
    std::ofstream(folder_.path("one.test")) << kVisits;
    case_ = read_query_cases(folder_.path("one.test")).at(0);
    plan_ = std::make_unique<Plan>(plan_query(case_.policy, case_.text, {}).value());
    for (const char* row : {"1,ICU,12.5,3", "1,ICU,,", "2,ER,-0,7", "3,ER,5000,1000", "4,ICU,,", "5,ER,,9"}) {
      std::istringstream cells(row);
      std::vector<std::string> list(4);
      for (std::string& cell : list) std::getline(cells, cell, ',');
      fitting_.rows.push_back(list);
    }
  }

  // `opened` holds the rows of fitting_, with odd cells in the place of those that are missing.
  void expect_missing(Engine& opened) {
    Data reference({fitting_});
    const auto measured = opened.measure(plan_->measurement);
    ASSERT_TRUE(measured.has_value()) << measured.error().message;
    EXPECT_TRUE(same(measured.value(), reference.measure(plan_->measurement))) << shown_groups(measured.value());
  }
  [[nodiscard]] engine::Source source(EngineKind kind, std::vector<std::string> locations) const {
    engine::Source source{.engine = kind, .locations = std::move(locations), .tables = {}};
    engine::SourceTable& table = source.tables.emplace_back();
    table.name = "visits";
    for (const NamedColumn& column : fitting_.columns) table.columns.push_back({column.name, column.type});
    return source;
  }
  void execute(const std::string& file, const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(folder_.path(file).c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  TemporaryFolder folder_;
  QueryCase case_;
  std::unique_ptr<Plan> plan_;
  TextTable fitting_{
      "visits",
      {{"pid", Type::kInteger}, {"dept", Type::kText}, {"cost", Type::kNumber}, {"pieces", Type::kInteger}},
      {}};
};

// SQLite keeps what it is given, whatever the column was declared as.
TEST_F(OddCells, SqliteTakesOtherStorageClassesForMissing) {
  execute("odd.sqlite",
          "CREATE TABLE visits (pid INTEGER, dept TEXT, cost REAL, pieces INTEGER);"
          "INSERT INTO visits VALUES (1, 'ICU', 12.5, 3), (1, 'ICU', 'abc', '17 pieces'), (2, 'ER', -0.0, 7),"
          "(3, 'ER', 5000, 1000), (4, 'ICU', 9e999, 2.5), (5, 'ER', x'3132', 9),"
          "('six', 'ICU', 1, 1), (NULL, 'ER', 1, 1), (7.5, 'ER', 1, 1), (x'37', 'ER', 1, 1), (8, x'4943', 1, 1)");
  const auto opened = engine::open_engine(source(EngineKind::kSqlite, {folder_.path("odd.sqlite")}));
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  expect_missing(*opened.value());
}

TEST_F(OddCells, CsvFilesWithOddCellsAreTheSameInSqliteAndDuckdb) {
  std::ofstream(folder_.path("visits.csv")) << "pid,dept,cost,pieces\n1,ICU,12.5,3\n1,ICU,nan,17 pieces\n2,ER,-0,7\n"
                                               "3,ER,5000,1000\n4,ICU,1e400,2.5\n5,ER,inf,9\nsix,ICU,1,1\n,ER,1,1\n"
                                               "7.5,ER,1,1\n99999999999999999999,ER,1,1\n";
  for (const EngineKind kind : {EngineKind::kSqlite, EngineKind::kDuckdb}) {
    engine::Source files = source(kind, {});
    files.folder = folder_.path("");
    files.tables[0].place = "visits.csv";
    const auto opened = engine::open_engine(files);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    expect_missing(*opened.value());
  }
}

TEST_F(OddCells, PostgresTakesNumbersThatAreNoneForMissing) {
  const Databases databases(1);
  if (databases.locations().empty()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
  Databases::execute(
      databases.locations()[0],
      "CREATE TABLE visits (pid bigint, dept text, cost double precision, pieces numeric);"
      "INSERT INTO visits VALUES (1, 'ICU', 12.5, 3), (1, 'ICU', 'NaN', 'NaN'), (2, 'ER', '-0', 7),"
      "(3, 'ER', 5000, 1000), (4, 'ICU', 'Infinity', 2.5), (5, 'ER', '-Infinity', 9), (NULL, 'ER', 1, 1)");
  const auto opened = engine::open_engine(source(EngineKind::kPostgresql, databases.locations()));
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  expect_missing(*opened.value());
}

// --- failures --------------------------------------------------------------------------------------------------------

// All that is told of a failure: one text, with its class.
void expect_tells_nothing(Engine& opened, const engine::Measurement& m, std::string_view kind) {
  const auto measured = opened.measure(m);
  ASSERT_FALSE(measured.has_value());
  EXPECT_EQ(measured.error().message,
            fmt::format("the engine gave no answer{}: what was reserved for it is spent", kind));
}

class FailingEngines : public OddCells {};

// A view of the owner's database may hold anything: no function of SQLite runs but those that were written for it.
TEST_F(FailingEngines, SqliteRunsNoFunctionsOfViews) {
  for (const char* harm : {"random()", "load_extension('x')", "abs(-9223372036854775808)"}) {
    const std::string file = fmt::format("{}.sqlite", static_cast<int>(harm[0]));
    execute(file, fmt::format("CREATE VIEW visits AS SELECT 1 AS pid, 'ICU' AS dept, 1.0 AS cost, {} AS pieces", harm));
    const auto opened = engine::open_engine(source(EngineKind::kSqlite, {folder_.path(file)}));
    if (!opened) continue;  // refused at once: nothing was reserved then
    expect_tells_nothing(*opened.value(), plan_->measurement, "");
  }
}

TEST_F(FailingEngines, PostgresTellsNothingOfErrorsInRows) {
  const Databases databases(1);
  if (databases.locations().empty()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
  // An error that depends on one row, as views may raise them: neighbours differ in whether it comes.
  Databases::execute(
      databases.locations()[0],
      "CREATE TABLE raw (pid bigint, cell text); INSERT INTO raw VALUES (17, 'secret');"
      "CREATE VIEW visits AS SELECT pid, 'ICU' AS dept, 1.0::float8 AS cost, cell::bigint AS pieces FROM raw");
  const auto opened = engine::open_engine(source(EngineKind::kPostgresql, databases.locations()));
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  expect_tells_nothing(*opened.value(), plan_->measurement, "");  // SQLSTATE 22P02 is one of those that are not told
}

TEST_F(FailingEngines, PostgresStopsAtTheTimeLimit) {
  const Databases databases(1);
  if (databases.locations().empty()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
  Databases::execute(databases.locations()[0],
                     "CREATE VIEW visits AS SELECT 17::bigint AS pid, 'ICU' AS dept, 1.0::float8 AS cost, "
                     "CASE WHEN pg_sleep(600) IS NULL THEN 1::bigint END AS pieces");
  engine::Source limited = source(EngineKind::kPostgresql, databases.locations());
  limited.time_limit = std::chrono::milliseconds(200);
  const auto opened = engine::open_engine(limited);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  expect_tells_nothing(*opened.value(), plan_->measurement, " (time)");
}

TEST_F(FailingEngines, PostgresThatGoesAwayTellsNothing) {
  const Databases databases(2);
  if (databases.locations().empty()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
  for (const std::string& location : databases.locations()) {
    Databases::execute(location, postgres_table(fitting_, [](std::size_t) { return true; }));
  }
  const auto opened = engine::open_engine(source(EngineKind::kPostgresql, databases.locations()));
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  expect_missing(*opened.value());
  Databases::execute(databases.locations()[1],
                     "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() "
                     "AND pid <> pg_backend_pid()");
  expect_tells_nothing(*opened.value(), plan_->measurement, " (connection)");
}

// Sums of one column may exceed 64 bits where a measurement allows it: no engine fails or wraps around.
TEST_F(FailingEngines, SumsBeyond64BitsAreExact) {
  TextTable rows{"visits", fitting_.columns, {}};
  for (int i = 0; i < 40; ++i) rows.rows.push_back({std::to_string(i), "ICU", "1", "9223372036854775807"});
  engine::Measurement m;
  m.rows = engine::relation(engine::Scan{"visits", fitting_.columns});
  m.unit = "pid";
  m.aggregates.push_back({.kind = engine::Aggregate::Kind::kSum, .argument = engine::column("pieces", Type::kInteger)});
  Data reference({rows});
  // Integers of a CSV file have at most 18 digits: larger ones come from databases.
  for (auto& row : rows.rows) row[3] = "999999999999999999";
  Data from_file({rows});
  for (const bool once : {false, true}) {
    m.one_row_per_unit = once;
    for (const EngineKind kind : {EngineKind::kSqlite, EngineKind::kDuckdb}) {
      const TemporaryFolder folder;
      const auto opened = open_files(kind, {rows}, folder);
      ASSERT_NE(opened, nullptr);
      const auto measured = opened->measure(m);
      ASSERT_TRUE(measured.has_value()) << measured.error().message;
      EXPECT_TRUE(same(measured.value(), from_file.measure(m))) << shown_groups(measured.value());
    }
  }
  EXPECT_EQ(from_file.measure(m).groups.at(0).totals.at(0), Int128{999999999999999999} * 40);
}

}  // namespace
}  // namespace noisefloor::query
