#include "noisefloor/summary/training_summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "noisefloor/summary/quality_summary.h"
#include "tests/support/summary_reading.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_says;
using testing::value_of;
using Json = nlohmann::ordered_json;

std::string rows_of(const TrainingJob& job) { return std::to_string(job.examples().train.rows); }

class TrainingSummaryTest : public testing::ToyJob {
 protected:
  [[nodiscard]] TrainingJob prepare(TrainingWish wish) const {
    wish.unknown = NewDatasets::kAdd;
    return value_of(TrainingJob::prepare(file(), std::move(wish), {}));
  }
};

TEST_F(TrainingSummaryTest, AnOutcomeHoldsTheNotesAndTheQuality) {
  const auto ledger = make_ledger();
  TrainingJob job = prepare(wish());
  const TrainingOutcome outcome = value_of(job.run(ledger.get(), control_));
  const Summary summary = summary_of(job, outcome);
  EXPECT_EQ(Json::parse(summary.as_json()), Json::parse(read("out/run.json")));
  EXPECT_EQ(summary.failure(), std::nullopt);
  EXPECT_EQ(summary.as_text().rfind("Trained toy\n", 0), 0U) << summary.as_text();
  expect_says(summary, path("out/model.safetensors"));
  expect_says(summary, "at delta 1e-05, add-remove, unit row");
  expect_says(summary, "(calibrated)");
  expect_says(summary, "40 steps of 200 out of " + rows_of(job) + " examples, 6 parameters, ");
  expect_says(summary, in_words(*outcome.notes.test, true));

  TrainingJob again = prepare(wish());
  const Summary second = summary_of(again, value_of(again.run(ledger.get(), control_)));
  expect_says(second, "Trained toy before: here it is again, and nothing was spent\n");
  EXPECT_FALSE(Json::parse(second.as_json()).contains("seconds"));
}

TEST_F(TrainingSummaryTest, AStoppedRunAndRepeatedNoiseSaySo) {
  declare_public();
  control_.stop = [] { return true; };
  TrainingWish asked = wish();
  asked.replay_seed = 7;
  TrainingJob job = prepare(asked);
  const Summary summary = summary_of(job, value_of(job.run(nullptr, control_)));
  expect_says(summary, "Trained toy (stopped early)\n");
  expect_says(summary, "infinite: this model is NOT PRIVATE, and is for comparison only");
  EXPECT_EQ(Json::parse(summary.as_json())["private"], false);
}

TEST_F(TrainingSummaryTest, AVerdictOnAPlansTargetSaysWhatToDo) {
  const auto ledger = make_ledger();
  TrainingJob job = prepare(wish());
  TrainingOutcome outcome = value_of(job.run(ledger.get(), control_));
  EXPECT_EQ(summary_of(job, outcome).as_text().find("target"), std::string::npos);
  outcome.verdict = PlanVerdict{0.75, 0.8, PlanDecision::kDone};
  expect_says(summary_of(job, outcome), "accuracy 0.8000 is at least 0.75: done\n");
  outcome.verdict = PlanVerdict{0.75, 0.5, PlanDecision::kNextPhase};
  expect_says(summary_of(job, outcome), "accuracy 0.5000 is below 0.75: a next phase, with less noise\n");
  outcome.verdict = PlanVerdict{0.75, 0.5, PlanDecision::kStop};
  expect_says(summary_of(job, outcome), "accuracy 0.5000 is below 0.75, and this was the last phase: stop\n");
}

TEST_F(TrainingSummaryTest, ACostIsWhatWouldBeCharged) {
  TrainingJob job = prepare(wish());
  const TrainingCost cost = value_of(job.cost());
  Summary summary = cost_summary(job, cost);
  add_outlook(summary, value_of(job.outlook(nullptr)), cost.spend.budget, "the-ledger");
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["dry_run"], true);
  EXPECT_EQ(json["charged"], true);
  EXPECT_EQ(json["steps"], 40);
  EXPECT_EQ(json["epsilon"]["upper"], cost.epsilon.upper);
  EXPECT_EQ(json["noise_multiplier"], cost.noise.multiplier->value());
  EXPECT_EQ(json["key"], "toy");
  EXPECT_EQ(json["budget_exists"], false);
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(summary.failure(), std::nullopt);
  expect_says(summary, "toy, which would be made in the-ledger\n");
  expect_says(summary, "40 of 200 out of " + rows_of(job) + " examples");
}

TEST_F(TrainingSummaryTest, ABudgetWithoutRoomFails) {
  const auto ledger = make_ledger();
  TrainingWish asked = wish();
  asked.noise.multiplier = NoiseMultiplier::of(0.05);
  TrainingJob job = prepare(asked);
  testing::expect_good(ledger->create_budget(budget_of(job.file().training.privacy)));
  const Outlook outlook = value_of(job.outlook(ledger.get()));
  Summary summary = cost_summary(job, value_of(job.cost()));
  add_outlook(summary, outlook, "toy", "the-ledger");
  EXPECT_EQ(summary.failure(), ErrorCode::kBudgetExhausted);
  EXPECT_EQ(Json::parse(summary.as_json())["fits"], false);
  expect_says(summary, "toy in the-ledger\n");
  expect_says(summary, "NO: " + outlook.refusal);
  EXPECT_EQ(summary.as_text().find("calibrated"), std::string::npos) << "the noise was stated";
}

TEST_F(TrainingSummaryTest, WhatIsNotPrivateCostsNothing) {
  TrainingWish asked = wish();
  asked.replay_seed = 7;
  TrainingJob job = prepare(asked);
  const Summary summary = cost_summary(job, value_of(job.cost()));
  EXPECT_EQ(Json::parse(summary.as_json())["charged"], false);
  EXPECT_FALSE(Json::parse(summary.as_json()).contains("epsilon"));
  expect_says(summary, "nothing would be charged");
}

TEST_F(TrainingSummaryTest, AWorkerCountsItsSteps) {
  const TrainingJob job = prepare(wish());
  const Summary summary = worker_summary(job, 12);
  EXPECT_EQ(Json::parse(summary.as_json()), Json({{"worker", 0}, {"workers", 1}, {"steps", 12}}));
  expect_says(summary, "12; the first worker has the model and the certificate");
}

}  // namespace
}  // namespace noisefloor
