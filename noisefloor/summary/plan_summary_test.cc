#include "noisefloor/summary/plan_summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "noisefloor/summary/training_summary.h"
#include "tests/support/summary_reading.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_good;
using testing::expect_says;
using testing::value_of;
using Json = nlohmann::ordered_json;

void expect_no(const Summary& summary, const std::string& part) {
  EXPECT_EQ(summary.as_text().find(part), std::string::npos) << summary.as_text();
}

// --- From numbers ----------------------------------------------------------------------------------------------------

PlanQuestion question() {
  return {.rows = Rows::of(1000), .epochs = 5, .delta = Delta::of(1e-5), .epsilon = Epsilon::of(1)};
}

TEST(PlanSummary, ShowsTheClosedFormBesideTheExactPlan) {
  const PlanAnswer answer = value_of(answer_plan(question()));
  const Summary summary = summary_of(question(), answer);
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["rows"], 1000);
  EXPECT_TRUE(json.contains("exact"));
  expect_says(summary, "Plan for epsilon 1 at delta 1e-05, 5 epochs of 1000 rows: noise multiplier ");
  expect_says(summary, answer.how);
  expect_says(summary, answer.closed_form ? "times the rounds" : answer.no_closed_form);
  expect_no(summary, "Theorem");
}

TEST(PlanSummary, TheoremsAreShownConditionByCondition) {
  PlanQuestion asked = question();
  asked.batch = Rows::of(100);
  const PlanAnswer answer = value_of(answer_plan(asked));
  ASSERT_TRUE(answer.given.has_value());
  const Summary summary = summary_of(asked, answer, {.theorems = true});
  expect_says(summary, "\n  as given ");
  for (const char* title : {"Theorem 3.1", "Theorem B.4", "Theorem B.2"}) expect_says(summary, title);
  for (const Condition& one : answer.given->theorem_3_1) expect_says(summary, one.statement);
  expect_says(summary, "these data allow");
}

TEST(PlanSummary, TheHintStandsBeforeTheCaveat) {
  PlanQuestion asked = question();
  asked.mode = GammaMode::kPaper;
  const PlanAnswer answer = value_of(answer_plan(asked));
  const std::string text = summary_of(asked, answer, {.theorems = false, .hint = "Ask for more."}).as_text();
  const std::size_t hint = text.find("\nAsk for more.\nAs printed gamma is that of one update");
  EXPECT_NE(hint, std::string::npos) << text;
  expect_no(summary_of(question(), value_of(answer_plan(question()))), "As printed");
}

TEST(PlanSummary, ATradeOffIsWrittenAsTableAndPicture) {
  const testing::TemporaryFolder folder;
  Summary summary("x");
  expect_good(add_trade_off(summary, question(), Epsilon::of(1), folder.path("curve"), 3));
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["curve"]["csv"], folder.path("curve.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder.path("curve.csv")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("curve.svg")));
  expect_says(summary, folder.path("curve.svg") + ", " + folder.path("curve.csv"));
  testing::expect_error(add_trade_off(summary, question(), Epsilon::of(1), folder.path("no/where"), 3), ErrorCode::kIo,
                        "");
}

// --- Of trainings ----------------------------------------------------------------------------------------------------

class PlanJobSummaryTest : public testing::ToyJob {
 protected:
  void aim(const std::string& utility, const std::string& more = "") const {
    const std::string toml = testing::toy_toml("epochs = 10\n");
    write("toy.toml", (utility == "public" ? testing::declared_public(toml) : toml) + "[plan]\nutility = \"" + utility +
                          "\"\nclip_norms = [0.5, 1]\nnoise_multipliers = [0.5, 1, 2, 4]\n" + more);
  }
  [[nodiscard]] PlanJob prepare(PlanWish wish = {}) const {
    wish.folder = path("plan");
    wish.unknown = NewDatasets::kAdd;
    return value_of(PlanJob::prepare(file(), std::move(wish), {}));
  }
  [[nodiscard]] PlanOutcome outcome_of(PlanJob& job, Ledger& ledger) const {
    std::vector<UtilityCurve> curves = value_of(job.draw_graph(&ledger, control_));
    const UtilityChoice choice = value_of(job.choose(curves));
    MadePlan made = value_of(job.make(choice));
    std::string place = value_of(job.sign(made.plan, ledger, control_));
    return {std::move(curves), choice, std::move(made), std::move(place)};
  }
};

TEST_F(PlanJobSummaryTest, APlanSaysItsChoiceAndItsFile) {
  aim("public");
  const auto ledger = make_ledger();
  PlanJob job = prepare({.reserve = true});
  const PlanOutcome outcome = outcome_of(job, *ledger);
  const PlanFile& plan = outcome.made.plan;
  const Summary summary = summary_of(job, outcome, "Train by it.");
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["utility_graph"]["models"].size(), 2U);
  EXPECT_EQ(json["utility_graph"]["noise_multiplier"], outcome.choice.noise.value());
  EXPECT_EQ(json["utility_graph"]["csv"], path("plan/utility-graph.csv"));
  EXPECT_EQ(json["noise_multiplier"], plan.noise.value());
  EXPECT_EQ(json["steps"], plan.steps.value());
  EXPECT_EQ(json["epsilon"]["upper"], plan.certified.upper);
  EXPECT_EQ(json["reserved"], true);
  EXPECT_EQ(json["plan"], path("plan/plan.json"));
  expect_says(summary, "Plan for toy at epsilon 2\n");
  expect_says(summary, "1 of at most 1\n");
  expect_says(summary, path("plan/plan.json") + ", set aside in the ledger as " + plan.budget + "\n");
  expect_says(summary, "\nTrain by it.\nThe utility graph was computed on the training data without noise");
  expect_no(summary, "above 1/rows");
}

