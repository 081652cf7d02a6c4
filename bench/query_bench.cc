// What bounding persons costs, beside what each engine needs for its own GROUP BY in the same run.
//
//   query_bench RESULT.json [--rows 1000000] [--persons 50000] [--groups 1000] [--engines sqlite,duckdb,postgresql]
//               [--postgres FILE] [--servers 3] [--folder DIR] [--growth]
//
// FILE holds the connection string of a PostgreSQL server of the benchmark's own (tests/support/postgres_server start).
// Seconds are those of processors, of this process and of PostgreSQL's: they say the same on a busy machine. The
// answers are checked: raw ones against the rows as they were made, bounded ones against the plainest code (the
// reference engine) where the table is small, and against each other always.
#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/engine/duckdb_tables.h"
#include "noisefloor/engine/postgres_dialect.h"
#include "noisefloor/engine/reference_engine.h"
#include "noisefloor/engine/source.h"
#include "noisefloor/engine/sqlite_tables.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/query/ask.h"
#include "noisefloor/query/planner.h"

namespace noisefloor {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
using engine::Engine;
using engine::EngineKind;
using engine::Measured;

constexpr std::uint64_t kGroupsOfAPerson = 8;
constexpr std::uint64_t kRowsInAGroup = 2;
constexpr std::int64_t kMostCost = 5000;
constexpr std::size_t kSmallEnoughForReference = 200'000;

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "query_bench: {}\n", what);
  std::exit(1);
}
template <class T>
T value_of(Result<T> result) {
  if (!result.has_value()) fail(result.error().message);
  return std::move(result).value();
}
void check(const Result<void>& result) {
  if (!result.has_value()) fail(result.error().message);
}

struct Size {
  std::size_t rows = 1'000'000;
  std::size_t persons = 50'000;
  std::size_t groups = 1'000;
};

// One row: who, which group, what it cost. Few persons have many rows: the heaviest of 500,000 has some 1,500 of 10^7.
struct Row {
  std::int64_t person;
  std::int64_t ward;
  std::int64_t cost;
};
Row row_of(std::size_t i, const Size& size) {
  const auto uniform = [&](std::uint64_t stream) {
    std::uint64_t x = (3 * i + stream + 1) * 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<double>((x ^ (x >> 31U)) >> 11U) * 0x1p-53;
  };
  const auto below = [](double u, std::size_t n) {
    return static_cast<std::int64_t>(std::min(u * static_cast<double>(n), static_cast<double>(n - 1)));
  };
  return {below(std::pow(uniform(0), 1.5), size.persons), below(uniform(1), size.groups),
          below(uniform(2), static_cast<std::size_t>(kMostCost) + 1)};
}

const std::vector<engine::NamedColumn>& columns() {
  static const auto* const list = new std::vector<engine::NamedColumn>{{"number", engine::Type::kInteger},
                                                                       {"person", engine::Type::kInteger},
                                                                       {"ward", engine::Type::kInteger},
                                                                       {"cost", engine::Type::kInteger}};
  return *list;
}

// --- what is asked ---------------------------------------------------------------------------------------------------

query::DescribedTables policy_for(const Size& size) {
  const auto table = [&](const std::string& name, const std::string& unit, bool once) {
    DescribedTable made;
    made.name = name;
    made.place = "visits";
    made.one_row_per_unit = once;
    made.unit = UnitPath{.column = unit};
    made.max_groups = kGroupsOfAPerson;
    made.max_rows_per_group = kRowsInAGroup;
    for (const engine::NamedColumn& column : columns()) {
      DescribedColumn& described = made.columns.emplace_back();
      described.name = column.name;
      described.type = column.type;
    }
    made.columns[2].lower = 0;
    made.columns[2].upper = static_cast<double>(size.groups - 1);
    made.columns[2].public_range = true;
    made.columns[3].lower = 0;
    made.columns[3].upper = static_cast<double>(kMostCost);
    return made;
  };
  query::DescribedTables policy;
  policy.dataset = "bench";
  policy.tables.tables = {table("visits", "person", false), table("singles", "number", true)};
  return policy;
}

