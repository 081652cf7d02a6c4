// Attacks on budgets by blocks: overlapping ranges, other spellings, future blocks, clocks that jump, rows that come
// again under a new date or in a new batch, and many writers at once.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "noisefloor/event/json.h"
#include "noisefloor/ledger/audit.h"
#include "noisefloor/random/uniform.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/ledger_place.h"
#include "tests/support/replay_engine.h"

namespace noisefloor {
namespace {

using testing::Backend;
using testing::expect_clean;
using testing::expect_error;
using testing::expect_good;
using testing::gaussian;
using testing::LedgerPlace;
using testing::pure;
using testing::request;
using testing::terms;
using testing::value_of;
using Kind = DatasetConflict::Kind;
using Texts = std::vector<std::string>;

constexpr std::array<std::uint8_t, 32> kSeed{7, 1};

TimeMs time_of(const std::string& text) { return value_of(parse_time(text)); }

BudgetTerms by_month(const std::string& name, double epsilon, double delta, Rule rule, std::uint32_t unlock = 1) {
  BudgetTerms made = terms(name, epsilon, delta, rule);
  made.blocks = BlockTerms{BlockKind::kDate, "visited", BlockPeriod::kMonth, unlock};
  return made;
}

BudgetTerms by_batch(const std::string& name, double epsilon, std::uint32_t unlock = 1) {
  BudgetTerms made = terms(name, epsilon, 0, Rule::kBasic);
  made.blocks = BlockTerms{BlockKind::kBatch, "", BlockPeriod::kDay, unlock};
  return made;
}

ReserveRequest touch(const std::string& budget, const std::string& key, DpEvent event, Texts blocks) {
  ReserveRequest made = request(budget, key, std::move(event));
  made.blocks = std::move(blocks);
  return made;
}

class BlockBudgetsTest : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (!place_.is_there()) GTEST_SKIP() << "no PostgreSQL server: run through ctest";
    ledger_ = value_of(Ledger::create(place_.location(), SigningKey::from_seed(kSeed), options()));
  }
  [[nodiscard]] LedgerOptions options() {
    LedgerOptions made;
    made.clock = [this] { return now_.load(); };
    return made;
  }
  [[nodiscard]] std::unique_ptr<Ledger> open() {
    return value_of(Ledger::open(place_.location(), SigningKey::from_seed(kSeed), options()));
  }
  void set_time(const std::string& text) { now_ = time_of(text); }
  Result<Reservation> reserve(const std::string& key, double epsilon, Texts blocks, const std::string& budget = "b") {
    return ledger_->reserve(touch(budget, key, pure(epsilon), std::move(blocks)));
  }
  [[nodiscard]] double left(const std::string& block, const std::string& budget = "b") {
    const LedgerState::Budget found = value_of(ledger_->budget(budget));
    const auto place = found.blocks.find(block);
    const double all = found.terms->epsilon.value();
    return place == found.blocks.end() || place->second.stages.empty()
               ? all
               : all * (1 - place->second.stages.back().spent_share());
  }
  [[nodiscard]] std::uint64_t entries() {
    std::uint64_t count = 0;
    expect_good(ledger_->read([&](const LedgerState& state) -> Result<void> {
      count = state.next_sequence();
      return success();
    }));
    return count;
  }

  LedgerPlace place_{GetParam()};
  std::atomic<TimeMs> now_ = time_of("2026-06-15");
  std::unique_ptr<Ledger> ledger_;
};
INSTANTIATE_TEST_SUITE_P(Sqlite, BlockBudgetsTest, ::testing::Values(Backend::kSqlite));
INSTANTIATE_TEST_SUITE_P(Postgres, BlockBudgetsTest, ::testing::Values(Backend::kPostgres));

TEST_P(BlockBudgetsTest, NewBlocksBringNewBudgetAndOldOnesNever) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic)));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(reserve(fmt::format("may {}", i), 0.25, {"2026-05"}).has_value());
  EXPECT_TRUE(reserve("june", 1, {"2026-06"}).has_value());
  const std::uint64_t before = entries();
  const std::string message = expect_error(reserve("more", 1e-9, {"2026-05"}), ErrorCode::kBudgetExhausted, "2026-05");
  EXPECT_NE(message.find("Left: epsilon 0"), std::string::npos) << message;
  set_time("2036-01-01");
  expect_error(reserve("ten years later", 1e-9, {"2026-05"}), ErrorCode::kBudgetExhausted, "2026-05");
  expect_error(reserve("in a long range", 1e-9, {"2026-01..2026-12"}), ErrorCode::kBudgetExhausted, "2026-05");
  EXPECT_EQ(entries(), before);
  EXPECT_TRUE(reserve("july", 1, {"2026-07"}).has_value());
  ledger_ = open();
  EXPECT_EQ(left("2026-07"), 0);
  EXPECT_EQ(left("2026-08"), 1);
  expect_clean(place_.location());
}

