// How many durable reservations a second the ledger takes, beside what the disk and the database allow at all in the
// same run, and how fast it is verified. The answers are checked: the ledger must hold what was granted, and verify.
#include <fcntl.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/verify.h"

namespace noisefloor {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int kSpenders = 64;
constexpr int kGroup = 256;
constexpr double kSliceSeconds = 0.5;
constexpr int kSlices = 6;

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "ledger_bench: {}\n", what);
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

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// How often `once` runs in a second, and how often it ran.
struct Rate {
  double seconds = 0;
  double count = 0;
  [[nodiscard]] double value() const { return count / seconds; }
};
void run_slice(Rate& rate, const std::function<void()>& once) {
  const auto start = Clock::now();
  double count = 0;
  while (seconds_since(start) < kSliceSeconds) once(), ++count;
  rate.count += count;
  rate.seconds += seconds_since(start);
}

// A page written and synchronised: the least that a durable entry needs.
class RawDisk {
 public:
  explicit RawDisk(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT, 0600)), page_(4096, 'x') {
    if (descriptor_ < 0) fail("the disk cannot be written to");
  }
  RawDisk(const RawDisk&) = delete;
  RawDisk& operator=(const RawDisk&) = delete;
  ~RawDisk() { ::close(descriptor_); }
  void write() {
    const auto size = static_cast<ssize_t>(page_.size());
    if (::pwrite(descriptor_, page_.data(), page_.size(), offset_) != size || ::fsync(descriptor_) != 0) fail("fsync");
    offset_ = (offset_ + size) % (size * 1024);
  }

 private:
  int descriptor_;
  std::string page_;
  off_t offset_ = 0;
};

BudgetTerms terms() {
  return {"bench", Epsilon::of(1e9), Delta::of(0), Adjacency::kAddRemove, PrivacyUnit::kRow, Rule::kBasic, 0};
}

enum class By { kOwner, kAnalyst };

class Spender {
 public:
  explicit Spender(const std::string& location, By by = By::kOwner, LedgerOptions options = {})
      : ledger_(value_of(Ledger::create(location, SigningKey::generate(), std::move(options)))), location_(location) {
    check(ledger_->create_budget(terms()));
    if (by == By::kOwner) return;
    SigningKey key = SigningKey::generate();
    NewRole analyst{"analyst", Role::kAnalyst, key.public_key(), {"bench"}, {UseKind::kOther}};
    analyst.quota = Quota{Epsilon::of(1e9), Delta::of(0), kShortestPeriod};
    check(ledger_->add_role(analyst));
    ledger_ = value_of(Ledger::open(location, std::move(key), {}));
  }
  // Lets another ledger keep the head of this one.
  void watch_by(const std::string& peer) { check(ledger_->add_witness(peer)); }

