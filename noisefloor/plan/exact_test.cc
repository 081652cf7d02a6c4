#include "noisefloor/plan/exact.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/plan/closed_form.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

ExactQuestion question(double epsilon, double epochs = 5, std::uint64_t rows = 10'000) {
  return {.rows = Rows::make(rows).value(),
          .epochs = epochs,
          .target = {Adjacency::kAddRemove, Epsilon::make(epsilon).value(),
                     Delta::make(1 / static_cast<double>(rows)).value()}};
}

double cost(const DpEvent& event, const ExactQuestion& asked) {
  return pld_epsilon(event, asked.target.adjacency, asked.target.delta).value().upper;
}

TEST(Exact, TakesATwelfthToASeventeenthOfTheClosedFormsRounds) {
  struct Case {
    std::uint64_t rows;
    double epochs;
    double sigma;
  };
  for (const Case& one : {Case{10'000, 5, 19.29962}, Case{60'000, 6, 12.10881}, Case{50'000, 7, 6.572}}) {
    const NoiseMultiplier noise = NoiseMultiplier::make(one.sigma).value();
    const Rows rows = Rows::make(one.rows).value();
    const Delta delta = Delta::make(1 / static_cast<double>(one.rows)).value();
    const ClosedFormPlan printed = closed_form_plan({rows, one.epochs, delta}, noise, GammaMode::kPaper).value();
    const ExactPlan exact =
        exact_for_noise({rows, one.epochs, {Adjacency::kAddRemove, printed.setting.epsilon, delta}}, noise).value();
    EXPECT_LE(exact.epsilon.upper, printed.setting.epsilon.value());
    const double ratio = printed.min_rounds / static_cast<double>(exact.sizes.rounds());
    EXPECT_GT(ratio, 10);
    EXPECT_LT(ratio, 19);
  }
}

TEST(Exact, FindsPlansOnTheEdge) {
  const ExactQuestion asked = question(0.5);
  const NoiseMultiplier noise = NoiseMultiplier::of(4.0);
  const ExactPlan plan = exact_for_noise(asked, noise).value();
  EXPECT_LE(plan.epsilon.upper, 0.5);
  EXPECT_LE(cost(plan.event, asked), 0.5);
  const SampleSizes larger = SampleSizes::for_epochs(asked.rows, 5, plan.sizes.largest() + 20, 0).value();
  EXPECT_GT(cost(larger.event(asked.rows, noise, Adjacency::kAddRemove, Draw::kPoisson).value(), asked), 0.5);
  // Starting from the size gives the same plan.
  const ExactPlan back = exact_for_size(asked, Rows::make(plan.sizes.largest()).value()).value();
  EXPECT_LE(back.noise.value(), 4.0 * (1 + 1e-7));
  EXPECT_GT(back.noise.value(), 4.0 * 0.999);
  const ExactPlan by_rounds = exact_for_rounds(asked, Steps::make(plan.sizes.rounds()).value()).value();
  EXPECT_NEAR(by_rounds.noise.value(), back.noise.value(), 0.01 * 4);
  // Starting from both gives the rounds.
  const ExactPlan most = exact_for_noise_and_size(asked, noise, Rows::make(plan.sizes.largest()).value()).value();
  EXPECT_GE(most.sizes.rounds(), plan.sizes.rounds());
  EXPECT_LE(most.epsilon.upper, 0.5);
  const SampleSizes one_more = SampleSizes::constant(plan.sizes.largest(), most.sizes.rounds() + 1).value();
  EXPECT_GT(cost(one_more.event(asked.rows, noise, Adjacency::kAddRemove, Draw::kPoisson).value(), asked), 0.5);
}

TEST(Exact, CountsEarlierUsesOfTheData) {
  ExactQuestion asked = question(0.5);
  const ExactPlan alone = exact_for_noise(asked, NoiseMultiplier::of(4.0)).value();
  asked.before = {exact_for_noise(question(0.3), NoiseMultiplier::of(4.0)).value().event};
  const ExactPlan after = exact_for_noise(asked, NoiseMultiplier::of(4.0)).value();
  EXPECT_LT(after.sizes.largest(), alone.sizes.largest());
  EXPECT_LE(after.epsilon.upper, 0.5);
  EXPECT_LE(cost(ComposedEvent{{asked.before[0], after.event}}, asked), 0.5);
  asked.before = {alone.event, alone.event};
  expect_invalid(exact_for_noise(asked, NoiseMultiplier::of(4.0)).error(), "nothing is left");
  expect_invalid(exact_for_size(asked, Rows::of(10)).error(), "nothing is left");
}

TEST(Exact, PaysTwiceForFixedSizes) {
  ExactQuestion asked = question(0.5);
  const double poisson = exact_for_size(asked, Rows::of(100)).value().noise.value();
  asked.target.adjacency = Adjacency::kReplaceOne;
  asked.draw = Draw::kFixedSize;
  const double fixed = exact_for_size(asked, Rows::of(100)).value().noise.value();
  EXPECT_GT(fixed, 1.9 * poisson);
  EXPECT_LT(fixed, 2.3 * poisson);
}

TEST(Exact, PlansGrowingSizes) {
  ExactQuestion asked = question(0.5);
  asked.growth = 1;
  const ExactPlan plan = exact_for_noise(asked, NoiseMultiplier::of(6.0)).value();
  EXPECT_NEAR(plan.sizes.theta(), 2, 0.1);
  EXPECT_LE(plan.epsilon.upper, 0.5);
}

TEST(Exact, TradesSizeForNoise) {
  const std::vector<ExactPlan> plans = exact_trade_off(question(1.0), 12).value();
  ASSERT_GE(plans.size(), 10U);
  EXPECT_EQ(plans.front().sizes.largest(), 1U);
  EXPECT_EQ(plans.back().sizes.largest(), 10'000U);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_LE(plans[i].epsilon.upper, 1.0);
    EXPECT_TRUE(i == 0 || plans[i].noise.value() > plans[i - 1].noise.value()) << "larger samples take more noise";
  }
}

TEST(Exact, SaysWhatWouldHaveAPlan) {
  expect_invalid(exact_for_noise(question(0.05, 50, 1000), NoiseMultiplier::of(1.0)).error(),
                 "it takes a noise multiplier of");
  expect_invalid(exact_for_size(question(1.0), Rows::of(10'001)).error(), "larger than the data");
  expect_invalid(exact_for_rounds(question(1.0), Steps::of(4)).error(), "The least are 5");
  expect_invalid(exact_for_noise(question(1.0, 0), NoiseMultiplier::of(1.0)).error(), "epochs");
}

}  // namespace
}  // namespace noisefloor
