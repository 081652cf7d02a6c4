// A spender is killed at every write and at random times, and a machine loses power: every release still counts as
// spent, and the ledger can still be used.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/uniform.h"
#include "tests/support/child_process.h"
#include "tests/support/faulty_vfs.h"
#include "tests/support/kept_counters.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"

namespace noisefloor {
namespace {

using testing::ChildProcess;
using testing::content_of;
using testing::expect_clean;
using testing::expect_good;
using testing::Fault;
using testing::FaultyVfs;
using testing::gaussian;
using testing::LedgerPlace;
using testing::overwrite;
using testing::pure;
using testing::request;
using testing::terms;
using testing::value_of;

LedgerOptions faulty() {
  FaultyVfs::instance();
  LedgerOptions options;
  options.sqlite_vfs = FaultyVfs::kName;
  return options;
}

struct Kind {
  const char* budget;
  Rule rule;
  double use;  // its ε, or its noise multiplier
};
constexpr std::array<Kind, 5> kKinds{{{"basic", Rule::kBasic, 1.0 / 1024},
                                      {"zcdp", Rule::kZcdp, 1000},
                                      {"rdp", Rule::kRdp, 1000},
                                      {"approx", Rule::kApproxDp, 1.0 / 1024},
                                      {"planned", Rule::kPlanned, 1.0 / 1048576}}};

DpEvent use_of(const Kind& kind) {
  return kind.rule == Rule::kZcdp || kind.rule == Rule::kRdp ? gaussian(kind.use) : pure(kind.use);
}

Result<void> create_budgets(Ledger& ledger) {
  for (const Kind& kind : kKinds) {
    BudgetTerms made = terms(kind.budget, 128, kind.rule == Rule::kBasic ? 0 : 1e-6, kind.rule);
    if (kind.rule == Rule::kPlanned) made.plan = {{"item", use_of(kind), Steps::of(1'000'000)}};
    NF_TRY_VOID(ledger.create_budget(made));
  }
  return success();
}

// The releases that were published. A written line persists even if the writer is killed right after; on the real disk
// it is also synced.
class Released {
 public:
  Released(const std::string& path, bool synced)
      : synced_(synced), descriptor_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {}
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() { ::close(descriptor_); }
  [[nodiscard]] bool add(const std::string& budget, const std::string& key) const {
    const std::string line = budget + " " + key + "\n";
    return ::write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
           (!synced_ || ::fsync(descriptor_) == 0);
  }

 private:
  bool synced_;
  int descriptor_;
};

// Spends as every caller does: reserve, draw, release, commit. Some rounds abort their reservation, some end before the
// commit.
Result<void> spend_round(Ledger& ledger, const Released& released, const std::string& prefix, int round) {
  const auto number = static_cast<std::size_t>(round);
  const Kind& kind = kKinds[number % kKinds.size()];
  const std::string key = prefix + std::to_string(round);
  NF_TRY(Reservation spend,
         ledger.reserve(request(kind.budget, key, use_of(kind), kind.rule == Rule::kPlanned ? "item" : "")));
  if (number % 7 == 3) return ledger.abort(std::move(spend));
  spend.begin();
  if (!released.add(kind.budget, key)) return io_error("the release was not written");
  if (number % 11 == 9) return success();
  return number % 2 == 0 ? ledger.commit(spend.sequence(), blake2b(key), key)
                         : ledger.commit(spend.sequence(), blake2b(key));
}

class CrashBench {
 public:
  explicit CrashBench(testing::Setting setting) : place_(setting) {
    if (!place_.is_there()) return;
    SigningKey key = SigningKey::generate();
    expect_good(key.save(place_.path("key")));
    const auto ledger = value_of(Ledger::create(place_.location(), std::move(key), faulty()));
    expect_good(create_budgets(*ledger));
    if (!setting.by_member) return;
    // From here on the spenders are an analyst.
    const SigningKey analyst = SigningKey::generate();
    std::filesystem::remove(place_.path("key"));
    expect_good(analyst.save(place_.path("key")));
    NewRole role{"ann", Role::kAnalyst, analyst.public_key()};
    for (const Kind& kind : kKinds) role.budgets.emplace_back(kind.budget);
    expect_good(ledger->add_role(role));
  }

