#include "noisefloor/sgd/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

LearningRate rate(LearningRate::Options options) { return LearningRate::create(options).value(); }

TEST(LearningRate, FollowsItsFormula) {
  EXPECT_DOUBLE_EQ(rate({.initial = 0.3}).at(1000), 0.3);
  const LearningRate cosine = rate({.initial = 2, .decay = RateDecay::kCosine, .steps = 100});
  EXPECT_DOUBLE_EQ(cosine.at(0), 2);
  EXPECT_DOUBLE_EQ(cosine.at(50), 1);
  EXPECT_NEAR(cosine.at(100), 0, 1e-12);
  EXPECT_NEAR(cosine.at(1000), 0, 1e-12);
  EXPECT_DOUBLE_EQ(rate({.initial = 2, .decay = RateDecay::kInverse, .beta = 0.5}).at(6), 2 / 4.0);
  EXPECT_DOUBLE_EQ(rate({.initial = 2, .decay = RateDecay::kInverseRoot, .beta = 0.5}).at(36), 2 / 4.0);
}

TEST(LearningRate, WarmsUp) {
  const LearningRate warm = rate({.initial = 1, .warm_up = 4});
  EXPECT_DOUBLE_EQ(warm.at(0), 0.25);
  EXPECT_DOUBLE_EQ(warm.at(3), 1);
  EXPECT_DOUBLE_EQ(warm.at(4), 1);
}

TEST(LearningRate, RefusesInvalidOptions) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL})
    testing::expect_invalid(LearningRate::create({.initial = bad}).error(), "learning rate");
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL})
    testing::expect_invalid(LearningRate::create({.beta = bad}).error(), "decay");
}

}  // namespace
}  // namespace noisefloor