engine::Measurement measurement_of(const Size& size, const std::string& text) {
  engine::Measurement m = value_of(query::plan_query(policy_for(size), text, {})).measurement;
  m.order_key = Secret32();  // so that all engines keep the same groups
  return m;
}

// --- seconds of processors -------------------------------------------------------------------------------------------

double own_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double seconds_of_process(const std::string& id) {
  std::ifstream file("/proc/" + id + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

struct Cost {
  double processor = 0;
  double wall = 0;
};

// --- the engines -----------------------------------------------------------------------------------------------------

// A table in an engine, and the engine's own way to ask it.
class Place {
 public:
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  virtual ~Place() = default;
  [[nodiscard]] virtual engine::Source source() const = 0;
  // Runs a SELECT, and gives its first row as numbers.
  virtual std::vector<double> ask(const std::string& select) = 0;
  [[nodiscard]] virtual double seconds_elsewhere() { return 0; }
};

engine::Source source_with(EngineKind kind, std::vector<std::string> locations) {
  engine::Source source{.engine = kind, .locations = std::move(locations), .tables = {}};
  for (const char* name : {"visits", "singles"}) {
    engine::SourceTable& table = source.tables.emplace_back();
    table.name = name;
    table.place = "visits";
    table.unit = name == std::string("visits") ? "person" : "number";
    for (const engine::NamedColumn& column : columns()) table.columns.push_back({column.name, column.type});
  }
  return source;
}

void fill(engine::TableWriter& writer, const Size& size) {
  std::vector<engine::Value> cells(4);
  for (std::size_t i = 0; i < size.rows; ++i) {
    const Row row = row_of(i, size);
    cells = {static_cast<std::int64_t>(i), row.person, row.ward, row.cost};
    check(writer.add(cells));
  }
  check(writer.finish());
}

class SqlitePlace final : public Place {
 public:
  SqlitePlace(const std::string& folder, const Size& size) : path_(folder + "/visits.sqlite") {
    sqlite3* opened = nullptr;
    if (sqlite3_open(path_.c_str(), &opened) != SQLITE_OK) fail("SQLite cannot write " + path_);
    database_.reset(opened);
    sqlite3_exec(opened, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", nullptr, nullptr, nullptr);
    const auto writer = value_of(engine::write_sqlite_table(opened, "visits", columns()));
    fill(*writer, size);
  }
  [[nodiscard]] engine::Source source() const override { return source_with(EngineKind::kSqlite, {path_}); }
  std::vector<double> ask(const std::string& select) override {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(database_.get(), select.c_str(), -1, &prepared, nullptr) != SQLITE_OK) fail(select);
    std::vector<double> first;
    int step = SQLITE_ROW;
    while ((step = sqlite3_step(prepared)) == SQLITE_ROW) {
      if (!first.empty()) continue;
      for (int i = 0; i < sqlite3_column_count(prepared); ++i) first.push_back(sqlite3_column_double(prepared, i));
    }
    sqlite3_finalize(prepared);
    if (step != SQLITE_DONE) fail(select);
    return first;
  }

 private:
  std::string path_;
  engine::SqliteDatabase database_;
};

class DuckdbPlace final : public Place {
 public:
  DuckdbPlace(const std::string& folder, const Size& size) : path_(folder + "/visits.duckdb") {
    library_ = value_of(engine::duckdb::library());
    {
      const auto connection = engine::DuckdbConnection::open(*library_, path_, false);
      if (connection == nullptr) fail("DuckDB cannot write " + path_);
      const auto writer = value_of(connection->write_table("visits", columns()));
      fill(*writer, size);
      if (!connection->execute("ALTER TABLE visits ALTER COLUMN number SET NOT NULL")) fail("ALTER TABLE");
    }
    reopen();
  }
  [[nodiscard]] engine::Source source() const override { return source_with(EngineKind::kDuckdb, {path_}); }
  std::vector<double> ask(const std::string& select) override {
    const auto rows = connection_->texts(select, 3);
    if (!rows || rows->empty()) fail(select);
    std::vector<double> first;
    for (const std::string& cell : rows->front()) first.push_back(std::strtod(cell.c_str(), nullptr));
    return first;
  }

 private:
  void reopen() {
    connection_ = engine::DuckdbConnection::open(*library_, path_, true);
    if (connection_ == nullptr) fail("DuckDB cannot read " + path_);
  }
  std::string path_;
  const engine::duckdb::Library* library_ = nullptr;
  std::unique_ptr<engine::DuckdbConnection> connection_;
};

class PostgresPlace final : public Place {
 public:
  PostgresPlace(const std::string& server, std::size_t servers, const Size& size) : server_(server) {
    for (std::size_t i = 0; i < servers; ++i) {
      static int made = 0;
      names_.push_back(fmt::format("query_bench_{}_{}", ::getpid(), ++made));
      execute(connection_to(server), "CREATE DATABASE " + names_.back());
      // One process answers a query, as in the other engines.
      execute(connection_to(server),
              fmt::format("ALTER DATABASE {} SET max_parallel_workers_per_gather = 0", names_.back()));
      std::string location = server;
      locations_.push_back(location.replace(location.find("/postgres?"), 10, "/" + names_.back() + "?"));
      connections_.push_back(connection_to(locations_.back()));
      load(*connections_.back(), size);
      if (servers > 1) {  // every server keeps the persons that belong to it
        const engine::PostgresDialect dialect({}, i, servers);
        execute(connections_.back(),
                "DELETE FROM visits WHERE NOT " + dialect.belongs(engine::Type::kInteger, "person"));
      }
      execute(connections_.back(), "VACUUM FULL ANALYZE visits");
    }
    for (const std::string& name : names_) list_ += (list_.empty() ? "'" : ", '") + name + "'";
  }
  PostgresPlace(const PostgresPlace&) = delete;
  PostgresPlace& operator=(const PostgresPlace&) = delete;
  ~PostgresPlace() override {
    connections_.clear();
    for (const std::string& name : names_) {
      execute(connection_to(server_), fmt::format("DROP DATABASE {} WITH (FORCE)", name));
    }
  }
  [[nodiscard]] engine::Source source() const override { return source_with(EngineKind::kPostgresql, locations_); }
  std::vector<double> ask(const std::string& select) override {
    std::vector<double> first;
    const Answer answer(PQexec(connections_.front().get(), select.c_str()));
    if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK) fail(PQerrorMessage(connections_.front().get()));
    for (int i = 0; i < PQnfields(answer.get()); ++i) {
      first.push_back(std::strtod(PQgetvalue(answer.get(), 0, i), nullptr));
    }
    return first;
  }
  [[nodiscard]] double seconds_elsewhere() override {
    const Answer answer(PQexec(connections_.front().get(),
                               fmt::format("SELECT pid FROM pg_stat_activity WHERE datname IN ({})", list_).c_str()));
    double seconds = 0;
    for (int i = 0; i < PQntuples(answer.get()); ++i) seconds += seconds_of_process(PQgetvalue(answer.get(), i, 0));
    return seconds;
  }

 private:
  using Answer = std::unique_ptr<PGresult, decltype([](PGresult* r) { PQclear(r); })>;
  using Connection = std::unique_ptr<PGconn, decltype([](PGconn* c) { PQfinish(c); })>;

  static Connection connection_to(const std::string& location) {
    Connection connection(PQconnectdb(location.c_str()));
    if (PQstatus(connection.get()) != CONNECTION_OK) fail(PQerrorMessage(connection.get()));
    return connection;
  }
  static void execute(const Connection& connection, const std::string& sql) {
    const Answer answer(PQexec(connection.get(), sql.c_str()));
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) fail(PQerrorMessage(connection.get()));
  }
  static void load(PGconn& connection, const Size& size) {
    const Answer made(PQexec(&connection,
                             "CREATE TABLE visits (number bigint PRIMARY KEY, person bigint, ward bigint, "
                             "cost bigint)"));
    const Answer begun(PQexec(&connection, "COPY visits FROM STDIN"));
    if (PQresultStatus(begun.get()) != PGRES_COPY_IN) fail(PQerrorMessage(&connection));
    std::string lines;
    for (std::size_t i = 0; i < size.rows; ++i) {
      const Row row = row_of(i, size);
      lines += fmt::format("{}\t{}\t{}\t{}\n", i, row.person, row.ward, row.cost);
      if (lines.size() < 1'000'000 && i + 1 < size.rows) continue;
      if (PQputCopyData(&connection, lines.data(), static_cast<int>(lines.size())) != 1) fail("COPY");
      lines.clear();
    }
    if (PQputCopyEnd(&connection, nullptr) != 1) fail("COPY");
    while (const Answer rest{PQgetResult(&connection)}) {
      if (PQresultStatus(rest.get()) != PGRES_COMMAND_OK) fail(PQerrorMessage(&connection));
    }
  }

  std::string server_;
  std::vector<std::string> names_;
  std::vector<std::string> locations_;
  std::vector<Connection> connections_;
  std::string list_;
};