  void reserve() {
    const auto spend = ledger_->reserve(request(count_++));
    if (!spend.has_value()) fail(spend.error().message);
  }
  // Many in one call.
  void reserve_group() {
    std::vector<ReserveRequest> requests;
    for (int i = 0; i < kGroup; ++i) requests.push_back(request(count_++));
    for (const Result<Reservation>& spend : ledger_->reserve_all(requests)) {
      if (!spend.has_value()) fail(spend.error().message);
    }
  }
  // All spenders at once, each one reservation after the other.
  void reserve_by_many(Rate& rate, double seconds) {
    const std::uint64_t before = count_;
    const auto start = Clock::now();
    std::vector<std::thread> threads;
    for (int t = 0; t < kSpenders; ++t) {
      threads.emplace_back([&] {
        while (seconds_since(start) < seconds) reserve();
      });
    }
    for (std::thread& one : threads) one.join();
    rate.count += static_cast<double>(count_ - before);
    rate.seconds += seconds_since(start);
  }
  // Entries a second of a verification that must find nothing, and all that was granted.
  double verify() {
    const auto start = Clock::now();
    const VerifyReport report = value_of(verify_ledger(location_, {}));
    const double seconds = seconds_since(start);
    if (!report.findings.empty()) fail("the ledger does not verify: " + report.findings[0].what);
    if (report.charges != count_) fail("the ledger does not hold what was granted");
    return static_cast<double>(report.entries) / seconds;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  static ReserveRequest request(std::uint64_t number) {
    const DpEvent event = EpsilonDeltaEvent{PrivacyLoss::of(0.001), Delta::of(0)};
    ReserveRequest made{"bench", std::to_string(number), {Adjacency::kAddRemove, PrivacyUnit::kRow, event}};
    made.use = UseKind::kOther;
    return made;
  }

  std::unique_ptr<Ledger> ledger_;
  std::string location_;
  std::atomic<std::uint64_t> count_ = 0;
};

void line(Json& json, const char* name, const char* what, double value, const char* unit) {
  fmt::print("{:<44} {:>12.4g} {}\n", what, value, unit);
  json[name] = value;
}

// What roles cost: an owner on a ledger without roles, and an analyst with a quota on one with roles, taking turns.
void roles(Json& json, const std::string& name, const std::string& database, const std::string& without,
           const std::string& with) {
  Spender owner(without);
  Spender analyst(with, By::kAnalyst);
  Rate plain;
  Rate restricted;
  for (int i = 0; i < 2 * kSlices; ++i) {
    run_slice(plain, [&] { owner.reserve(); });
    run_slice(restricted, [&] { analyst.reserve(); });
  }
  line(json, (name + "_reservation_owner_ms").c_str(), (database + ": reservation, owner").c_str(),
       1000 / plain.value(), "ms");
  line(json, (name + "_reservation_analyst_ms").c_str(), (database + ": reservation, analyst with quota").c_str(),
       1000 / restricted.value(), "ms");
  line(json, (name + "_roles_cost").c_str(), "  analyst over owner", plain.value() / restricted.value(), "x");
  analyst.verify();
}

// What a counter of this machine and a peer ledger cost a reservation.
struct Guarded {
  Rate bare;     // without a counter
  Rate watched;  // with a counter, and with a peer
};

void guarded_lines(Json& json, const std::string& name, const std::string& label, const Rate& single,
                   const Guarded& guarded) {
  line(json, (name + "_without_counter").c_str(), (label + ": one spender, no counter").c_str(), guarded.bare.value(),
       "reservations/s");
  line(json, (name + "_counter_cost").c_str(), "  time with a counter over time without",
       guarded.bare.value() / single.value(), "");
  line(json, (name + "_watched").c_str(), (label + ": one spender, and a peer").c_str(), guarded.watched.value(),
       "reservations/s");
  line(json, (name + "_peer_cost").c_str(), "  time with a peer over time without",
       single.value() / guarded.watched.value(), "");
}

LedgerOptions without_counters() {
  LedgerOptions options;
  options.counters = CounterPlaces{};
  return options;
}

void sqlite(Json& json, const std::string& folder) {
  RawDisk disk(folder + "/raw");
  Spender spender(folder + "/bench.ledger");
  Spender bare(folder + "/bare.ledger", By::kOwner, without_counters());
  Spender watched(folder + "/watched.ledger");
  watched.watch_by(folder + "/bare.ledger");
  Rate raw;
  Rate single;
  Guarded guarded;
  for (int i = 0; i < kSlices; ++i) {
    run_slice(raw, [&] { disk.write(); });
    run_slice(single, [&] { spender.reserve(); });
    run_slice(guarded.bare, [&] { bare.reserve(); });
    run_slice(guarded.watched, [&] { watched.reserve(); });
  }
  Rate many;
  Rate grouped;
  Rate raw_again;
  for (int i = 0; i < kSlices; ++i) {
    run_slice(raw_again, [&] { disk.write(); });
    spender.reserve_by_many(many, kSliceSeconds);
    run_slice(grouped, [&] { spender.reserve_group(); });
  }
  grouped.count *= kGroup;
  line(json, "fsync_per_second", "disk: write and fsync of a page", raw.value(), "/s");
  line(json, "sqlite_single", "SQLite: one spender", single.value(), "reservations/s");
  line(json, "sqlite_single_over_fsync", "  over the disk's rate", single.value() / raw.value(), "");
  guarded_lines(json, "sqlite", "SQLite", single, guarded);
  line(json, "sqlite_64_spenders", "SQLite: 64 spenders", many.value(), "reservations/s");
  line(json, "sqlite_64_spenders_over_fsync", "  over the disk's rate", many.value() / raw_again.value(), "");
  line(json, "sqlite_grouped", "SQLite: groups of 256", grouped.value(), "reservations/s");
  line(json, "sqlite_grouped_over_fsync", "  over the disk's rate", grouped.value() / raw_again.value(), "");
  while (spender.count() < 100'000) spender.reserve_group();
  line(json, "sqlite_verify", "SQLite: verify", spender.verify(), "entries/s");
  roles(json, "sqlite", "SQLite", folder + "/owner.ledger", folder + "/analyst.ledger");
}

class PlainInserts {
 public:
  explicit PlainInserts(const std::string& location) : connection_(PQconnectdb(location.c_str())) {
    run("CREATE TABLE plain (sequence bigint PRIMARY KEY, text text NOT NULL, hash bytea NOT NULL)");
  }
  PlainInserts(const PlainInserts&) = delete;
  PlainInserts& operator=(const PlainInserts&) = delete;
  ~PlainInserts() { PQfinish(connection_); }
  void insert() {
    ++count_;
    run(fmt::format("INSERT INTO plain VALUES ({}, '{}', '\\x{:064}')", count_, std::string(400, 'x'), count_));
  }

 private:
  void run(const std::string& sql) {
    PGresult* result = PQexec(connection_, sql.c_str());
    if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(PQerrorMessage(connection_));
    PQclear(result);
  }
  PGconn* connection_;
  std::uint64_t count_ = 0;
};

void postgres(Json& json, const std::string& folder, const std::string& location) {
  PlainInserts plain(location);
  Spender spender(location);
  // There is one ledger in a database: the one that is watched is a file.
  Spender watched(folder + "/watched_by_postgres.ledger");
  watched.watch_by(location);
  Rate inserts;
  Rate single;
  Rate many;
  Rate grouped;
  Rate by_peer;
  for (int i = 0; i < kSlices; ++i) {
    run_slice(inserts, [&] { plain.insert(); });
    run_slice(single, [&] { spender.reserve(); });
    run_slice(by_peer, [&] { watched.reserve(); });
    spender.reserve_by_many(many, kSliceSeconds);
    run_slice(grouped, [&] { spender.reserve_group(); });
  }
  grouped.count *= kGroup;
  line(json, "postgres_plain_inserts", "PostgreSQL: plain inserts, one client", inserts.value(), "/s");
  line(json, "postgres_single", "PostgreSQL: one spender", single.value(), "reservations/s");
  line(json, "postgres_single_over_plain", "  over plain inserts", single.value() / inserts.value(), "");
  line(json, "sqlite_watched_by_postgres", "SQLite: one spender, and a peer in PostgreSQL", by_peer.value(),
       "reservations/s");
  line(json, "postgres_64_spenders", "PostgreSQL: 64 spenders", many.value(), "reservations/s");
  line(json, "postgres_grouped", "PostgreSQL: groups of 256", grouped.value(), "reservations/s");
  line(json, "postgres_grouped_over_plain", "  over plain inserts", grouped.value() / inserts.value(), "");
  line(json, "postgres_verify", "PostgreSQL: verify", spender.verify(), "entries/s");
  // There is one ledger in a database.
  const auto database = [&](const std::string& name) {
    PGconn* connection = PQconnectdb(location.c_str());
    PGresult* result = PQexec(connection, ("CREATE DATABASE " + name).c_str());
    if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
    std::string other = location;
    return other.replace(other.find("/postgres?"), 10, "/" + name + "?");
  };
  roles(json, "postgres", "PostgreSQL", database("bench_owner"), database("bench_analyst"));
}

int run(int argc, char** argv) {
  if (argc < 3) fail("usage: ledger_bench FOLDER RESULT.json [FILE with the connection string of a PostgreSQL server]");
  const std::string folder = std::string(argv[1]) + "/ledger_bench";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  // Nothing is written to the home of whoever measures.
  if (::setenv("NOISEFLOOR_STATE_DIR", std::filesystem::absolute(folder + "/counters").c_str(), 1) != 0) fail("setenv");
  Json json;
  sqlite(json, folder);
  if (argc > 3) {
    std::string location;
    std::getline(std::ifstream(argv[3]) >> std::ws, location);
    postgres(json, folder, location);
  }
  std::filesystem::remove_all(folder);
  std::ofstream(argv[2]) << json.dump(2) << "\n";
  return 0;
}

}  // namespace
}  // namespace noisefloor

int main(int argc, char** argv) { return noisefloor::run(argc, argv); }
