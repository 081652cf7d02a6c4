#include "noisefloor/accounting/accounting_question.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/pld.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

constexpr Adjacency kAddRemove = Adjacency::kAddRemove;
constexpr Adjacency kReplaceOne = Adjacency::kReplaceOne;

StatedTraining batches(Draw draw) {
  StatedTraining stated;
  stated.draw = draw;
  stated.batch = Rows::of(50);
  stated.rows = Rows::of(1000);
  stated.steps = Steps::of(40);
  return stated;
}

StatedTraining at_rate(SamplingRate rate) {
  StatedTraining stated;
  stated.rate = rate;
  stated.steps = Steps::of(40);
  return stated;
}

double upper(const DpEvent& event, Adjacency adjacency) {
  return pld_epsilon(event, adjacency, Delta::of(1e-5)).value().upper;
}

TEST(AccountQuestion, ARateAndABatchOfRowsAreOneTraining) {
  for (const Adjacency adjacency : {kAddRemove, kReplaceOne}) {
    const NoiseMultiplier noise = NoiseMultiplier::of(2);
    EXPECT_EQ(batches(Draw::kPoisson).run(adjacency).value().event(noise),
              at_rate(SamplingRate::of(0.05)).run(adjacency).value().event(noise));
  }
}

TEST(AccountQuestion, EpochsAreAnotherWayToSaySteps) {
  StatedTraining stated = batches(Draw::kPoisson);
  stated.steps.reset();
  stated.epochs = 2;
  EXPECT_EQ(stated.run(kAddRemove).value().steps, Steps::of(40));
}

// The multiplier is σ over the clip norm for every draw: of batches of fixed size the event has half of it, and with
// the whole data in a batch that is a Gaussian whose sensitivity is two clip norms.
TEST(AccountQuestion, BatchesOfFixedSizePayForTwoClipNorms) {
  const NoiseMultiplier noise = NoiseMultiplier::of(8);
  const DpEvent event = batches(Draw::kFixedSize).run(kReplaceOne).value().event(noise);
  EXPECT_EQ(event,
            DpEvent(SelfComposedEvent{Steps::of(40), FixedSizeSampledEvent{Rows::of(50), Rows::of(1000),
                                                                           GaussianEvent{NoiseMultiplier::of(4)}}}));
  StatedTraining all = batches(Draw::kFixedSize);
  all.batch = all.rows;
  EXPECT_NEAR(upper(all.run(kReplaceOne).value().event(noise), kReplaceOne),
              upper(repeated_noise(QueryNoise::kGaussian, NoiseMultiplier::of(4), Steps::of(40)), kReplaceOne), 1e-6);
}

TEST(AccountQuestion, ContradictionsAndGapsAreRefused) {
  StatedTraining both = batches(Draw::kPoisson);
  both.rate = SamplingRate::of(0.1);
  expect_invalid(both.run(kAddRemove).error(), "not both");
  StatedTraining neither;
  neither.steps = Steps::of(1);
  expect_invalid(neither.run(kAddRemove).error(), "a sampling rate is needed");
  StatedTraining twice = at_rate(SamplingRate::of(0.1));
  twice.epochs = 1;
  expect_invalid(twice.run(kAddRemove).error(), "not both");
  StatedTraining never = at_rate(SamplingRate::of(0.1));
  never.steps.reset();
  expect_invalid(never.run(kAddRemove).error(), "a number of steps");
  StatedTraining by_rate = at_rate(SamplingRate::of(0.1));
  by_rate.draw = Draw::kFixedSize;
  expect_invalid(by_rate.run(kReplaceOne).error(), "fixed size need");
  expect_invalid(batches(Draw::kFixedSize).run(kAddRemove).error(), "replace-one");
}

TEST(AccountQuestion, DrawsAreReadByName) {
  EXPECT_EQ(parse_draw("poisson").value(), Draw::kPoisson);
  EXPECT_EQ(parse_draw("fixed-size").value(), Draw::kFixedSize);
  expect_invalid(parse_draw("shuffled").error(), "no valid bound");
  expect_invalid(parse_draw("sometimes").error(), "poisson or fixed-size");
}

TEST(AccountQuestion, WhatLooksMisStatedEarnsAWarning) {
  const auto warnings = [](SamplingRate rate) {
    const PlannedRun run = at_rate(rate).run(kAddRemove).value();
    return question_about(run, NoiseMultiplier::of(1), PrivacyUnit::kRow).warnings;
  };
  EXPECT_EQ(warnings(SamplingRate::of(0.001)).size(), 1U) << "40 steps of a thousandth";
  EXPECT_EQ(warnings(SamplingRate::of(0.9)).size(), 1U);
  EXPECT_TRUE(warnings(SamplingRate::of(0.1)).empty());
  EXPECT_TRUE(warnings(SamplingRate::of(1)).empty());
}

