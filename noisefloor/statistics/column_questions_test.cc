#include "noisefloor/statistics/column_questions.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <memory>

#include "noisefloor/base/hex.h"
#include "noisefloor/dataset/registry.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/replay_engine.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::value_of;

class ColumnQuestionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ledger_ = value_of(Ledger::create(folder_.path("a.ledger"), SigningKey::from_seed({1}), {}));
    testing::ReplayEngine random(1);
    std::string rows = "id,age,sick\n";
    for (int i = 0; i < 300; ++i) rows += fmt::format("{},{},{}\n", random(), random() % 90, random() % 2);
    std::ofstream(folder_.path("patients.csv")) << rows;
    std::ofstream(folder_.path("copy.csv")) << rows;
  }
  [[nodiscard]] DescribedRows described(const std::string& name, const std::string& file) const {
    CsvTable table;
    table.schema.features = {NumericColumn{.name = "age", .lower = 0, .upper = 100}};
    table.schema.outcome = LabelColumn{"sick", {"0", "1"}};
    return {{.name = name,
             .format = table,
             .files = TextFile{file},
             .budget = DatasetBudget{name, Epsilon::of(1), Delta::of(0)}},
            folder_.path("")};
  }
  [[nodiscard]] Result<Question> question(const DescribedRows& rows, double epsilon, const std::string& column = "age",
                                          ColumnStatistic statistic = ColumnStatistic::kSum) {
    return column_question(rows, {statistic, column, Epsilon::make(epsilon).value()}, random_);
  }
  [[nodiscard]] Result<ReleasedAnswer> ask(const DescribedRows& rows, double epsilon, const std::string& key,
                                           NewDatasets unknown = NewDatasets::kRefuse) {
    NF_TRY(const Question asked, question(rows, epsilon));
    LedgerOutlet outlet;
    return ask_dataset(rows, asked, {key, "1.0", unknown}, *ledger_, outlet, &conflict_);
  }
  [[nodiscard]] double spent() { return value_of(ledger_->budget("patients")).account.spent_share(); }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Ledger> ledger_;
  SecureRandom random_ = value_of(SecureRandom::create());
  std::optional<DatasetConflict> conflict_;
};

TEST_F(ColumnQuestionsTest, TheAnswerIsPaidForByTheDatasetAndNamesIt) {
  const DescribedRows rows = described("patients", "patients.csv");
  expect_error(ask(rows, 0.5, "total"), ErrorCode::kInvalidArgument, "knows neither the dataset nor the budget");
  const ReleasedAnswer made = value_of(ask(rows, 0.5, "total", NewDatasets::kAdd));
  EXPECT_NEAR(spent(), 0.5, 1e-9);
  ASSERT_TRUE(made.answer && made.answer->dataset);
  EXPECT_EQ(made.answer->dataset->name, "patients");
  EXPECT_EQ(made.answer->dataset->digest, to_hex(digest_of(rows.description)));
  EXPECT_TRUE(value_of(ask(rows, 0.5, "total")).again);
  EXPECT_NEAR(spent(), 0.5, 1e-9) << "one key is paid for once";
  expect_error(ask(rows, 0.6, "more"), ErrorCode::kBudgetExhausted, "0.5");
}

// A key that was answered for one column says nothing of another one.
TEST_F(ColumnQuestionsTest, AKeyIsForOneColumnOfOneDataset) {
  const Question age = value_of(question(described("patients", "patients.csv"), 0.1));
  EXPECT_NE(age.configuration.find(R"("dataset":"patients","column":"age")"), std::string::npos) << age.configuration;
  const Question copy = value_of(question(described("copy", "copy.csv"), 0.1));
  EXPECT_NE(age.configuration, copy.configuration);
}

// The same rows under another name do not get a budget of their own, and neither do shuffled or exchanged ones.
TEST_F(ColumnQuestionsTest, TheSameRowsUnderAnotherNameAreRefused) {
  (void)value_of(ask(described("patients", "patients.csv"), 0.9, "total", NewDatasets::kAdd));
  const DescribedRows copy = described("copy", "copy.csv");
  expect_error(ask(copy, 0.5, "again", NewDatasets::kAdd), ErrorCode::kBudgetExhausted, "patients");
  ASSERT_TRUE(conflict_);
  EXPECT_EQ(conflict_->owner, "patients");
  ASSERT_TRUE(granted(value_of(add_dataset(*ledger_, copy.description, copy.folder, "patients"))).has_value());
  expect_error(ask(copy, 0.5, "again"), ErrorCode::kBudgetExhausted, "patients");
  EXPECT_NEAR(spent(), 0.9, 1e-9);
  expect_good(ledger_->retire_dataset("patients", "consent expired"));
  expect_error(ask(copy, 0.01, "late"), ErrorCode::kBudgetExhausted, "consent expired");
}

TEST_F(ColumnQuestionsTest, StatesThePersonAndTheRowsOfEach) {
  DescribedRows rows = described("patients", "patients.csv");
  rows.description.unit = {PrivacyUnit::kPerson, "id", 4};
  const Question sum = value_of(question(rows, 1));
  EXPECT_EQ(sum.statement.unit, PrivacyUnit::kPerson);
  EXPECT_NE(sum.configuration.find(R"("rows_per_unit":4)"), std::string::npos) << sum.configuration;
  rows.description.budget->adjacency = Adjacency::kReplaceOne;
  for (const ColumnStatistic statistic : {ColumnStatistic::kSum, ColumnStatistic::kMean, ColumnStatistic::kQuantile}) {
    expect_error(question(rows, 1, "age", statistic), ErrorCode::kInvalidArgument, "rows_per_person = 1");
  }
  rows.description.unit.rows_per_person = 1;
  EXPECT_EQ(value_of(question(rows, 1)).statement.adjacency, Adjacency::kReplaceOne);
}

TEST_F(ColumnQuestionsTest, RefusesPublicDataAndUnknownColumns) {
  DescribedRows rows = described("patients", "patients.csv");
  expect_error(question(rows, 1, "agge"), ErrorCode::kInvalidArgument, "did you mean 'age'");
  rows.description.budget.reset();
  expect_error(question(rows, 1), ErrorCode::kInvalidArgument, "public");
}

}  // namespace
}  // namespace noisefloor
