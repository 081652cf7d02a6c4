// From a text to a certified answer: what is spent, what is free, and what may not be had for nothing.
#include "noisefloor/query/ask.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "noisefloor/release/outlet.h"
#include "noisefloor/release/verify_release.h"
#include "tests/support/child_process.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::query {
namespace {

using engine::Type;
using noisefloor::testing::expect_error;
using noisefloor::testing::expect_good;
using noisefloor::testing::value_of;

class Ask : public ::testing::Test {
 protected:
  Ask() {
    write_rows(300);
    (void)value_of(Ledger::create(place_, key(), {}));
  }
  static SigningKey key() { return SigningKey::from_seed({7}); }
  [[nodiscard]] std::unique_ptr<Ledger> open() const { return value_of(Ledger::open(place_, key(), {})); }

  // Persons with a visit in A and one in B, and every third in C; `first` is the cost of the first person's visits.
  void write_rows(int persons, int first = 100) const {
    std::ofstream file(folder_.path("visits.csv"));
    file << "pid,dept,ward,age,cost\n";
    for (int pid = 0; pid < persons; ++pid) {
      const int cost = pid == 0 ? first : 100;
      file << pid << ",A,north," << pid % 90 << "," << cost << "\n" << pid << ",B,south," << pid % 90 << ",300\n";
      if (pid % 3 == 0) file << pid << ",C,north," << pid % 90 << ",50\n";
    }
  }
  [[nodiscard]] DescribedRows rows(const std::string& name = "clinic", const std::string& budget = "clinic") const {
    DescribedTable visits{.name = "visits", .place = "visits.csv"};
    visits.unit = UnitPath{"pid"};
    visits.max_groups = 3;
    visits.max_rows_per_group = 2;
    visits.columns = {{.name = "pid", .type = Type::kInteger},
                      {.name = "dept", .type = Type::kText, .values = std::vector<std::string>{"A", "B", "C", "D"}},
                      {.name = "ward", .type = Type::kText},
                      {.name = "age", .type = Type::kInteger, .lower = 0, .upper = 100},
                      {.name = "cost", .type = Type::kNumber, .lower = 0, .upper = 500, .step = 1, .missing = 0}};
    return {{.name = name,
             .format = TablesFormat{.tables = {visits}},
             .files = TextFile{},
             .unit = {PrivacyUnit::kPerson, "pid", 1},
             .budget = DatasetBudget{budget, Epsilon::of(10), Delta::of(1e-3)}},
            folder_.path("")};
  }
  [[nodiscard]] static AskTerms terms(double epsilon = 0.5, double delta = 0, const std::string& key = "") {
    AskTerms made{.noise = {Epsilon::make(epsilon).value(), Delta::make(delta).value()}};
    made.key = key;
    made.unknown = NewDatasets::kAdd;
    return made;
  }
  [[nodiscard]] Result<Asked> ask_all(const std::vector<std::string>& statements, const AskTerms& by = terms()) const {
    LedgerOutlet outlet;
    return query::ask(rows(), statements, by, *open(), outlet);
  }
  [[nodiscard]] Result<Asked> ask(const std::string& statement, const AskTerms& by = terms()) const {
    return ask_all({statement}, by);
  }
  [[nodiscard]] AnswerTable table(const std::string& statement, const AskTerms& by = terms()) const {
    return value_of(ask(statement, by)).tables.at(0);
  }
  void hide_rows() const { std::filesystem::remove(folder_.path("visits.csv")); }
  [[nodiscard]] double spent() const {
    double left = 0;
    expect_good(open()->read([&](const LedgerState& state) -> Result<void> {
      if (state.find("clinic") == nullptr) return success();
      for (const LedgerState::Budget& budget : state.budgets()) left += static_cast<double>(budget.spends);
      return success();
    }));
    return left;
  }
  static double number(const AnswerTable& table, std::size_t column, std::size_t row) {
    const AnswerColumn& from = table.columns.at(column);
    if (const auto* wholes = std::get_if<AnswerColumn::Integers>(&from.cells)) {
      return static_cast<double>(wholes->at(row));
    }
    return std::get<AnswerColumn::Numbers>(from.cells).at(row);
  }
  static double width(const AnswerTable& table, std::size_t column, std::size_t row) {
    const Interval& range = table.columns.at(column).ranges.at(row);
    return range.upper - range.lower;
  }