// --- measuring -------------------------------------------------------------------------------------------------------

// The least of three, or of one where it takes long.
Cost cost_of(Place& place, const std::function<void()>& run) {
  Cost best{1e300, 1e300};
  for (int i = 0; i < 3; ++i) {
    const double before = own_seconds() + place.seconds_elsewhere();
    const auto start = Clock::now();
    run();
    const double wall = std::chrono::duration<double>(Clock::now() - start).count();
    const double processor = own_seconds() + place.seconds_elsewhere() - before;
    best = {std::min(best.processor, processor), std::min(best.wall, wall)};
    if (wall > 10) break;
  }
  return best;
}

constexpr const char* kAsked = "SELECT ward, count(*), sum(cost) FROM {} GROUP BY ward";

struct Truth {
  double rows = 0;
  double cost = 0;
};
Truth truth_of(const Size& size) {
  Truth truth{static_cast<double>(size.rows), 0};
  for (std::size_t i = 0; i < size.rows; ++i) truth.cost += static_cast<double>(row_of(i, size).cost);
  return truth;
}

struct Totals {
  Int128 rows = 0;
  Int128 cost = 0;
  std::uint64_t pairs = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};
Totals totals_of(const Measured& measured) {
  Totals totals;
  for (const engine::MeasuredGroup& group : measured.groups) {
    totals.rows += group.totals.at(0);
    totals.cost += group.totals.at(1);
    totals.pairs += group.units;
  }
  return totals;
}

