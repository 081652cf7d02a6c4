#include "noisefloor/plan/sample_sizes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

TEST(SampleSizes, AreConstant) {
  const SampleSizes sizes = SampleSizes::constant(26, 1924).value();
  EXPECT_EQ(sizes.total(), 26U * 1924);
  EXPECT_EQ(sizes.rounds(), 1924U);
  EXPECT_EQ(sizes.mean(), 26);
  EXPECT_EQ(sizes.theta(), 1);
}

// The remark on increasing sample sizes: θ = 1 + p.
TEST(SampleSizes, HaveThetaOnePlusTheirPower) {
  for (const double power : {0.5, 1.0, 2.0, 3.0}) {
    const SampleSizes sizes = SampleSizes::polynomial(5000, 20'000, power).value();
    EXPECT_NEAR(sizes.theta(), 1 + power, 0.01) << power;
    EXPECT_EQ(sizes.rounds(), 20'000U);
    EXPECT_EQ(sizes.largest(), 5000U);
    EXPECT_EQ(sizes.stretches().back().size, 5000U);
  }
  EXPECT_EQ(SampleSizes::polynomial(7, 3, 0).value().stretches().size(), 1U);
}

TEST(SampleSizes, ReachTheEpochsAndExceedThemByAtMostARound) {
  for (const double power : {0.0, 1.0}) {
    for (const std::uint64_t largest : {1U, 37U, 10'000U}) {
      const SampleSizes sizes = SampleSizes::for_epochs(Rows::of(10'000), 5, largest, power).value();
      EXPECT_TRUE(power > 0 || sizes.total() >= 50'000U);
      EXPECT_NEAR(static_cast<double>(sizes.total()), 50'000, 500 + static_cast<double>(largest)) << power;
    }
  }
}

TEST(SampleSizes, RefuseImpossibleSizes) {
  expect_invalid(SampleSizes::of({}).error(), "at least one round");
  expect_invalid(SampleSizes::constant(0, 5).error(), "1 or above");
  expect_invalid(SampleSizes::constant(5, 0).error(), "1 or above");
  expect_invalid(SampleSizes::constant(1ULL << 40, 1ULL << 40).error(), "too many");
  expect_invalid(SampleSizes::polynomial(10, 10, -1).error(), "from 0 to 16");
  expect_invalid(SampleSizes::polynomial(10, 10, std::nan("")).error(), "from 0 to 16");
  expect_invalid(SampleSizes::polynomial(10, 1 << 21, 1).error(), "at most 1048576 rounds");
  for (const double epochs : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e300}) {
    EXPECT_FALSE(SampleSizes::for_epochs(Rows::of(100), epochs, 10, 0).has_value()) << epochs;
  }
}

TEST(SampleSizes, DescribeHowTheRoundsAreDrawn) {
  const SampleSizes sizes = SampleSizes::of({{10, 3}, {20, 2}}).value();
  const Rows rows = Rows::of(1000);
  const NoiseMultiplier noise = NoiseMultiplier::of(4.0);
  const auto gaussian = [](double z) { return GaussianEvent{NoiseMultiplier::make(z).value()}; };
  EXPECT_EQ(sizes.event(rows, noise, Adjacency::kAddRemove, Draw::kPoisson).value(),
            DpEvent(ComposedEvent{
                {SelfComposedEvent{Steps::of(3), PoissonSampledEvent{SamplingRate::of(0.01), gaussian(4)}},
                 SelfComposedEvent{Steps::of(2), PoissonSampledEvent{SamplingRate::of(0.02), gaussian(4)}}}}));
  // An exchanged row moves the sum twice as far.
  EXPECT_EQ(sizes.event(rows, noise, Adjacency::kReplaceOne, Draw::kFixedSize).value(),
            DpEvent(ComposedEvent{
                {SelfComposedEvent{Steps::of(3), FixedSizeSampledEvent{Rows::of(10), rows, gaussian(2)}},
                 SelfComposedEvent{Steps::of(2), FixedSizeSampledEvent{Rows::of(20), rows, gaussian(2)}}}}));
  expect_invalid(sizes.event(rows, noise, Adjacency::kAddRemove, Draw::kFixedSize).error(), "replace-one");
  expect_invalid(sizes.event(Rows::of(15), noise, Adjacency::kAddRemove, Draw::kPoisson).error(),
                 "larger than the data");
}

}  // namespace
}  // namespace noisefloor