TEST_P(BlockBudgetsTest, OverlappingRangesDoNotOverspendWhatTheyShare) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic)));
  EXPECT_TRUE(reserve("a..c", 0.625, {"2026-01..2026-03"}).has_value());
  const std::uint64_t before = entries();
  const std::string message =
      expect_error(reserve("b..d", 0.625, {"2026-02..2026-04"}), ErrorCode::kBudgetExhausted, "block '2026-02'");
  EXPECT_NE(message.find("Left: epsilon 0.375"), std::string::npos) << message;
  EXPECT_EQ(entries(), before);
  EXPECT_EQ(left("2026-04"), 1) << "a refused use must not spend from the blocks that had room";
  EXPECT_TRUE(reserve("b..d", 0.375, {"2026-02..2026-04"}).has_value());
  EXPECT_EQ(left("2026-01"), 0.375);
  EXPECT_EQ(left("2026-02"), 0);
  EXPECT_EQ(left("2026-03"), 0);
  EXPECT_EQ(left("2026-04"), 0.625);
  expect_clean(place_.location());
}

TEST_P(BlockBudgetsTest, RefusesOtherSpellingsHugeRangesAndUsesWithoutBlocks) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic)));
  expect_good(ledger_->create_budget(terms("plain", 1, 0, Rule::kBasic)));
  const std::uint64_t before = entries();
  for (const Texts& blocks : std::initializer_list<Texts>{{"2026-1"},
                                                          {"2026-01", "2026-01"},
                                                          {"2026-01..2026-03", "2026-02"},
                                                          {"2026-01..2026-01"},
                                                          {"2026-02", "2026-01"},
                                                          {"0001-01..9999-12"},
                                                          {"2026-Q1"}}) {
    EXPECT_FALSE(reserve("x", 0.1, blocks).has_value()) << blocks.front();
  }
  expect_error(reserve("x", 0.1, {}), ErrorCode::kInvalidArgument, "say which ones the use touches");
  expect_error(reserve("x", 0.1, {"2026-01"}, "plain"), ErrorCode::kInvalidArgument, "has no blocks");
  EXPECT_EQ(entries(), before);
  // Whoever has the key can write the entry by hand; then no program reads the ledger any more.
  LedgerState state;
  expect_good(ledger_->read([&](const LedgerState& now) -> Result<void> {
    state = now;
    return success();
  }));
  const auto forged = [&](Texts blocks, const std::string& budget = "b") {
    ReserveEntry entry{budget, "forged", {}, to_json(pure(0.1)), "", {}, {{0.1}, 0}, {}, {}};
    entry.blocks = std::move(blocks);
    return state.apply({state.next_sequence(), now_, entry});
  };
  for (const Texts& blocks : std::initializer_list<Texts>{{},
                                                          {"2026-1"},
                                                          {"2026-01", "2026-01"},
                                                          {"2026-01..2026-03", "2026-02"},
                                                          {"0001-01..9999-12"},
                                                          {"2026-07"}}) {
    EXPECT_FALSE(forged(blocks).has_value()) << (blocks.empty() ? "none" : blocks.front());
  }
  EXPECT_FALSE(forged({"2026-01"}, "plain").has_value());
  EXPECT_TRUE(forged({"2026-01"}).has_value()) << "the entry is refused for its blocks alone";
}

TEST_P(BlockBudgetsTest, AForecastIsAboutTheBlocksOfTheLastUse) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic)));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(reserve(fmt::format("{}", i), 0.25, {"2026-01"}).has_value());
  EXPECT_TRUE(reserve("new", 0.25, {"2026-02..2026-03"}).has_value());
  EXPECT_EQ(value_of(forecast(*ledger_, "b"))->more, 3U);
  EXPECT_TRUE(reserve("old", 0.125, {"2026-01..2026-03"}).has_value());
  EXPECT_EQ(value_of(forecast(*ledger_, "b"))->more, 1U);
  // What all uses come to by themselves is never less than what a row has paid.
  EXPECT_EQ(value_of(summarize(*ledger_, "b", std::nullopt)).odometer, 0.875);
  EXPECT_GE(value_of(summarize(*ledger_, "b", std::nullopt)).if_planned.upper, 0.875);
}