TEST_F(PlanJobSummaryTest, ADeltaAboveOneRowIsSaidToBeCut) {
  aim("public");
  change("delta = 1e-5", "delta = 0.01");
  const auto ledger = make_ledger();
  PlanJob job = prepare();
  const Summary summary = summary_of(job, outcome_of(job, *ledger));
  expect_says(summary, "\ndelta 0.01 is above 1/rows");
  EXPECT_EQ(Json::parse(summary.as_json())["reserved"], false);
}

TEST_F(PlanJobSummaryTest, ItsCostIsThatOfTheGraph) {
  aim("budgeted", "utility_epsilon = 0.5\n");
  const PlanJob job = prepare();
  Summary summary = value_of(cost_summary(job, std::nullopt));
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["dry_run"], true);
  EXPECT_EQ(json["target_epsilon"], 2);
  EXPECT_LE(json["utility_graph"]["epsilon"]["upper"].get<double>(), 0.5);
  EXPECT_EQ(json["utility_graph"]["models"], 2);
  EXPECT_FALSE(json.contains("steps")) << "the plan is not known";
  expect_says(summary, "clip norm and noise are chosen from the utility graph, which was not drawn");
  EXPECT_FALSE(exists("plan"));

  TrainingFile poor = file();
  poor.training.privacy.epsilon = Epsilon::of(0.1);
  const PlanJob refused = value_of(PlanJob::prepare(poor, {.folder = path("plan"), .unknown = NewDatasets::kAdd}, {}));
  add_outlook(summary, value_of(refused.outlook(nullptr, nullptr)), "toy", "the-ledger");
  EXPECT_EQ(summary.failure(), ErrorCode::kBudgetExhausted);
}

TEST_F(PlanJobSummaryTest, AGraphOfPublicDataIsFree) {
  aim("public");
  const PlanJob job = prepare();
  const Summary summary = value_of(cost_summary(job, std::nullopt));
  expect_says(summary, std::string("free: ") + in_words(UtilityData::kPublic));
  EXPECT_FALSE(Json::parse(summary.as_json()).contains("utility_graph"));
}

// The plan that was made stands in for that of a next phase.
TEST_F(PlanJobSummaryTest, APlanThatIsKnownIsPartOfTheCost) {
  aim("public");
  PlanJob job = prepare();
  const MadePlan made = value_of(job.make(value_of(job.choose(value_of(job.draw_graph(nullptr, control_))))));
  const Summary summary = value_of(cost_summary(job, made));
  EXPECT_EQ(Json::parse(summary.as_json())["steps"], made.plan.steps.value());
  expect_no(summary, "which was not drawn");
}

}  // namespace
}  // namespace noisefloor
