#include "noisefloor/summary/sweep_summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "noisefloor/summary/training_summary.h"
#include "tests/support/summary_reading.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_says;
using testing::value_of;
using Json = nlohmann::ordered_json;

class SweepSummaryTest : public testing::ToyJob {
 protected:
  [[nodiscard]] SweepJob prepare(std::vector<double> epsilons, std::optional<std::uint64_t> seed = {}) const {
    return value_of(SweepJob::prepare(file(),
                                      {.epsilons = std::move(epsilons),
                                       .folder = path("sweep"),
                                       .key = {},
                                       .replay_seed = seed,
                                       .unknown = NewDatasets::kAdd},
                                      {}));
  }
};

TEST_F(SweepSummaryTest, HasARowForEachEpsilon) {
  const auto ledger = make_ledger();
  SweepJob job = prepare({0.5, 1.5, kNoPrivacy});
  const std::vector<SweepRun> runs = value_of(job.run(ledger.get(), control_));
  const Summary summary = summary_of(job, runs);
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["delta"], 5e-6);
  ASSERT_EQ(json["runs"].size(), 3U);
  EXPECT_EQ(json["runs"][0]["epsilon"], 0.5);
  EXPECT_EQ(json["runs"][0]["certified_epsilon"], runs[0].certified);
  EXPECT_EQ(json["runs"][0]["accuracy"], *runs[0].quality.accuracy);
  EXPECT_EQ(json["runs"][0]["loss_of_utility"], loss_of_utility(runs[0], runs[2]));
  EXPECT_TRUE(json["runs"][2]["epsilon"].is_null());
  EXPECT_TRUE(json["runs"][2]["noise_multiplier"].is_null());
  EXPECT_EQ(json["csv"], path("sweep/sweep.csv"));
  EXPECT_EQ(json["svg"], path("sweep/sweep.svg"));
  expect_says(summary, "toy: quality at each epsilon (delta 5e-06)\n");
  expect_says(summary, "\n  inf ");
  expect_says(summary, "relative to epsilon inf; quality is that on " + std::to_string(job.examples().test->rows) +
                           " test examples");
  expect_says(summary, "The model without privacy is in " + path("sweep/without-privacy"));
  EXPECT_EQ(summary.as_text().find(kRepeatedNoise), std::string::npos);
}

TEST_F(SweepSummaryTest, RepeatedNoiseIsSaidToBeNotPrivate) {
  declare_public();
  SweepJob job = prepare({1}, 7);
  const std::vector<SweepRun> runs = value_of(job.run(nullptr, control_));
  expect_says(summary_of(job, runs), kRepeatedNoise);
  const Summary summary = summary_of(job, runs, "In other words.");
  expect_says(summary, "\nIn other words.\n");
  EXPECT_EQ(summary.as_text().find(kRepeatedNoise), std::string::npos);
  EXPECT_EQ(summary.as_text().find("without privacy"), std::string::npos);
  EXPECT_FALSE(Json::parse(summary.as_json()).contains("svg")) << "one run makes no picture";
}

TEST_F(SweepSummaryTest, ItsCostIsTheSumOfThePrivateRuns) {
  const auto ledger = make_ledger();
  SweepJob job = prepare({1, 0.75, kNoPrivacy});
  Summary summary = cost_summary(job);
  Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["dry_run"], true);
  EXPECT_EQ(json["charged"], true);
  EXPECT_EQ(json["steps"], 40);
  EXPECT_EQ(json["epsilon"], 1.75);
  ASSERT_EQ(json["runs"].size(), 3U);
  EXPECT_EQ(json["runs"][0]["noise_multiplier"], job.noise()[0].multiplier->value());
  EXPECT_TRUE(json["runs"][2]["noise_multiplier"].is_null());
  expect_says(summary, "epsilon 1.75 in all, delta 5e-06 each");

  testing::expect_good(ledger->create_budget(budget_of(job.file().training.privacy)));
  ASSERT_TRUE(ledger->reserve(testing::request("toy", "before", testing::pure(0.5))).has_value());
  add_outlook(summary, value_of(job.outlook(ledger.get())), "toy", "the-ledger");
  EXPECT_EQ(summary.failure(), ErrorCode::kBudgetExhausted);
}

TEST_F(SweepSummaryTest, RepeatedNoiseCostsNothing) {
  const Summary summary = cost_summary(prepare({1}, 7));
  EXPECT_EQ(Json::parse(summary.as_json())["charged"], false);
  EXPECT_FALSE(Json::parse(summary.as_json()).contains("epsilon"));
  expect_says(summary, "nothing: none of it would be private");
}

}  // namespace
}  // namespace noisefloor
