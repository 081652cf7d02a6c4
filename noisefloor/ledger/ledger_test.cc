#include "noisefloor/ledger/ledger.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>

#include "noisefloor/base/hex.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::gaussian;
using testing::LedgerPlace;
using testing::pure;
using testing::request;
using testing::terms;
using testing::value_of;

class LedgerTest : public ::testing::TestWithParam<testing::Setting> {
 protected:
  void SetUp() override {
    if (!place_.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
    SigningKey key = SigningKey::generate();
    ASSERT_TRUE(key.save(key_path()).has_value());
    ledger_ = testing::new_ledger(place_.location(), std::move(key), {}, GetParam().by_member);
  }

  [[nodiscard]] std::string key_path() const { return place_.path("key"); }
  [[nodiscard]] Result<std::unique_ptr<Ledger>> open(LedgerOptions options = {}) const {
    return Ledger::open(place_.location(), SigningKey::load(key_path()).value(), std::move(options));
  }
  [[nodiscard]] LedgerState::Budget budget(const std::string& name) { return value_of(ledger_->budget(name)); }
  // The entries, without the one that gave the member a role.
  [[nodiscard]] std::uint64_t entries() {
    std::uint64_t count = 0;
    expect_good(ledger_->history(0, [&](const StoredEntry&) -> Result<void> {
      ++count;
      return success();
    }));
    return count - roles();
  }
  [[nodiscard]] static std::uint64_t roles() { return GetParam().by_member ? 1 : 0; }

  LedgerPlace place_{GetParam()};
  std::unique_ptr<Ledger> ledger_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, LedgerTest, ::testing::Values(testing::kAsOwner, testing::kAsMember));
INSTANTIATE_TEST_SUITE_P(Postgres, LedgerTest,
                         ::testing::Values(testing::kAsOwnerOnPostgres, testing::kAsMemberOnPostgres));

TEST_P(LedgerTest, SpendsUpToTheTotalAndNotBeyond) {
  expect_good(ledger_->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  for (int i = 0; i < 4; ++i) {
    const Reservation spend = value_of(ledger_->reserve(request("trial", std::to_string(i), pure(0.25))));
    expect_good(ledger_->commit(spend.sequence(), blake2b(std::to_string(i))));
  }
  const std::uint64_t before = entries();
  const std::string message =
      expect_error(ledger_->reserve(request("trial", "more", pure(1e-9))), ErrorCode::kBudgetExhausted, "trial");
  EXPECT_NE(message.find("Left: epsilon 0"), std::string::npos) << message;
  EXPECT_EQ(entries(), before);
  EXPECT_EQ(budget("trial").committed, 4U);
}

TEST_P(LedgerTest, ATenthFitsAHundredTimesIntoTen) {
  expect_good(ledger_->create_budget(terms("trial", 10, 0, Rule::kBasic)));
  std::vector<ReserveRequest> uses;
  for (int i = 0; i < 100; ++i) uses.push_back(request("trial", std::to_string(i), pure(0.1)));
  for (const Result<Reservation>& made : ledger_->reserve_all(uses)) {
    ASSERT_TRUE(made.has_value()) << made.error().message;
  }
  EXPECT_EQ(budget("trial").account.left(), "epsilon 0 and delta 0");
  EXPECT_EQ(budget("trial").account.spent_share(), 1);
  expect_error(ledger_->reserve(request("trial", "more", pure(1e-9))), ErrorCode::kBudgetExhausted, "trial");
  // The same for delta, under a rule that shares it out.
  BudgetTerms advanced = terms("advanced", 3, 1e-5, Rule::kApproxDp);  // half of delta is for the uses
  expect_good(ledger_->create_budget(advanced));
  ReserveRequest use = request("advanced", "", pure(0.01));
  use.delta = Delta::of(1e-6);
  for (int i = 0; i < 5; ++i) {
    use.key = std::to_string(i);
    EXPECT_TRUE(ledger_->reserve(use).has_value()) << i;
  }
  testing::expect_clean(place_.location());
}

TEST_P(LedgerTest, KeepsEverythingAfterItWasClosed) {
  expect_good(ledger_->create_budget(terms("trial", 1, 1e-6, Rule::kZcdp)));
  ASSERT_TRUE(ledger_->reserve(request("trial", "a", gaussian(20))).has_value());
  const double share = budget("trial").account.spent_share();
  EXPECT_GT(share, 0);
  ledger_ = value_of(open());
  EXPECT_EQ(budget("trial").account.spent_share(), share);
  EXPECT_EQ(budget("trial").open, 1U);
}

TEST_P(LedgerTest, RehearsesAReservationAndWritesNothing) {
  expect_good(ledger_->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  const std::uint64_t before = entries();
  EXPECT_EQ(value_of(ledger_->rehearse(request("trial", "a", pure(0.75)))).account.spent_share(), 0.75);
  expect_error(ledger_->rehearse(request("trial", "a", pure(1.5))), ErrorCode::kBudgetExhausted, "It would fit with");
  expect_error(ledger_->rehearse(request("nobody", "a", pure(1))), ErrorCode::kInvalidArgument, "'trial'");
  const LedgerState parts = value_of(ledger_->rehearse(terms("team", 0.5, 0, Rule::kBasic, "trial")));
  EXPECT_EQ(parts.find("trial")->account.spent_share(), 0.5);
  expect_error(ledger_->rehearse(terms("team", 2, 0, Rule::kBasic, "trial")), ErrorCode::kBudgetExhausted, "epsilon");
  EXPECT_EQ(entries(), before);
  EXPECT_EQ(budget("trial").account.spent_share(), 0);

  const Reservation spend = value_of(ledger_->reserve(request("trial", "a", pure(0.75))));
  expect_error(ledger_->rehearse(request("trial", "a", pure(0.75))), ErrorCode::kBudgetExhausted, "counts as spent");
  expect_error(ledger_->rehearse(request("trial", "a", pure(0.5))), ErrorCode::kInvalidArgument, "another request");
  expect_good(ledger_->commit(spend.sequence(), blake2b("answer")));
  EXPECT_EQ(value_of(ledger_->rehearse(request("trial", "a", pure(0.75)))).account.spent_share(), 0.75)
      << "the earlier answer is given again";
}

TEST_P(LedgerTest, SaysWhatWouldFitWhenItRefuses) {
  BudgetTerms sampled = terms("trial", 2, 1e-5, Rule::kRdp);
  sampled.orders.clear();  // selects the default orders
  expect_good(ledger_->create_budget(sampled));
  const DpEvent run = SelfComposedEvent{Steps::of(100'000), PoissonSampledEvent{SamplingRate::of(0.01), gaussian(1)}};
  const std::string message =
      expect_error(ledger_->reserve(request("trial", "run", run)), ErrorCode::kBudgetExhausted, "It would fit with");
  double noise = 0;
  std::uint64_t steps = 0;
  double rate = 0;
  const std::size_t from = message.find("noise multiplier ");
  ASSERT_NE(from, std::string::npos) << message;
  ASSERT_EQ(std::sscanf(message.c_str() + from, "noise multiplier %lf, or at most %lu steps, or sampling rate %lf",
                        &noise, &steps, &rate),
            3)
      << message;
  // Each suggestion fits, and a little more does not.
  const auto with = [&](double z, std::uint64_t t, double q) -> DpEvent {
    return SelfComposedEvent{Steps::make(t).value(), PoissonSampledEvent{SamplingRate::make(q).value(), gaussian(z)}};
  };
  const LedgerState::Budget trial = budget("trial");
  const auto fits = [&](const DpEvent& event) {
    return trial.account.fits(charge_for(*trial.terms, event, std::nullopt).value(), {});
  };
  EXPECT_TRUE(fits(with(noise, 100'000, 0.01)));
  EXPECT_FALSE(fits(with(noise * 0.99, 100'000, 0.01)));
  EXPECT_TRUE(fits(with(1, steps, 0.01)));
  EXPECT_FALSE(fits(with(1, steps + 1, 0.01)));
  EXPECT_TRUE(fits(with(1, 100'000, rate)));
  EXPECT_FALSE(fits(with(1, 100'000, rate * 1.01)));
}

TEST_P(LedgerTest, GivesTheSameAnswerToTheSameRequest) {
  expect_good(ledger_->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  const std::string answer("42.5\0\n", 6);
  Reservation first = value_of(ledger_->reserve(request("trial", "mean", pure(0.5))));
  EXPECT_FALSE(first.earlier_release());
  first.begin();
  // Before the commit nobody knows whether noise was drawn.
  expect_error(ledger_->reserve(request("trial", "mean", pure(0.5))), ErrorCode::kBudgetExhausted, "counts as spent");
  expect_good(ledger_->commit(first.sequence(), blake2b(answer), answer));
  const std::uint64_t before = entries();
  for (int i = 0; i < 3; ++i) {
    const Reservation again = value_of(ledger_->reserve(request("trial", "mean", pure(0.5))));
    EXPECT_EQ(again.sequence(), first.sequence());
    EXPECT_EQ(again.earlier_release(), blake2b(answer));
    EXPECT_EQ(again.earlier_answer(), answer);
  }
  EXPECT_EQ(entries(), before);
  // Another request under the same key is a mistake.
  expect_error(ledger_->reserve(request("trial", "mean", pure(0.4))), ErrorCode::kInvalidArgument, "another request");
  // A commit can be repeated, not changed.
  expect_good(ledger_->commit(first.sequence(), blake2b(answer)));
  expect_error(ledger_->commit(first.sequence(), blake2b("other")), ErrorCode::kInvalidArgument, "another release");
}

TEST_P(LedgerTest, AbortsOnlyBeforeNoiseIsDrawn) {
  expect_good(ledger_->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  expect_good(ledger_->abort(value_of(ledger_->reserve(request("trial", "a", pure(0.75))))));
  EXPECT_EQ(budget("trial").account.spent_share(), 0);
  // The whole budget is available again, and the key is used up.
  Reservation spend = value_of(ledger_->reserve(request("trial", "b", pure(1))));
  expect_error(ledger_->reserve(request("trial", "a", pure(0.75))), ErrorCode::kInvalidArgument, "aborted");
  spend.begin();
  expect_error(ledger_->abort(std::move(spend)), ErrorCode::kInvalidArgument, "may have been drawn");
  EXPECT_EQ(budget("trial").account.spent_share(), 1);
  // A reservation that is committed or was moved from cannot be aborted either.
  expect_good(ledger_->create_budget(terms("other", 1, 0, Rule::kBasic)));
  Reservation kept = value_of(ledger_->reserve(request("other", "c", pure(0.5))));
  Reservation moved = std::move(kept);
  expect_error(ledger_->abort(std::move(kept)), ErrorCode::kInvalidArgument, "may have been drawn");  // NOLINT
  expect_good(ledger_->commit(moved.sequence(), blake2b("x")));
  expect_error(ledger_->abort(std::move(moved)), ErrorCode::kInvalidArgument, "committed");
}

TEST_P(LedgerTest, ComposesAPlanTightlyAndKeepsItFixed) {
  BudgetTerms plan = terms("trial", 1.4, 1e-6, Rule::kPlanned);
  plan.plan = {{"count", pure(0.1), Steps::of(4)}, {"noisy", gaussian(10), Steps::of(1)}};
  expect_good(ledger_->create_budget(plan));
  const auto use = [&](const std::string& key, const std::string& item, const DpEvent& event) {
    return ledger_->reserve(request("trial", key, event, item));
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(use(std::to_string(i), "count", pure(0.1)).has_value());
  expect_error(use("5", "count", pure(0.1)), ErrorCode::kBudgetExhausted, "all are used");
  expect_error(use("6", "noisy", gaussian(9)), ErrorCode::kInvalidArgument, "planned with another event");
  expect_error(use("7", "none", pure(0.1)), ErrorCode::kInvalidArgument, "no item");
  EXPECT_TRUE(use("8", "noisy", gaussian(10)).has_value());
  plan.name = "too much";
  plan.plan[1].event = gaussian(2);
  expect_error(ledger_->create_budget(plan), ErrorCode::kBudgetExhausted, "the plan costs epsilon");
}

TEST_P(LedgerTest, NeverLetsPartsExceedTheWhole) {
  for (Rule rule : {Rule::kBasic, Rule::kApproxDp, Rule::kZcdp, Rule::kRdp}) {
    const std::string whole = std::string(name_of(rule));
    BudgetTerms parent = terms(whole, 3, 1e-5, rule);
    parent.orders.clear();  // selects the default orders
    parent.failures = rule == Rule::kBasic ? 0 : 0.5;
    expect_good(ledger_->create_budget(parent));
    int parts = 0;
    for (; parts < 1000; ++parts) {
      if (!ledger_->create_budget(terms(whole + std::to_string(parts), 0.125, 1e-8, Rule::kBasic, whole)).has_value())
        break;
    }
    // More small parts fit under an adaptive rule than in a sum, where 24 make the whole.
    if (rule == Rule::kBasic) {
      EXPECT_EQ(parts, 24);
    } else {
      EXPECT_GE(parts, 15) << whole;
      EXPECT_LE(parts, 60) << whole;
    }
    EXPECT_EQ(budget(whole).children.size(), static_cast<std::size_t>(parts));
    // Each part can be used up, and the whole has no room for another.
    ASSERT_TRUE(ledger_->reserve(request(whole + "0", "all", pure(0.125))).has_value());
    expect_error(ledger_->reserve(request(whole, "x", pure(0.5))), ErrorCode::kBudgetExhausted, whole);
  }
  // ρ-zCDP parts of a ρ-zCDP whole cost their ρ.
  expect_good(ledger_->create_budget(terms("rho", 3, 1e-5, Rule::kZcdp)));
  expect_good(ledger_->create_budget(terms("rho part", 2, 5e-6, Rule::kZcdp, "rho")));
  EXPECT_NEAR(budget("rho").account.spent_share(), budget("rho part").terms->rho / budget("rho").terms->rho, 1e-12);
  BudgetTerms other = terms("other", 0.1, 0, Rule::kBasic, "rho");
  other.adjacency = Adjacency::kReplaceOne;
  expect_error(ledger_->create_budget(other), ErrorCode::kInvalidArgument, "add-remove");
  other.parent = "nobody";
  expect_error(ledger_->create_budget(other), ErrorCode::kInvalidArgument, "no budget");
}

TEST_P(LedgerTest, KeepsTheTimesOfABudget) {
  TimeMs now = 1'700'000'000'000;
  LedgerOptions options;
  options.clock = [&] { return now; };
  EXPECT_FALSE(open(options).value()->create_budget(terms("x", 1, 0, Rule::kBasic)).has_value())
      << "the clock is behind";
  now = 4'000'000'000'000;
  ledger_ = value_of(open(options));
  BudgetTerms window = terms("march", 1, 0, Rule::kBasic);
  window.from = now + 1000;
  window.until = now + 2000;
  expect_good(ledger_->create_budget(window));
  expect_error(ledger_->reserve(request("march", "early", pure(0.1))), ErrorCode::kBudgetExhausted,
               "not open at this time");
  now += 1500;
  ASSERT_TRUE(ledger_->reserve(request("march", "in time", pure(0.1))).has_value());
  now += 500;
  expect_error(ledger_->reserve(request("march", "late", pure(0.1))), ErrorCode::kBudgetExhausted,
               "not open at this time");
  // A clock that goes back a little is being set; more is refused.
  now -= 4000;
  expect_good(ledger_->create_budget(terms("y", 1, 0, Rule::kBasic)));
  now -= 10'000;
  expect_error(ledger_->create_budget(terms("z", 1, 0, Rule::kBasic)), ErrorCode::kIo, "clock");
}

// A part is open only while every budget above it is.
TEST_P(LedgerTest, TimesOfABudgetHoldForItsParts) {
  TimeMs now = 4'000'000'000'000;
  LedgerOptions options;
  options.clock = [&] { return now; };
  ledger_ = value_of(open(options));
  BudgetTerms march = terms("march", 1, 0, Rule::kBasic);
  march.from = now + 1000;
  march.until = now + 2000;
  expect_good(ledger_->create_budget(march));
  const BudgetTerms team = terms("team", 0.5, 0, Rule::kBasic, "march");
  expect_error(ledger_->create_budget(team), ErrorCode::kBudgetExhausted, "'march' is not open at this time");
  now += 1500;
  expect_good(ledger_->create_budget(team));
  BudgetTerms analyst = terms("analyst", 0.25, 0, Rule::kBasic, "team");
  analyst.until = now + 3'600'000;  // longer than the budget at the top
  expect_good(ledger_->create_budget(analyst));
  ASSERT_TRUE(ledger_->reserve(request("analyst", "in time", pure(0.1))).has_value());
  const std::uint64_t before = entries();
  now += 500;
  for (const char* part : {"team", "analyst"}) {
    const std::string message = expect_error(ledger_->reserve(request(part, "late", pure(0.1))),
                                             ErrorCode::kBudgetExhausted, "'march' is not open at this time");
    EXPECT_NE(message.find("from 2096-10-02T07:06:41.000Z until 2096-10-02T07:06:42.000Z"), std::string::npos)
        << message;
    EXPECT_EQ(message.find("would fit"), std::string::npos) << "less of it would not fit either: " << message;
    expect_error(ledger_->rehearse(request(part, "late", pure(0.1))), ErrorCode::kBudgetExhausted, "'march'");
    const BudgetTerms more = terms("more", 0.01, 0, Rule::kBasic, part);
    expect_error(ledger_->create_budget(more), ErrorCode::kBudgetExhausted, "'march' is not open at this time");
    expect_error(ledger_->rehearse(more), ErrorCode::kBudgetExhausted, "'march'");
  }
  EXPECT_EQ(entries(), before);
  testing::expect_clean(place_.location());
}

// Version 0.1 let a part spend after the budget that pays for it was closed. Such a history is still a true one.
TEST(LedgerStateTimes, AHistoryOfVersion01MaySpendFromAPartOfAClosedBudget) {
  constexpr TimeMs kStart = 1'700'000'000'000;
  LedgerState state;
  const auto entry = [&](TimeMs time, EntryBody body) { return Entry{state.next_sequence(), time, std::move(body)}; };
  BudgetTerms whole = terms("whole", 1, 0, Rule::kBasic);
  whole.until = kStart + 1000;
  expect_good(state.apply(entry(kStart, GenesisEntry{})));
  expect_good(state.apply(entry(kStart, BudgetEntry{whole, {}})));
  expect_good(state.apply(entry(kStart, BudgetEntry{terms("part", 0.5, 0, Rule::kBasic, "whole"), {{0.5}, 0}})));
  const Entry late = entry(kStart + 1000, ReserveEntry{"part", "late", {}, "{}", "", {}, {{0.1}, 0}, {}, {}});
  expect_error(state.apply_new(late), ErrorCode::kBudgetExhausted, "'whole' is not open at this time");
  expect_good(state.apply(late));
  const Entry split = entry(kStart + 1000, BudgetEntry{terms("two", 0.1, 0, Rule::kBasic, "whole"), {{0.1}, 0}});
  expect_error(state.apply_new(split), ErrorCode::kBudgetExhausted, "'whole' is not open at this time");
  expect_good(state.apply(split));
}

// The system's clock jumped to 2099 and an entry was written. Without a way back, nothing can be written until 2099.
TEST_P(LedgerTest, GoesOnAfterAClockThatWasAhead) {
  constexpr TimeMs kNow = 4'000'000'000'000;
  constexpr TimeMs kJump = 73 * 365LL * 86'400'000;
  TimeMs now = kNow;
  LedgerOptions options;
  options.clock = [&] { return now; };
  ledger_ = value_of(open(options));
  expect_good(ledger_->create_budget(terms("lasting", 1, 0, Rule::kBasic)));
  BudgetTerms march = terms("march", 1, 0, Rule::kBasic);
  march.until = kNow + 3'600'000;
  expect_good(ledger_->create_budget(march));
  expect_good(ledger_->create_budget(terms("part of march", 0.5, 0, Rule::kBasic, "march")));
  BudgetTerms century = terms("century", 1, 0, Rule::kBasic);
  century.until = kNow + 2 * kJump;
  expect_good(ledger_->create_budget(century));
  expect_error(ledger_->set_clock("for fun"), ErrorCode::kInvalidArgument, "not behind");
  now += kJump;
  ASSERT_TRUE(ledger_->reserve(request("lasting", "in the future", pure(0.1))).has_value());
  expect_error(ledger_->reserve(request("march", "late", pure(0.1))), ErrorCode::kBudgetExhausted, "not open");
  now = kNow + 60'000;
  expect_error(ledger_->reserve(request("lasting", "a", pure(0.1))), ErrorCode::kIo, "`budget clock`");
  expect_error(ledger_->set_clock(""), ErrorCode::kInvalidArgument, "reason");
  EXPECT_EQ(value_of(ledger_->set_clock("the clock jumped")), kNow + kJump);
  expect_error(ledger_->set_clock("again"), ErrorCode::kInvalidArgument, "not behind");

  ASSERT_TRUE(ledger_->reserve(request("lasting", "a", pure(0.1))).has_value());
  ASSERT_TRUE(ledger_->reserve(request("century", "a", pure(0.1))).has_value());
  // Nobody can tell by which clock the time of this budget was over, so it stays closed, and so do its parts.
  for (const char* closed : {"march", "part of march"}) {
    expect_error(ledger_->reserve(request(closed, "a", pure(0.1))), ErrorCode::kBudgetExhausted, "stays closed");
  }
  expect_error(ledger_->create_budget(terms("late part", 0.1, 0, Rule::kBasic, "march")), ErrorCode::kBudgetExhausted,
               "stays closed");
  BudgetTerms april = terms("april", 1, 0, Rule::kBasic);
  april.until = kNow + 7'200'000;
  expect_good(ledger_->create_budget(april));
  ASSERT_TRUE(ledger_->reserve(request("april", "a", pure(0.1))).has_value());
  // A dataset may come after it, although the store had version 1 before.
  ledger_ = value_of(open(options));
  RowSketcher rows(value_of(ledger_->row_key()));
  for (int i = 0; i < 100; ++i) rows.add_record(std::to_string(i));
  const NewDataset patients{"patients", blake2b("description"), terms("of patients", 1, 0, Rule::kBasic)};
  EXPECT_TRUE(granted(value_of(ledger_->add_dataset(patients, std::move(rows).finish()))).has_value());
  EXPECT_TRUE(budget("march").closed.has_value());
  EXPECT_FALSE(budget("april").closed.has_value());
  testing::expect_clean(place_.location());
}

// The clock cannot be set in a copy, and a copy must be adopted although its clock is wrong.
TEST(LedgerClock, ACopyIsAdoptedBeforeItsClockIsSet) {
  const testing::TemporaryFolder folder;
  TimeMs now = 4'000'000'000'000;
  LedgerOptions options;
  options.clock = [&] { return now; };
  static_cast<void>(value_of(Ledger::create(folder.path("a"), SigningKey::from_seed({1}), options)));
  std::filesystem::copy_file(folder.path("a"), folder.path("b"));
  now -= 1'000'000'000;
  const auto copy = value_of(Ledger::open(folder.path("b"), SigningKey::from_seed({1}), options));
  expect_error(copy->set_clock("jumped"), ErrorCode::kVerificationFailed, "`budget adopt`");
  expect_good(copy->adopt("moved"));
  EXPECT_EQ(value_of(copy->set_clock("jumped")), 4'000'000'000'000);
  expect_good(copy->create_budget(terms("x", 1, 0, Rule::kBasic)));
  testing::expect_clean(folder.path("b"));
}

TEST(LedgerStateTimes, OnlyAClockEntryGoesBackAndOnlyBack) {
  LedgerState state;
  const auto entry = [&](TimeMs time, EntryBody body) { return Entry{state.next_sequence(), time, std::move(body)}; };
  expect_good(state.apply(entry(1000, GenesisEntry{})));
  for (const TimeMs time : {1000, 1001}) {
    expect_error(state.apply(entry(time, ClockEntry{"why"})), ErrorCode::kInvalidArgument, "sets the clock back");
  }
  expect_error(state.apply(entry(10, ClockEntry{""})), ErrorCode::kInvalidArgument, "reason");
  expect_error(state.apply(entry(10, AdoptEntry{1, "why"})), ErrorCode::kInvalidArgument, "older");
  expect_good(state.apply(entry(10, ClockEntry{"why"})));
  expect_error(state.apply(entry(9, AdoptEntry{1, "why"})), ErrorCode::kInvalidArgument, "older");
  // Programs that let parts of a closed budget spend cannot write from here on, so that verifying looks for it.
  BudgetTerms whole = terms("whole", 1, 0, Rule::kBasic);
  whole.until = 20;
  expect_good(state.apply(entry(10, BudgetEntry{whole, {}})));
  expect_good(state.apply(entry(10, BudgetEntry{terms("part", 0.5, 0, Rule::kBasic, "whole"), {{0.5}, 0}})));
  expect_error(state.apply(entry(20, ReserveEntry{"part", "late", {}, "{}", "", {}, {{0.1}, 0}, {}, {}})),
               ErrorCode::kBudgetExhausted, "'whole' is not open at this time");
}

TEST(LedgerStateTimes, ShowsAnyTime) {
  EXPECT_EQ(show_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(show_time(253'402'300'799'999), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(show_time(INT64_MAX), "9223372036854775807 ms since 1970");
  EXPECT_EQ(show_time(INT64_MIN), "-9223372036854775808 ms since 1970");
}

TEST_P(LedgerTest, ChangesNothingOnBadInput) {
  expect_good(ledger_->create_budget(terms("trial", 1, 1e-6, Rule::kApproxDp)));
  const std::uint64_t before = entries();
  const std::string huge(1'000'000, 'x');
  for (const std::string& name :
       {huge, std::string(), std::string("a\nb"), std::string("\xff"), std::string("a\0b", 3)}) {
    expect_error(ledger_->create_budget(terms(name, 1, 0, Rule::kBasic)), ErrorCode::kInvalidArgument, "name");
    expect_error(ledger_->reserve(request("trial", name, pure(0.1))), ErrorCode::kInvalidArgument, "key");
    EXPECT_LT(
        expect_error(ledger_->reserve(request(name, "k", pure(0.1))), ErrorCode::kInvalidArgument, "no budget").size(),
        500U);
  }
  expect_error(ledger_->reserve(request("'; DROP TABLE entries; --", "k", pure(0.1))), ErrorCode::kInvalidArgument,
               "no budget");
  expect_error(ledger_->create_budget(terms("trial", 1, 0, Rule::kBasic)), ErrorCode::kInvalidArgument, "already");
  expect_error(ledger_->reserve(request("trial", "k", pure(1e300))), ErrorCode::kBudgetExhausted, "trial");
  expect_error(ledger_->reserve(request("trial", "k", NonPrivateEvent{"raw"})), ErrorCode::kInvalidArgument,
               "not private");
  expect_error(ledger_->reserve(request("trial", "k", gaussian(100))), ErrorCode::kInvalidArgument, "state the delta");
  ReserveRequest other = request("trial", "k", pure(0.1));
  other.statement.adjacency = Adjacency::kReplaceOne;
  expect_error(ledger_->reserve(other), ErrorCode::kInvalidArgument, "replace-one");
  other = request("trial", "k", pure(0.1));
  other.note.configuration = "[1]";
  expect_error(ledger_->reserve(other), ErrorCode::kInvalidArgument, "JSON object");
  expect_error(ledger_->commit(12345, blake2b("x")), ErrorCode::kInvalidArgument, "no reservation");
  expect_error(ledger_->commit(0, blake2b("x")), ErrorCode::kInvalidArgument, "no reservation");
  EXPECT_EQ(entries(), before);
}

TEST_P(LedgerTest, AcceptsAnyName) {
  for (const char* name : {"'; DROP TABLE entries; --", "ünïcödé", "a\"b\\c", "{\"x\":1}", "%s%n", "a  b"}) {
    expect_good(ledger_->create_budget(terms(name, 1, 0, Rule::kBasic)));
    ReserveRequest one = request(name, name, pure(0.5));
    one.note = {name, name, {name, "dp-sgd"}, R"({"a":{"b":["}",1e-5]}})"};
    ASSERT_TRUE(ledger_->reserve(one).has_value());
  }
  ledger_ = value_of(open());
  EXPECT_EQ(budget("a\"b\\c").open, 1U);
}

TEST_P(LedgerTest, RefusesAnotherKey) {
  expect_error(Ledger::open(place_.location(), SigningKey::generate(), {}), ErrorCode::kInvalidArgument, "key");
  auto reader = value_of(Ledger::open_to_read(place_.location(), {}));
  expect_error(reader->create_budget(terms("x", 1, 0, Rule::kBasic)), ErrorCode::kInvalidArgument, "reading only");
  expect_error(Ledger::create(place_.location(), SigningKey::generate(), {}), ErrorCode::kIo, "already");
}

TEST_P(LedgerTest, SeesWhatAnotherOpenLedgerWrites) {
  auto other = value_of(open());
  expect_good(ledger_->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  ASSERT_TRUE(other->reserve(request("trial", "a", pure(0.6))).has_value());
  expect_error(ledger_->reserve(request("trial", "b", pure(0.6))), ErrorCode::kBudgetExhausted, "trial");
  ASSERT_TRUE(ledger_->reserve(request("trial", "b", pure(0.4))).has_value());
  EXPECT_EQ(budget("trial").account.spent_share(), 1);
}

// 64 threads spend; 40 of every 64 requests can be granted.
TEST_P(LedgerTest, NeverOverspendsFromManyThreads) {
  constexpr int threads = 64;
  constexpr int each = 40;
  constexpr int granted_in_all = 1600;
  expect_good(ledger_->create_budget(terms("trial", granted_in_all / 1024.0, 0, Rule::kBasic)));
  std::atomic<int> granted = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> spenders;
  for (int t = 0; t < threads; ++t) {
    spenders.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        const auto spend = ledger_->reserve(request("trial", std::to_string(t * each + i), pure(1 / 1024.0)));
        if (spend.has_value()) {
          ++granted;
        } else if (spend.error().code == ErrorCode::kBudgetExhausted) {
          ++refused;
        }
      }
    });
  }
  for (std::thread& one : spenders) one.join();
  EXPECT_EQ(granted, granted_in_all);
  EXPECT_EQ(refused, threads * each - granted_in_all);
  EXPECT_EQ(budget("trial").open, static_cast<std::uint64_t>(granted_in_all));
  EXPECT_EQ(entries(), static_cast<std::uint64_t>(granted_in_all) + 2);
}

TEST_P(LedgerTest, ChecksAndUpdatesAWitness) {
  const std::string file = place_.path("witness.json");
  ASSERT_TRUE(write_witness(file, ledger_->witness().value()).has_value());
  LedgerOptions options;
  options.witness = file;
  ledger_ = value_of(open(options));
  expect_good(ledger_->create_budget(terms("trial", 1, 0, Rule::kBasic)));
  EXPECT_EQ(read_witness(file).value().head.sequence, 1 + roles());
  // This witness has seen more entries than the ledger has.
  Witness later = read_witness(file).value();
  later.head = sign_head(SigningKey::load(key_path()).value(), later.head.ledger, 0, 99, later.head.hash);
  ASSERT_TRUE(write_witness(file, later).has_value());
  expect_error(ledger_->reserve(request("trial", "a", pure(0.1))), ErrorCode::kVerificationFailed, "does not have");
  later.head.sequence = 1 + roles();
  ASSERT_TRUE(write_witness(file, later).has_value());
  expect_error(ledger_->reserve(request("trial", "a", pure(0.1))), ErrorCode::kVerificationFailed, "signature");
  EXPECT_EQ(entries(), 2U);
}

}  // namespace
}  // namespace noisefloor