TEST_P(BlockBudgetsTest, ABlockThatHasNotBegunHasNoBudget) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic)));
  expect_error(reserve("x", 0.1, {"2026-07"}), ErrorCode::kBudgetExhausted, "begins on 2026-07-01");
  expect_error(reserve("x", 0.1, {"2026-05..2026-07"}), ErrorCode::kBudgetExhausted, "'2026-07'");
  EXPECT_EQ(left("2026-05"), 1);
  now_ = time_of("2026-07-01") - 1;
  expect_error(reserve("x", 0.1, {"2026-07"}), ErrorCode::kBudgetExhausted, "begins on");
  now_ = time_of("2026-07-01");
  EXPECT_TRUE(reserve("x", 0.1, {"2026-07"}).has_value());
}

TEST_P(BlockBudgetsTest, UnlocksPartByPart) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic, 4)));
  set_time("2026-07-01");
  EXPECT_TRUE(reserve("july 1", 0.25, {"2026-07"}).has_value());
  now_ = time_of("2026-08-01") - 1;
  const std::string message = expect_error(reserve("early", 1e-6, {"2026-07"}), ErrorCode::kBudgetExhausted,
                                           "1 of 4 parts of its budget being unlocked, and the next one on 2026-08-01");
  now_ = time_of("2026-08-01");
  EXPECT_TRUE(reserve("july 2", 0.125, {"2026-07"}).has_value());
  set_time("2026-10-01");
  expect_error(reserve("too much", 0.75, {"2026-07"}), ErrorCode::kBudgetExhausted, "It would fit with");
  EXPECT_TRUE(reserve("the rest", 0.625, {"2026-07"}).has_value());
  expect_error(reserve("more", 1e-9, {"2026-07"}), ErrorCode::kBudgetExhausted, "2026-07");
  // An old block that nobody used before is unlocked as a whole.
  EXPECT_TRUE(reserve("january", 1, {"2026-01"}).has_value());
  expect_clean(place_.location());
}

// A clock that was ahead spends what was not due. After it was set back, the block waits until that time has come.
TEST_P(BlockBudgetsTest, AClockThatJumpsUnlocksNothingTwice) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic, 4)));
  EXPECT_TRUE(reserve("june", 0.25, {"2026-06"}).has_value());
  set_time("2026-08-01");  // the clock jumps ahead: three parts
  EXPECT_TRUE(reserve("ahead", 0.375, {"2026-06"}).has_value());
  EXPECT_TRUE(reserve("not begun", 0.25, {"2026-08"}).has_value());
  set_time("2026-06-15");
  expect_error(reserve("behind", 0.1, {"2026-05"}), ErrorCode::kIo, "behind the last entry");
  value_of(ledger_->set_clock("the clock was ahead"));
  expect_error(reserve("june again", 0.125, {"2026-06"}), ErrorCode::kBudgetExhausted, "by a clock that was ahead");
  expect_error(reserve("august", 0.125, {"2026-08"}), ErrorCode::kBudgetExhausted, "has not begun");
  EXPECT_TRUE(reserve("may", 0.25, {"2026-05"}).has_value());
  set_time("2026-08-01");
  EXPECT_TRUE(reserve("in time", 0.125, {"2026-06"}).has_value());
  expect_error(reserve("too much", 0.125, {"2026-06"}), ErrorCode::kBudgetExhausted, "3 of 4 parts");
  expect_error(reserve("august", 0.125, {"2026-08"}), ErrorCode::kBudgetExhausted, "1 of 4 parts");
  set_time("2026-11-01");
  EXPECT_TRUE(reserve("august", 0.75, {"2026-08"}).has_value());
  expect_clean(place_.location());
}

TEST_P(BlockBudgetsTest, AnAbortGivesBackToEachBlock) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic, 2)));
  set_time("2026-07-01");
  Reservation spend = value_of(reserve("x", 0.5, {"2026-03..2026-07"}));
  EXPECT_EQ(left("2026-07"), 0.5);
  EXPECT_EQ(value_of(ledger_->budget("b")).account.spent_share(), 0.5);
  set_time("2026-08-02");
  EXPECT_TRUE(reserve("y", 0.25, {"2026-07"}).has_value());
  expect_good(ledger_->abort(std::move(spend)));
  EXPECT_EQ(left("2026-03"), 1);
  EXPECT_EQ(left("2026-07"), 0.75);
  EXPECT_EQ(value_of(ledger_->budget("b")).account.spent_share(), 0.25);
  EXPECT_TRUE(reserve("z", 0.75, {"2026-04..2026-07"}).has_value());
  expect_error(reserve("more", 0.125, {"2026-07"}), ErrorCode::kBudgetExhausted, "'2026-07'");
  expect_clean(place_.location());
}

