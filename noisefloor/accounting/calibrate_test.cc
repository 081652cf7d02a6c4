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

// Beyond the limit the true ε is above the target: by the certified lower bound, just beyond it.
TEST(Calibrate, SaysHowFarTheBestMayBe) {
  const auto lower = [](const DpEvent& event, double delta) {
    return pld_epsilon(event, Adjacency::kAddRemove, Delta::make(delta).value()).value().lower;
  };
  const auto tight =
      calibrate_noise(target(3, 1e-5), [](NoiseMultiplier z) { return dpsgd(0.01, z.value(), 1000); }).value();
  EXPECT_TRUE(tight.is_best());
  EXPECT_LE(tight.gap(), 1e-6);
  EXPECT_GT(lower(dpsgd(0.01, tight.limit.value(), 1000), 1e-5), 3);
  // A mechanism of which only an upper bound of the loss is known: nothing may be called the least.
  const auto skellam = [](NoiseMultiplier z) -> DpEvent {
    return SkellamEvent{NoiseVariance::make(z.value() * z.value()).value(), L1Sensitivity::of(1), L2Sensitivity::of(1),
                        Dimension::of(1)};
  };
  const auto loose = calibrate_noise(target(1, 1e-6), skellam).value();
  EXPECT_LE(upper(skellam(loose.value), 1e-6), 1);
  EXPECT_EQ(loose.is_best(), lower(skellam(loose.limit), 1e-6) > 1);
  // Both bounds are known, and apart: full batches may cost more.
  const auto truncated = [](NoiseMultiplier z) -> DpEvent {
    return SelfComposedEvent{Steps::of(50), TruncatedPoissonSampledEvent{SamplingRate::of(0.01), Rows::of(14),
                                                                         Rows::of(1000), GaussianEvent{z}}};
  };
  const auto between = calibrate_noise(target(1, 1e-6), truncated).value();
  EXPECT_FALSE(between.is_best());
  EXPECT_LT(between.limit, between.value);
  EXPECT_LE(upper(truncated(between.value), 1e-6), 1);
  EXPECT_GT(lower(truncated(between.limit), 1e-6), 1);
  EXPECT_LE(lower(truncated(NoiseMultiplier::make(between.value.value() * 0.999999).value()), 1e-6), 1);
}

TEST(Calibrate, FindsTheLargestBatch) {
  const auto with = [](Rows batch) { return dpsgd(static_cast<double>(batch.value()) / 50'000, 1, 2000); };
  const auto found = calibrate_batch(target(2, 1e-5), Rows::of(50'000), with).value();
  EXPECT_TRUE(found.is_best());
  EXPECT_EQ(found.limit, found.value);
  EXPECT_LE(upper(with(found.value), 1e-5), 2);
  EXPECT_GT(upper(with(Rows::make(found.value.value() + 1).value()), 1e-5), 2);
  // All rows, where even they are not too many; and none.
  const auto little = [](Rows /*batch*/) -> DpEvent { return GaussianEvent{NoiseMultiplier::of(100)}; };
  EXPECT_EQ(calibrate_batch(target(2, 1e-5), Rows::of(77), little).value().value.value(), 77U);
  expect_invalid(calibrate_batch(target(1e-3, 1e-9), Rows::of(10), with).error(), "a batch of one row");
}

// Each evaluation is a composition of a millisecond or so.
TEST(Calibrate, AsksForFewCompositions) {
  for (const double epsilon : {0.1, 1.0, 8.0}) {
    int asked = 0;
    const auto counted = [&](NoiseMultiplier z) {
      ++asked;
      return dpsgd(0.01, z.value(), 10'000);
    };
    ASSERT_TRUE(calibrate_noise(target(epsilon, 1e-5), counted).value().is_best());
    EXPECT_LE(asked, 16) << epsilon;
    asked = 0;
    const auto steps = [&](Steps t) {
      ++asked;
      return dpsgd(0.01, 1.2, t.value());
    };
    if (epsilon > 0.5) {
      ASSERT_TRUE(calibrate_steps(target(epsilon, 1e-5), steps).value().is_best());
      EXPECT_LE(asked, 22) << epsilon;
    }
  }
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
