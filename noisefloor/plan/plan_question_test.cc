#include "noisefloor/plan/plan_question.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/pld.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

PlanQuestion question() {
  return {.rows = Rows::of(10'000), .epochs = 5, .delta = Delta::of(1e-5), .epsilon = Epsilon::of(1)};
}

void expect_kept(const PlanQuestion& asked, const PlanAnswer& answer) {
  EXPECT_LE(answer.exact.epsilon.upper, answer.target.value());
  EXPECT_LE(pld_epsilon(answer.exact.event, asked.adjacency(), asked.delta).value().upper, answer.target.value());
}

TEST(PlanQuestion, TakesTheNoiseOfTheClosedFormIfNothingIsGiven) {
  const PlanAnswer answer = answer_plan(question()).value();
  expect_kept(question(), answer);
  ASSERT_TRUE(answer.closed_form && answer.same_batch);
  EXPECT_EQ(answer.how, "the same noise, the fewest rounds");
  EXPECT_EQ(answer.exact.noise, answer.closed_form->plan.setting.noise);
  EXPECT_LE(answer.closed_form->epsilon.upper, 1);
  EXPECT_GT(answer.rounds_ratio(), 1);
  EXPECT_GT(answer.noise_ratio(), 1);
  EXPECT_LE(answer.same_batch->epsilon.upper, 1);
  EXPECT_TRUE(answer.no_closed_form.empty());
  EXPECT_FALSE(answer.given.has_value());
  ASSERT_TRUE(answer.capacity.has_value());
  EXPECT_GT(answer.capacity->exact_epochs, *answer.capacity->closed_form_epochs);
}

TEST(PlanQuestion, KeepsGivenValues) {
  PlanQuestion batch = question();
  batch.batch = Rows::of(100);
  const PlanAnswer by_batch = answer_plan(batch).value();
  expect_kept(batch, by_batch);
  EXPECT_EQ(by_batch.exact.sizes.rounds(), 500U);
  EXPECT_EQ(by_batch.how, "the least noise");
  EXPECT_FALSE(by_batch.same_batch.has_value());
  ASSERT_TRUE(by_batch.given.has_value());
  EXPECT_EQ(by_batch.given->setting.sizes.rounds(), 500U);

  PlanQuestion rounds = question();
  rounds.rounds = Steps::of(500);
  EXPECT_EQ(answer_plan(rounds).value().exact.sizes.largest(), 100U);

  batch.noise = NoiseMultiplier::make(2 * by_batch.exact.noise.value()).value();
  const PlanAnswer both = answer_plan(batch).value();
  expect_kept(batch, both);
  EXPECT_EQ(both.how, "the most rounds");
  EXPECT_GT(both.exact.sizes.rounds(), 1500U);

  PlanQuestion sizes = question();
  sizes.sizes = SampleSizes::of({{50, 100}, {100, 450}}).value();
  const PlanAnswer by_sizes = answer_plan(sizes).value();
  expect_kept(sizes, by_sizes);
  sizes.noise = by_sizes.exact.noise;
  EXPECT_EQ(answer_plan(sizes).value().how, "as given");
  sizes.noise = NoiseMultiplier::make(0.9 * by_sizes.exact.noise.value()).value();
  expect_invalid(answer_plan(sizes).error(), "it takes");
}

TEST(PlanQuestion, DerivesAnEpsilonFromTheNoise) {
  PlanQuestion noise = question();
  noise.epsilon.reset();
  noise.noise = NoiseMultiplier::of(10);
  const PlanAnswer answer = answer_plan(noise).value();
  expect_kept(noise, answer);
  EXPECT_EQ(answer.exact.noise, *noise.noise);
  EXPECT_NEAR(answer.target.value(), proactive::epsilon_for(10, 1e-5), 1e-12);
  noise.noise = NoiseMultiplier::of(1.2);
  expect_invalid(answer_plan(noise).error(), "sqrt(2)");
}

// The plan's noise is σ over the clip norm; its event has half of that, and neighbours are replace-one.
TEST(PlanQuestion, HasOnlyAnExactPlanForBatchesOfFixedSize) {
  PlanQuestion fixed = question();
  fixed.draw = Draw::kFixedSize;
  fixed.batch = Rows::of(100);
  const PlanAnswer answer = answer_plan(fixed).value();
  expect_kept(fixed, answer);
  EXPECT_EQ(fixed.adjacency(), Adjacency::kReplaceOne);
  EXPECT_FALSE(answer.closed_form || answer.given);
  EXPECT_NE(answer.no_closed_form.find("Poisson"), std::string::npos);
  EXPECT_EQ(answer.exact.event, BatchLaw::fixed_size(fixed.rows, *fixed.batch, Adjacency::kReplaceOne)
                                    .value()
                                    .run(answer.exact.noise, Steps::of(500)));
  fixed.epsilon.reset();
  fixed.noise = NoiseMultiplier::of(10);
  expect_invalid(answer_plan(fixed).error(), "Poisson samples");
}

TEST(PlanQuestion, HasAnExactPlanWithoutAClosedForm) {
  PlanQuestion hard{.rows = Rows::of(1000), .epochs = 500, .delta = Delta::of(1e-3), .epsilon = Epsilon::of(0.05)};
  const PlanAnswer answer = answer_plan(hard).value();
  expect_kept(hard, answer);
  EXPECT_FALSE(answer.closed_form.has_value());
  EXPECT_NE(answer.no_closed_form, "");
}

TEST(PlanQuestion, RefusesContradictionsWithARemedy) {
  const auto refused = [](auto change, const char* named) {
    PlanQuestion asked = question();
    change(asked);
    expect_invalid(answer_plan(asked).error(), named);
  };
  refused([](PlanQuestion& q) { q.epsilon.reset(); }, "epsilon or a noise");
  refused([](PlanQuestion& q) { q.epochs = 0; }, "epochs");
  refused([](PlanQuestion& q) { q.delta = Delta::of(0); }, "delta");
  refused([](PlanQuestion& q) { q.growth = 99; }, "power");
  refused([](PlanQuestion& q) { q.batch = Rows::of(10'001); }, "at most 10000");
  refused([](PlanQuestion& q) { q.sizes = SampleSizes::constant(10'001, 2).value(); }, "at most 10000");
  refused([](PlanQuestion& q) { q.batch = Rows::of(10), q.rounds = Steps::of(10); }, "give one");
  refused([](PlanQuestion& q) { q.noise = NoiseMultiplier::of(3), q.rounds = Steps::of(10); }, "nothing free");
  refused([](PlanQuestion& q) { q.rounds = Steps::of(4); }, "The least are 5");
}

TEST(PlanQuestion, NamesANumberOutOfItsRangeFirst) {
  const auto refusal = [](auto change) {
    PlanQuestion asked = question();
    change(asked);
    return answer_plan(asked).error().message;
  };
  EXPECT_EQ(refusal([](PlanQuestion& q) { q.epochs = -1; }), "epochs must be above 0; -1 was given");
  EXPECT_EQ(refusal([](PlanQuestion& q) { q.delta = Delta::of(0); }),
            "delta must be above 0, as the noise is Gaussian");
  EXPECT_EQ(refusal([](PlanQuestion& q) { q.growth = 16.5; }), "growth takes a power from 0 to 16");
  EXPECT_EQ(refusal([](PlanQuestion& q) { q.growth = -0.5; }), "growth takes a power from 0 to 16");
}

TEST(PlanQuestion, TakesOneOverTheRowsForDelta) {
  EXPECT_EQ(usual_delta(Rows::of(10'000)).value(), Delta::of(1e-4));
  EXPECT_EQ(usual_delta(Rows::of(1)).value(), Delta::of(0.5));
}

TEST(PlanQuestion, CountsEpochsFromSizes) {
  EXPECT_EQ(epochs_of(SampleSizes::of({{50, 100}, {100, 450}}).value(), Rows::of(10'000)), 5);
}

TEST(PlanQuestion, JudgesGivenBatchesBeforeTheClosedForm) {
  const PlanAnswer free = answer_plan(question()).value();
  ASSERT_TRUE(free.closed_form.has_value());
  EXPECT_EQ(free.verdicts(), &free.closed_form->verdicts);
  TheoremVerdicts verdicts = *free.verdicts();
  for (auto* theorem : {&verdicts.theorem_3_1, &verdicts.theorem_b4}) {
    for (Condition& one : *theorem) one.holds = true;
  }
  EXPECT_TRUE(verdicts.apply());
  verdicts.theorem_b4.back().holds = false;
  EXPECT_FALSE(verdicts.apply());
  PlanQuestion batch = question();
  batch.batch = Rows::of(100);
  const PlanAnswer by_batch = answer_plan(batch).value();
  EXPECT_EQ(by_batch.verdicts(), &*by_batch.given);
  batch.draw = Draw::kFixedSize;
  EXPECT_EQ(answer_plan(batch).value().verdicts(), nullptr);
}

TEST(PlanQuestion, ReadsSampleSizesFromAList) {
  const SampleSizes sizes = parse_sample_sizes("65x1000,90x1500").value();
  EXPECT_EQ(sizes.rounds(), 2500U);
  EXPECT_EQ(sizes.total(), 200'000U);
  for (const char* bad : {"", "10,20", "10x5,", "x", "10x", "10x0", "1.5x2"}) {
    EXPECT_FALSE(parse_sample_sizes(bad).has_value()) << bad;
  }
}

TEST(PlanQuestion, TradesBatchForNoise) {
  PlanQuestion asked = question();
  asked.rows = Rows::of(1000);
  const std::vector<TradeOff> curves = plan_trade_offs(asked, *asked.epsilon, 4).value();
  ASSERT_EQ(curves.size(), 3U);
  EXPECT_EQ(curves[2].epochs, 20);
  for (const TradeOff& curve : curves) {
    ASSERT_GE(curve.plans.size(), 2U);
    EXPECT_GT(curve.plans.back().noise.value(), curve.plans.front().noise.value()) << "larger batches take more noise";
    for (const ExactPlan& plan : curve.plans) EXPECT_LE(plan.epsilon.upper, 1);
  }
  asked.epochs = 0.1;
  expect_invalid(plan_trade_offs(asked, *asked.epsilon, 4).error(), "at least one epoch");
}

}  // namespace
}  // namespace noisefloor
