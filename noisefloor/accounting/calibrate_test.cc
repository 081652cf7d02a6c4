#include "noisefloor/accounting/calibrate.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/pld.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

DpEvent dpsgd(double rate, double multiplier, std::uint64_t steps) {
  return SelfComposedEvent{
      Steps::make(steps).value(),
      PoissonSampledEvent{SamplingRate::make(rate).value(), GaussianEvent{NoiseMultiplier::make(multiplier).value()}}};
}

Target target(double epsilon, double delta) {
  return {Adjacency::kAddRemove, Epsilon::make(epsilon).value(), Delta::make(delta).value()};
}

double upper(const DpEvent& event, double delta) {
  return pld_epsilon(event, Adjacency::kAddRemove, Delta::make(delta).value()).value().upper;
}

// Noise multipliers that two independent programs found to 1e-9.
TEST(Calibrate, NoiseLandsWithinAMillionthOfTheExactAndNeverBelow) {
  struct Case {
    double rate;
    std::uint64_t steps;
    double epsilon;
    double delta;
    double exact;
  };
  for (const Case& c :
       {Case{0.01, 10'000, 8, 1e-5, 0.8825284902876901}, Case{0.01, 20'000, 8, 1e-5, 1.0812300002525717},
        Case{0.0256, 390, 3, 1e-5, 1.0339045588701499}, Case{0.025, 400, 3, 1e-5, 1.0270681681539795},
        Case{1.0 / 196, 1960, 1, 1e-6, 1.2119348813130224}, Case{1.0 / 196, 1960, 3, 1e-6, 0.7575305411756263},
        Case{1.0 / 196, 1960, 8, 1e-6, 0.5617745317000726},
        Case{256.0 / 60'000, 14'062, 3, 1e-5, 0.9684079236468319}}) {
    const auto found = calibrate_noise(target(c.epsilon, c.delta), [&](NoiseMultiplier z) {
                         return dpsgd(c.rate, z.value(), c.steps);
                       }).value();
    EXPECT_LE(found.value.value(), c.exact * (1 + 1e-6));
    EXPECT_GE(found.value.value(), c.exact * (1 - 1e-9));
    EXPECT_LE(found.epsilon.upper, c.epsilon);
    EXPECT_GT(upper(dpsgd(c.rate, c.exact * (1 - 1e-6), c.steps), c.delta), c.epsilon) << "less noise is not enough";
  }
}

TEST(Calibrate, OneMoreStepWouldBeTooMany) {
  for (double multiplier : {0.7, 1.0, 4.0}) {
    const auto found =
        calibrate_steps(target(3, 1e-5), [&](Steps t) { return dpsgd(0.01, multiplier, t.value()); }).value();
    EXPECT_LE(upper(dpsgd(0.01, multiplier, found.value.value()), 1e-5), 3);
    EXPECT_GT(upper(dpsgd(0.01, multiplier, found.value.value() + 1), 1e-5), 3);
  }
}

TEST(Calibrate, QueriesOfEveryKind) {
  // Pure steps: basic composition allows 10, and at this δ one or two more.
  const auto found = calibrate_steps(target(1, 1e-6), [](Steps k) -> DpEvent {
                       return SelfComposedEvent{k, RandomizedResponseEvent{Epsilon::of(0.1), kTwoCategories}};
                     }).value();
  EXPECT_EQ(found.value.value(), 10U);
  const auto many = calibrate_steps(target(1, 1e-6), [](Steps k) -> DpEvent {
                      return SelfComposedEvent{k, RandomizedResponseEvent{Epsilon::of(0.01), kTwoCategories}};
                    }).value();
  EXPECT_GT(many.value.value(), 500U) << "far more than the 100 of basic composition";
  EXPECT_LE(many.epsilon.upper, 1);
}

TEST(Calibrate, TheLargestRate) {
  const auto found = calibrate_rate(target(3, 1e-5), [](SamplingRate q) { return dpsgd(q.value(), 1, 1000); }).value();
  EXPECT_LE(found.epsilon.upper, 3);
  EXPECT_GT(upper(dpsgd(found.value.value() * (1 + 1e-6), 1, 1000), 1e-5), 3);
  // Where even all records are not too much, the rate is 1.
  EXPECT_EQ(
      calibrate_rate(target(3, 1e-5), [](SamplingRate q) { return dpsgd(q.value(), 100, 10); }).value().value.value(),
      1);
}

TEST(Calibrate, WhatCannotBeReachedIsRefusedByName) {
  expect_invalid(calibrate_steps(target(0.01, 1e-5), [](Steps t) { return dpsgd(0.5, 0.3, t.value()); }).error(),
                 "one step");
  expect_invalid(calibrate_noise(target(1, 1e-5),
                                 [](NoiseMultiplier) -> DpEvent {
                                   return EpsilonDeltaEvent{PrivacyLoss::of(2), Delta::of(0)};
                                 })
                     .error(),
                 "no noise multiplier");
  // An event without any bound is its own error.
  expect_invalid(calibrate_noise(target(1, 1e-5),
                                 [](NoiseMultiplier z) -> DpEvent {
                                   return FixedSizeSampledEvent{Rows::of(1), Rows::of(10), GaussianEvent{z}};
                                 })
                     .error(),
                 "add-remove");
}

}  // namespace
}  // namespace noisefloor