TEST(AccountQuestion, AQuestionSaysWhoIsProtectedAndHow) {
  const NoiseMultiplier noise = NoiseMultiplier::of(3);
  const PlannedRun run = batches(Draw::kFixedSize).run(kReplaceOne).value();
  const AccountQuestion training = question_about(run, noise, PrivacyUnit::kPerson);
  EXPECT_EQ(training.statement, (DpStatement{kReplaceOne, PrivacyUnit::kPerson, run.event(noise)}));
  EXPECT_EQ(training.sampling, "fixed-size");
  EXPECT_NE(training.remarks.at(0).find("two clip norms"), std::string::npos);
  const AccountQuestion queries =
      question_about(QueryNoise::kLaplace, noise, Steps::of(5), kAddRemove, PrivacyUnit::kRow);
  EXPECT_EQ(queries.statement.event, DpEvent(SelfComposedEvent{Steps::of(5), LaplaceEvent{noise}}));
  EXPECT_EQ(queries.sampling, "none");
  EXPECT_EQ(question_about(training.statement).statement, training.statement);
  EXPECT_EQ(meaning_of(training.statement, 1),
            "It says: by exchanging one person, no outcome becomes more than e^1 = 2.718 times as likely, but for "
            "outcomes of probability delta.");
}

TEST(AccountQuestion, EverySolutionKeepsItsTargetAndHardlyMore) {
  const Target target{kAddRemove, Epsilon::of(2), Delta::of(1e-5)};
  const SolvedTraining noise = solve_training(target, batches(Draw::kPoisson), std::nullopt, SolveFor::kNoise).value();
  EXPECT_LE(upper(noise.run.event(noise.noise), kAddRemove), 2);
  EXPECT_GT(noise.epsilon.lower, 2 * (1 - 1e-5));
  const NoiseMultiplier given = NoiseMultiplier::of(2);
  const SolvedTraining steps = solve_training(target, batches(Draw::kPoisson), given, SolveFor::kSteps).value();
  EXPECT_LE(upper(steps.run.event(given), kAddRemove), 2);
  EXPECT_GT(upper(steps.run.law.run(given, Steps::make(steps.run.steps.value() + 1).value()), kAddRemove), 2);
  const SolvedTraining rate = solve_training(target, batches(Draw::kPoisson), given, SolveFor::kRate).value();
  EXPECT_LE(upper(rate.run.event(given), kAddRemove), 2);
  EXPECT_GT(rate.epsilon.lower, 2 * (1 - 1e-5));
}

// Calibrated noise is in the unit in which it is asked for: twice that of the event.
TEST(AccountQuestion, CalibratedNoiseOfFixedSizeBatchesIsOverTheClipNorm) {
  const Target target{kReplaceOne, Epsilon::of(2), Delta::of(1e-5)};
  const SolvedTraining solved =
      solve_training(target, batches(Draw::kFixedSize), std::nullopt, SolveFor::kNoise).value();
  EXPECT_LE(upper(batches(Draw::kFixedSize).run(kReplaceOne).value().event(solved.noise), kReplaceOne), 2);
  const DpEvent mutant = SelfComposedEvent{
      Steps::of(40), FixedSizeSampledEvent{Rows::of(50), Rows::of(1000), GaussianEvent{solved.noise}}};
  EXPECT_LT(upper(mutant, kReplaceOne), 1.2) << "the event without the factor 2 looks far cheaper";
}

TEST(AccountQuestion, WhatCannotBeSolvedSaysWhy) {
  const Target target{kAddRemove, Epsilon::of(2), Delta::of(1e-5)};
  expect_invalid(solve_training(target, batches(Draw::kPoisson), std::nullopt, SolveFor::kSteps).error(),
                 "noise multiplier is needed");
  StatedTraining epochs = batches(Draw::kPoisson);
  epochs.steps.reset();
  epochs.epochs = 2;
  expect_invalid(solve_training(target, epochs, NoiseMultiplier::of(1), SolveFor::kRate).error(), "number of steps");
  expect_invalid(solve_training({kReplaceOne, Epsilon::of(2), Delta::of(1e-5)}, batches(Draw::kFixedSize),
                                NoiseMultiplier::of(1), SolveFor::kRate)
                     .error(),
                 "Poisson");
}

TEST(AccountQuestion, QueriesAreSolvedForNoiseAndForTheirNumber) {
  const Target target{kAddRemove, Epsilon::of(1), Delta::of(1e-6)};
  for (const QueryNoise kind : {QueryNoise::kGaussian, QueryNoise::kLaplace}) {
    const SolvedQueries noise = solve_noise(target, kind, Steps::of(10)).value();
    EXPECT_LE(noise.epsilon.upper, 1);
    EXPECT_GT(noise.epsilon.lower, 1 - 1e-4);
    const SolvedQueries count = solve_count(target, kind, noise.noise).value();
    EXPECT_EQ(count.count, Steps::of(10)) << "the least noise for ten queries allows ten";
  }
}

TEST(AccountQuestion, CurvesFallWithDelta) {
  const std::vector<EpsilonPoint> points =
      epsilon_curve(repeated_noise(QueryNoise::kGaussian, NoiseMultiplier::of(5), Steps::of(1)), kAddRemove);
  ASSERT_EQ(points.size(), 61U);
  EXPECT_NEAR(points.front().delta, 1e-12, 1e-20);
  EXPECT_NEAR(points.back().delta, 0.1, 1e-9);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_LE(points[i].epsilon.lower, points[i - 1].epsilon.upper);
  EXPECT_TRUE(epsilon_curve(NonPrivateEvent{"replay"}, kAddRemove).empty());
}

}  // namespace
}  // namespace noisefloor
