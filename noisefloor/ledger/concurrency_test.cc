// 64 spenders in 8 processes make random requests at the same time. Each logs the answers that it gets. From the logs,
// a model that knows nothing of chains, filters and transactions computes what the ledger must hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/uniform.h"
#include "tests/support/child_process.h"
#include "tests/support/faulty_vfs.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"

namespace noisefloor {
namespace {

using testing::ChildProcess;
using testing::expect_good;
using testing::FaultyVfs;
using testing::gaussian;
using testing::LedgerPlace;
using testing::pure;
using testing::request;
using testing::terms;
using testing::text_of;
using testing::value_of;

constexpr int kProcesses = 8;
constexpr int kThreads = 8;
constexpr double kUse = 1.0 / 1024;  // ε of one use; sums of it are exact
constexpr double kNoise = 40;
constexpr std::uint64_t kShared = 24;    // keys that everybody uses
constexpr std::uint64_t kContested = 6;  // names that everybody wants

// The budgets that exist from the start. Nobody takes anything back from the first.
const std::array<std::pair<const char*, Rule>, 7> kBudgets{{{"strict", Rule::kBasic},
                                                            {"basic", Rule::kBasic},
                                                            {"zcdp", Rule::kZcdp},
                                                            {"rdp", Rule::kRdp},
                                                            {"approx", Rule::kApproxDp},
                                                            {"planned", Rule::kPlanned},
                                                            {"whole", Rule::kBasic}}};

bool is_noisy(const std::string& budget) { return budget == "zcdp" || budget == "rdp"; }
DpEvent use_of(const std::string& budget) { return is_noisy(budget) ? gaussian(kNoise) : pure(kUse); }
ReserveRequest ask(const std::string& budget, const std::string& key) {
  return request(budget, key, use_of(budget), budget == "planned" ? "item" : "");
}

// Each budget has room for `room` uses; some of them for fewer than are asked for.
void create_budgets(Ledger& ledger, std::uint64_t room) {
  for (const auto& [name, rule] : kBudgets) {
    const double sum = static_cast<double>(room) * kUse;
    BudgetTerms made = terms(name, rule == Rule::kBasic ? sum : 3, rule == Rule::kBasic ? 0 : 1e-6, rule);
    if (rule == Rule::kPlanned) {
      made.plan = {{"item", pure(kUse), Steps::make(std::min<std::uint64_t>(room, 1000)).value()}};
    }
    expect_good(ledger.create_budget(made));
  }
}

// One thread. It logs a line for each thing that it did: kind, budget, key, number, answer.
class Spender {
 public:
  Spender(Ledger& ledger, const std::string& log, std::string name, std::uint64_t seed, bool is_owner, bool has_plan)
      : ledger_(ledger),
        log_(log),
        name_(std::move(name)),
        random_(ReplayRandom::create(seed).value()),
        is_owner_(is_owner),
        has_plan_(has_plan) {}

  void run(std::uint64_t operations) {
    while (done_ < operations) {
      const std::uint64_t what = uniform_below(random_, 100);
      if (what < 4 && is_owner_) {
        split();
      } else if (what < 5 && is_owner_) {
        contest();
      } else {
        spend(what);
      }
    }
  }

 private:
  void note(const std::string& kind, const std::string& budget, const std::string& key, std::uint64_t number = 0,
            const std::string& answer = "-") {
    log_ << kind << " " << budget << " " << key << " " << number << " " << answer << "\n" << std::flush;
  }
  void note_error(const Error& error) {
    std::string text = error.message;
    std::replace(text.begin(), text.end(), ' ', '_');
    note("error", "-", "-", static_cast<std::uint64_t>(error.code), text);
  }

