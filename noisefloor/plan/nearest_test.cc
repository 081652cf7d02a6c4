#include "noisefloor/plan/nearest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace noisefloor {
namespace {

TEST(Nearest, RoundsToTheSideWithinTheLimit) {
  EXPECT_EQ(at_most_shown(4.38299999), "4.38299");
  EXPECT_EQ(at_least_shown(4.38299999), "4.383");
  EXPECT_EQ(at_most_shown(5), "5");
  EXPECT_EQ(at_least_shown(1.0 / 60'000), "1.66667e-05");
  EXPECT_EQ(at_most_shown(1.0 / 60'000), "1.66666e-05");
  for (int i = -200; i < 200; ++i) {
    const double value = std::exp(0.1 * i) * (1 + 1e-7 * i);
    EXPECT_LE(std::stod(at_most_shown(value)), value * (1 + 1e-15));
    EXPECT_GE(std::stod(at_least_shown(value)), value * (1 - 1e-15));
    EXPECT_NEAR(std::stod(at_most_shown(value)), value, 1.1e-5 * value);
    EXPECT_NEAR(std::stod(at_least_shown(value)), value, 1.1e-5 * value);
  }
}

TEST(Nearest, ShowsZeroAndInfinityAsTheyAre) {
  EXPECT_EQ(at_most_shown(0), "0");
  EXPECT_EQ(at_least_shown(HUGE_VAL), "inf");
}

}  // namespace
}  // namespace noisefloor
