#include "noisefloor/report/epsilon_scale.h"

#include <gtest/gtest.h>

#include <limits>

namespace noisefloor {
namespace {

TEST(EpsilonScale, HasBandsThatMeetAtTheirEnds) {
  const auto name = [](double epsilon) { return std::string(band_of(epsilon).name); };
  EXPECT_EQ(name(0.01), "strong");
  EXPECT_EQ(name(1), "strong");
  EXPECT_EQ(name(1.0001), "practical");
  EXPECT_EQ(name(10), "practical");
  EXPECT_EQ(name(10.5), "weak");
  EXPECT_EQ(name(101), "none");
  EXPECT_EQ(name(std::numeric_limits<double>::infinity()), "none");
}

TEST(EpsilonScale, HasTypicalValuesOnTheScale) {
  for (const TypicalEpsilon& typical : typical_epsilons()) {
    EXPECT_LT(typical.low, typical.high) << typical.application;
    EXPECT_GE(typical.low, 0.1) << typical.application;
    EXPECT_LE(typical.high, 1000) << typical.application;
  }
}

// The position of the line, as a share of the width.
double place_of(double epsilon) {
  const std::string svg = epsilon_scale_svg(epsilon, "s", ChartSize::kWide, "");
  const std::size_t at = svg.find("class=\"here-mark\" d=\"M");
  EXPECT_NE(at, std::string::npos);
  return (std::stod(svg.substr(at + 22)) - 8) / (520 - 16);
}

TEST(EpsilonScale, DrawsTheLineAtItsEpsilon) {
  EXPECT_NEAR(place_of(1), 0.25, 1e-3);
  EXPECT_NEAR(place_of(10), 0.5, 1e-3);
  EXPECT_NEAR(place_of(0.001), 0, 1e-3) << "at the end, not off the picture";
  EXPECT_NEAR(place_of(1e9), 1, 1e-3);
}

}  // namespace
}  // namespace noisefloor