  void split() {
    const std::string name = "part-" + name_ + "-" + std::to_string(done_++);
    const Result<void> made = ledger_.create_budget(terms(name, 4 * kUse, 0, Rule::kBasic, "whole"));
    if (made.has_value()) {
      note("split", name, "-");
      own_.push_back(name);
    } else if (made.error().code == ErrorCode::kBudgetExhausted) {
      note("unsplit", name, "-");
    } else {
      note_error(made.error());
    }
  }
  void contest() {
    ++done_;
    const std::string name = "contested-" + std::to_string(uniform_below(random_, kContested));
    const Result<void> made = ledger_.create_budget(terms(name, 1, 0, Rule::kBasic));
    if (made.has_value()) {
      note("won", name, "-");
    } else if (made.error().message.find("already") == std::string::npos) {
      note_error(made.error());
    }
  }
  void spend(std::uint64_t what) {
    std::string budget = kBudgets[uniform_below(random_, kBudgets.size())].first;
    std::string key = name_ + "-" + std::to_string(done_++);
    bool shared = false;
    if (what < 20) {
      const std::uint64_t which = uniform_below(random_, kShared);
      budget = kBudgets[which % kBudgets.size()].first;
      key = "shared-" + std::to_string(which);
      shared = true;
    } else if (what < 30 && !own_.empty()) {
      budget = own_[uniform_below(random_, own_.size())];
    } else if (what < 36 && !settled_.empty()) {
      // Repeats a request: it must get the same answer, and nothing new.
      std::tie(budget, key) = settled_[uniform_below(random_, settled_.size())];
    }
    if (budget == "planned" && !has_plan_) return;
    Result<Reservation> made = ledger_.reserve(ask(budget, key));
    if (!made.has_value()) {
      // A key that is open, or was taken back by somebody else, is refused too.
      if (made.error().code == ErrorCode::kBudgetExhausted ||
          made.error().message.find("was aborted") != std::string::npos) {
        note("refused", budget, key);
      } else {
        note_error(made.error());
      }
      return;
    }
    const std::uint64_t sequence = made.value().sequence();
    if (made.value().earlier_release()) {
      note("again", budget, key, sequence, made.value().earlier_answer().value_or("none"));
      return;
    }
    note("granted", budget, key, sequence);
    const std::uint64_t next = uniform_below(random_, 10);
    if (next < 6) {
      made.value().begin();
      const std::string answer = key + "=" + name_ + "/" + std::to_string(random_.next_u32());
      ++done_;
      const Result<void> committed = ledger_.commit(sequence, blake2b(answer), answer);
      if (!committed.has_value()) return note_error(committed.error());
      note("committed", budget, key, sequence, answer);
      if (!shared) settled_.emplace_back(budget, key);
    } else if (next < 8 && budget != "strict") {
      ++done_;
      const Result<void> aborted = ledger_.abort(std::move(made).value());
      if (!aborted.has_value()) return note_error(aborted.error());
      note("aborted", budget, key, sequence);
    }
  }

  Ledger& ledger_;
  std::ofstream log_;
  std::string name_;
  ReplayRandom random_;
  bool is_owner_;
  bool has_plan_;  // may use the planned budget
  std::uint64_t done_ = 0;
  std::vector<std::string> own_;
  std::vector<std::pair<std::string, std::string>> settled_;
};

// The state that follows from the logs.
struct Model {
  struct Use {
    std::uint64_t sequence;
    bool committed = false;
    bool aborted = false;
    std::string answer;
  };
  std::map<std::pair<std::string, std::string>, Use> uses;  // by budget and key
  std::set<std::pair<std::string, std::string>> refused;
  std::multimap<std::pair<std::string, std::string>, std::pair<std::uint64_t, std::string>> again;
  std::set<std::string> parts;
  std::set<std::string> no_parts;
  std::map<std::string, int> won;
  std::uint64_t lines = 0;

