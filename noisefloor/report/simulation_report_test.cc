#include "noisefloor/report/simulation_report.h"

#include <gtest/gtest.h>

#include <fstream>

#include "noisefloor/base/file.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "lacks " << part;
}

constexpr const char* kFile = R"(
name = "two <clinics>"
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
by = "column"
column = "clinic"
[model]
kind = "logistic"
[run]
rounds = 3
local_steps = 2
batch_size = 8
learning_rate = 0.5
[privacy]
mode = "local"
epsilon = 2
delta = 1e-3
clip_norm = 1
[[method]]
kind = "fedavg"
[[method]]
kind = "scaffold"
[[method]]
kind = "local-only"
private = false
)";

TEST(SimulationReport, ShowsEveryMethodSiteAndCost) {
  const testing::TemporaryFolder folder;
  {
    std::ofstream rows(folder.path("all.csv"));
    rows << "clinic,x,ill\n";
    for (int i = 0; i < 120; ++i)
      rows << (i % 3 == 0 ? "a&b" : "c") << "," << i / 60.0 - 1 << "," << (i > 60 ? "yes" : "no") << "\n";
    std::ofstream(folder.path("run.toml")) << kFile;
  }
  SimulationJob job = SimulationJob::prepare(folder.path("run.toml"), {folder.path("out"), true}, {}).value();
  const std::vector<SimulatedRun> runs = job.run({}).value();
  const Chart comparison = comparison_chart(job, runs);
  ASSERT_EQ(comparison.series.size(), 3U);
  EXPECT_EQ(comparison.series[1].name, "scaffold");
  EXPECT_EQ(comparison.series[0].points.size(), 4U) << "three rounds, and what was before them";
  EXPECT_EQ(comparison.series[0].points.back().upper, 100 * *runs[0].result.quality.accuracy);
  ASSERT_TRUE(sites_chart(job, runs, 0));
  EXPECT_EQ(sites_chart(job, runs, 0)->series[0].name, "a&b");
  ASSERT_TRUE(epsilon_chart(job, runs, 0));
  EXPECT_NEAR(epsilon_chart(job, runs, 0)->series[0].points.back().upper, 2, 0.01);
  EXPECT_FALSE(epsilon_chart(job, runs, 2)) << "without noise";
  ASSERT_TRUE(draw_simulation(job, runs, "noisefloor 1").has_value());
  const std::string page = read_file(folder.path("out/report.html"), 10'000'000).value();
  expect_holds(page, "NOT PRIVATE");
  expect_holds(page, "two &lt;clinics&gt;");
  expect_holds(page, "a&amp;b");
  EXPECT_EQ(page.find("a&b"), std::string::npos) << "names are escaped";
  EXPECT_NE(page.find("id=\"epsilon-m\""), std::string::npos);
  EXPECT_EQ(page.find("id=\"epsilon-mm\""), std::string::npos) << "methods of one cost have one picture";
  const std::string svg = read_file(folder.path("out/simulation.svg"), 10'000'000).value();
  expect_holds(svg, "scaffold");
}

}  // namespace
}  // namespace noisefloor