TEST_P(BlockBudgetsTest, RefusesWhatItCannotPromise) {
  const auto refused = [&](BudgetTerms made, std::string_view why) {
    expect_error(ledger_->create_budget(std::move(made)), ErrorCode::kInvalidArgument, why);
  };
  BudgetTerms persons = by_month("b", 1, 0, Rule::kBasic);
  persons.unit = PrivacyUnit::kPerson;
  refused(persons, "protects persons");
  BudgetTerms exchange = by_month("b", 1, 0, Rule::kBasic);
  exchange.adjacency = Adjacency::kReplaceOne;
  refused(exchange, "add-remove, or blocks by batch");
  BudgetTerms plan = by_month("b", 1, 0, Rule::kPlanned);
  plan.plan = {{"a", pure(0.5), Steps::of(1)}};
  refused(plan, "a plan is made once");
  BudgetTerms slow = by_month("b", 1, 0, Rule::kBasic, kMaxUnlock + 1);
  refused(slow, "1 to 60 parts");
  expect_good(ledger_->create_budget(terms("whole", 4, 0, Rule::kBasic)));
  BudgetTerms part = by_month("b", 1, 0, Rule::kBasic);
  part.parent = "whole";
  refused(part, "neither split nor a part");
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic)));
  refused(terms("part", 0.5, 0, Rule::kBasic, "b"), "neither split nor a part");
  // Exchanging a row of a batch leaves its batch as it is.
  BudgetTerms batches = by_batch("batches", 1);
  batches.adjacency = Adjacency::kReplaceOne;
  expect_good(ledger_->create_budget(batches));
  expect_clean(place_.location());
}

TEST_P(BlockBudgetsTest, TheSameKeyWithOtherBlocksIsAnotherRequest) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic)));
  const Reservation spend = value_of(reserve("x", 0.5, {"2026-01"}));
  expect_good(ledger_->commit(spend.sequence(), blake2b("answer")));
  EXPECT_TRUE(value_of(reserve("x", 0.5, {"2026-01"})).earlier_release().has_value());
  expect_error(reserve("x", 0.5, {"2026-02"}), ErrorCode::kInvalidArgument, "another request");
  expect_error(reserve("x", 0.5, {"2026-01..2026-02"}), ErrorCode::kInvalidArgument, "another request");
  const Entry entry = value_of(ledger_->entry(spend.sequence()));
  EXPECT_EQ(std::get<ReserveEntry>(entry.body).blocks, Texts{"2026-01"});
}

TEST_P(BlockBudgetsTest, RehearsesAsItReserves) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic)));
  EXPECT_TRUE(reserve("x", 0.75, {"2026-01"}).has_value());
  const std::uint64_t before = entries();
  EXPECT_TRUE(ledger_->rehearse(touch("b", "y", pure(0.25), {"2026-01..2026-02"})).has_value());
  expect_error(ledger_->rehearse(touch("b", "y", pure(0.5), {"2026-01..2026-02"})), ErrorCode::kBudgetExhausted,
               "Left: epsilon 0.25");
  EXPECT_TRUE(ledger_->rehearse(touch("b", "y", pure(0.5), {"2026-02"})).has_value());
  expect_error(ledger_->rehearse(touch("b", "y", pure(0.5), {"2026-07"})), ErrorCode::kBudgetExhausted, "begins on");
  const ReserveRequest use = touch("new", "y", pure(0.5), {"2026-02"});
  EXPECT_TRUE(value_of(outlook_of({&use, 1}, by_month("new", 1, 0, Rule::kBasic), ledger_.get())).fits);
  const ReserveRequest batch = touch("batches", "y", pure(0.5), {"first"});
  EXPECT_TRUE(value_of(outlook_of({&batch, 1}, by_batch("batches", 1), ledger_.get())).fits)
      << "the batch would arrive with the use";
  EXPECT_EQ(entries(), before);
}

// Two ranges that share two blocks, from two processes' worth of ledgers: whatever the order, no block is overspent.
TEST_P(BlockBudgetsTest, RangesThatRaceStayWithinEachBlock) {
  expect_good(ledger_->create_budget(by_month("b", 1, 0, Rule::kBasic)));
  constexpr double kUse = 1.0 / 16;
  std::atomic<int> granted_first = 0;
  std::atomic<int> granted_second = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::unique_ptr<Ledger> own = open();
      for (int i = 0; i < 12; ++i) {
        const bool first = (t + i) % 2 == 0;
        const Result<Reservation> made =
            own->reserve(touch("b", fmt::format("{}-{}", t, i), pure(kUse),
                               first ? Texts{"2026-01..2026-03"} : Texts{"2026-02..2026-04"}));
        if (made.has_value()) ++(first ? granted_first : granted_second);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted_first + granted_second, 16) << "48 uses of 1/16 race for two blocks of 1";
  EXPECT_EQ(left("2026-02"), 0);
  EXPECT_EQ(left("2026-03"), 0);
  EXPECT_EQ(left("2026-01"), 1 - granted_first * kUse);
  EXPECT_EQ(left("2026-04"), 1 - granted_second * kUse);
  expect_clean(place_.location());
}

