#include "noisefloor/mechanisms/answer_grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace noisefloor {
namespace {

TEST(Lattice, RoundsToTheNearestPointAndBack) {
  const Lattice lattice(-3);
  EXPECT_EQ(lattice.step(), 0.125);
  EXPECT_TRUE(lattice.nearest(1.0) == 8);
  EXPECT_TRUE(lattice.nearest(-1.07) == -9);
  EXPECT_EQ(lattice.to_real(lattice.nearest(2.3)), 2.25);
  EXPECT_EQ(Lattice(4).to_real(Lattice(4).nearest(100)), 96);
}

// Halves go up, not to even: 0.5 and 1.5 are one step apart and must stay so.
TEST(Lattice, RoundingKeepsWholeDistances) {
  const Lattice lattice(0);
  for (double x : {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}) {
    for (double n : {1.0, 3.0, 1001.0}) {
      EXPECT_TRUE(lattice.nearest(x + n) - lattice.nearest(x) <= static_cast<Int128>(n)) << x << ' ' << n;
    }
  }
}

TEST(Lattice, WholeNumbersBeyondDoublesAreExact) {
  constexpr std::int64_t huge = (std::int64_t{1} << 62) + 1;
  for (int exponent : {-62, -40, -20, 0}) {
    EXPECT_EQ(Lattice(exponent).to_whole(Lattice(exponent).nearest_to_whole(huge)), huge) << exponent;
  }
  // On a coarser grid neighbours stay within one step.
  EXPECT_TRUE(Lattice(1).nearest_to_whole(huge) - Lattice(1).nearest_to_whole(huge - 1) <= 1);
}

TEST(Lattice, NeverFailsOnData) {
  const Lattice lattice(-20);
  EXPECT_TRUE(lattice.nearest(std::numeric_limits<double>::quiet_NaN()) == 0);
  EXPECT_TRUE(lattice.nearest(std::numeric_limits<double>::infinity()) == Int128{1} << 100);
  EXPECT_TRUE(lattice.nearest(-1e308) == -(Int128{1} << 100));
  EXPECT_TRUE(lattice.nearest(5e-324) == 0);
  EXPECT_TRUE(lattice.nearest(-0.0) == 0);
}

// The ratio is exactly at most ε, and close to it. ε is compared without rounding: scale · ε ≥ sensitivity by fma.
TEST(Lattice, LaplaceCalibrationIsSafeAndTight) {
  for (double sensitivity : {1e-9, 0.01, 1.0, 3.7, 1e6}) {
    for (double epsilon : {1e-6, 0.01, 0.1, 1.0 / 3, 1.0, 8.0, 100.0}) {
      for (std::uint64_t roundings : {1ULL, 2ULL, 1000ULL}) {
        const auto made =
            laplace_on_lattice(L1Sensitivity::make(sensitivity).value(), Epsilon::make(epsilon).value(), roundings);
        if (!made.has_value()) {
          EXPECT_LT(epsilon, 1e-5);
          continue;
        }
        const double steps = made.value().sensitivity.value();
        const double scale = made.value().scale.value();
        EXPECT_EQ(steps, std::floor(steps));
        EXPECT_EQ(scale, std::floor(scale));
        EXPECT_GE(std::fma(scale, epsilon, -steps), 0);
        EXPECT_GE(steps / scale, epsilon * (1 - 0x1p-20));
        EXPECT_GE(steps * made.value().lattice.step(), sensitivity);
        EXPECT_LE(steps * made.value().lattice.step(), sensitivity * (1 + 0x1p-19));
      }
    }
  }
}

TEST(Lattice, RoundingNeverMovesNeighboursFurtherThanTheStatedSteps) {
  const double sensitivity = 0.1;  // not a multiple of the grid
  const LaplaceOnLattice made = laplace_on_lattice(L1Sensitivity::make(sensitivity).value(), Epsilon::of(1), 1).value();
  const auto steps = static_cast<Int128>(made.sensitivity.value());
  for (int i = 0; i < 100000; ++i) {
    const double answer = i * 1.23456789e-7 - 0.005;
    // The neighbour's answer as a real number is at most 0.1 away; the nearest double inside that is taken.
    const double neighbour = std::nextafter(answer + sensitivity, answer);
    EXPECT_TRUE(made.lattice.nearest(neighbour) - made.lattice.nearest(answer) <= steps);
  }
}

TEST(Lattice, TooSmallAnEpsilonIsRefusedByItsValue) {
  const auto made = laplace_on_lattice(L1Sensitivity::of(1), Epsilon::of(1e-12), 1);
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("1e-12"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
