#include "noisefloor/table/scaling.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ParseDecimal, TakesDecimalNumbersOnly) {
  EXPECT_EQ(parse_decimal("3"), 3);
  EXPECT_EQ(parse_decimal("-0.5"), -0.5);
  EXPECT_EQ(parse_decimal("+1.0"), 1);
  EXPECT_EQ(parse_decimal(".5"), 0.5);
  EXPECT_EQ(parse_decimal("5."), 5);
  EXPECT_EQ(parse_decimal("1e-6"), 1e-6);
  EXPECT_EQ(parse_decimal("1E+3"), 1000);
  for (const char* text :
       {"",    "-",     "+",  ".",  "+-1", "--1", "nan", "NaN", "-nan",  "inf",      "-inf", "+Infinity",
        "0x1", "0x1p3", " 1", "1 ", "1,5", "1e",  "1e+", "e5",  "1_000", "\xd9\xa1", "1\n"}) {
    EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
  }
}

// A value beyond the range of a double is clamped like any other: it must not be an error that tells of it.
TEST(ParseDecimal, TakesNumbersBeyondTheRangeOfADouble) {
  const std::string zeros(400, '0');
  EXPECT_EQ(parse_decimal("1e400"), kInfinity);
  EXPECT_EQ(parse_decimal("-1e+400"), -kInfinity);
  EXPECT_EQ(parse_decimal("9" + zeros), kInfinity);
  EXPECT_EQ(parse_decimal("0.001e400"), kInfinity);
  EXPECT_EQ(parse_decimal("1e99999999999999999999999"), kInfinity);
  EXPECT_EQ(parse_decimal("1e9223372036854775807"), kInfinity);
  EXPECT_EQ(parse_decimal("1e-400"), 0);
  EXPECT_EQ(parse_decimal("0." + zeros + "1"), 0);
  EXPECT_EQ(parse_decimal("123e-400"), 0);
  EXPECT_EQ(parse_decimal("1e-99999999999999999999999"), 0);
  EXPECT_EQ(parse_decimal("0e99999999999999999999999"), 0);
  EXPECT_EQ(parse_decimal("9" + zeros + "e-400"), 9);
}

RC_GTEST_PROP(ParseDecimal, ReadsBackWhatWasPrinted, (double value)) {
  RC_PRE(std::isfinite(value));
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  RC_ASSERT(parse_decimal(text.data()) == value);
}

// Short numbers take another path in the code, and must give the same double.
RC_GTEST_PROP(ParseDecimal, TakesShortNumbersExactly, ()) {
  std::string text = *rc::gen::container<std::string>(rc::gen::inRange('0', static_cast<char>('9' + 1)));
  RC_PRE(!text.empty());
  text.resize(std::min<std::size_t>(text.size(), 18));
  text.insert(*rc::gen::inRange<std::size_t>(0, text.size() + 1), *rc::gen::element<std::string>(".", ""));
  const std::optional<double> value = parse_decimal(text);
  RC_ASSERT(value.has_value());
  RC_ASSERT(*value == std::strtod(text.c_str(), nullptr));
  RC_ASSERT(!parse_decimal(text + ".").has_value() || text.find('.') == std::string::npos);
}

TEST(Scaling, MapsEndsAndMiddle) {
  EXPECT_EQ(clamp_and_scale(5, 0, 10, Scaling::kNone), 5);
  EXPECT_EQ(clamp_and_scale(5, 0, 10, Scaling::kUnit), 0.5F);
  EXPECT_EQ(clamp_and_scale(5, 0, 10, Scaling::kSymmetric), 0);
  EXPECT_EQ(clamp_and_scale(0, 0, 10, Scaling::kSymmetric), -1);
  EXPECT_EQ(clamp_and_scale(10, 0, 10, Scaling::kSymmetric), 1);
  EXPECT_EQ(clamp_and_scale(11, 0, 10, Scaling::kNone), 10);
  EXPECT_EQ(clamp_and_scale(-kInfinity, -2, 10, Scaling::kNone), -2);
  EXPECT_EQ(clamp_and_scale(kInfinity, -2, 10, Scaling::kUnit), 1);
}

RC_GTEST_PROP(Scaling, StaysInItsRange, (double value, double a, double b)) {
  const double lower = std::min(a, b);
  const double upper = std::max(a, b);
  RC_PRE(!std::isnan(value) && check_bounds("x", lower, upper).has_value());
  for (double v : {value, lower, upper, std::nextafter(upper, lower)}) {
    const float unit = clamp_and_scale(v, lower, upper, Scaling::kUnit);
    RC_ASSERT(unit >= 0 && unit <= 1);
    const float symmetric = clamp_and_scale(v, lower, upper, Scaling::kSymmetric);
    RC_ASSERT(symmetric >= -1 && symmetric <= 1);
    RC_ASSERT(std::isfinite(clamp_and_scale(v, lower, upper, Scaling::kNone)));
  }
}

TEST(Scaling, RefusesBadBounds) {
  EXPECT_TRUE(check_bounds("x", -3e38, 3e38).has_value());
  for (const auto& [lower, upper] : {std::pair(1.0, 1.0), std::pair(2.0, 1.0), std::pair(std::nan(""), 1.0),
                                     std::pair(0.0, std::nan("")), std::pair(-kInfinity, 0.0), std::pair(0.0, 1e39)}) {
    testing::expect_invalid(check_bounds("column 'age'", lower, upper).error(), "column 'age' needs finite bounds");
  }
}

}  // namespace
}  // namespace noisefloor