  [[nodiscard]] bool is_there() const { return place_.is_there(); }
  [[nodiscard]] const std::string& location() const { return place_.location(); }
  [[nodiscard]] std::string released() const { return place_.path("released"); }
  [[nodiscard]] Result<std::unique_ptr<Ledger>> open(LedgerOptions options = {}) const {
    NF_TRY(SigningKey key, SigningKey::load(place_.path("key")));
    return Ledger::open(place_.location(), std::move(key), std::move(options));
  }

  // The work of a child process. Returns 0 if it finished.
  [[nodiscard]] int spend(const std::string& prefix, int rounds, LedgerOptions options = {}) const {
    const Released released(this->released(), options.sqlite_vfs.empty());
    Result<std::unique_ptr<Ledger>> ledger = open(std::move(options));
    if (!ledger.has_value()) return complain(ledger.error());
    for (int round = 0; round < rounds; ++round) {
      const Result<void> done = spend_round(*ledger.value(), released, prefix, round);
      if (!done.has_value()) return complain(done.error());
    }
    return 0;
  }

  // put_back() restores the files as they were at keep(), in the same inodes.
  void keep() {
    ledger_ = content_of(location());
    fence_ = content_of(location() + ".fence");
    counters_.keep();
  }
  void put_back() const {
    for (const char* beside : {"-wal", "-shm", "-journal"}) std::filesystem::remove(location() + beside);
    std::filesystem::remove(released());
    overwrite(location(), ledger_);
    overwrite(location() + ".fence", fence_);
    counters_.put_back();
  }

  // Checks what must hold after every crash.
  void check(const std::string& next_key) const {
    expect_clean(location());
    const auto ledger = value_of(open(faulty()));  // the check need not wait for the disk
    std::size_t lines = 0;
    expect_good(ledger->read([&](const LedgerState& state) -> Result<void> {
      std::istringstream released(content_of(this->released()));
      std::string budget;
      std::string key;
      while (released >> budget >> key) {
        ++lines;
        const std::optional<std::uint64_t> sequence = state.find_key(budget, key);
        EXPECT_TRUE(sequence) << key << " was released and is not in the ledger";
        if (sequence) {
          EXPECT_NE(state.find_spend(*sequence)->status, SpendStatus::kAborted) << key;
        }
      }
      std::uint64_t spent = 0;
      for (const LedgerState::Budget& one : state.budgets()) spent += one.spends - one.aborted;
      EXPECT_GE(spent, lines);
      // Checks the amount, not only the count.
      const LedgerState::Budget& basic = *state.find("basic");
      EXPECT_EQ(basic.account.spent_share() * 128, static_cast<double>(basic.spends - basic.aborted) / 1024);
      return success();
    }));
    const Released released(this->released(), false);
    for (int round : {0, 1}) expect_good(spend_round(*ledger, released, next_key, round));
  }

 private:
  static int complain(const Error& error) {
    std::fprintf(stderr, "spender: %s\n", error.message.c_str());
    return 1;
  }

  LedgerPlace place_;
  std::string ledger_;
  std::string fence_;
  testing::KeptCounters counters_;
};

// Runs one child for every operation k of the workload, until the workload ends before operation k.
void crash_everywhere(Fault fault, int rounds, std::uint64_t seeds, std::uint64_t stride,
                      testing::Setting setting = testing::kAsOwner) {
  CrashBench bench(setting);
  bench.keep();
  std::uint64_t crashes = 0;
  bool over = false;
  for (std::uint64_t k = 0; !over && !::testing::Test::HasFailure(); k += stride) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      SCOPED_TRACE(::testing::Message() << "operation " << k << ", seed " << seed);
      bench.put_back();
      const ChildProcess child = ChildProcess::run([&] {
        FaultyVfs::instance().arm(fault, k, true, seed * 1'000'003 + k);
        return bench.spend("k", rounds, faulty());
      });
      over = !child.was_killed();
      EXPECT_EQ(child.exit_code(), over ? 0 : -1);
      crashes += over ? 0 : 1;
      bench.check("after");
    }
  }
  // Each round takes several writes and a sync for each of its entries: fewer crashes would mean that faults did not
  // strike.
  EXPECT_GT(crashes, static_cast<std::uint64_t>(rounds) * 6 * seeds / stride);
}

