#include "noisefloor/training/simulation_job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "noisefloor/base/file.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using federated::SimulatedRound;
using testing::expect_invalid;

constexpr const char* kHead = R"(
name = "clinics"
[model]
kind = "logistic"
[run]
rounds = 4
local_steps = 5
batch_size = 8
learning_rate = 0.5
)";
constexpr const char* kColumns = R"(
public = true
label = "ill"
classes = ["no", "yes"]
[[data.column]]
name = "x"
lower = -1
upper = 1
)";
constexpr const char* kMethods = R"(
[[method]]
kind = "fedavg"
[[method]]
kind = "local-only"
)";

class SimulationJobTest : public ::testing::Test {
 protected:
  // Rows of a clinic: ill where x is above the threshold.
  static std::string rows(const std::string& clinic, int count, double threshold) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      const double x = 2.0 * ((i * 37) % 101) / 101 - 1;
      text += clinic + "," + std::to_string(x) + "," + (x > threshold ? "yes" : "no") + "\n";
    }
    return text;
  }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path(name);
    EXPECT_TRUE(write_file(path, text).has_value());
    return path;
  }
  Result<SimulationJob> prepare(const std::string& text, std::size_t threads = 1) {
    Machine machine;
    machine.threads = threads;
    return SimulationJob::prepare(write("run.toml", text), {folder_.path("out"), true}, machine);
  }
  std::string one_table() {
    write("all.csv", "clinic,x,ill\n" + rows("b", 60, 0.1) + rows("a", 40, -0.1) + rows("tiny", 3, 0));
    return std::string(kHead) + "seeds = [1, 2]\n[data]\nformat = \"csv\"\ntrain = \"all.csv\"\ntest_fraction = 0.3" +
           kColumns + "[sites]\nby = \"column\"\ncolumn = \"clinic\"\nleast = 10\n" + kMethods;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(SimulationJobTest, DividesRowsByAColumn) {
  const SimulationJob job = prepare(one_table()).value();
  EXPECT_EQ(job.data().names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(job.data().left_out, 1U);
  EXPECT_TRUE(job.data().tests_by_site);
  EXPECT_EQ(job.data().train[0].rows + job.data().tests[0].rows, 40U);
  EXPECT_EQ(job.data().train[1].rows + job.data().tests[1].rows, 60U);
  EXPECT_EQ(job.parameters(), 4U);
}

TEST_F(SimulationJobTest, DividesRowsByFilesAndByChance) {
  write("a.csv", "clinic,x,ill\n" + rows("-", 30, 0));
  write("b.csv", "clinic,x,ill\n" + rows("-", 50, 0.2));
  write("held.csv", "clinic,x,ill\n" + rows("-", 20, 0.1));
  const std::string data =
      "[data]\nformat = \"csv\"\n" + std::string("train = \"{site}.csv\"\ntest = \"held.csv\"") + kColumns;
  const SimulationJob files =
      prepare(kHead + data + "[sites]\nby = \"file\"\nnames = [\"b\", \"a\"]\n" + kMethods).value();
  EXPECT_EQ(files.data().names, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(files.data().train[0].rows, 50U);
  EXPECT_EQ(files.data().tests.size(), 1U);
  const std::string one =
      "[data]\nformat = \"csv\"\n" + std::string("train = \"b.csv\"\ntest = \"held.csv\"") + kColumns;
  const SimulationJob parts = prepare(kHead + one + "[sites]\nby = \"even\"\ncount = 5\n" + kMethods).value();
  ASSERT_EQ(parts.data().names.size(), 5U);
  for (const Dataset& rows : parts.data().train) EXPECT_EQ(rows.rows, 10U);
}

TEST_F(SimulationJobTest, RunsEveryMethodWithEverySeedTheSameOnAnyThreads) {
  std::string tables[2];
  for (const std::size_t threads : {1U, 3U}) {
    SimulationJob job = prepare(one_table(), threads).value();
    std::size_t rounds = 0;
    const auto runs = job.run({}, [&](std::size_t, std::uint64_t, const SimulatedRound&) { ++rounds; }).value();
    ASSERT_EQ(runs.size(), 4U);
    EXPECT_EQ(rounds, 4U * 5U);
    EXPECT_EQ(runs[0].result.rounds.size(), 5U);
    const auto accuracy = over_seeds(runs, 0, [](const SimulatedRun& run) { return run.result.quality.accuracy; });
    ASSERT_TRUE(accuracy);
    EXPECT_GT(accuracy->mean, 0.75);
    EXPECT_LE(accuracy->lowest, accuracy->mean);
    EXPECT_GE(accuracy->highest, accuracy->mean);
    tables[threads / 3] = read_file(folder_.path(std::string("out/") + kSimulationTableName), 1 << 20).value();
  }
  EXPECT_EQ(tables[0], tables[1]);
  EXPECT_NE(tables[0].find("\"local-only\",2,4,1,2,"), std::string::npos) << tables[0];
}

TEST_F(SimulationJobTest, StandardisesByTrainingRows) {
  std::string text = one_table();
  text.replace(text.find("least = 10"), 10, "least = 10\nstandardise = \"site\"");
  const SimulationJob job = prepare(text).value();
  for (const Dataset& rows : job.data().train) {
    double sum = 0;
    double squares = 0;
    for (const float x : rows.features) {
      sum += double{x};
      squares += double{x} * double{x};
    }
    EXPECT_NEAR(sum / static_cast<double>(rows.rows), 0, 1e-5);
    EXPECT_NEAR(squares / static_cast<double>(rows.rows), 1, 1e-5);
  }
}

TEST_F(SimulationJobTest, StopsWhenAsked) {
  SimulationJob job = prepare(one_table()).value();
  const auto runs = job.run({.observer = nullptr, .stop = [] { return true; }});
  ASSERT_FALSE(runs.has_value());
  EXPECT_NE(runs.error().message.find("stopped"), std::string::npos);
}

TEST_F(SimulationJobTest, SaysWhatIsWrongWithItsPlace) {
  std::string text = one_table();
  text.replace(text.find("public = true"), 13, "public = false");
  const auto refused = prepare(text);
  ASSERT_FALSE(refused.has_value());
  expect_invalid(refused.error(), "run.toml:");
  expect_invalid(refused.error(), "public = true");
  text = one_table();
  text.replace(text.find("least = 10"), 10, "least = 99");
  expect_invalid(prepare(text).error(), "no site has 99 rows");
  text = one_table();
  text.replace(text.find("column = \"clinic\""), 17, "column = \"ward\"");
  const auto missing = prepare(text);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kInputData);
}

}  // namespace
}  // namespace noisefloor