  void read(const std::string& path) {
    std::ifstream file(path);
    std::string kind;
    std::string budget;
    std::string key;
    std::uint64_t number = 0;
    std::string answer;
    while (file >> kind >> budget >> key >> number >> answer) {
      ++lines;
      const std::pair use(budget, key);
      if (kind == "granted") {
        EXPECT_TRUE(uses.try_emplace(use, Use{number, false, false, {}}).second) << key << " was granted twice";
      } else if (kind == "refused") {
        refused.insert(use);
      } else if (kind == "again") {
        again.emplace(use, std::pair(number, answer));
      } else if (kind == "split") {
        EXPECT_TRUE(parts.insert(budget).second);
      } else if (kind == "unsplit") {
        no_parts.insert(budget);
      } else if (kind == "won") {
        ++won[budget];
      } else if (kind == "error") {
        ADD_FAILURE() << answer;
      } else {
        pending.push_back({kind, use, number, answer});
      }
    }
  }
  // Call this after all logs were read. Each spender settles only what it was granted.
  void settle() {
    for (const auto& [kind, use, number, answer] : pending) {
      ASSERT_TRUE(uses.contains(use));
      Use& found = uses.at(use);
      EXPECT_EQ(found.sequence, number);
      EXPECT_FALSE(found.committed || found.aborted) << use.second << " was settled twice";
      (kind == "committed" ? found.committed : found.aborted) = true;
      found.answer = answer;
    }
  }
  struct Settlement {
    std::string kind;
    std::pair<std::string, std::string> use;
    std::uint64_t number;
    std::string answer;
  };
  std::vector<Settlement> pending;
};

void check_budget(const LedgerState& state, const std::string& name, const Model& model, std::uint64_t room) {
  SCOPED_TRACE(name);
  const LedgerState::Budget* budget = state.find(name);
  ASSERT_NE(budget, nullptr);
  std::uint64_t spends = 0;
  std::uint64_t committed = 0;
  std::uint64_t aborted = 0;
  for (const auto& [use, told] : model.uses) {
    if (use.first != name) continue;
    ++spends;
    committed += told.committed ? 1 : 0;
    aborted += told.aborted ? 1 : 0;
  }
  EXPECT_EQ(budget->spends, spends);
  EXPECT_EQ(budget->committed, committed);
  EXPECT_EQ(budget->aborted, aborted);
  EXPECT_EQ(budget->open, spends - committed - aborted);
  const std::uint64_t net = spends - aborted;
  const double share = budget->account.spent_share();
  EXPECT_LE(share, 1);
  if (budget->terms->rule == Rule::kBasic) {
    // Sums of powers of two are exact.
    const double parts = name == "whole" ? static_cast<double>(model.parts.size()) * 4 * kUse : 0;
    const double spent = static_cast<double>(net) * kUse + parts;
    EXPECT_LE(spent, budget->terms->epsilon.value());
    EXPECT_EQ(share, spent / budget->terms->epsilon.value());
  } else if (budget->terms->rule == Rule::kPlanned) {
    EXPECT_LE(net, room);
    EXPECT_EQ(share, static_cast<double>(net) / static_cast<double>(budget->terms->plan.at(0).times.value()));
  } else if (budget->terms->rule == Rule::kZcdp) {
    const double rho = static_cast<double>(net) / (2 * kNoise * kNoise);  // of a Gaussian
    EXPECT_LE(rho, budget->terms->rho);
    EXPECT_NEAR(share, rho / budget->terms->rho, 1e-9);
  } else {
    // The same charges in another order: the filter's sum agrees up to rounding.
    Account fresh = value_of(Account::open(*budget->terms));
    const Charge charge = value_of(charge_for(*budget->terms, use_of(name), std::nullopt));
    for (std::uint64_t i = 0; i < net; ++i) expect_good(fresh.spend(charge, {}));
    EXPECT_NEAR(share, fresh.spent_share(), 1e-9);
  }
}

class ConcurrencyTest : public ::testing::TestWithParam<testing::Setting> {
 protected:
  static SigningKey key_of(int process) { return SigningKey::from_seed({static_cast<std::uint8_t>(100 + process)}); }
  // Each process is a member of its own: four owners, three analysts, and one more with a quota that always suffices.
  static void give_roles(Ledger& ledger) {
    for (int process = 0; process < kProcesses; ++process) {
      NewRole role{"member-" + std::to_string(process), process < 4 ? Role::kOwner : Role::kAnalyst,
                   key_of(process).public_key()};
      for (const auto& [name, rule] : kBudgets) {
        if (process >= 4 && (process != 7 || rule != Rule::kPlanned)) role.budgets.emplace_back(name);
      }
      if (process == 7) role.quota = Quota{Epsilon::of(100), Delta::of(1e-6), kLongestPeriod};
      expect_good(ledger.add_role(role));
    }
  }

  void run(std::uint64_t operations) {
    const LedgerPlace place(GetParam());
    if (!place.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
    const std::uint64_t room = operations / 24;
    const std::array<std::uint8_t, 32> seed{9};
    LedgerOptions options;
    options.busy_ms = 600'000;
    FaultyVfs::instance();
    options.sqlite_vfs = FaultyVfs::kName;  // does not wait for the disk, so that more spenders collide
    const std::string witness = place.path("witness.json");
    {
      const auto ledger = value_of(Ledger::create(place.location(), SigningKey::from_seed(seed), options));
      create_budgets(*ledger, room);
      if (GetParam().by_member) give_roles(*ledger);
      expect_good(write_witness(witness, value_of(ledger->witness())));
    }
    const auto log = [&](int process, int thread) {
      return place.path("log-" + std::to_string(process) + "-" + std::to_string(thread));
    };
    const auto work = [&](int process) {
      LedgerOptions own = options;
      if (process == 0) own.witness = witness;
      const bool one_for_all = process % 2 == 0;  // threads share a ledger, or have one each
      const bool is_owner = !GetParam().by_member || process < 4;
      const auto key = [&] { return GetParam().by_member ? key_of(process) : SigningKey::from_seed(seed); };
      std::vector<std::unique_ptr<Ledger>> ledgers;
      for (int t = 0; t < (one_for_all ? 1 : kThreads); ++t) {
        ledgers.push_back(value_of(Ledger::open(place.location(), key(), own)));
      }
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          Ledger& ledger = *ledgers[one_for_all ? 0 : static_cast<std::size_t>(t)];
          Spender(ledger, log(process, t), std::to_string(process) + "-" + std::to_string(t),
                  static_cast<std::uint64_t>(1000 + process * kThreads + t), is_owner,
                  !GetParam().by_member || process != 7)
              .run(operations / (kProcesses * kThreads));
        });
      }
      for (std::thread& one : threads) one.join();
      return 0;
    };
    std::vector<ChildProcess> spenders;
    for (int process = 0; process < kProcesses; ++process) {
      spenders.push_back(ChildProcess::start([&, process] { return work(process); }));
    }
    // Verification in the meantime finds nothing wrong either.
    int looks = 0;
    const auto running = [&] {
      return std::count_if(spenders.begin(), spenders.end(), [](ChildProcess& one) { return one.is_running(); });
    };
    while (running() > 0 && !HasFailure()) {
      const VerifyReport report = value_of(verify_ledger(place.location(), {{witness}, {}, {}}));
      EXPECT_TRUE(report.findings.empty()) << text_of(report);
      ++looks;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_GT(looks, 1);
    Model model;
    for (int process = 0; process < kProcesses; ++process) {
      EXPECT_EQ(spenders[static_cast<std::size_t>(process)].exit_code(), 0);
      for (int t = 0; t < kThreads; ++t) model.read(log(process, t));
    }
    model.settle();
    if (!HasFailure()) compare(place.location(), witness, model, room, operations);
  }

