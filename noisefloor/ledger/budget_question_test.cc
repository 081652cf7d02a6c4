#include "noisefloor/ledger/budget_question.h"

#include <gtest/gtest.h>

#include "noisefloor/event/json.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

BudgetTerms terms(Adjacency adjacency = Adjacency::kAddRemove) {
  return terms_of({.name = "trial", .epsilon = Epsilon::of(1), .delta = Delta::of(1e-6), .adjacency = adjacency})
      .value();
}

StatedUse training(Draw draw) {
  StatedUse use;
  use.noise = NoiseMultiplier::of(4);
  use.training.draw = draw;
  use.training.batch = Rows::of(10);
  use.training.rows = Rows::of(100);
  use.training.steps = Steps::of(5);
  return use;
}

TEST(BudgetQuestion, DerivesTheRuleFromTheStatedTerms) {
  EXPECT_EQ(terms().rule, Rule::kRdp);
  EXPECT_EQ(terms().failures, default_failures(Rule::kRdp));
  StatedTerms pure{.name = "pure", .epsilon = Epsilon::of(1), .delta = Delta::of(0)};
  EXPECT_EQ(terms_of(pure).value().rule, Rule::kBasic);
  pure.rule = Rule::kPlanned;
  expect_invalid(terms_of(pure).error(), "needs its plan");
  pure.plan = {{"mean", GaussianEvent{NoiseMultiplier::of(20)}, Steps::of(2)}};
  pure.rule = Rule::kZcdp;
  EXPECT_EQ(terms_of(pure).value().rule, Rule::kPlanned) << "a budget with a plan is a planned one";
  pure.failures = 0.25;
  EXPECT_EQ(terms_of(pure).value().failures, 0.25);
}

TEST(BudgetQuestion, ReadsPlansStrictly) {
  const std::vector<PlanItem> items = parse_plan_items(R"({"items": [{"name": "a", "event": {"kind": "zero_cost"}},
                                     {"name": "b", "times": 3, "event": {"kind": "gaussian", "noise_multiplier": 2}}]})")
                                          .value();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].times, Steps::of(1));
  EXPECT_EQ(items[1].name, "b");
  EXPECT_EQ(items[1].times, Steps::of(3));
  EXPECT_EQ(items[1].event, DpEvent(GaussianEvent{NoiseMultiplier::of(2)}));
  for (const char* bad : {"", "[]", "{}", R"({"items": 3})", R"({"items": [{"name": "a"}]})",
                          R"({"items": [{"name": "a", "event": {"kind": "zero_cost"}, "often": 2}]})",
                          R"({"items": [{"name": "a", "event": {"kind": "zero_cost"}, "times": 1.5}]})",
                          R"({"items": [{"name": "a", "event": {"kind": "zero_cost"}, "times": 0}]})",
                          R"({"items": [{"name": "a", "event": {"kind": "magic"}}]})"}) {
    EXPECT_FALSE(parse_plan_items(bad).has_value()) << bad;
  }
}

TEST(BudgetQuestion, TakesNoiseOnceOftenOrOnBatches) {
  StatedUse use;
  use.noise = NoiseMultiplier::of(4);
  EXPECT_EQ(event_of_use(use, terms()).value(), DpEvent(GaussianEvent{*use.noise}));
  use.training.steps = Steps::of(5);
  EXPECT_EQ(event_of_use(use, terms()).value(), DpEvent(SelfComposedEvent{Steps::of(5), GaussianEvent{*use.noise}}));
  use.training.rate = SamplingRate::of(0.1);
  EXPECT_EQ(event_of_use(use, terms()).value(), event_of_use(training(Draw::kPoisson), terms()).value());
  use.training.steps.reset();
  EXPECT_EQ(event_of_use(use, terms()).value(),
            DpEvent(PoissonSampledEvent{SamplingRate::of(0.1), GaussianEvent{*use.noise}}));
}

// The budget's neighbours decide: a batch of fixed size costs two clip norms, and has no event under add-remove.
TEST(BudgetQuestion, ChargesTwoClipNormsForBatchesOfFixedSize) {
  EXPECT_EQ(event_of_use(training(Draw::kFixedSize), terms(Adjacency::kReplaceOne)).value(),
            DpEvent(SelfComposedEvent{Steps::of(5), FixedSizeSampledEvent{Rows::of(10), Rows::of(100),
                                                                          GaussianEvent{NoiseMultiplier::of(2)}}}));
  expect_invalid(event_of_use(training(Draw::kFixedSize), terms()).error(), "replace-one");
}

TEST(BudgetQuestion, TakesBoundsAndEventsAsTheyAre) {
  StatedUse bound;
  bound.epsilon = Epsilon::of(0.5);
  EXPECT_EQ(event_of_use(bound, terms()).value(), DpEvent(EpsilonDeltaEvent{PrivacyLoss::of(0.5), Delta::of(0)}));
  bound.delta = Delta::of(1e-7);
  EXPECT_EQ(event_of_use(bound, terms()).value(), DpEvent(EpsilonDeltaEvent{PrivacyLoss::of(0.5), Delta::of(1e-7)}));
  StatedUse concentrated;
  concentrated.rho = Rho::of(0.1);
  EXPECT_EQ(event_of_use(concentrated, terms()).value(), DpEvent(ZcdpEvent{Rho::of(0.1), Delta::of(0)}));
  const DpEvent laplace = LaplaceEvent{NoiseMultiplier::of(3)};
  StatedUse event;
  event.event = to_json(laplace);
  EXPECT_EQ(event_of_use(event, terms()).value(), laplace);
  event.event = to_json(DpStatement{Adjacency::kAddRemove, PrivacyUnit::kRow, laplace});
  EXPECT_EQ(event_of_use(event, terms()).value(), laplace);
  expect_invalid(event_of_use(event, terms(Adjacency::kReplaceOne)).error(), "replace-one");
}

TEST(BudgetQuestion, FindsTheEventOfAnItem) {
  BudgetTerms planned = terms();
  planned.rule = Rule::kPlanned;
  planned.plan = {{"mean", GaussianEvent{NoiseMultiplier::of(20)}, Steps::of(2)}};
  EXPECT_EQ(event_of_use({.item = "mean"}, planned).value(), planned.plan[0].event);
  EXPECT_EQ(event_of_use({.item = "median"}, planned).value(), DpEvent(ZeroCostEvent{}));
}

TEST(BudgetQuestion, RefusesContradictionsAndGaps) {
  expect_invalid(event_of_use({}, terms()).error(), "what is to be spent");
  StatedUse two = training(Draw::kPoisson);
  two.epsilon = Epsilon::of(1);
  expect_invalid(event_of_use(two, terms()).error(), "once");
  StatedUse no_noise = training(Draw::kPoisson);
  no_noise.noise.reset();
  no_noise.epsilon = Epsilon::of(1);
  expect_invalid(event_of_use(no_noise, terms()).error(), "need a noise multiplier");
  StatedUse epochs;
  epochs.noise = NoiseMultiplier::of(1);
  epochs.training.epochs = 3;
  expect_invalid(event_of_use(epochs, terms()).error(), "sampling rate");
  StatedUse nothing;
  nothing.rho = Rho::of(0);
  expect_invalid(event_of_use(nothing, terms()).error(), "above 0");
}

}  // namespace
}  // namespace noisefloor
