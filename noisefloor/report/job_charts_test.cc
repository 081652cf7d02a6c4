#include "noisefloor/report/job_charts.h"

#include <gtest/gtest.h>

#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_good;
using testing::value_of;

class JobChartsTest : public testing::ToyJob {
 protected:
  void aim(const std::string& noise) const {
    write("toy.toml", testing::toy_toml("epochs = 10\n") +
                          "[plan]\nutility = \"public\"\nclip_norms = [0.5, 1]\nnoise_multipliers = " + noise + "\n");
  }
  [[nodiscard]] SweepJob sweep(std::vector<double> epsilons) const {
    return value_of(SweepJob::prepare(
        file(), {.epsilons = std::move(epsilons), .folder = path("sweep"), .key = {}, .replay_seed = 1, .unknown = {}},
        {}));
  }
};

SweepRun run_at(double epsilon, double accuracy) {
  Quality quality{.examples = 400, .loss = 0.5};
  quality.accuracy = accuracy;
  return {.epsilon = epsilon, .noise = {}, .certified = epsilon, .quality = quality, .seconds = 1};
}

TEST(TradeOffChart, HasALineForEachNumberOfEpochs) {
  const PlanQuestion asked{.rows = Rows::of(1000), .epochs = 4, .delta = Delta::of(1e-5), .epsilon = Epsilon::of(1.0)};
  const std::vector<TradeOff> curves = value_of(plan_trade_offs(asked, *asked.epsilon, 3));
  const Chart chart = trade_off_chart(asked, *asked.epsilon, curves);
  EXPECT_EQ(chart.title, "Noise by batch size: epsilon 1 at delta 1e-05");
  ASSERT_EQ(chart.series.size(), 3U);
  EXPECT_EQ(chart.series[1].name, "4 epochs");
  ASSERT_EQ(chart.series[1].points.size(), curves[1].plans.size());
  EXPECT_EQ(chart.series[1].points.back().lower, curves[1].plans.back().noise.value());
}

TEST_F(JobChartsTest, AUtilityGraphShowsItsRangeByNoise) {
  aim("[0.5, 2]");
  PlanJob job = value_of(PlanJob::prepare(file(), {.folder = path("plan")}, {}));
  std::filesystem::create_directories(path("plan"));
  const std::vector<UtilityCurve> curves{
      {ClipNorm::of(0.5), 0.9, {{NoiseMultiplier::of(0.5), 0.8, 0.9, 1.0}, {NoiseMultiplier::of(2.0), 0.5, 0.6, 0.7}}}};
  const Chart chart = utility_chart(job, curves);
  ASSERT_EQ(chart.series.size(), 1U);
  EXPECT_EQ(chart.series[0].name, "C = 0.5");
  EXPECT_EQ(chart.series[0].points[1].x, 2.0);
  EXPECT_EQ(chart.series[0].points[1].lower, 0.5);
  EXPECT_EQ(chart.series[0].points[1].upper, 0.7);
  expect_good(draw_utility_graph(job, curves));
  EXPECT_NE(read("plan/utility-graph.svg").find("toy: what noise costs in accuracy"), std::string::npos);
}

TEST_F(JobChartsTest, OneNoiseMultiplierMakesNoPicture) {
  aim("[0.5]");
  PlanJob job = value_of(PlanJob::prepare(file(), {.folder = path("plan")}, {}));
  std::filesystem::create_directories(path("plan"));
  expect_good(draw_utility_graph(job, {{ClipNorm::of(0.5), 0.9, {{NoiseMultiplier::of(0.5), 0.8, 0.9, 1.0}}}}));
  EXPECT_FALSE(exists("plan/utility-graph.svg"));
}

TEST_F(JobChartsTest, ASweepIsALineOfItsPrivateRunsBesideTheLevelWithoutPrivacy) {
  const SweepJob job = sweep({1, 8, kNoPrivacy});
  const Chart chart = sweep_chart(job, {run_at(1, 0.7), run_at(8, 0.8), run_at(kNoPrivacy, 0.875)});
  ASSERT_EQ(chart.series.size(), 1U);
  ASSERT_EQ(chart.series[0].points.size(), 2U);
  EXPECT_EQ(chart.series[0].points[1].x, 8);
  EXPECT_EQ(chart.series[0].points[1].upper, 0.8);
  ASSERT_TRUE(chart.level.has_value());
  EXPECT_EQ(chart.level->label, "without privacy: 0.875");
  EXPECT_EQ(sweep_picture_of(job), path("sweep/sweep.svg"));
  std::filesystem::create_directories(path("sweep"));
  expect_good(draw_sweep(job, {run_at(1, 0.7), run_at(8, 0.8), run_at(kNoPrivacy, 0.875)}));
  EXPECT_NE(read("sweep/sweep.svg").find("what privacy costs"), std::string::npos);
}

TEST_F(JobChartsTest, OnePrivateRunMakesNoPicture) {
  const SweepJob job = sweep({1, kNoPrivacy});
  std::filesystem::create_directories(path("sweep"));
  expect_good(draw_sweep(job, {run_at(1, 0.7), run_at(kNoPrivacy, 0.875)}));
  EXPECT_EQ(sweep_picture_of(job), std::nullopt);
  EXPECT_FALSE(exists("sweep/sweep.svg"));
}

}  // namespace
}  // namespace noisefloor
