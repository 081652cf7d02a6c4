#include "noisefloor/report/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace noisefloor {
namespace {

TEST(Html, EscapesWhatCouldEndATextOrAnAttribute) {
  EXPECT_EQ(escaped("<script>alert('x')</script>"), "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
  EXPECT_EQ(escaped("a\" onload=\"b & c"), "a&quot; onload=&quot;b &amp; c");
  EXPECT_EQ(escaped("ε ≤ 3, naïve, 模型"), "ε ≤ 3, naïve, 模型");
}

TEST(Html, WritesOutWhatCannotBeSeen) {
  EXPECT_EQ(escaped(std::string_view("a\0b", 3)), "a\\u{0}b");
  EXPECT_EQ(escaped("\x1b[31m"), "\\u{1b}[31m");
  EXPECT_EQ(escaped("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(escaped("\xC0\xBC"), "\\xc0\\xbc") << "an overlong <";
  EXPECT_EQ(escaped("\xE2\x80<"), "\\xe2\\x80&lt;") << "cut off";
  EXPECT_EQ(escaped("model\u202Elatot"), "model\\u{202e}latot") << "would be read backwards";
  EXPECT_EQ(escaped("a\u200Bb\u2069\u00ADc"), "a\\u{200b}b\\u{2069}\\u{ad}c");
  EXPECT_EQ(escaped("a\n\tb"), "a\n\tb") << "line breaks and tabs are harmless in HTML";
}

TEST(Html, RoundsNumbersToTheirSide) {
  EXPECT_EQ(shown_at_least(2.99960000001, 5), "2.9997");
  EXPECT_EQ(shown_at_most(2.99969999, 5), "2.9996");
  EXPECT_EQ(shown_near(2.99960000001, 5), "2.9996");
  EXPECT_EQ(shown_at_least(std::numeric_limits<double>::infinity(), 4), "∞");
  EXPECT_EQ(shown_at_least(0, 4), "0");
  for (double value = 1e-9; value < 1e9; value *= 1.37) {
    EXPECT_GE(std::strtod(shown_at_least(value, 4).c_str(), nullptr), value);
    EXPECT_LE(std::strtod(shown_at_most(value, 4).c_str(), nullptr), value);
    EXPECT_NEAR(std::strtod(shown_at_least(value, 4).c_str(), nullptr) / value, 1, 2e-3);
    EXPECT_NEAR(std::strtod(shown_at_most(value, 4).c_str(), nullptr) / value, 1, 2e-3);
  }
}

TEST(Html, ShowsTheDigitsThatBoundsShare) {
  EXPECT_EQ(shown_interval(1.00090001, 1.00119999), "1.0012 (certified: at least 1.0009)");
  EXPECT_EQ(shown_interval(3, 3), "3 (certified: at least 3)");
  EXPECT_EQ(shown_interval(0, std::numeric_limits<double>::infinity()), "infinite");
}

TEST(Html, ShowsSmallNumbersReadably) {
  EXPECT_EQ(shown_power(1e-5), "10⁻⁵");
  EXPECT_EQ(shown_power(3.333e-6), "3.4 × 10⁻⁶");
  EXPECT_EQ(shown_power(9.99e-11), "10⁻¹⁰");
  EXPECT_EQ(shown_power(0.05), "0.05");
  EXPECT_EQ(shown_power(0), "0");
  EXPECT_EQ(shown_count(0), "0");
  EXPECT_EQ(shown_count(999), "999");
  EXPECT_EQ(shown_count(1234567), "1,234,567");
}

}  // namespace
}  // namespace noisefloor
