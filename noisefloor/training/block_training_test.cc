// Trainings on the blocks of a growing table: which rows they read, what they pay from, and attempts to learn from old
// rows again.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "noisefloor/release/verify_release.h"
#include "noisefloor/training/examples.h"
#include "noisefloor/training/job.h"
#include "noisefloor/training/model_release.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_clean;
using testing::expect_error;
using testing::expect_good;
using testing::value_of;

class BlockTrainingTest : public testing::ToyJob {
 protected:
  BlockTrainingTest() : ledger_(make_ledger()) {
    write("data.csv", dated(""));
    write("rows.toml", kRows);
    write("toy.toml", training(R"(["2025-01"])"));
  }

  // The toy's table, 500 rows for each of four months. `old` stands for the first of them, under whatever date.
  [[nodiscard]] static std::string dated(const std::string& old) {
    std::stringstream text(testing::toy_table());
    std::string line;
    std::getline(text, line);
    std::string all = "visited," + line + "\n";
    for (int i = 0; std::getline(text, line); ++i) {
      const std::string month = fmt::format("2025-{:02}", i / 500 + 1);
      all += fmt::format("{}-{:02},{}\n", i < 500 && !old.empty() ? old : month, i % 28 + 1, line);
    }
    return all;
  }
  [[nodiscard]] static std::string training(const std::string& blocks) {
    return "name = \"toy\"\n[data]\ndataset = \"rows.toml\"\nblocks = " + blocks +
           "\nrows = 500\ntest_fraction = 0.2\n[model]\nkind = \"logistic\"\n[training]\nbatch_size = 50\nclip_norm = "
           "1.0\n"
           "learning_rate = 1.0\nsteps = 20\n";
  }
  Result<TrainingOutcome> train(const std::string& key, double epsilon = 0.5) {
    TrainingWish asked;
    asked.folder = path("out-" + key);
    asked.key = key;
    asked.noise.epsilon = Epsilon::make(epsilon).value();
    asked.noise.delta = Delta::of(1e-7);
    asked.unknown = NewDatasets::kAdd;
    NF_TRY(TrainingJob job, TrainingJob::prepare(file(), asked, {}));
    NF_TRY(const Outlook outlook, job.outlook(ledger_.get()));
    Result<TrainingOutcome> outcome = job.run(ledger_.get(), control_);
    if (outcome.has_value()) {
      EXPECT_TRUE(outlook.fits) << "the dry run must say the same";
    }
    return outcome;
  }

  static constexpr const char* kRows = R"(name = "toy"
[data]
format = "csv"
file = "data.csv"
label = "kind"
classes = ["no", "yes"]
[[data.column]]
name = "x"
lower = -1
upper = 1
[[data.column]]
name = "y"
lower = -1
upper = 1
[blocks]
by = "date"
column = "visited"
period = "month"
[budget]
epsilon = 1
delta = 1e-5
)";
  std::unique_ptr<Ledger> ledger_;
};

TEST_F(BlockTrainingTest, LearnsFromTheRowsOfItsBlocksAlone) {
  const auto examples = [&](const std::string& blocks) {
    write("toy.toml", training(blocks));
    const TrainingExamples found = value_of(read_examples(file(), 1));
    return found.train.rows + found.test->rows;
  };
  EXPECT_EQ(examples(R"(["2025-01"])"), 500U);
  EXPECT_EQ(examples(R"(["2025-01..2025-02", "2025-04"])"), 1500U);
  EXPECT_TRUE(value_of(read_test_examples(file(), 1)) == value_of(read_examples(file(), 1)).test.value());
  // The rows themselves, in their order: those of February are the second 500 of the toy's table.
  write("toy.toml", training(R"(["2025-02"])"));
  const TrainingExamples february = value_of(read_examples(file(), 1));
  write("all.csv", testing::toy_table());
  const TrainingFile described = file();
  const auto& table = std::get<CsvTable>(described.training.data.format);
  const Dataset all = value_of(read_csv(path("all.csv"), table.schema, {}));
  for (std::size_t i = 0; i < february.train.rows; ++i) {
    bool found = false;
    for (std::size_t row = 500; row < 1000 && !found; ++row) {
      found = std::equal(all.example(row).begin(), all.example(row).end(), february.train.example(i).begin());
    }
    ASSERT_TRUE(found) << i;
  }
}

TEST_F(BlockTrainingTest, PaysFromItsBlocksAndNamesThem) {
  const TrainingOutcome january = value_of(train("a", 0.75));
  EXPECT_EQ(january.run.model.certificate.spend->blocks, std::vector<std::string>{"2025-01"});
  const VerifiedRelease verified = value_of(verify_release(january.run.model.bytes, read_model_release));
  EXPECT_TRUE(verify_in_ledger(verified, *ledger_).has_value());
  expect_error(train("b", 0.5), ErrorCode::kBudgetExhausted, "block '2025-01'");
  write("toy.toml", training(R"(["2025-01..2025-03"])"));
  expect_error(train("c", 0.5), ErrorCode::kBudgetExhausted, "block '2025-01'");
  write("toy.toml", training(R"(["2025-02..2025-03"])"));
  EXPECT_TRUE(train("d", 0.75).has_value()) << "new rows bring new budget";
  write("toy.toml", training(R"(["2024-01"])"));
  EXPECT_TRUE(train("e", 0.5).has_value()) << "that a block has no rows must not show";
  expect_clean(path("ledger"));
}

TEST_F(BlockTrainingTest, OldRowsUnderNewDatesAreRefused) {
  EXPECT_TRUE(train("a", 0.75).has_value());
  write("data.csv", dated("2025-05"));
  write("toy.toml", training(R"(["2025-05"])"));
  expect_error(train("b", 0.5), ErrorCode::kBudgetExhausted, "known under the block '2025-01'");
  ASSERT_EQ(witness_.conflicts.size(), 1U);
  EXPECT_EQ(witness_.conflicts.front().kind, DatasetConflict::Kind::kOtherBlock);
  EXPECT_FALSE(exists("out-b"));
}

TEST_F(BlockTrainingTest, BatchesAreReadOneAfterTheOther) {
  std::string rows = kRows;
  rows.replace(rows.find("data.csv"), 8, "part-{block}.csv");
  const std::string from = "by = \"date\"\ncolumn = \"visited\"\nperiod = \"month\"";
  rows.replace(rows.find(from), from.size(), "by = \"batch\"");
  write("rows.toml", rows);
  std::stringstream text(testing::toy_table());
  std::string header;
  std::getline(text, header);
  std::string parts[2];
  std::string line;
  for (int i = 0; std::getline(text, line); ++i) parts[i < 1200 ? 0 : 1] += line + "\n";
  write("part-one.csv", header + "\n" + parts[0]);
  write("part-two.csv", header + "\n" + parts[1]);
  write("toy.toml", training(R"(["two", "one"])"));
  const TrainingExamples both = value_of(read_examples(file(), 1));
  EXPECT_EQ(both.train.rows + both.test->rows, 2000U);
  expect_good(check_dataset(both.train));
  EXPECT_TRUE(train("a", 0.75).has_value());
  write("toy.toml", training(R"(["two"])"));
  expect_error(train("b", 0.5), ErrorCode::kBudgetExhausted, "block 'two'");
  write("part-three.csv", header + "\n" + parts[1]);
  write("toy.toml", training(R"(["three"])"));
  expect_error(train("c", 0.5), ErrorCode::kBudgetExhausted, "known under the block 'two'");
  expect_clean(path("ledger"));
}

}  // namespace
}  // namespace noisefloor