  testing::TemporaryFolder folder_;
  std::string place_ = folder_.path("a.ledger");
};

constexpr const char* kByDept = "SELECT dept, count(*) FROM visits GROUP BY dept";

TEST_F(Ask, IsPaidForCertifiedAndVerified) {
  const Asked asked = value_of(ask(kByDept));
  EXPECT_FALSE(asked.is_free);
  ASSERT_TRUE(asked.released.has_value());
  EXPECT_LE(asked.released->release.certificate.epsilon.upper, 0.5);
  EXPECT_GT(asked.released->release.certificate.epsilon.upper, 0.4999);
  EXPECT_EQ(asked.released->release.certificate.delta.value(), 0);
  expect_good(verify_in_ledger(value_of(verify_release(asked.released->release.bytes)), *open()));
  ASSERT_EQ(asked.tables.at(0).rows(), 4U);
  EXPECT_NEAR(number(asked.tables[0], 1, 0), 300, 300);
  EXPECT_EQ(spent(), 1);
}

// The attack of averaging: one answer, however often and in whichever words.
TEST_F(Ask, IsFreeInOtherWords) {
  const AnswerTable bought = table(kByDept);
  hide_rows();  // free answers read none
  for (const char* const same : {kByDept, "select  V.DEPT , COUNT( * ) n from \"visits\" as v group by v.dept",
                                 "SELECT dept, count(*) FROM visits WHERE 1 = 1 GROUP BY 1",
                                 "WITH w AS (SELECT * FROM visits) SELECT dept, count(*) FROM w GROUP BY dept"}) {
    const Asked asked = value_of(ask(same));
    EXPECT_TRUE(asked.is_free) << same;
    for (std::size_t row = 0; row < 4; ++row) {
      EXPECT_EQ(number(asked.tables.at(0), 1, row), number(bought, 1, row)) << same;
      EXPECT_EQ(width(asked.tables.at(0), 1, row), width(bought, 1, row));
    }
  }
  EXPECT_EQ(value_of(ask("SELECT dept, count(*) AS visits FROM visits GROUP BY dept")).tables[0].columns[1].name,
            "visits");
  const AnswerTable turned = table("SELECT count(*), dept FROM visits GROUP BY dept ORDER BY dept DESC LIMIT 1");
  EXPECT_EQ(number(turned, 0, 0), number(bought, 1, 3));
  // Less ε buys no other answer.
  EXPECT_TRUE(value_of(ask(kByDept, terms(0.1))).is_free);
  EXPECT_EQ(spent(), 1);
}

TEST_F(Ask, IsFreeWhereItFollows) {
  const AnswerTable bought = table("SELECT dept, count(*), sum(cost) FROM visits GROUP BY dept");
  hide_rows();
  const Asked filtered = value_of(ask("SELECT count(*) FROM visits WHERE dept IN ('A', 'B')"));
  EXPECT_TRUE(filtered.is_free);
  EXPECT_EQ(number(filtered.tables[0], 0, 0), number(bought, 1, 0) + number(bought, 1, 1));
  EXPECT_GT(width(filtered.tables[0], 0, 0), 1.3 * width(bought, 1, 0));
  EXPECT_LT(width(filtered.tables[0], 0, 0), 2 * width(bought, 1, 0));
  ASSERT_EQ(filtered.notes.size(), 1U);
  EXPECT_NE(filtered.notes[0].find("reservation"), std::string::npos);
  EXPECT_EQ(filtered.paid_by.size(), 1U);
  const AnswerTable all = table("SELECT sum(cost) FROM visits");
  EXPECT_NEAR(number(all, 0, 0),
              number(bought, 2, 0) + number(bought, 2, 1) + number(bought, 2, 2) + number(bought, 2, 3), 1e-6);
  const AnswerTable totals = table("SELECT dept, count(*) FROM visits GROUP BY ROLLUP (dept)");
  EXPECT_EQ(totals.rows(), 5U);
  EXPECT_EQ(spent(), 1);
}

TEST_F(Ask, AnAverageFollowsFromItsSumAndItsCount) {
  DescribedRows each = rows();
  each.description.unit = {PrivacyUnit::kRow};
  std::get<TablesFormat>(each.description.format).tables[0].unit.reset();
  LedgerOutlet outlet;
  const AnswerTable bought =
      value_of(query::ask(each, "SELECT dept, count(*), sum(cost) FROM visits GROUP BY dept", terms(), *open(), outlet))
          .tables[0];
  hide_rows();
  const Asked free = value_of(query::ask(
      each, "SELECT dept, avg(cost) FROM visits GROUP BY dept HAVING count(*) > -100000", terms(), *open(), outlet));
  EXPECT_TRUE(free.is_free);
  const AnswerTable& mean = free.tables[0];
  ASSERT_EQ(mean.rows(), 4U);
  for (std::size_t row = 0; row < 4; ++row) {
    const double count = std::max(1.0, number(bought, 1, row));
    EXPECT_NEAR(number(mean, 1, row),
                std::clamp(250 + (number(bought, 2, row) - 250 * number(bought, 1, row)) / count, 0.0, 500.0), 1e-6);
    EXPECT_LE(mean.columns[1].ranges[row].lower, number(mean, 1, row));
    EXPECT_GE(mean.columns[1].ranges[row].upper, number(mean, 1, row));
  }
  EXPECT_EQ(spent(), 1);
}

// A sum holds all rows of a unit, clamped together, and an average those that were chosen: neither answers the other.
TEST_F(Ask, AnAverageOverPeopleWithSeveralRowsIsNoSumOverACount) {
  const auto is_free = [&](const std::string& statement) {
    return value_of(forecast(rows(), std::vector<std::string>{statement}, terms(0.1), open().get())).is_free;
  };
  (void)table("SELECT count(*), sum(cost) FROM visits");
  EXPECT_FALSE(is_free("SELECT avg(cost) FROM visits"));
  (void)table("SELECT dept, avg(cost) FROM visits GROUP BY dept");
  EXPECT_TRUE(is_free("SELECT count(*) FROM visits"));
  EXPECT_FALSE(is_free("SELECT dept, sum(cost - 250) FROM visits GROUP BY dept"));
  EXPECT_TRUE(is_free("SELECT dept, avg(cost) / 100 FROM visits GROUP BY dept"));
}

// What may not be had for nothing is paid for, or refused because the rows are not there.
TEST_F(Ask, IsNotFreeForAnythingElse) {
  (void)table(kByDept);
  for (const char* const other :
       {"SELECT dept, count(*) FROM visits WHERE age > 50 GROUP BY dept",
        "SELECT dept, sum(cost) FROM visits GROUP BY dept",
        "SELECT dept, count(DISTINCT pid) FROM visits GROUP BY dept", "SELECT count(DISTINCT pid) FROM visits",
        "SELECT count(*) FROM visits WHERE dept = 'A' AND age = 3", "SELECT count(*) FROM visits WHERE dept = 'Z'",
        "SELECT dept, count(age) FROM visits GROUP BY dept",
        "SELECT dept, count(*) FILTER (WHERE age > 3) FROM visits GROUP BY dept"}) {
    EXPECT_FALSE(value_of(forecast(rows(), std::vector<std::string>{other}, terms(), open().get())).is_free) << other;
  }
  const std::vector<std::string> same = {kByDept};
  const auto is_free = [&](const DescribedRows& about, const AskTerms& by) {
    return value_of(forecast(about, same, by, open().get())).is_free;
  };
  EXPECT_TRUE(is_free(rows(), terms(0.4)));
  EXPECT_FALSE(is_free(rows(), terms(0.6))) << "more epsilon is a better answer";
  EXPECT_FALSE(is_free(rows(), terms(0.5, 0, "again"))) << "a new name of the question";
  AskTerms tighter = terms(0.4);
  tighter.limits.max_groups = 2;
  EXPECT_FALSE(is_free(rows(), tighter)) << "other bounds of a person's part";
  EXPECT_FALSE(is_free(rows("other"), terms(0.4))) << "another dataset";
  DescribedRows wider = rows();
  std::get<TablesFormat>(wider.description.format).tables[0].max_rows_per_group = 4;
  EXPECT_FALSE(is_free(wider, terms(0.4))) << "another description";
}

TEST_F(Ask, APrivateGroupingAnswersNoOther) {
  const Asked bought = value_of(ask("SELECT ward, count(*) FROM visits GROUP BY ward", terms(5, 1e-6)));
  EXPECT_EQ(bought.released->release.certificate.delta.value(), 1e-6);
  EXPECT_TRUE(value_of(ask("SELECT ward AS w, 2 * count(*) FROM visits GROUP BY ward", terms(5, 1e-6))).is_free);
  // Groups that were not named are missing.
  for (const char* const other : {"SELECT count(*) FROM visits", "SELECT count(*) FROM visits WHERE ward = 'north'"}) {
    EXPECT_FALSE(value_of(forecast(rows(), std::vector<std::string>{other}, terms(), open().get())).is_free);
  }
}

TEST_F(Ask, PaysAgainUnderANewKeyAndForOtherRows) {
  (void)table(kByDept);
  (void)table(kByDept, terms(0.5, 0, "november"));
  EXPECT_EQ(spent(), 2);
  hide_rows();
  EXPECT_TRUE(value_of(ask(kByDept, terms(0.5, 0, "november"))).is_free);
  write_rows(400);
  EXPECT_TRUE(value_of(ask(kByDept)).is_free) << "nobody has looked at the rows";
  EXPECT_FALSE(value_of(ask("SELECT sum(cost) FROM visits")).is_free);
  // Now the ledger knows that the rows have changed.
  EXPECT_FALSE(value_of(ask(kByDept)).is_free);
  EXPECT_EQ(spent(), 4);
  EXPECT_TRUE(value_of(ask(kByDept)).is_free);
}

// A key belongs to its question.
TEST_F(Ask, RefusesAKeyOfAnotherQuestion) {
  (void)table(kByDept, terms(0.5, 0, "mine"));
  expect_error(ask("SELECT count(*) FROM visits", terms(0.5, 0, "mine")), ErrorCode::kInvalidArgument, "another");
  // The same words about another description are another question.
  DescribedRows other = rows();
  other.description.people = 1000;
  LedgerOutlet outlet;
  expect_error(query::ask(other, kByDept, terms(0.5, 0, "mine"), *open(), outlet), ErrorCode::kInvalidArgument,
               "another");
}

TEST_F(Ask, StatementsOfAFileAreOnePlan) {
  const std::vector<std::string> file = {kByDept, "SELECT avg(cost) FROM visits",
                                         "SELECT v.dept, count(*) FROM visits v GROUP BY v.dept"};
  const Asked asked = value_of(ask_all(file, terms(1, 1e-6)));
  EXPECT_EQ(asked.tables.size(), 3U);
  EXPECT_LE(asked.released->release.certificate.epsilon.upper, 1);
  EXPECT_EQ(number(asked.tables[0], 1, 0), number(asked.tables[2], 1, 0));
  EXPECT_EQ(spent(), 1);
  hide_rows();
  EXPECT_TRUE(value_of(ask("SELECT avg(cost) FROM visits", terms(0.5))).is_free);
  EXPECT_TRUE(value_of(ask_all(file, terms(1, 1e-6))).is_free);
  // One that is not bought yet is bought alone.
  write_rows(300);
  const Asked more = value_of(ask_all({kByDept, "SELECT count(DISTINCT pid) FROM visits"}, terms(1, 1e-6)));
  EXPECT_EQ(number(more.tables[0], 1, 0), number(asked.tables[0], 1, 0));
  EXPECT_EQ(more.released->answer->content.values.size(), 2U);
  EXPECT_EQ(spent(), 2);
}

TEST_F(Ask, SpendsNothingWhereItIsRefused) {
  for (const char* const refused :
       {"SELECT * FROM visits", "SELECT count(*) FROM staff", "SELECT count(*) FROM visits; DROP TABLE visits",
        "SELECT ward, count(*) FROM visits GROUP BY ward"}) {
    EXPECT_FALSE(ask(refused).has_value()) << refused;
  }
  EXPECT_EQ(spent(), 0);
  (void)table("SELECT count(*) FROM visits", terms(9));
  expect_error(ask(kByDept, terms(9.5)), ErrorCode::kBudgetExhausted, "epsilon");
  EXPECT_EQ(spent(), 1);
}

// Nothing that is not an answer differs between neighbours: explanations, forecasts and refusals.
TEST_F(Ask, SaysTheSameAboutNeighbours) {
  const std::vector<std::string> statements = {kByDept,
                                               "SELECT ward, avg(cost) FROM visits GROUP BY ward",
                                               "SELECT median(age), min(age) FROM visits",
                                               "SELECT * FROM visits",
                                               "SELECT sum(1/(pid-17)) FROM visits",
                                               "SELECT count(*) FROM visits WHERE pid = 17"};
  const auto all_said = [&] {
    std::string said;
    for (const std::string& statement : statements) {
      const Result<std::string> text = explanation(rows(), {&statement, 1}, terms(1, 1e-6), nullptr);
      said += text.has_value() ? text.value() : text.error().message;
      const Result<Forecast> ahead = forecast(rows(), {&statement, 1}, terms(1, 1e-6), nullptr);
      if (ahead.has_value()) said += ahead.value().question->configuration;
    }
    return said;
  };
  write_rows(300);
  const std::string one = all_said();
  EXPECT_NE(one.find("one unit moves all groups"), std::string::npos) << one;
  EXPECT_NE(one.find("SELECT"), std::string::npos);
  write_rows(299);
  EXPECT_EQ(all_said(), one);
  write_rows(300, 499);
  EXPECT_EQ(all_said(), one);
  write_rows(0);
  EXPECT_EQ(all_said(), one);
}

enum class Moment : int { kNever, kPrepared, kKept, kPublished, kEnd };

class Mortal final : public Outlet {
 public:
  Mortal(const std::string& path, Moment killed_at) : file_(path, certificate_beside(path)), killed_at_(killed_at) {}
  [[nodiscard]] std::string name() const override { return file_.name(); }
  [[nodiscard]] Result<void> prepare() override {
    pass(Moment::kPrepared);
    return file_.prepare();
  }
  [[nodiscard]] Result<std::optional<std::string>> kept() override { return file_.kept(); }
  [[nodiscard]] Result<void> keep(const std::string& bytes) override {
    NF_TRY_VOID(file_.keep(bytes));
    pass(Moment::kKept);
    return success();
  }
  [[nodiscard]] Result<void> publish(const Sealed& release) override {
    NF_TRY_VOID(file_.publish(release));
    pass(Moment::kPublished);
    return success();
  }