  static void compare(const std::string& location, const std::string& witness, const Model& model, std::uint64_t room,
                      std::uint64_t operations) {
    EXPECT_GE(model.lines, operations / 2);
    const VerifyReport report = value_of(verify_ledger(location, {{witness}, {}, {}}));
    EXPECT_TRUE(report.findings.empty()) << text_of(report);
    const auto ledger = value_of(Ledger::open_to_read(location, {}));
    expect_good(ledger->read([&](const LedgerState& state) -> Result<void> {
      for (const auto& [name, rule] : kBudgets) check_budget(state, name, model, room);
      for (const std::string& part : model.parts) check_budget(state, part, model, room);
      for (const std::string& part : model.no_parts) EXPECT_EQ(state.find(part), nullptr);
      // More was asked for than there was, and all of it was granted.
      EXPECT_EQ(state.find("strict")->spends, room);
      EXPECT_EQ(state.find("whole")->children.size(), model.parts.size());
      EXPECT_FALSE(model.won.empty());  // which names are asked for is random
      for (const auto& [name, times] : model.won) EXPECT_EQ(times, 1) << name;
      for (const auto& use : model.refused) {
        EXPECT_EQ(state.find_key(use.first, use.second).has_value(), model.uses.contains(use)) << use.second;
      }
      return success();
    }));
    // Every entry was reported to exactly one spender.
    std::uint64_t reservations = 0;
    expect_good(ledger->history(0, [&](const StoredEntry& stored) -> Result<void> {
      NF_TRY(const Entry entry, parse_entry(stored.text));
      if (const auto* reserve = std::get_if<ReserveEntry>(&entry.body)) {
        ++reservations;
        const auto use = model.uses.find({reserve->budget, reserve->key});
        EXPECT_TRUE(use != model.uses.end() && use->second.sequence == entry.sequence) << stored.text;
      }
      return success();
    }));
    EXPECT_EQ(reservations, model.uses.size());
    EXPECT_FALSE(model.again.empty());
    for (const auto& [use, told] : model.again) {
      ASSERT_TRUE(model.uses.contains(use));
      EXPECT_EQ(model.uses.at(use).sequence, told.first);
      EXPECT_EQ(model.uses.at(use).answer, told.second) << use.second;
    }
  }
};
class SlowConcurrencyTest : public ConcurrencyTest {};

INSTANTIATE_TEST_SUITE_P(Sqlite, ConcurrencyTest, ::testing::Values(testing::kAsOwner, testing::kAsMember));
INSTANTIATE_TEST_SUITE_P(Postgres, ConcurrencyTest,
                         ::testing::Values(testing::kAsOwnerOnPostgres, testing::kAsMemberOnPostgres));

TEST_P(ConcurrencyTest, NeverOverspendsWithSixtyFourSpenders) { run(3'200); }

// Slow tests are recognised by the beginning of their names. With the prefix Sqlite, GoogleTest would call these
// Sqlite/Slow….
INSTANTIATE_TEST_SUITE_P(Slow, SlowConcurrencyTest,
                         ::testing::Values(testing::kAsOwner, testing::kAsMember, testing::kAsOwnerOnPostgres,
                                           testing::kAsMemberOnPostgres));
TEST_P(SlowConcurrencyTest, NeverOverspendsWithSixtyFourSpenders) { run(102'400); }

}  // namespace
}  // namespace noisefloor