bool same(const Measured& a, const Measured& b) {
  return std::ranges::equal(a.groups, b.groups, [](const auto& x, const auto& y) {
    return x.keys == y.keys && x.units == y.units && x.totals == y.totals;
  });
}

// What every engine must answer.
class Expected {
 public:
  explicit Expected(const Size& size) : size_(size), truth_(truth_of(size)) {
    if (size.rows > kSmallEnoughForReference) return;
    std::vector<engine::ReferenceTable> tables;
    for (const char* name : {"visits", "singles"}) tables.push_back({name, columns(), {}});
    for (std::size_t i = 0; i < size.rows; ++i) {
      const Row row = row_of(i, size);
      for (engine::ReferenceTable& table : tables) {
        table.rows.push_back({static_cast<std::int64_t>(i), row.person, row.ward, row.cost});
      }
    }
    engine::ReferenceEngine reference(std::move(tables));
    bounded_ = value_of(reference.measure(measurement_of(size, fmt::format(fmt::runtime(kAsked), "visits"))));
    singles_ = value_of(reference.measure(measurement_of(size, fmt::format(fmt::runtime(kAsked), "singles"))));
  }
  void check_raw(const std::vector<double>& answer) const {
    if (answer.size() != 3 || answer[1] != truth_.rows || answer[2] != truth_.cost) fail("a raw answer is wrong");
  }
  void check_singles(const Measured& measured) {
    const Totals totals = totals_of(measured);
    const bool right =
        static_cast<double>(totals.rows) == truth_.rows && static_cast<double>(totals.cost) == truth_.cost;
    if (!right || !is_as(singles_, measured)) fail("an answer about single rows is wrong");
  }
  void check_bounded(const Measured& measured) {
    const Totals totals = totals_of(measured);
    const bool bounded = totals.pairs <= kGroupsOfAPerson * size_.persons &&
                         totals.rows <= static_cast<Int128>(kRowsInAGroup * totals.pairs);
    if (!bounded || !is_as(bounded_, measured)) fail("a bounded answer is wrong");
  }