 private:
  void pass(Moment moment) const {
    if (moment == killed_at_) (void)std::raise(SIGKILL);
  }
  FileOutlet file_;
  Moment killed_at_;
};

// Killed at any moment of the road: asking again pays at most once, and gives the bytes that were sealed.
TEST_F(Ask, SurvivesBeingKilled) {
  (void)table("SELECT count(*) FROM visits");
  for (int moment = 1; moment < static_cast<int>(Moment::kEnd); ++moment) {
    SCOPED_TRACE(moment);
    const std::string path = folder_.path("answer" + std::to_string(moment) + ".json");
    const std::vector<std::string> question = {"SELECT dept, sum(cost + " + std::to_string(moment) +
                                               ") FROM visits GROUP BY dept"};
    const double before = spent();
    const auto child = noisefloor::testing::ChildProcess::run([&] {
      Mortal outlet(path, static_cast<Moment>(moment));
      return query::ask(rows(), question, terms(), *open(), outlet).has_value() ? 0 : 1;
    });
    ASSERT_TRUE(child.was_killed());
    std::string sealed;
    for (const std::string& left : {path, path + ".sealed"}) {
      std::ifstream file(left, std::ios::binary);
      if (file) sealed.assign(std::istreambuf_iterator<char>(file), {});
    }
    EXPECT_EQ(sealed.empty(), moment == static_cast<int>(Moment::kPrepared));
    Mortal outlet(path, Moment::kNever);
    const Asked again = value_of(query::ask(rows(), question, terms(), *open(), outlet));
    EXPECT_EQ(spent() - before, 1);
    if (!sealed.empty()) {
      EXPECT_EQ(again.released->release.bytes, sealed);
    }
    expect_good(verify_in_ledger(value_of(verify_release(again.released->release.bytes)), *open()));
  }
}

// Where an answer follows from others there is nothing new to certify.
TEST_F(Ask, WritesNoFileForWhatFollows) {
  (void)table(kByDept);
  FileOutlet outlet(folder_.path("answer.json"), folder_.path("answer.certificate.json"));
  const std::vector<std::string> total = {"SELECT count(*) FROM visits"};
  expect_error(query::ask(rows(), total, terms(), *open(), outlet), ErrorCode::kInvalidArgument, "new key");
  const std::vector<std::string> same = {kByDept};
  EXPECT_TRUE(value_of(query::ask(rows(), same, terms(), *open(), outlet)).is_free);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("answer.json")));
  EXPECT_EQ(spent(), 1);
}

}  // namespace
}  // namespace noisefloor::query