// --- Rows ------------------------------------------------------------------------------------------------------------

struct Visit {
  std::string date;
  std::string name;
  std::string weight;
};

std::vector<Visit> visits(std::size_t count, std::uint64_t seed, const std::string& month) {
  testing::ReplayEngine random(seed);
  std::vector<Visit> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = std::to_string(random());
    rows.push_back({fmt::format("{}-{:02}", month, 1 + random() % 28), name, std::to_string(random() % 1000)});
  }
  return rows;
}

void redate(std::vector<Visit>& rows, std::size_t count, const std::string& month) {
  for (std::size_t i = 0; i < count; ++i) rows[i].date = month + rows[i].date.substr(7);
}

class BlockRowsTest : public BlockBudgetsTest {
 protected:
  void SetUp() override {
    BlockBudgetsTest::SetUp();
    if (IsSkipped()) return;
    add("visits", by_month("visits", 1, 0, Rule::kBasic), visits(300, 99, "2025-12"));
  }
  [[nodiscard]] RowSketch sketch(const std::vector<Visit>& rows, bool dated) const {
    RowSketcher sketcher(value_of(ledger_->row_key()));
    std::vector<std::string> columns{"name", "weight"};
    if (dated) columns.emplace_back("visited");
    sketcher.set_columns(columns);
    for (const Visit& row : rows) {
      std::vector<std::string_view> cells{row.name, row.weight};
      if (dated) cells.emplace_back(row.date);
      sketcher.add_row(cells);
    }
    return std::move(sketcher).finish();
  }
  void add(const std::string& name, BudgetTerms budget, const std::vector<Visit>& rows) {
    (void)value_of(
        granted(value_of(ledger_->add_dataset({name, blake2b(name), std::move(budget)}, sketch(rows, true)))));
  }
  Result<DatasetOutcome> claim(const std::string& block, const std::vector<Visit>& rows,
                               const std::string& dataset = "visits") {
    const BlockRows one{block, sketch(rows, true), sketch(rows, false)};
    return ledger_->claim_blocks({dataset, blake2b(dataset), false, "", by_month("", 1, 0, Rule::kBasic).blocks},
                                 {&one, 1});
  }
  static void expect_granted(const Result<DatasetOutcome>& outcome, bool new_rows) {
    const DatasetGrant grant = value_of(granted(value_of(outcome)));
    EXPECT_EQ(grant.new_rows, new_rows);
  }
  static void expect_other_block(const Result<DatasetOutcome>& outcome, const std::string& owner) {
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    const auto* conflict = std::get_if<DatasetConflict>(&outcome.value());
    ASSERT_NE(conflict, nullptr) << "the ledger granted old rows a new budget";
    EXPECT_EQ(conflict->kind, Kind::kOtherBlock);
    EXPECT_EQ(conflict->owner, owner);
    expect_error(granted(outcome.value()), ErrorCode::kBudgetExhausted, "known under the block");
  }
};
INSTANTIATE_TEST_SUITE_P(Sqlite, BlockRowsTest, ::testing::Values(Backend::kSqlite));
INSTANTIATE_TEST_SUITE_P(Postgres, BlockRowsTest, ::testing::Values(Backend::kPostgres));

TEST_P(BlockRowsTest, OldRowsWithNewDatesAreRefused) {
  const std::vector<Visit> january = visits(400, 1, "2026-01");
  expect_granted(claim("2026-01", january), true);
  expect_granted(claim("2026-01", january), false);
  expect_granted(claim("2026-02", visits(400, 2, "2026-02")), true);
  const std::uint64_t before = entries();
  // The whole block, half of it among new rows, a third, shuffled, and with the day changed at random.
  std::vector<Visit> moved = january;
  redate(moved, moved.size(), "2026-03");
  expect_other_block(claim("2026-03", moved), "2026-01");
  testing::ReplayEngine random(5);
  for (Visit& row : moved) row.date = fmt::format("2026-03-{:02}", 1 + random() % 28);
  for (std::size_t i = moved.size() - 1; i > 0; --i) std::swap(moved[i], moved[random() % (i + 1)]);
  expect_other_block(claim("2026-03", moved), "2026-01");
  for (const std::size_t part : {2U, 3U}) {
    std::vector<Visit> mixed = visits(400, 3, "2026-03");
    for (std::size_t i = 0; i < mixed.size() / part; ++i)
      mixed[i] = {mixed[i].date, january[i].name, january[i].weight};
    expect_other_block(claim("2026-03", mixed), "2026-01");
  }
  // One column after the other made new: the others still tell.
  moved = january;
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i].date = "2026-03-01";
  expect_other_block(claim("2026-03", moved), "2026-01");
  EXPECT_EQ(entries(), before);
  expect_granted(claim("2026-03", visits(400, 3, "2026-03")), true);
  expect_clean(place_.location());
}

