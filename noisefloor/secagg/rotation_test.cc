#include "noisefloor/secagg/rotation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace noisefloor::secagg {
namespace {

double length(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

TEST(Rotation, RestoresTheVectorByItsInverse) {
  for (const std::uint64_t dimension : {1U, 2U, 3U, 16U, 100U, 5000U}) {
    const Rotation rotation(dimension, blake2b("seed"));
    std::vector<double> values(dimension);
    for (std::size_t i = 0; i < dimension; ++i) values[i] = std::cos(static_cast<double>(i * i));
    const std::vector<double> rotated = rotation.rotate(values);
    EXPECT_EQ(rotated.size(), rotation.padded());
    EXPECT_NEAR(length(rotated), length(values), 1e-12 * length(values));
    const std::vector<double> back = rotation.rotate_back(rotated);
    ASSERT_EQ(back.size(), dimension);
    for (std::size_t i = 0; i < dimension; ++i) EXPECT_NEAR(back[i], values[i], 1e-12);
  }
}

// One coordinate is spread evenly over all, and a constant vector too, which a plain Hadamard transform would put into
// one.
TEST(Rotation, SpreadsEveryVector) {
  const Rotation rotation(1024, blake2b("seed"));
  std::vector<double> one(1024);
  one[5] = 32;
  for (const double value : rotation.rotate(one)) EXPECT_NEAR(std::fabs(value), 1, 1e-12);
  for (const double value : rotation.rotate(std::vector<double>(1024, 1.0))) EXPECT_LT(std::fabs(value), 6);
}

TEST(Rotation, FollowsFromTheSeed) {
  const std::vector<double> values(64, 1.0);
  EXPECT_EQ(Rotation(64, blake2b("a")).rotate(values), Rotation(64, blake2b("a")).rotate(values));
  EXPECT_NE(Rotation(64, blake2b("a")).rotate(values), Rotation(64, blake2b("b")).rotate(values));
}

}  // namespace
}  // namespace noisefloor::secagg