 private:
  static bool is_as(std::optional<Measured>& known, const Measured& measured) {
    if (!known) known = measured;
    return same(*known, measured);
  }
  Size size_;
  Truth truth_;
  std::optional<Measured> bounded_;
  std::optional<Measured> singles_;
};

struct Costs {
  Cost raw;
  Cost single;
  Cost own;
  Cost bounded;
};

Costs measure(Place& place, const Size& size, Expected& expected, bool also_raw) {
  const engine::Measurement bounded = measurement_of(size, fmt::format(fmt::runtime(kAsked), "visits"));
  const engine::Measurement singles = measurement_of(size, fmt::format(fmt::runtime(kAsked), "singles"));
  const std::unique_ptr<Engine> engine = value_of(engine::open_engine(place.source()));
  Costs costs;
  if (also_raw) {
    // Added up once more, so that all groups are looked at and none has to travel.
    costs.raw = cost_of(place, [&] {
      expected.check_raw(
          place.ask("SELECT CAST(count(*) AS varchar), CAST(sum(n) AS varchar), CAST(sum(total) AS varchar) FROM "
                    "(SELECT ward, count(*) AS n, sum(cost) AS "
                    "total FROM visits GROUP BY ward) AS s"));
    });
    costs.single = cost_of(place, [&] { expected.check_singles(value_of(engine->measure(singles))); });
    costs.own = cost_of(place, [&] {
      expected.check_raw(
          place.ask("SELECT CAST(count(*) AS varchar), CAST(sum(n) AS varchar), CAST(sum(total) AS varchar) FROM "
                    "(SELECT person, ward, count(*) AS n, "
                    "sum(cost) AS total FROM visits GROUP BY person, ward) AS s"));
    });
  }
  costs.bounded = cost_of(place, [&] { expected.check_bounded(value_of(engine->measure(bounded))); });
  return costs;
}

Json as_json(const Cost& cost) { return {{"processor_s", cost.processor}, {"wall_s", cost.wall}}; }

void print_head() {
  fmt::print("{:<12} {:>10} {:>9} {:>7} | {:>8} {:>9} {:>6} | {:>9} {:>9} {:>6}\n", "engine", "rows", "persons",
             "groups", "raw s", "single s", "ratio", "own s", "bounded s", "ratio");
}

Json report(const std::string& name, const Size& size, const Costs& costs) {
  const double single = costs.single.processor / costs.raw.processor;
  const double bounded = costs.bounded.processor / costs.own.processor;
  fmt::print("{:<12} {:>10} {:>9} {:>7} | {:>8.3f} {:>9.3f} {:>6.2f} | {:>9.3f} {:>9.3f} {:>6.2f}\n", name, size.rows,
             size.persons, size.groups, costs.raw.processor, costs.single.processor, single, costs.own.processor,
             costs.bounded.processor, bounded);
  std::fflush(stdout);
  return {{"engine", name},
          {"rows", size.rows},
          {"persons", size.persons},
          {"groups", size.groups},
          {"raw_group_by", as_json(costs.raw)},
          {"single_rows", as_json(costs.single)},
          {"single_over_raw", single},
          {"own_group_by_person", as_json(costs.own)},
          {"bounded", as_json(costs.bounded)},
          {"bounded_over_own", bounded}};
}

struct Options {
  std::string result;
  Size size;
  std::string engines = "sqlite,duckdb,postgresql";
  std::string postgres;
  std::size_t servers = 3;
  std::string folder = "build/bench/query_bench";
  bool growth = false;
};

