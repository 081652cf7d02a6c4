#include "noisefloor/event/dp_sgd_event.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

constexpr Rows kRows = Rows::of(1000);
constexpr Rows kBatch = Rows::of(50);
constexpr NoiseMultiplier kNoise = NoiseMultiplier::of(3.0);

TEST(DpSgdEvent, KeepsTheMultiplierOfPoissonBatchesUnderBothNeighbours) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    const BatchLaw law = BatchLaw::poisson(kRows, kBatch, adjacency).value();
    EXPECT_EQ(law, BatchLaw::poisson(SamplingRate::of(0.05), adjacency));
    EXPECT_EQ(law, BatchLaw::create(Draw::kPoisson, kRows, kBatch, adjacency).value());
    EXPECT_EQ(law.draw(), Draw::kPoisson);
    EXPECT_EQ(law.adjacency(), adjacency);
    EXPECT_EQ(law.rate().value(), 0.05);
    EXPECT_EQ(law.reach(), 1);
    EXPECT_EQ(law.step(kNoise), DpEvent(PoissonSampledEvent{SamplingRate::of(0.05), GaussianEvent{kNoise}}));
  }
}

// Exchanging a row moves the sum by two clip norms, and noise of three clip norms is 1.5 times as much.
TEST(DpSgdEvent, HalvesTheMultiplierOfBatchesOfFixedSize) {
  const BatchLaw law = BatchLaw::fixed_size(kRows, kBatch, Adjacency::kReplaceOne).value();
  EXPECT_EQ(law, BatchLaw::create(Draw::kFixedSize, kRows, kBatch, Adjacency::kReplaceOne).value());
  EXPECT_EQ(law.draw(), Draw::kFixedSize);
  EXPECT_EQ(law.rate().value(), 0.05);
  EXPECT_EQ(law.reach(), 2);
  EXPECT_EQ(law.step(kNoise), DpEvent(FixedSizeSampledEvent{kBatch, kRows, GaussianEvent{NoiseMultiplier::of(1.5)}}));
}

TEST(DpSgdEvent, RepeatsTheStepInARun) {
  const BatchLaw law = BatchLaw::fixed_size(kRows, kBatch, Adjacency::kReplaceOne).value();
  EXPECT_EQ(law.run(kNoise, Steps::of(7)), DpEvent(SelfComposedEvent{Steps::of(7), law.step(kNoise)}));
}

TEST(DpSgdEvent, TakesOtherNoiseAsItIs) {
  const DpEvent noise = LaplaceEvent{kNoise};
  EXPECT_EQ(BatchLaw::poisson(SamplingRate::of(0.5), Adjacency::kAddRemove).step_with(noise),
            DpEvent(PoissonSampledEvent{SamplingRate::of(0.5), noise}));
  EXPECT_EQ(BatchLaw::fixed_size(kRows, kBatch, Adjacency::kReplaceOne).value().step_with(noise),
            DpEvent(FixedSizeSampledEvent{kBatch, kRows, noise}));
}

// 3/2 of the smallest number rounds to 2 of it: an event that has more noise than the step would understate ε.
TEST(DpSgdEvent, TakesNoiseThatCannotBeHalvedAsNone) {
  const BatchLaw law = BatchLaw::fixed_size(kRows, kBatch, Adjacency::kReplaceOne).value();
  const double tiny = std::numeric_limits<double>::denorm_min();
  for (const double odd : {tiny, 3 * tiny}) {
    EXPECT_TRUE(contains<NonPrivateEvent>(law.step(NoiseMultiplier::make(odd).value())));
  }
  EXPECT_FALSE(contains<NonPrivateEvent>(law.step(NoiseMultiplier::make(2 * tiny).value())));
}

TEST(DpSgdEvent, RefusesWhatHasNoEvent) {
  expect_invalid(BatchLaw::fixed_size(kRows, kBatch, Adjacency::kAddRemove).error(), "replace-one");
  expect_invalid(BatchLaw::create(Draw::kFixedSize, kRows, kBatch, Adjacency::kAddRemove).error(), "replace-one");
  expect_invalid(BatchLaw::fixed_size(kBatch, kRows, Adjacency::kReplaceOne).error(), "1000");
  expect_invalid(BatchLaw::poisson(kBatch, kRows, Adjacency::kAddRemove).error(), "1000");
}

TEST(DpSgdEvent, RoundsEpochsUpToWholeSteps) {
  EXPECT_EQ(steps_for_epochs(10, SamplingRate::of(0.0256)).value(), Steps::of(391));
  EXPECT_EQ(steps_for_epochs(3, SamplingRate::of(0.1)).value(), Steps::of(30)) << "3 / 0.1 is a bit above 30";
  EXPECT_EQ(steps_for_epochs(1e-9, SamplingRate::of(1)).value(), Steps::of(1));
  for (const double bad : {0.0, -1.0, 1e12, std::numeric_limits<double>::quiet_NaN()}) {
    expect_invalid(steps_for_epochs(bad, SamplingRate::of(0.1)).error(), "epochs");
  }
}

TEST(DpSgdEvent, NamesDrawsAsFilesDo) {
  EXPECT_EQ(name_of(Draw::kPoisson), "poisson");
  EXPECT_EQ(name_of(Draw::kFixedSize), "fixed-size");
}

}  // namespace
}  // namespace noisefloor