TEST_P(BlockRowsTest, RowsMayComeLateToTheirOwnBlock) {
  std::vector<Visit> january = visits(400, 1, "2026-01");
  expect_granted(claim("2026-01", january), true);
  const std::vector<Visit> late = visits(80, 6, "2026-01");
  january.insert(january.end(), late.begin(), late.end());
  expect_granted(claim("2026-01", january), true);
  expect_granted(claim("2026-01", january), false);
  // What came late is known from then on.
  std::vector<Visit> moved = late;
  redate(moved, moved.size(), "2026-02");
  expect_other_block(claim("2026-02", moved), "2026-01");
  // Rows cannot leave their block for an earlier one either.
  redate(moved, moved.size(), "2025-11");
  expect_other_block(claim("2025-11", moved), "2026-01");
}

TEST_P(BlockRowsTest, BlocksOfOneUseMayNotShareRows) {
  const std::vector<Visit> january = visits(400, 1, "2026-01");
  std::vector<Visit> february = january;
  redate(february, february.size(), "2026-02");
  const std::vector<BlockRows> both{{"2026-01", sketch(january, true), sketch(january, false)},
                                    {"2026-02", sketch(february, true), sketch(february, false)}};
  const std::uint64_t before = entries();
  expect_other_block(
      ledger_->claim_blocks({"visits", blake2b("visits"), false, "", by_month("", 1, 0, Rule::kBasic).blocks}, both),
      "2026-01");
  EXPECT_EQ(entries(), before) << "the first block must not be written alone";
}

TEST_P(BlockRowsTest, EmptyBlocksHaveNothingInCommonAndLookLikeAllOthers) {
  expect_granted(claim("2026-01", {}), true);
  expect_granted(claim("2026-02", {}), true);
  std::vector<Digest> fingerprints;
  expect_good(ledger_->history(0, [&](const StoredEntry& stored) -> Result<void> {
    const Entry entry = value_of(parse_entry(stored.text));
    if (const auto* content = std::get_if<ContentEntry>(&entry.body)) fingerprints.push_back(content->fingerprint);
    return success();
  }));
  ASSERT_EQ(fingerprints.size(), 2U);
  EXPECT_NE(fingerprints[0], fingerprints[1]);
}

TEST_P(BlockRowsTest, TheRuleThatDividesRowsDoesNotChange) {
  const BlockTerms known = *by_month("", 1, 0, Rule::kBasic).blocks;
  const std::vector<Visit> rows = visits(100, 1, "2026-01");
  std::vector<BlockTerms> others(4, known);
  others[0].column = "born";
  others[1].period = BlockPeriod::kWeek;
  others[2].unlock = 3;
  others[3] = {BlockKind::kBatch, "", BlockPeriod::kMonth, 1};
  const BlockRows one{"2026-01", sketch(rows, true), sketch(rows, false)};
  for (const BlockTerms& other : others) {
    const Result<DatasetOutcome> outcome =
        ledger_->claim_blocks({"visits", blake2b("visits"), false, "", other}, {&one, 1});
    expect_error(granted(value_of(outcome)), ErrorCode::kInvalidArgument, "correct its [blocks]");
  }
  // A description without blocks does not get around them, nor does a share of the budget.
  expect_error(granted(value_of(ledger_->claim_dataset({"visits", blake2b("visits")}, one.rows))),
               ErrorCode::kInvalidArgument, "correct its [blocks]");
  EXPECT_FALSE(ledger_->add_dataset({"copy", blake2b("copy"), std::nullopt, "visits"}, one.rows).has_value());
  // A budget that is there already keeps its blocks, or has none.
  expect_good(ledger_->create_budget(terms("plain", 1, 0, Rule::kBasic)));
  expect_error(ledger_->add_dataset({"p", blake2b("p"), by_month("plain", 1, 0, Rule::kBasic)}, one.rows),
               ErrorCode::kInvalidArgument, "correct the description");
}

