// Backups that are put back: what was spent since is forgotten by the ledger, and known elsewhere.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "noisefloor/base/hex.h"
#include "noisefloor/ledger/fence.h"
#include "noisefloor/ledger/kernel_counter.h"
#include "noisefloor/ledger/witness_place.h"
#include "tests/support/child_process.h"
#include "tests/support/faulty_vfs.h"
#include "tests/support/kept_counters.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"

namespace noisefloor {
namespace {

using testing::Backend;
using testing::ChildProcess;
using testing::content_of;
using testing::expect_clean;
using testing::expect_error;
using testing::expect_good;
using testing::KeptCounters;
using testing::LedgerPlace;
using testing::overwrite;
using testing::pure;
using testing::request;
using testing::terms;
using testing::text_of;
using testing::value_of;

SigningKey key_of_tests() { return SigningKey::from_seed({42}); }
const CounterPlaces kNoCounters{};

void run_shell(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

// The program of PostgreSQL with this name.
std::string postgres_program(const std::string& name) {
  return "\"$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)\"/" + name;
}

Result<void> spend(Ledger& ledger, const std::string& key, double epsilon = 1) {
  NF_TRY(Reservation made, ledger.reserve(request("trial", key, pure(epsilon))));
  made.begin();
  return ledger.commit(made.sequence(), blake2b(key), key);
}

// A ledger with a budget of epsilon 1, that can be put back to the moment when it had spent nothing.
class RestoredTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!place_.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
    if (is_file()) std::filesystem::create_directories(place_.path("study"));
    make(location());
    back_up();
  }
  static void make(const std::string& at, LedgerOptions options = {}) {
    const auto ledger = value_of(Ledger::create(at, key_of_tests(), std::move(options)));
    expect_good(ledger->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  }
  [[nodiscard]] bool is_file() const { return GetParam() == Backend::kSqlite; }
  [[nodiscard]] std::string location() const {
    return is_file() ? place_.path("study/test.ledger") : place_.location();
  }
  [[nodiscard]] Result<std::unique_ptr<Ledger>> open(LedgerOptions options = {}) const {
    return Ledger::open(location(), key_of_tests(), std::move(options));
  }
  [[nodiscard]] Result<std::unique_ptr<Ledger>> open_without_counters() const {
    LedgerOptions options;
    options.counters = kNoCounters;
    return open(std::move(options));
  }

  void back_up() const {
    if (is_file()) {
      run_shell("cp -a '" + place_.path("study") + "' '" + place_.path("backup") + "'");
    } else {
      run_shell(postgres_program("pg_dump") + " --data-only -n noisefloor_ledger '" + location() + "' >'" +
                place_.path("rows.sql") + "'");
      run_shell(postgres_program("pg_dump") + " -n noisefloor_ledger '" + location() + "' >'" +
                place_.path("backup.sql") + "'");
    }
  }
  // Puts the content back into the same files or tables, whose identity hence stays.
  void restore_in_place() const {
    if (is_file()) {
      run_shell("rm -f '" + place_.path("study") + "'/*-wal '" + place_.path("study") + "'/*-shm && cp -a '" +
                place_.path("backup") + "/.' '" + place_.path("study") + "'");
      return;
    }
    execute(
        location(),
        "SET client_min_messages = error; SET session_replication_role = replica; DELETE FROM "
        "noisefloor_ledger.entries; DELETE FROM noisefloor_ledger.head; DELETE FROM noisefloor_ledger.answers; "
        "DELETE FROM noisefloor_ledger.fence; DELETE FROM noisefloor_ledger.format; DO $$ BEGIN IF "
        "to_regclass('noisefloor_ledger.signatures') IS NOT NULL THEN DELETE FROM noisefloor_ledger.signatures; END "
        "IF; END $$");
    run_shell("PGOPTIONS='-c session_replication_role=replica' " + postgres_program("psql") +
              " -q -v ON_ERROR_STOP=1 '" + location() + "' -f '" + place_.path("rows.sql") + "' >/dev/null");
  }
  static void execute(const std::string& at, const std::string& sql) {
    PGconn* connection = PQconnectdb(at.c_str());
    PGresult* result = PQexec(connection, sql.c_str());
    EXPECT_EQ(PQresultStatus(result), PGRES_COMMAND_OK) << PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
  }
  [[nodiscard]] Digest identity() const {
    std::optional<Digest> found;
    expect_good(value_of(Ledger::open_to_read(location(), {}))->read([&](const LedgerState& state) -> Result<void> {
      found = state.genesis().ledger;
      return success();
    }));
    return *found;
  }
  [[nodiscard]] HostCounter counter() const { return {testing::state_folder(), identity()}; }
  // Nothing can be written, and whoever looks is told.
  void expect_found(std::string_view part, LedgerOptions options = {}) const {
    const auto ledger = value_of(open(options));
    expect_error(spend(*ledger, "twice"), ErrorCode::kVerificationFailed, part);
    expect_error(ledger->create_budget(terms("more", 1, 0, Rule::kBasic)), ErrorCode::kVerificationFailed, part);
    expect_error(ledger->expect_current(Ledger::Asked::kWitnessesToo), ErrorCode::kVerificationFailed, part);
  }
  [[nodiscard]] std::string verified() const { return text_of(value_of(verify_ledger(location(), {}))); }

  LedgerPlace place_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Sqlite, RestoredTest, ::testing::Values(Backend::kSqlite));
INSTANTIATE_TEST_SUITE_P(Postgres, RestoredTest, ::testing::Values(Backend::kPostgres));

// The attack: copy, spend, copy back, spend again. Without a counter it works and verifies, which is why there is one.
TEST_P(RestoredTest, ACopyThatIsPutBackIsFoundByTheCounter) {
  expect_good(spend(*value_of(open()), "once"));
  restore_in_place();
  expect_found("has seen entry 3");
  const std::string found = verified();
  EXPECT_NE(found.find("entry 3: the counter"), std::string::npos) << found;
  // The same without the counter.
  expect_good(spend(*value_of(open_without_counters()), "twice"));
  VerifyOptions blind;
  blind.counters = kNoCounters;
  EXPECT_EQ(text_of(value_of(verify_ledger(location(), blind))), "");
  // The history is as long as the counter now, and another one.
  expect_found("another copy was written to");
}

// What is lost is given up in words, in a signed entry.
TEST_P(RestoredTest, AnAdoptionThatLosesEntriesSaysSo) {
  expect_good(spend(*value_of(open()), "once"));
  restore_in_place();
  expect_error(value_of(open())->adopt("disk was replaced"), ErrorCode::kVerificationFailed, "has seen entry 3");
  expect_good(value_of(open())->adopt("disk was replaced", Ledger::Lost::kGivenUp));
  const Entry entry = value_of(value_of(open())->entry(2));
  EXPECT_EQ(std::get<AdoptEntry>(entry.body).missing, 3U);
  expect_good(spend(*value_of(open()), "again"));
  EXPECT_EQ(verified(), "");
  EXPECT_EQ(value_of(counter().read(HostCounter::Use::kLook))->sequence, 4U);
}

// A process dies after an adoption was committed and before the counter was moved.
TEST_P(RestoredTest, ACounterThatAnAdoptionDidNotReachIsNoObstacle) {
  expect_good(spend(*value_of(open()), "once"));
  KeptCounters counters;
  counters.keep();
  restore_in_place();
  expect_good(value_of(open())->adopt("restored", Ledger::Lost::kGivenUp));
  counters.put_back();  // of another user, or of a process that was killed
  expect_good(spend(*value_of(open()), "again"));
  EXPECT_EQ(verified(), "");
}

TEST_P(RestoredTest, ACounterOfAnotherLedgerOrADamagedOneIsRefused) {
  const LedgerPlace other(GetParam());
  make(other.location());
  Digest others{};
  expect_good(value_of(Ledger::open_to_read(other.location(), {}))->read([&](const LedgerState& state) -> Result<void> {
    others = state.genesis().ledger;
    return success();
  }));
  const std::string own = counter().path();
  const std::string good = content_of(own);
  overwrite(own, content_of(HostCounter(testing::state_folder(), others).path()));
  expect_error(spend(*value_of(open()), "x"), ErrorCode::kVerificationFailed, "that of another ledger");
  std::string bad = good;
  bad[70] = static_cast<char>(bad[70] ^ 1);
  overwrite(own, bad);
  expect_error(spend(*value_of(open()), "x"), ErrorCode::kVerificationFailed, "damaged");
  EXPECT_NE(verified(), "");
  expect_good(value_of(open())->adopt("the counter was damaged"));
  expect_good(spend(*value_of(open()), "x"));
  EXPECT_EQ(verified(), "");
}

// Nobody loses a counter silently where there is a fence to say that it was there.
TEST_P(RestoredTest, ACounterThatWasDeletedIsMissed) {
  expect_good(spend(*value_of(open()), "once"));
  KeptCounters::lose();
  if (!is_file()) {
    // A database keeps no list of the machines that use it: another machine looks the same.
    expect_error(spend(*value_of(open()), "x"), ErrorCode::kBudgetExhausted, "");
    return;
  }
  expect_error(spend(*value_of(open()), "x"), ErrorCode::kVerificationFailed, "is gone");
  // The backup knows as well that there was one.
  restore_in_place();
  expect_error(spend(*value_of(open()), "x"), ErrorCode::kVerificationFailed, "is gone");
  expect_good(value_of(open())->adopt("counters were deleted"));
  expect_good(spend(*value_of(open()), "x"));
}

// Folder and home are restored to the same moment: no file knows. The kernel does, until the machine restarts.
TEST_P(RestoredTest, ARestoredHomeIsFoundByTheKernelOnly) {
  const KernelCounter kernel(identity());
  LedgerOptions options;
  options.counters = CounterPlaces{testing::state_folder(), true};
  expect_good(value_of(open(options))->create_budget(terms("early", 1, 0, Rule::kBasic)));
  const bool has_kernel = kernel.read().has_value();
  std::filesystem::remove_all(place_.path("backup"));
  back_up();
  KeptCounters home;
  home.keep();
  expect_good(spend(*value_of(open(options)), "once"));
  restore_in_place();
  home.put_back();
  if (has_kernel) expect_found("the kernel of this machine has seen entry 4", options);
  kernel.remove();  // the machine restarts
  expect_good(spend(*value_of(open(options)), "twice"));
  kernel.remove();
  if (!has_kernel) GTEST_SKIP() << "this kernel keeps no keys for this process";
}

TEST_P(RestoredTest, AWitnessElsewhereIsAskedByEveryWriter) {
  const std::string elsewhere = place_.path("elsewhere.witness");
  expect_good(value_of(open())->add_witness(elsewhere));
  expect_error(value_of(open())->add_witness(elsewhere), ErrorCode::kInvalidArgument, "already");
  if (is_file()) std::filesystem::remove_all(place_.path("backup"));
  back_up();
  KeptCounters home;
  home.keep();
  expect_good(spend(*value_of(open()), "once"));
  EXPECT_EQ(value_of(read_witness(elsewhere)).head.sequence, 4U);
  EXPECT_EQ(value_of(verify_ledger(location(), {})).witnesses, 1U);
  restore_in_place();
  home.put_back();
  expect_found("has seen entry 4");
  const std::string found = verified();
  EXPECT_NE(found.find("the witness"), std::string::npos) << found;
  expect_error(value_of(open())->adopt("restored"), ErrorCode::kVerificationFailed, "has seen entry 4");
  expect_good(value_of(open())->adopt("restored", Ledger::Lost::kGivenUp));
  EXPECT_EQ(value_of(read_witness(elsewhere)).head.epoch, 1U);
  expect_good(spend(*value_of(open()), "again"));
  EXPECT_EQ(verified(), "");
}

TEST_P(RestoredTest, AWitnessThatIsGoneStopsWritersUntilItIsDropped) {
  const std::string elsewhere = place_.path("mount/elsewhere.witness");
  std::filesystem::create_directories(place_.path("mount"));
  expect_good(value_of(open())->add_witness(elsewhere));
  expect_error(value_of(open())->drop_witness(place_.path("other"), "gone"), ErrorCode::kInvalidArgument,
               "has no witness");
  // The mount is not there, and then it is empty.
  std::filesystem::rename(place_.path("mount"), place_.path("away"));
  const std::string why = expect_error(spend(*value_of(open()), "x"), ErrorCode::kIo, "could not be asked");
  EXPECT_NE(why.find("drop it"), std::string::npos) << why;
  EXPECT_EQ(value_of(verify_ledger(location(), {})).unasked.size(), 1U);
  std::filesystem::create_directories(place_.path("mount"));
  expect_error(spend(*value_of(open()), "x"), ErrorCode::kVerificationFailed, "has not seen this ledger");
  const auto ledger = value_of(open());
  expect_error(ledger->drop_witness(elsewhere, ""), ErrorCode::kInvalidArgument, "reason");
  expect_good(ledger->drop_witness(elsewhere, "the host was given back"));
  expect_good(spend(*ledger, "x"));
  EXPECT_EQ(verified(), "");
}

// Two copies share a peer, and nothing else: only one of them can spend.
void share_a_peer(const std::string& peer, const std::string& first, const std::string& second,
                  const std::function<void()>& copy) {
  const CounterPlaces none{};
  LedgerOptions options;
  options.counters = none;
  value_of(Ledger::create(peer, SigningKey::generate(), options)).reset();
  expect_good(value_of(Ledger::open(first, key_of_tests(), options))->add_witness(peer));
  copy();
  const auto copied = value_of(Ledger::open(second, key_of_tests(), options));
  expect_error(spend(*copied, "x"), ErrorCode::kVerificationFailed, "is a copy");
  expect_good(copied->adopt("moved"));
  expect_good(spend(*copied, "x"));
  const auto left = value_of(Ledger::open(first, key_of_tests(), options));
  expect_error(spend(*left, "x"), ErrorCode::kVerificationFailed, "another copy was written to");
  expect_error(left->adopt("back"), ErrorCode::kVerificationFailed, "are lost");
  // The peer is a ledger as before.
  VerifyOptions blind;
  blind.counters = none;
  EXPECT_EQ(text_of(value_of(verify_ledger(peer, blind))), "");
  EXPECT_EQ(value_of(verify_ledger(second, blind)).witnesses, 1U);
}

TEST_P(RestoredTest, OneOfTwoCopiesSpendsThatShareAPeerLedger) {
  const LedgerPlace peer(GetParam());
  const LedgerPlace other(GetParam());
  share_a_peer(peer.location(), location(), other.location(), [&] {
    if (is_file()) {
      run_shell("cp -a '" + location() + "' '" + other.location() + "' && cp -a '" + location() + ".fence' '" +
                other.location() + ".fence'");
    } else {
      run_shell(postgres_program("pg_dump") + " -n noisefloor_ledger '" + location() + "' | " +
                postgres_program("psql") + " -q '" + other.location() + "' >/dev/null");
    }
  });
}

TEST_P(RestoredTest, APeerKeepsHeadsForwardAndForOthersOnly) {
  const LedgerPlace peer(GetParam());
  make(peer.location());
  const auto ledger = value_of(open());
  expect_error(ledger->add_witness(location()), ErrorCode::kInvalidArgument, "its own witness");
  expect_error(ledger->add_witness("https://example.org/w"), ErrorCode::kInvalidArgument, "no known kind");
  const std::string secret =
      expect_error(ledger->add_witness("postgresql://me:s3cret@db.example/x"), ErrorCode::kInvalidArgument, ".pgpass");
  EXPECT_EQ(secret.find("s3cret"), std::string::npos);
  LedgerState state;
  expect_good(state.apply({0, 0, GenesisEntry{}}));
  expect_error(state.apply({1, 0, WitnessEntry{"postgresql://me:s3cret@db.example/x"}}), ErrorCode::kInvalidArgument,
               ".pgpass");
  expect_good(ledger->add_witness(peer.location()));
  expect_good(spend(*ledger, "once"));
  if (is_file()) return;
  const auto refused = [&](const std::string& sql) {
    PGconn* connection = PQconnectdb(peer.location().c_str());
    PGresult* result = PQexec(connection, sql.c_str());
    EXPECT_EQ(PQresultStatus(result), PGRES_FATAL_ERROR) << sql;
    PQclear(result);
    PQfinish(connection);
  };
  refused("UPDATE noisefloor_ledger.witnessed SET sequence = sequence - 1");
  refused("DELETE FROM noisefloor_ledger.witnessed");
  refused("TRUNCATE noisefloor_ledger.witnessed");
  // Someone who gets around that cannot sign.
  execute(peer.location(),
          "SET session_replication_role = replica; UPDATE noisefloor_ledger.witnessed SET sequence = sequence - 1");
  expect_error(spend(*ledger, "x"), ErrorCode::kVerificationFailed, "signature does not hold");
}

// Ledgers that watch each other do not wait for each other.
TEST_P(RestoredTest, TwoLedgersWatchEachOther) {
  const LedgerPlace other(GetParam());
  make(other.location());
  const std::array<std::string, 2> where{location(), other.location()};
  for (std::size_t i = 0; i < 2; ++i) {
    expect_good(value_of(Ledger::open(where[i], key_of_tests(), {}))->add_witness(where[1 - i]));
  }
  constexpr int kEach = 40;
  std::array<int, 2> failed{};
  std::vector<std::thread> writers;
  for (std::size_t i = 0; i < 2; ++i) {
    writers.emplace_back([&, i] {
      const auto ledger = value_of(Ledger::open(where[i], key_of_tests(), {}));
      for (int n = 0; n < kEach; ++n) failed[i] += spend(*ledger, std::to_string(n), 1.0 / 64).has_value() ? 0 : 1;
    });
  }
  for (std::thread& one : writers) one.join();
  EXPECT_EQ(failed[0] + failed[1], 0);
  for (const std::string& one : where) {
    const VerifyReport report = value_of(verify_ledger(one, {}));
    EXPECT_EQ(report.entries, 3U + 2 * kEach);
    EXPECT_EQ(report.witnesses, 1U);
    EXPECT_EQ(text_of(report), "");
  }
}

// Processes that are killed while others go on leave the counter behind the ledger or level with it, never ahead.
TEST_P(RestoredTest, EightProcessesNeverLeaveTheCounterAhead) {
  expect_good(value_of(open())->create_budget(terms("wide", 1000, 0, Rule::kBasic)));
  for (int round = 0; round < 4; ++round) {
    std::vector<ChildProcess> children;
    for (int process = 0; process < 8; ++process) {
      children.push_back(ChildProcess::start([&] {
        const auto ledger = open();
        if (!ledger.has_value()) return 1;
        for (int n = 0; n < 8; ++n) {
          const std::string key = std::to_string(round) + "/" + std::to_string(process) + "/" + std::to_string(n);
          if (!ledger.value()->reserve(request("wide", key, pure(1.0 / 1024))).has_value()) return 2;
          if (process == 0 && n == round) ::kill(::getpid(), SIGKILL);
        }
        return 0;
      }));
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
      children[i].wait();
      EXPECT_EQ(children[i].exit_code(), i == 0 ? -1 : 0);
    }
    EXPECT_EQ(verified(), "");
  }
  expect_good(spend(*value_of(open()), "last"));
  const std::optional<Seen> seen = value_of(counter().read(HostCounter::Use::kLook));
  EXPECT_EQ(seen->sequence + 1, value_of(verify_ledger(location(), {})).entries);
}

// --- Files -----------------------------------------------------------------------------------------------------------

class RestoredFileTest : public RestoredTest {};
INSTANTIATE_TEST_SUITE_P(Sqlite, RestoredFileTest, ::testing::Values(Backend::kSqlite));

TEST_P(RestoredFileTest, AFolderThatIsRemovedAndRestoredIsFound) {
  expect_good(spend(*value_of(open()), "once"));
  run_shell("rm -r '" + place_.path("study") + "' && cp -a '" + place_.path("backup") + "' '" + place_.path("study") +
            "'");
  expect_error(spend(*value_of(open()), "twice"), ErrorCode::kVerificationFailed, "Nothing was written");
  expect_error(value_of(open())->expect_current(Ledger::Asked::kThisMachine), ErrorCode::kVerificationFailed,
               "has seen entry 3");
  expect_error(value_of(open())->adopt("restored"), ErrorCode::kVerificationFailed, "has seen entry 3");
}

// A copy beside the ledger is adopted and spends; the ledger itself is then the one that is behind.
TEST_P(RestoredFileTest, ACopyBesideItCannotSpendAsWell) {
  const std::string copy = place_.path("backup/test.ledger");
  const auto beside = value_of(Ledger::open(copy, key_of_tests(), {}));
  expect_error(spend(*beside, "x"), ErrorCode::kVerificationFailed, "is a copy");
  expect_good(beside->adopt("a copy"));
  expect_good(spend(*beside, "x"));
  expect_found("another copy was written to");
}

// Ledgers of older programs have no counter. They get one with their next write, and their fence remembers it.
TEST_P(RestoredFileTest, AnOlderLedgerGetsACounterSilently) {
  const std::string older = place_.path("older.ledger");
  LedgerOptions as_before;
  as_before.counters = kNoCounters;
  make(older, as_before);
  EXPECT_NE(content_of(older + ".fence").find(R"({"fence":1,)"), std::string::npos);
  const auto ledger = value_of(Ledger::open(older, key_of_tests(), {}));
  expect_good(spend(*ledger, "x", 0.5));
  EXPECT_NE(content_of(older + ".fence").find(R"({"fence":2,)"), std::string::npos);
  // Counters that are turned off are not missed.
  KeptCounters::lose();
  expect_error(spend(*ledger, "y", 0.25), ErrorCode::kVerificationFailed, "is gone");
  expect_good(spend(*value_of(Ledger::open(older, key_of_tests(), as_before)), "y", 0.25));
}

// Users with folders of their own do not disturb each other, and the fence remembers the counters of five.
TEST_P(RestoredFileTest, UsersWithHomesOfTheirOwnShareALedger) {
  const auto options_of = [&](int user) {
    LedgerOptions options;
    options.counters = CounterPlaces{place_.path("home" + std::to_string(user)), false};
    return options;
  };
  for (int round = 0; round < 2; ++round) {
    for (int user = 0; user < 7; ++user) {
      const std::string key = std::to_string(round) + "/" + std::to_string(user);
      expect_good(spend(*value_of(open(options_of(user))), key, 1.0 / 64));
    }
  }
  const Fence fence = *value_of(FenceFile(location()).read(FenceFile::Use::kLook));
  EXPECT_EQ(fence.counters.size(), kMaxFenceCounters);
  // The counter of a user who was not the last to write is behind, and still sees what is before it.
  expect_error(spend(*value_of(open()), "x", 0.9), ErrorCode::kBudgetExhausted, "");
  restore_in_place();
  expect_error(spend(*value_of(open(options_of(3))), "y", 0.5), ErrorCode::kVerificationFailed, "has seen entry 23");
  expect_error(spend(*value_of(open(options_of(0))), "y", 0.5), ErrorCode::kVerificationFailed, "has seen entry 17");
  // One who adopts it gives up what he knows of. Those who know no more go on.
  expect_good(value_of(open(options_of(3)))->adopt("restored", Ledger::Lost::kGivenUp));
  expect_good(spend(*value_of(open(options_of(0))), "y", 0.5));
  expect_error(spend(*value_of(open(options_of(6))), "z", 0.25), ErrorCode::kVerificationFailed, "has seen entry 29");
}

TEST_P(RestoredFileTest, AFolderThatCannotHoldCountersIsAnErrorBeforeAnythingIsWritten) {
  LedgerOptions options;
  overwrite(place_.path("file"), "not a folder");
  options.counters = CounterPlaces{place_.path("file/counters"), false};
  expect_error(spend(*value_of(open(options)), "x"), ErrorCode::kIo, "NOISEFLOOR_STATE_DIR");
  EXPECT_EQ(value_of(verify_ledger(location(), {})).entries, 2U);
  expect_error(Ledger::create(place_.path("new.ledger"), key_of_tests(), options), ErrorCode::kIo,
               "NOISEFLOOR_STATE_DIR");
}

TEST(CounterPlacesTest, FollowTheEnvironment) {
  const std::string before = testing::state_folder();
  const char* const home = std::getenv("HOME");
  const std::string old_home = home == nullptr ? "" : home;
  const auto set = [](const char* name, const char* value) {
    EXPECT_EQ(value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1), 0);
  };
  set("NOISEFLOOR_STATE_DIR", "none");
  EXPECT_EQ(value_of(counter_places_by_environment()), CounterPlaces{});
  set("NOISEFLOOR_STATE_DIR", "here");
  expect_error(counter_places_by_environment(), ErrorCode::kInvalidArgument, "begin with a slash");
  set("NOISEFLOOR_STATE_DIR", nullptr);
  set("XDG_STATE_HOME", "/x");
  set("HOME", "/home/someone");
  EXPECT_EQ(value_of(counter_places_by_environment()), (CounterPlaces{"/x/noisefloor", true}));
  set("XDG_STATE_HOME", nullptr);
  EXPECT_EQ(value_of(counter_places_by_environment()), (CounterPlaces{"/home/someone/.local/state/noisefloor", true}));
  set("HOME", nullptr);
  if (::geteuid() == 0) {
    EXPECT_EQ(value_of(counter_places_by_environment()), (CounterPlaces{"/var/lib/noisefloor", true}));
  } else {
    expect_error(counter_places_by_environment(), ErrorCode::kIo, "no home folder");
  }
  set("HOME", home == nullptr ? nullptr : old_home.c_str());
  set("NOISEFLOOR_STATE_DIR", before.c_str());
}

TEST(KernelCounterTest, CountsPerLedgerAndNeverBack) {
  const KernelCounter counter(blake2b("a ledger of KernelCounterTest"));
  const KernelCounter other(blake2b("another ledger of KernelCounterTest"));
  const Digest name = blake2b("a ledger of KernelCounterTest");
  counter.remove();
  EXPECT_FALSE(counter.read().has_value());
  const Seen seen{name, 2, 7, blake2b("hash")};
  counter.advance(seen);
  if (!counter.read()) GTEST_SKIP() << "this kernel keeps no keys for this process";
  EXPECT_EQ(counter.read(), seen);
  EXPECT_FALSE(other.read().has_value());
  counter.advance({name, 2, 6, blake2b("earlier")});
  EXPECT_EQ(counter.read(), seen);
  const Seen later{name, 3, 1, blake2b("later")};
  counter.advance(later);
  EXPECT_EQ(counter.read(), later);
  // Another process of this user sees it.
  const ChildProcess child = ChildProcess::run([&] { return counter.read() == later ? 0 : 1; });
  EXPECT_EQ(child.exit_code(), 0);
  counter.reset(seen);
  EXPECT_EQ(counter.read(), seen);
  counter.remove();
  EXPECT_FALSE(counter.read().has_value());
}

// --- Databases -------------------------------------------------------------------------------------------------------

class RestoredDumpTest : public RestoredTest {
 protected:
  void restore_dump(const std::string& to) const {
    run_shell(postgres_program("psql") + " -q -v ON_ERROR_STOP=1 '" + to + "' -f '" + place_.path("backup.sql") +
              "' >/dev/null");
  }
  // Opens without counters, so that the fence is alone.
  static void expect_moved(const std::string& at, std::string_view part) {
    LedgerOptions options;
    options.counters = kNoCounters;
    const auto ledger = value_of(Ledger::open(at, key_of_tests(), options));
    expect_error(spend(*ledger, "twice"), ErrorCode::kVerificationFailed, part);
    expect_good(ledger->adopt("restored"));
    expect_good(spend(*ledger, "twice"));
    VerifyOptions blind;
    blind.counters = kNoCounters;
    EXPECT_EQ(text_of(value_of(verify_ledger(at, blind))), "");
  }
};
INSTANTIATE_TEST_SUITE_P(Postgres, RestoredDumpTest, ::testing::Values(Backend::kPostgres));

TEST_P(RestoredDumpTest, ADumpThatIsRestoredInPlaceIsFoundByTheFence) {
  const auto live = value_of(open_without_counters());
  expect_good(spend(*live, "once"));
  execute(location(), "SET client_min_messages = error; DROP SCHEMA noisefloor_ledger CASCADE");
  restore_dump(location());
  expect_error(live->reserve(request("trial", "twice", pure(1))), ErrorCode::kVerificationFailed, "");
  expect_moved(location(), "restored from a dump");
}

TEST_P(RestoredDumpTest, ADumpThatIsRestoredElsewhereIsFoundByTheFence) {
  const LedgerPlace other(Backend::kPostgres);
  restore_dump(other.location());
  expect_moved(other.location(), "another database");
}

TEST_P(RestoredDumpTest, AnotherServerAndAnotherTimelineAreFoundByTheFence) {
  for (const auto& [column, part] : {std::pair<const char*, const char*>{"system", "another database server"},
                                     {"timeline", "a standby took over"}}) {
    execute(location(), std::string("UPDATE noisefloor_ledger.fence SET ") + column + " = '1'");
    LedgerOptions options;
    options.counters = kNoCounters;
    const auto ledger = value_of(open(options));
    expect_error(spend(*ledger, "x", 0.125), ErrorCode::kVerificationFailed, part);
    expect_good(ledger->adopt("restored"));
    expect_good(spend(*ledger, column, 0.125));
  }
}

TEST_P(RestoredDumpTest, ALedgerOfAnOlderProgramGetsAFenceWithItsNextWrite) {
  execute(location(), "DROP TABLE noisefloor_ledger.fence");
  const auto ledger = value_of(open_without_counters());
  expect_good(spend(*ledger, "a", 0.25));
  expect_good(spend(*ledger, "b", 0.25));
  execute(location(), "UPDATE noisefloor_ledger.fence SET entries = 1");
  expect_error(spend(*ledger, "c", 0.25), ErrorCode::kVerificationFailed, "restored from a dump");
}

}  // namespace
}  // namespace noisefloor
