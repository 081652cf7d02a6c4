#include "noisefloor/summary/simulation_summary.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "lacks " << part;
}

constexpr const char* kFile = R"(
name = "parts"
[data]
format = "csv"
train = "all.csv"
public = true
test_fraction = 0.3
label = "ill"
classes = ["no", "yes"]
[[data.column]]
name = "x"
lower = -1
upper = 1
[sites]
by = "quantity"
count = 3
least = 5
[model]
kind = "logistic"
[run]
rounds = 2
local_epochs = 1
batch_size = 8
learning_rate = 0.5
seeds = [0, 1]
[[method]]
kind = "fednova"
)";

TEST(SimulationSummary, SaysThatNothingIsPrivate) {
  const testing::TemporaryFolder folder;
  {
    std::ofstream rows(folder.path("all.csv"));
    rows << "x,ill\n";
    for (int i = 0; i < 120; ++i) rows << i / 60.0 - 1 << "," << (i > 60 ? "yes" : "no") << "\n";
    std::ofstream(folder.path("run.toml")) << kFile;
  }
  SimulationJob job = SimulationJob::prepare(folder.path("run.toml"), {folder.path("out"), false}, {}).value();
  const auto outline = nlohmann::json::parse(outline_of(job).as_json());
  EXPECT_EQ(outline["sites"].size(), 3U);
  EXPECT_EQ(outline["methods"][0], "fednova");
  const std::vector<SimulatedRun> runs = job.run({}).value();
  const Summary summary = summary_of(job, runs);
  expect_holds(summary.as_text(), "parts: one method at 3 sites");
  expect_holds(summary.as_text(), "mean of 2 seeds");
  expect_holds(summary.as_text(), "nothing here is private");
  const auto json = nlohmann::json::parse(summary.as_json());
  EXPECT_EQ(json["private"], false);
  ASSERT_EQ(json["runs"].size(), 2U);
  const auto& run = json["runs"][0];
  EXPECT_EQ(run["private"], false);
  EXPECT_EQ(run["rounds"].size(), 3U);
  EXPECT_EQ(run["joined"], (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(run["rounds"][2]["accuracy"], run["accuracy"]);
  EXPECT_GT(run["rounds"][2]["bytes_up"], 0);
  EXPECT_FALSE(json.contains("report")) << "no files were asked for";
  expect_holds(round_line(runs[0].result.rounds[2]), "%");
  EXPECT_EQ(run_heading(job, 0, 1), "fednova, seed 1");
}

}  // namespace
}  // namespace noisefloor