Options options_of(int argc, char** argv) {
  constexpr const char* kUsage =
      "usage: query_bench RESULT.json [--rows N] [--persons N] [--groups N] [--engines sqlite,duckdb,postgresql] "
      "[--postgres FILE with the connection string of a server] [--servers N] [--folder DIR] [--growth]";
  if (argc < 2 || argv[1][0] == '-') fail(kUsage);
  Options options;
  options.result = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--growth") {
      options.growth = true;
      continue;
    }
    if (i + 1 == argc) fail(kUsage);
    const std::string value = argv[++i];
    const auto number = [&] {
      const auto n = std::strtoull(value.c_str(), nullptr, 10);
      if (n == 0) fail(name + " takes a whole number above 0, and not " + value);
      return static_cast<std::size_t>(n);
    };
    if (name == "--rows") {
      options.size.rows = number();
    } else if (name == "--persons") {
      options.size.persons = number();
    } else if (name == "--groups") {
      options.size.groups = number();
    } else if (name == "--servers") {
      options.servers = number();
    } else if (name == "--engines") {
      options.engines = value;
    } else if (name == "--postgres") {
      options.postgres = value;
    } else if (name == "--folder") {
      options.folder = value;
    } else {
      fail(kUsage);
    }
  }
  return options;
}

// --- around the engine -----------------------------------------------------------------------------------------------

// The whole road of a question about a table with one row: parsing, planning, claiming the row, a durable reservation,
// the engine's answer, noise for every group, and the certified answer. In ms of this process' time; it also waits for
// the disk.
struct Road {
  double plan_ms = 0;
  double ask_ms = 0;
};
Road road_of(const std::string& folder, std::size_t groups) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  if (::setenv("NOISEFLOOR_STATE_DIR", std::filesystem::absolute(folder + "/counters").c_str(), 1) != 0) fail("setenv");
  std::ofstream(folder + "/visits.csv") << "person,ward,cost\n1,0,5\n";
  query::DescribedTables tables = policy_for({1, 1, groups});
  DescribedTable& visits = tables.tables.tables.front();
  visits.place = "visits.csv";
  visits.columns.erase(visits.columns.begin());
  tables.tables.tables.resize(1);
  DatasetDescription description{.name = "bench", .format = tables.tables, .files = TextFile{}};
  description.unit = {.unit = PrivacyUnit::kPerson, .person = "person"};
  description.budget = {.name = "bench", .epsilon = Epsilon::of(1000), .delta = Delta::of(0)};
  const DescribedRows rows{std::move(description), folder};
  const std::unique_ptr<Ledger> ledger = value_of(Ledger::create(folder + "/bench.ledger", SigningKey::generate(), {}));
  const query::DescribedTables policy = value_of(query::policy_of(rows.description));
  LedgerOutlet outlet;
  std::vector<double> plans;
  std::vector<double> asks;
  for (int i = 0; i < 11; ++i) {
    const std::string text =
        fmt::format("SELECT ward, count(*), sum(cost) FROM visits WHERE cost <> {} GROUP BY ward", i);
    double start = own_seconds();
    if (value_of(query::plan_query(policy, text, {})).quantities.size() != 2) fail("a plan is wrong");
    plans.push_back(1e3 * (own_seconds() - start));
    query::AskTerms terms{.noise = {.epsilon = Epsilon::of(1)}};
    terms.unknown = NewDatasets::kAdd;
    start = own_seconds();
    const query::Asked asked = value_of(query::ask(rows, text, terms, *ledger, outlet));
    asks.push_back(1e3 * (own_seconds() - start));
    if (asked.tables.at(0).rows() != groups) fail("an answer lacks groups");
  }
  const auto median = [](std::vector<double>& times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return times[times.size() / 2];
  };
  return {median(plans), median(asks)};
}

class Benchmark {
 public:
  explicit Benchmark(Options options) : options_(std::move(options)) {
    if (!options_.postgres.empty()) std::getline(std::ifstream(options_.postgres) >> std::ws, server_);
  }

