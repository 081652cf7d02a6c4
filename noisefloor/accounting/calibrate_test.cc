#include "noisefloor/accounting/calibrate.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/pld.h"
#include "tests/support/golden_accounting.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

namespace golden = testing::golden;
using golden::dpsgd;
using testing::expect_invalid;

Target target(double epsilon, double delta) {
  return {Adjacency::kAddRemove, Epsilon::make(epsilon).value(), Delta::make(delta).value()};
}

double upper(const DpEvent& event, double delta) {
  return pld_epsilon(event, Adjacency::kAddRemove, Delta::make(delta).value()).value().upper;
}

TEST(Calibrate, NoiseLandsWithinAMillionthOfTheExactAndNeverBelow) {
  for (const golden::Row& row : golden::kRows) {
    if (row.kind != golden::kCalibrate) continue;
    const double epsilon = row.scale;
    const auto found = calibrate_noise(target(epsilon, row.delta), [&](NoiseMultiplier z) {
                         return dpsgd(row.rate, z.value(), row.count);
                       }).value();
    EXPECT_LE(found.value.value(), row.exact * (1 + 1e-6));
    EXPECT_GE(found.value.value(), row.exact * (1 - 1e-9));
    EXPECT_LE(found.epsilon.upper, epsilon);
    EXPECT_GT(upper(dpsgd(row.rate, row.exact * (1 - 1e-6), row.count), row.delta), epsilon)
        << "less noise is not enough";
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

TEST(Calibrate, UnreachableTargetsAreRefusedByName) {
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