TEST_P(BlockRowsTest, RowsOfABlockBelongToNoOtherDataset) {
  const std::vector<Visit> january = visits(400, 1, "2026-01");
  expect_granted(claim("2026-01", january), true);
  const auto conflict = [&](const Result<DatasetOutcome>& outcome) {
    const DatasetOutcome found = value_of(outcome);
    const auto* refused = std::get_if<DatasetConflict>(&found);
    return refused == nullptr ? std::string() : refused->owner;
  };
  EXPECT_EQ(conflict(ledger_->add_dataset({"other", blake2b("o"), terms("other", 1, 0, Rule::kBasic)},
                                          sketch(january, true))),
            "visits");
  // Another dataset with blocks, whose rows have other dates.
  add("visits2", by_month("visits2", 1, 0, Rule::kBasic), visits(300, 42, "2025-12"));
  std::vector<Visit> mixed = visits(400, 8, "2026-03");
  for (std::size_t i = 0; i < 200; ++i) mixed[i] = {mixed[i].date, january[i].name, january[i].weight};
  EXPECT_EQ(conflict(claim("2026-03", mixed, "visits2")), "visits");
}

TEST_P(BlockRowsTest, ABatchArrivesWithItsRowsAndUnlocksFromThen) {
  add("stream", by_batch("stream", 1, 2), visits(200, 50, "2026-05"));
  const auto arrive = [&](const std::string& batch, const std::vector<Visit>& rows) {
    const BlockRows one{batch, sketch(rows, true)};
    return ledger_->claim_blocks({"stream", blake2b("stream"), false, "", by_batch("", 1, 2).blocks}, {&one, 1});
  };
  expect_error(reserve("x", 0.1, {"first"}, "stream"), ErrorCode::kInvalidArgument, "has not arrived");
  const std::vector<Visit> first = visits(300, 51, "2026-06");
  expect_granted(arrive("first", first), true);
  EXPECT_TRUE(reserve("x", 0.5, {"first"}, "stream").has_value());
  expect_error(reserve("y", 0.1, {"first"}, "stream"), ErrorCode::kBudgetExhausted, "1 of 2 parts");
  // Late rows do not make the batch arrive again, and a copy under a new name is no new batch.
  now_ = now_ + 86'400'000;
  std::vector<Visit> more = first;
  more.push_back(visits(1, 77, "2026-06").front());
  expect_granted(arrive("first", more), true);
  EXPECT_TRUE(reserve("y", 0.5, {"first"}, "stream").has_value());
  expect_error(reserve("z", 1e-9, {"first"}, "stream"), ErrorCode::kBudgetExhausted, "first");
  expect_other_block(arrive("second", first), "first");
  expect_error(reserve("z", 0.1, {"second"}, "stream"), ErrorCode::kInvalidArgument, "has not arrived");
  expect_granted(arrive("second", visits(300, 52, "2026-06")), true);
  EXPECT_TRUE(reserve("z", 0.5, {"second"}, "stream").has_value());
  expect_clean(place_.location());
  ledger_ = open();
  EXPECT_EQ(left("first", "stream"), 0);
}

TEST_P(BlockRowsTest, ARetiredDatasetHasNoBlocksLeft) {
  EXPECT_TRUE(reserve("x", 0.1, {"2026-01"}, "visits").has_value());
  expect_good(ledger_->retire_dataset("visits", "consent expired"));
  expect_error(reserve("y", 0.1, {"2026-02"}, "visits"), ErrorCode::kBudgetExhausted, "retired");
  expect_error(granted(value_of(claim("2026-02", visits(100, 1, "2026-02")))), ErrorCode::kBudgetExhausted, "retired");
}

// --- The promise -----------------------------------------------------------------------------------------------------