  void run() {
    print_head();
    {
      Expected expected(options_.size);
      for (const std::string& name : engines()) one(name, 1, options_.size, expected);
      if (is_asked("postgresql") && !server_.empty() && options_.servers > 1) {
        many(options_.servers, options_.size, expected);
      }
    }
    for (const std::size_t groups : {std::size_t{12}, options_.size.groups}) {
      const Road road = road_of(options_.folder, groups);
      fmt::print("{} groups: planning {:.2f} ms; asking, with ledger, noise and certificate, {:.1f} ms\n", groups,
                 road.plan_ms, road.ask_ms);
      json_["road"].push_back({{"groups", groups}, {"plan_ms", road.plan_ms}, {"ask_ms", road.ask_ms}});
    }
    if (options_.growth) grow();
    std::filesystem::remove_all(options_.folder);
    std::ofstream(options_.result) << json_.dump(2) << "\n";
  }

 private:
  [[nodiscard]] bool is_asked(const std::string& name) const {
    return ("," + options_.engines + ",").find("," + name + ",") != std::string::npos;
  }
  [[nodiscard]] std::vector<std::string> engines() const {
    std::vector<std::string> names;
    for (const char* name : {"sqlite", "duckdb", "postgresql"}) {
      if (is_asked(name) && (name != std::string("postgresql") || !server_.empty())) names.emplace_back(name);
    }
    return names;
  }

  std::unique_ptr<Place> place(const std::string& name, std::size_t servers, const Size& size) {
    if (name == "postgresql") return std::make_unique<PostgresPlace>(server_, servers, size);
    std::filesystem::remove_all(options_.folder);
    std::filesystem::create_directories(options_.folder);
    if (name == "sqlite") return std::make_unique<SqlitePlace>(options_.folder, size);
    return std::make_unique<DuckdbPlace>(options_.folder, size);
  }

  void one(const std::string& name, std::size_t servers, const Size& size, Expected& expected) {
    const std::unique_ptr<Place> at = place(name, servers, size);
    json_["runs"].push_back(report(name, size, measure(*at, size, expected, true)));
  }

  void many(std::size_t servers, const Size& size, Expected& expected) {
    const std::unique_ptr<Place> at = place("postgresql", servers, size);
    const Costs costs = measure(*at, size, expected, false);
    fmt::print("{:<12} {:>10} {:>9} {:>7} | {:>27} | {:>9} {:>9.3f}\n", fmt::format("postgres x{}", servers), size.rows,
               size.persons, size.groups, "", "", costs.bounded.processor);
    std::fflush(stdout);
    json_["runs"].push_back({{"engine", "postgresql"},
                             {"servers", servers},
                             {"rows", size.rows},
                             {"persons", size.persons},
                             {"groups", size.groups},
                             {"bounded", as_json(costs.bounded)}});
  }

  // One size after the other, in all engines.
  void grow() {
    const Size base = options_.size;
    std::vector<Size> sizes;
    for (const std::size_t part : std::vector<std::size_t>{10, 3})
      sizes.push_back({base.rows / part, base.persons, base.groups});
    for (const std::size_t part : std::vector<std::size_t>{100, 10})
      sizes.push_back({base.rows, base.persons / part, base.groups});
    for (const std::size_t groups : {std::size_t{1}, std::size_t{30}, 30 * base.groups}) {
      sizes.push_back({base.rows, base.persons, groups});
    }
    for (const Size& size : sizes) {
      Expected expected(size);
      for (const std::string& name : engines()) one(name, 1, size, expected);
    }
    if (!is_asked("postgresql") || server_.empty()) return;
    Expected expected(base);
    for (const std::size_t servers : std::vector<std::size_t>{2, 4, 8}) many(servers, base, expected);
  }

  Options options_;
  std::string server_;
  Json json_;
};

int run(int argc, char** argv) {
  Benchmark(options_of(argc, argv)).run();
  return 0;
}

}  // namespace
}  // namespace noisefloor

int main(int argc, char** argv) { return noisefloor::run(argc, argv); }