TEST(CrashTest, LosesNoSpendWhenKilledAtAnyWrite) { crash_everywhere(Fault::kKill, 12, 1, 1); }
TEST(CrashTest, LosesNoSpendWhenPowerFailsAtAnyWrite) { crash_everywhere(Fault::kPowerLoss, 12, 1, 1); }
TEST(CrashTest, LosesNoSpendOfAnAnalystWhoIsKilledAtAnyWrite) {
  crash_everywhere(Fault::kKill, 12, 1, 1, testing::kAsMember);
}
TEST(CrashTest, LosesNoSpendOfAnAnalystWhosePowerFailsAtAnyWrite) {
  crash_everywhere(Fault::kPowerLoss, 12, 1, 1, testing::kAsMember);
}
// These runs are long enough for checkpoints during writes.
TEST(SlowCrashTest, LosesNoSpendWhenKilledAtAnyWrite) {
  crash_everywhere(Fault::kKill, 30, 2, 1);
  crash_everywhere(Fault::kKill, 400, 1, 13);
}
TEST(SlowCrashTest, LosesNoSpendWhenPowerFailsAtAnyWrite) {
  crash_everywhere(Fault::kPowerLoss, 30, 8, 1);
  crash_everywhere(Fault::kPowerLoss, 400, 1, 13);
}

// A ledger that was only half made has released nothing. The error says so, and the ledger can be made again.
void crash_in_creation(Fault fault, std::uint64_t seeds) {
  bool over = false;
  for (std::uint64_t k = 0; !over && !::testing::Test::HasFailure(); ++k) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      SCOPED_TRACE(::testing::Message() << "operation " << k << ", seed " << seed);
      testing::TemporaryFolder folder;
      const std::string path = folder.path("new.ledger");
      const auto key = [] { return SigningKey::from_seed({5}); };
      const auto create = [&](LedgerOptions options) -> Result<void> {
        NF_TRY(const auto ledger, Ledger::create(path, key(), std::move(options)));
        overwrite(folder.path("created"), "yes");
        return ledger->create_budget(terms("basic", 1, 0, Rule::kBasic));
      };
      const ChildProcess child = ChildProcess::run([&] {
        FaultyVfs::instance().arm(fault, k, true, seed * 1'000'003 + k);
        return create(faulty()).has_value() ? 0 : 1;
      });
      over = !child.was_killed();
      EXPECT_EQ(child.exit_code(), over ? 0 : -1);
      Result<std::unique_ptr<Ledger>> ledger = Ledger::open(path, key(), faulty());
      if (std::filesystem::exists(folder.path("created"))) {
        // The creation was reported as done, so the ledger exists.
        ASSERT_TRUE(ledger.has_value()) << ledger.error().message;
        if (!over) expect_good(ledger.value()->create_budget(terms("other", 1, 0, Rule::kBasic)));
      } else if (ledger.has_value()) {
        // The first entry got to the disk; the fence may not have.
        expect_good(ledger.value()->adopt("creation was interrupted"));
        expect_good(ledger.value()->create_budget(terms("basic", 1, 0, Rule::kBasic)));
      } else {
        EXPECT_TRUE(ledger.error().code == ErrorCode::kVerificationFailed || ledger.error().code == ErrorCode::kIo);
        EXPECT_TRUE(ledger.error().message.find("no entries") != std::string::npos ||
                    ledger.error().message.find("not a ledger") != std::string::npos ||
                    ledger.error().message.find("no ledger") != std::string::npos)
            << ledger.error().message;
        for (const char* beside : {"", "-wal", "-shm", "-journal", ".fence"}) std::filesystem::remove(path + beside);
        expect_good(create(faulty()));
      }
      if (ledger.has_value()) ledger.value().reset();
      expect_clean(path);
    }
  }
}

TEST(CrashTest, SurvivesAKillAtAnyWriteOfItsCreation) { crash_in_creation(Fault::kKill, 1); }
TEST(CrashTest, SurvivesAPowerLossAtAnyWriteOfItsCreation) { crash_in_creation(Fault::kPowerLoss, 2); }
TEST(SlowCrashTest, SurvivesAPowerLossAtAnyWriteOfItsCreation) { crash_in_creation(Fault::kPowerLoss, 20); }

// Several spenders are killed after some time, while the ledger keeps growing.
void kill_at_random(testing::Setting setting, int kills, int spenders) {
  CrashBench bench(setting);
  if (!bench.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
  ReplayRandom random = ReplayRandom::create(20).value();
  int killed = 0;
  for (int i = 0; killed < kills && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    std::vector<ChildProcess> children;
    for (int s = 0; s < spenders; ++s) {
      children.push_back(ChildProcess::start(
          [&] { return bench.spend(std::to_string(i) + "-" + std::to_string(s) + "-", 1'000'000); }));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(5'000 + uniform_below(random, 60'000)));
    for (ChildProcess& child : children) {
      child.kill();
      killed += child.was_killed() ? 1 : 0;
      EXPECT_TRUE(child.was_killed()) << child.exit_code();
    }
    bench.check("after" + std::to_string(i) + "-");
  }
}