// Random uses of random ranges, some of them taken back, while time goes on: for each block, and so for each row, what
// was not taken back fits into one budget without blocks. An account that knows nothing of blocks judges.
TEST(BlockPromise, AllUsesOfARowTogetherStayWithinTheBudget) {
  constexpr int kMonths = 8;
  const auto month = [](int i) { return fmt::format("2026-{:02}", i + 1); };
  for (const Rule rule : {Rule::kBasic, Rule::kZcdp, Rule::kRdp, Rule::kApproxDp}) {
    for (const std::uint32_t unlock : {1U, 3U}) {
      LedgerState state;
      const TimeMs begin = time_of("2026-01-01");
      expect_good(state.apply_new({0, begin, GenesisEntry{}}));
      BudgetTerms budget = by_month("b", rule == Rule::kBasic ? 1 : 2, rule == Rule::kBasic ? 0 : 1e-6, rule, unlock);
      if (rule == Rule::kZcdp) budget.rho = value_of(zcdp_budget_of(budget)).value();
      expect_good(state.apply_new({1, begin, BudgetEntry{budget, {}}}));
      ReplayRandom random = ReplayRandom::create(17 + unlock).value();
      struct Made {
        std::uint64_t sequence;
        int first;
        int last;
        Charge charge;
        Digest token;
        bool open;
      };
      std::vector<Made> uses;
      int refused = 0;
      TimeMs time = begin;
      for (int i = 0; i < 600; ++i) {
        time += static_cast<TimeMs>(uniform_below(random, 800'000'000));
        const int first = static_cast<int>(uniform_below(random, kMonths));
        const int last = first + static_cast<int>(uniform_below(random, static_cast<std::uint64_t>(kMonths - first)));
        if (!uses.empty() && uniform_below(random, 5) == 0) {
          Made& one = uses[uniform_below(random, uses.size())];
          if (!one.open) continue;
          one.open = false;
          expect_good(state.apply_new({state.next_sequence(), time, AbortEntry{one.sequence, one.token}}));
          continue;
        }
        const double size = 0.02 + 0.2 * static_cast<double>(uniform_below(random, 100)) / 100;
        const DpEvent event = rule == Rule::kZcdp || rule == Rule::kRdp ? gaussian(1 / size) : pure(size);
        const Charge charge = value_of(charge_for(budget, event, std::nullopt));
        Digest token{};
        token[0] = static_cast<std::uint8_t>(i);
        token[1] = static_cast<std::uint8_t>(i >> 8);
        ReserveEntry entry{"b",    std::to_string(i),
                           {},     to_json(event),
                           "",     {},
                           charge, blake2b({reinterpret_cast<const char*>(token.data()), token.size()}),
                           {}};
        entry.blocks = {first == last ? month(first) : month(first) + ".." + month(last)};
        const std::uint64_t sequence = state.next_sequence();
        if (state.apply_new({sequence, time, entry}).has_value()) {
          uses.push_back({sequence, first, last, charge, token, true});
        } else {
          ++refused;
          EXPECT_EQ(state.next_sequence(), sequence);
        }
      }
      EXPECT_GT(refused, 50);
      BudgetTerms plain = budget;
      plain.blocks.reset();
      for (int row = 0; row < kMonths; ++row) {
        Account judge = value_of(Account::open(plain));
        double sum = 0;
        int touched = 0;
        for (const Made& one : uses) {
          if (!one.open || one.first > row || one.last < row) continue;
          ++touched;
          sum += one.charge.amounts[0];
          expect_good(judge.spend(one.charge, {}));
        }
        EXPECT_GT(touched, 3) << name_of(rule) << row;
        if (rule == Rule::kBasic) {
          EXPECT_LE(sum, budget.epsilon.value() * (1 + 1e-12));
          EXPECT_GT(sum, 0.5) << "the blocks are in use";
        }
      }
    }
  }
}

TEST(BlockEntries, HaveOneTextEach) {
  const auto text = [](EntryBody body) { return to_json(Entry{1, 5, std::move(body)}); };
  ReserveEntry use{"b", "k", {}, R"({"kind":"zero_cost"})", "", {}, {}, {}, {}};
  use.blocks = {"2026-01..2026-03", "2026-05"};
  const std::vector<std::string> texts{text(use), text(BudgetEntry{by_month("b", 1, 0, Rule::kBasic, 3), {}}),
                                       text(BudgetEntry{by_batch("b", 1), {}}),
                                       text(ContentEntry{"a", {}, {}, {}, "2026-01"})};
  EXPECT_NE(texts[0].find(R"("budget":"b","blocks":["2026-01..2026-03","2026-05"],"key":"k")"), std::string::npos);
  EXPECT_NE(texts[1].find(R"("blocks":{"by":"date","column":"visited","period":"month","unlock":3}})"),
            std::string::npos)
      << texts[1];
  EXPECT_NE(texts[3].find(R"("dataset":"a","block":"2026-01","description")"), std::string::npos);
  for (const std::string& one : texts) {
    EXPECT_EQ(to_json(value_of(parse_entry(one))), one);
    EXPECT_EQ(store_version_of(value_of(parse_entry(one)).body), kStoreVersionWithRoles);
    for (std::size_t at = 0; at < one.size(); ++at) {
      const std::string changed = one.substr(0, at) + one.substr(at + 1);
      const Result<Entry> read = parse_entry(changed);
      if (read.has_value()) {
        ASSERT_EQ(to_json(read.value()), changed);
      }
    }
  }
  use.blocks.clear();
  EXPECT_EQ(store_version_of(use), 1U);
  EXPECT_EQ(text(use).find("blocks"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
