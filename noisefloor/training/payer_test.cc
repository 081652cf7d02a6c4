// Attempts to avoid paying for a training: rows under another name, shuffled, renamed, declared public.
#include "noisefloor/training/payer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "noisefloor/dataset/registry.h"
#include "noisefloor/training/job.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::value_of;

class PayerTest : public testing::ToyJob {
 protected:
  PayerTest() : ledger_(make_ledger()) {}

  // Trains with the file as it is now, for ε = 0.5 out of the budget's 2.
  Result<TrainingOutcome> train(const std::string& key, NewDatasets unknown = NewDatasets::kAdd) {
    TrainingWish asked;
    asked.folder = path("out-" + key);
    asked.key = key;
    asked.noise.epsilon = Epsilon::of(0.5);
    asked.noise.delta = Delta::of(1e-7);
    asked.unknown = unknown;
    TrainingJob job = value_of(TrainingJob::prepare(file(), asked, {}));
    return job.run(ledger_.get(), control_);
  }
  // Puts the lines of data.csv after its header in another order.
  void shuffle() const {
    std::stringstream text(read("data.csv"));
    std::string header;
    std::getline(text, header);
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    std::string all = header + "\n";
    for (const std::string& line : lines) all += line + "\n";
    write("data.csv", all);
  }
  void rename_budget(const std::string& name) const { change("[budget]\n", "[budget]\nname = \"" + name + "\"\n"); }

  std::unique_ptr<Ledger> ledger_;
};

TEST_F(PayerTest, CreatesNothingWithoutPermission) {
  expect_error(train("a", NewDatasets::kRefuse), ErrorCode::kInvalidArgument,
               "knows neither the dataset nor the budget");
  EXPECT_EQ(budgets(*ledger_), 0U);
  EXPECT_FALSE(exists("out-a"));
  ASSERT_TRUE(train("a").has_value());
  EXPECT_EQ(budgets(*ledger_), 1U);
  ASSERT_TRUE(train("b", NewDatasets::kRefuse).has_value()) << "the dataset is known now";
}

TEST_F(PayerTest, GivesARenamedCopyOfTheFileNoFreshBudget) {
  ASSERT_TRUE(train("a").has_value());
  rename_budget("fresh");
  expect_error(train("b"), ErrorCode::kBudgetExhausted, "'toy'");
  ASSERT_EQ(witness_.conflicts.size(), 1U);
  EXPECT_EQ(witness_.conflicts.front().owner, "toy");
  EXPECT_EQ(budgets(*ledger_), 1U);
  EXPECT_FALSE(exists("out-b"));
}

TEST_F(PayerTest, RecognisesShuffledRows) {
  ASSERT_TRUE(train("a").has_value());
  rename_budget("fresh");
  shuffle();
  expect_error(train("b"), ErrorCode::kBudgetExhausted, "'toy'");
  EXPECT_EQ(budgets(*ledger_), 1U);
}

TEST_F(PayerTest, ChargesTheOwnerForRowsThatAreSharedDeliberately) {
  ASSERT_TRUE(train("a").has_value());
  rename_budget("second");
  const TrainingFile second = file();
  const DatasetOutcome added = value_of(add_dataset(*ledger_, description_of(second.training), second.folder, "toy"));
  EXPECT_TRUE(granted(added).has_value());
  const double before = spent(*ledger_);
  ASSERT_TRUE(train("b", NewDatasets::kRefuse).has_value());
  EXPECT_NEAR(spent(*ledger_), before + 0.5, 1e-6);
  EXPECT_EQ(budgets(*ledger_), 1U);
  ASSERT_TRUE(train("c").has_value());
  ASSERT_TRUE(train("d").has_value());
  expect_error(train("e"), ErrorCode::kBudgetExhausted, "");
}

TEST_F(PayerTest, AddsTheDatasetToABudgetOfVersionOneWithTheFirstUse) {
  const TrainingFile toy = file();
  expect_good(ledger_->create_budget(budget_of(toy.training.privacy)));
  ASSERT_TRUE(train("a", NewDatasets::kRefuse).has_value());
  rename_budget("fresh");
  expect_error(train("b"), ErrorCode::kBudgetExhausted, "'toy'");
}

TEST_F(PayerTest, RefusesARetiredDataset) {
  ASSERT_TRUE(train("a").has_value());
  expect_good(ledger_->retire_dataset("toy", "consent expired"));
  expect_error(train("b"), ErrorCode::kBudgetExhausted, "consent expired");
}

}  // namespace
}  // namespace noisefloor