TEST(CrashTest, LosesNoSpendWhenKilledAtRandom) { kill_at_random(testing::kAsOwner, 100, 4); }
TEST(CrashTest, LosesNoSpendOfAnalystsWhoAreKilledAtRandom) { kill_at_random(testing::kAsMember, 60, 4); }
TEST(CrashTest, LosesNoSpendWhenPostgresClientsAreKilledAtRandom) {
  kill_at_random(testing::kAsOwnerOnPostgres, 60, 4);
}
TEST(CrashTest, LosesNoSpendWhenPostgresAnalystsAreKilledAtRandom) {
  kill_at_random(testing::kAsMemberOnPostgres, 60, 4);
}
TEST(SlowCrashTest, LosesNoSpendWhenKilledAtRandom) {
  kill_at_random(testing::kAsOwner, 1'000, 4);
  kill_at_random(testing::kAsMember, 1'000, 4);
}
TEST(SlowCrashTest, LosesNoSpendWhenPostgresClientsAreKilledAtRandom) {
  kill_at_random(testing::kAsOwnerOnPostgres, 1'000, 4);
  kill_at_random(testing::kAsMemberOnPostgres, 1'000, 4);
}

// Power is lost again and again: recovery itself may be interrupted.
void lose_power_at_random(int times, testing::Setting setting = testing::kAsOwner) {
  CrashBench bench(setting);
  ReplayRandom random = ReplayRandom::create(21).value();
  for (int i = 0; i < times && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    // Power fails twice in a row, the second time often before the first round is over.
    for (const std::uint64_t within : {std::uint64_t{200}, std::uint64_t{12}}) {
      const std::uint64_t k = uniform_below(random, within);
      const std::uint64_t seed = random.next_u64();
      const ChildProcess child = ChildProcess::run([&] {
        FaultyVfs::instance().arm(Fault::kPowerLoss, k, true, seed);
        return bench.spend(std::to_string(i) + "-" + std::to_string(within) + "-", 1'000'000, faulty());
      });
      EXPECT_TRUE(child.was_killed()) << child.exit_code();
    }
    bench.check("after" + std::to_string(i) + "-");
  }
}

TEST(CrashTest, LosesNoSpendWhenPowerFailsAtRandom) { lose_power_at_random(50); }
TEST(CrashTest, LosesNoSpendOfAnAnalystWhenPowerFailsAtRandom) { lose_power_at_random(30, testing::kAsMember); }
TEST(SlowCrashTest, LosesNoSpendWhenPowerFailsAtRandom) { lose_power_at_random(1'000); }

// The database server stops without warning, and starts again.
TEST(SlowCrashTest, LosesNoSpendWhenThePostgresServerCrashes) {
  testing::TemporaryFolder folder;
  const auto server = [&](const std::string& verb) {
    return std::system(
        ("'" + std::string(NOISEFLOOR_POSTGRES_SERVER) + "' " + verb + " '" + folder.path("url") + "'").c_str());
  };
  ASSERT_EQ(server("start"), 0);
  ASSERT_EQ(::setenv("NOISEFLOOR_TEST_POSTGRES", folder.path("url").c_str(), 1), 0);
  {
    CrashBench bench(testing::kAsOwnerOnPostgres);
    ReplayRandom random = ReplayRandom::create(22).value();
    for (int i = 0; i < 20 && !HasFailure(); ++i) {
      SCOPED_TRACE(i);
      std::vector<ChildProcess> children;
      for (int s = 0; s < 4; ++s) {
        children.push_back(ChildProcess::start([&] {
          static_cast<void>(!::freopen("/dev/null", "w", stderr));  // each loses its connection and says so
          return bench.spend(std::to_string(i) + "-" + std::to_string(s) + "-", 1'000'000);
        }));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20'000 + uniform_below(random, 200'000)));
      ASSERT_EQ(server("crash"), 0);
      for (ChildProcess& child : children) {
        child.wait();
        EXPECT_EQ(child.exit_code(), 1) << "a spender without a server must stop";
      }
      bench.check("after" + std::to_string(i) + "-");
    }
  }
  EXPECT_EQ(server("stop"), 0);
}

}  // namespace
}  // namespace noisefloor
