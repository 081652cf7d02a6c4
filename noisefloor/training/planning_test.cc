#include "noisefloor/training/planning.h"

#include <gtest/gtest.h>

#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

class PlanJobTest : public testing::ToyJob {
 protected:
  void aim(const std::string& utility, const std::string& more = "") const {
    const std::string toml = testing::toy_toml("epochs = 10\n");
    write("toy.toml", (utility == "public" ? testing::declared_public(toml) : toml) + "[plan]\nutility = \"" + utility +
                          "\"\nclip_norms = [0.5, 1]\nnoise_multipliers = [0.5, 1, 2, 4]\n" + more);
  }
  [[nodiscard]] Result<PlanJob> prepare(PlanWish wish = {}) const {
    if (wish.folder.empty()) wish.folder = path("plan");
    wish.unknown = NewDatasets::kAdd;
    return PlanJob::prepare(file(), std::move(wish), {});
  }
  [[nodiscard]] MadePlan planned(PlanJob& job, Ledger* ledger = nullptr) const {
    return value_of(job.make(value_of(job.choose(value_of(job.draw_graph(ledger, control_))))));
  }
};

TEST_F(PlanJobTest, PaysOnceForAGraphOfPrivateData) {
  aim("budgeted", "utility_epsilon = 0.5\n");
  const auto ledger = make_ledger();
  PlanJob job = value_of(prepare());
  ASSERT_TRUE(job.charges_for_graph());
  const UtilitySpend cost = value_of(job.cost()).value();
  EXPECT_LE(value_of(certified_epsilon(cost.request.statement, job.delta())).upper, 0.5);
  EXPECT_TRUE(value_of(job.outlook(nullptr, nullptr)).fits);
  EXPECT_FALSE(exists("plan")) << "what it costs was found out without writing";
  expect_error(job.draw_graph(nullptr, control_), ErrorCode::kInvalidArgument, "ledger");
  const MadePlan made = planned(job, ledger.get());
  const double paid = spent(*ledger);
  EXPECT_NEAR(paid, 0.5, 0.01);
  EXPECT_LE(made.plan.certified.upper, 1.5) << "the graph has its share";
  EXPECT_TRUE(value_of(job.outlook(ledger.get(), nullptr)).asked_before);
  std::filesystem::remove_all(path("plan"));
  PlanJob again = value_of(prepare());
  (void)planned(again, ledger.get());
  EXPECT_EQ(spent(*ledger), paid);
  ASSERT_EQ(witness_.notes.size(), 1U);
}

TEST_F(PlanJobTest, CreatesNoBudgetForAGraphThatCannotBePaidFor) {
  aim("budgeted", "utility_epsilon = 0.5\n");
  const auto ledger = make_ledger();
  TrainingFile poor = file();
  poor.training.privacy.epsilon = Epsilon::of(0.1);
  PlanJob job = value_of(PlanJob::prepare(poor, {.folder = path("plan"), .unknown = NewDatasets::kAdd}, {}));
  expect_error(job.draw_graph(ledger.get(), control_), ErrorCode::kBudgetExhausted, "Nothing was spent");
  EXPECT_EQ(budgets(*ledger), 0U);
  EXPECT_FALSE(exists("plan"));
}

TEST_F(PlanJobTest, DividesDeltaAndKeepsItBelowOneRow) {
  aim("public", "phases = 2\n");
  const PlanJob two = value_of(prepare());
  EXPECT_LE(2 * two.delta().value(), 1e-5);
  EXPECT_GT(2 * two.delta().value(), 0.99e-5);
  change("delta = 1e-5", "delta = 0.01");
  const PlanJob careless = value_of(prepare());
  EXPECT_LT(careless.whole_delta(), 0.001);
}

TEST_F(PlanJobTest, SetsAsideFromTheBudgetOfTheFile) {
  aim("public");
  const auto ledger = make_ledger();
  PlanJob job = value_of(prepare({.reserve = true}));
  MadePlan made = planned(job);
  (void)value_of(job.sign(made.plan, *ledger, {}));
  EXPECT_NEAR(spent(*ledger), made.plan.certified.upper, 1e-9);
  EXPECT_EQ(made.plan.item, "training");
  EXPECT_EQ(made.plan.budget.rfind("toy/plan-", 0), 0U);
  const SignedPlan read_back = value_of(parse_plan_file(read("plan/plan.json")));
  EXPECT_EQ(digest_of(read_back.plan), digest_of(made.plan));
}

TEST_F(PlanJobTest, SignsNothingWithoutAKey) {
  aim("public");
  (void)make_ledger();
  PlanJob job = value_of(prepare({.reserve = true}));
  MadePlan made = planned(job);
  const auto ledger = value_of(Ledger::open_to_read(path("ledger"), {}));
  expect_error(job.sign(made.plan, *ledger, {}), ErrorCode::kInvalidArgument, "");
  EXPECT_FALSE(exists("plan/plan.json"));
  EXPECT_EQ(budgets(*ledger), 0U);
}

TEST_F(PlanJobTest, PlansAPhaseWithLessNoiseAfterATrainedOne) {
  aim("public", "phases = 2\n");
  const auto ledger = make_ledger();
  PlanJob job = value_of(prepare());
  MadePlan first = planned(job);
  const std::string place = value_of(job.sign(first.plan, *ledger, {}));
  std::filesystem::create_directories(path("out"));
  write("out/plan.json", read("plan/plan.json"));
  expect_error(read_earlier_phase(path("out"), file()), ErrorCode::kInvalidArgument, "train by its plan first");
  TrainingWish asked = wish();
  asked.unknown = NewDatasets::kAdd;
  asked.plan = value_of(read_plan(place, file()));
  TrainingJob training = value_of(TrainingJob::prepare(file(), asked, {}));
  (void)value_of(training.run(ledger.get(), control_));
  const EarlierPhase before = value_of(read_earlier_phase(path("out"), file()));
  PlanJob next = value_of(prepare({.after = before}));
  MadePlan second = planned(next);
  EXPECT_EQ(second.plan.phase, 2U);
  EXPECT_LT(second.plan.noise, first.plan.noise);
  EXPECT_LE(first.plan.certified.upper + second.plan.certified.upper, 2.0);
  EXPECT_EQ(second.plan.start_from, before.model);
  PlanJob louder = value_of(prepare({.after = before, .noise = NoiseMultiplier::of(50.0)}));
  expect_error(louder.choose({}), ErrorCode::kInvalidArgument, "less noise");
  (void)value_of(next.sign(second.plan, *ledger, {}));
  write("out/plan.json", read("plan/plan-2.json"));
  expect_error(read_earlier_phase(path("out"), file()), ErrorCode::kInvalidArgument, "last of 2 phases");
}

TEST_F(PlanJobTest, SaysWhyATrainingCannotBePlanned) {
  expect_error(prepare(), ErrorCode::kInvalidArgument, "no [plan]");
  aim("public", "target_accuracy = 0.9999\n");
  PlanJob job = value_of(prepare());
  const auto curves = value_of(job.draw_graph(nullptr, control_));
  expect_error(job.choose(curves), ErrorCode::kInvalidArgument, "out of reach");
  expect_error(prepare({.noise = NoiseMultiplier::of(1.0)}), ErrorCode::kInvalidArgument, "next phase");
  change("test_fraction = 0.2\n", "");
  expect_error(prepare(), ErrorCode::kInvalidArgument, "test_fraction");
}

}  // namespace
}  // namespace noisefloor
