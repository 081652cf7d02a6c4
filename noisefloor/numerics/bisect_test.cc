#include "noisefloor/numerics/bisect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace noisefloor {
namespace {

TEST(Bisect, ClosesInOnTheLastPointThatHolds) {
  const auto below = [](double x) { return x * x <= 2; };
  const Bracket up = bisect({.holds = 0, .fails = 2}, {.relative = 1e-14}, below);
  EXPECT_TRUE(below(up.holds));
  EXPECT_FALSE(below(up.fails));
  EXPECT_NEAR(up.holds, std::sqrt(2), 1e-13);
  EXPECT_LE(up.fails - up.holds, 1e-14 * up.fails);
  const auto above = [](double x) { return x * x >= 2; };
  const Bracket down = bisect({.holds = 2, .fails = 0}, {.relative = 1e-14}, above);
  EXPECT_TRUE(above(down.holds));
  EXPECT_FALSE(above(down.fails));
}

// Whatever the predicate does, what is returned was asked for and held.
TEST(Bisect, TheEndsWereAskedAlsoWithoutMonotony) {
  std::vector<double> held{0};
  std::vector<double> failed{1};
  const auto wild = [&](double x) {
    const bool holds = std::fmod(x * 997, 1) < 0.5;
    (holds ? held : failed).push_back(x);
    return holds;
  };
  const Bracket found = bisect({.holds = 0, .fails = 1}, {.absolute = 1e-9}, wild);
  EXPECT_EQ(found.holds, held.back());
  EXPECT_EQ(found.fails, failed.back());
}

TEST(Bisect, EndsByNumberByWidthAndWhereNumbersEnd) {
  int asked = 0;
  const auto count = [&](double) { return ++asked > 0; };
  (void)bisect({.holds = 0, .fails = 1}, {.halvings = 7}, count);
  EXPECT_EQ(asked, 7);
  asked = 0;
  (void)bisect({.holds = 0, .fails = 1}, {.absolute = 0.25}, count);
  EXPECT_EQ(asked, 2);
  asked = 0;
  const Bracket tight = bisect({.holds = 1, .fails = 2}, {}, count);
  EXPECT_LE(asked, 60);
  EXPECT_EQ(tight.holds, std::nextafter(2.0, 1.0));
  asked = 0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  (void)bisect({.holds = 0, .fails = nan}, {}, count);
  EXPECT_EQ(asked, 0) << "a bracket that is none is left alone";
}

TEST(Bisect, RatiosAreHalvedForNumbersOfManySizes) {
  const auto fits = [](double x) { return x <= 1e-200; };
  const Bracket found = bisect_ratio({.holds = 1e-300, .fails = 1}, 1 + 1e-9, 2000, fits);
  EXPECT_TRUE(fits(found.holds));
  EXPECT_NEAR(found.holds / 1e-200, 1, 2e-9);
}

TEST(Bisect, CountsEndAtNeighbours) {
  const CountBracket found =
      bisect_counts({.holds = 0, .fails = std::uint64_t{1} << 63}, [](std::uint64_t x) { return x <= 123456789; });
  EXPECT_EQ(found.holds, 123456789U);
  EXPECT_EQ(found.fails, 123456790U);
  EXPECT_EQ(bisect_counts({.holds = 10, .fails = 3}, [](std::uint64_t x) { return x > 7; }).holds, 8U);
}

TEST(Bisect, ErrorsEndTheSearch) {
  const Result<Bracket> failed = try_bisect({.holds = 0, .fails = 1}, {}, [](double x) -> Result<bool> {
    if (x < 0.3) return invalid_argument("too small");
    return false;
  });
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "too small");
}

}  // namespace
}  // namespace noisefloor
