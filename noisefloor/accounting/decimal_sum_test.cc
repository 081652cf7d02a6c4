#include "noisefloor/accounting/decimal_sum.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

using Exact = boost::multiprecision::cpp_rational;
using Whole = boost::multiprecision::cpp_int;

Exact power_of_ten(int exponent) {
  const Whole power = boost::multiprecision::pow(Whole(10), static_cast<unsigned>(std::abs(exponent)));
  return exponent < 0 ? Exact(1, power) : Exact(power);
}

Exact exact(const DecimalSum& sum) {
  const Whole digits =
      (Whole(static_cast<std::uint64_t>(sum.digits >> 64)) << 64) + static_cast<std::uint64_t>(sum.digits);
  return Exact(digits) * power_of_ten(sum.exponent);
}

// The decimal with the fewest digits that reads back as the value, found by trying: another way than the one tested.
Exact shortest(double value) {
  for (int digits = 0;; ++digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", digits, value);  // NOLINT
    if (std::strtod(text, nullptr) != value) continue;
    const std::string all(text);
    const std::size_t e = all.find('e');
    std::string mantissa = all.substr(0, e);
    int exponent = std::stoi(all.substr(e + 1));
    if (const std::size_t point = mantissa.find('.'); point != std::string::npos) {
      exponent -= static_cast<int>(mantissa.size() - point - 1);
      mantissa.erase(point, 1);
    }
    return Exact(Whole(mantissa.substr(std::min(mantissa.find_first_not_of('0'), mantissa.size() - 1)))) *
           power_of_ten(exponent);
  }
}

TEST(DecimalSum, AHundredTimesATenthIsTen) {
  DecimalSum sum;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(sum.within(std::nextafter(10.0, 0.0)));
    sum = sum.plus(0.1);
  }
  EXPECT_EQ(exact(sum), 10);
  EXPECT_TRUE(sum.within(10));
  EXPECT_FALSE(sum.plus(5e-324).within(10));
  EXPECT_FALSE(sum.plus(1e-30).within(10));
  EXPECT_EQ(sum.remaining_of(10), 0);
  EXPECT_EQ(sum.minus(0.1).remaining_of(10), 0.1);
  EXPECT_EQ(sum.minus(0.1).remaining_of(11), 1.1);
}

TEST(DecimalSum, EveryDoubleStandsForItsShortestDecimal) {
  std::vector<double> values = {0.1, 0.3, 1, 5, 1e22, 1e23, 123456789012345678.0, 0.30000000000000004, 1e-5, 1e-300};
  values.insert(values.end(),
                {std::numeric_limits<double>::max(), std::numeric_limits<double>::min(), 9007199254740993.0});
  for (int i = 0; i < 2000; ++i) values.push_back(std::exp2(1000 * std::sin(1.7 * i)));
  for (const double value : values) {
    const Exact decimal = exact(DecimalSum{}.plus(value));
    EXPECT_EQ(decimal, shortest(value)) << value;
    // The bound that the guarantee rests on.
    EXPECT_LE(Exact(value), decimal * (1 + Exact(0x1p-52))) << value;
    EXPECT_TRUE(DecimalSum{}.plus(value).within(value));
    EXPECT_EQ(DecimalSum{}.remaining_of(value), value);
  }
  // The least doubles have few digits, and no bound: charges go up and budgets down.
  for (const double least : {5e-324, 1e-323, 1e-310, std::nextafter(std::numeric_limits<double>::min(), 0.0)}) {
    EXPECT_GT(exact(DecimalSum{}.plus(least)), Exact(least));
    EXPECT_FALSE(DecimalSum{}.plus(least).within(least));
  }
  EXPECT_TRUE(DecimalSum{}.plus(0).within(0));
}

TEST(DecimalSum, IsExactUpTo38DigitsAndNeverBelow) {
  for (const double spread : {10.0, 50.0, 900.0}) {
    DecimalSum sum;
    Exact truth = 0;
    for (int i = 0; i < 500; ++i) {
      const double term = std::exp2(spread * std::sin(1.7 * i));
      sum = sum.plus(term);
      truth += shortest(term);
      ASSERT_TRUE(sum.is_valid());
      ASSERT_GE(exact(sum), truth);
      ASSERT_LE(exact(sum), truth * (1 + Exact(500) * power_of_ten(-36)));
      const double budget = std::exp2(spread * std::sin(0.3 * i)) * 100;
      ASSERT_EQ(sum.within(budget), exact(sum) <= shortest(budget));
      const double left = sum.remaining_of(budget);
      if (!sum.within(budget)) {
        ASSERT_EQ(left, 0);
        continue;
      }
      ASSERT_LE(exact(sum) + (left > 0 ? shortest(left) : Exact(0)), shortest(budget));
      ASSERT_GE(exact(sum) * (1 + power_of_ten(-36)) + shortest(next_up(next_up(left))), shortest(budget));
    }
    EXPECT_TRUE(exact(sum) == truth || spread > 10);
  }
}

TEST(DecimalSum, TakesBackWhatItTook) {
  DecimalSum sum;
  for (int i = 1; i <= 50; ++i) sum = sum.plus(0.1 * i);
  const Exact before = exact(sum);
  for (const double term : {0.7, 1e-7, 3.0, 1e-40}) EXPECT_GE(exact(sum.plus(term).minus(term)), before) << term;
  EXPECT_EQ(exact(sum.plus(0.7).minus(0.7)), before);
  EXPECT_EQ(DecimalSum{}.plus(0.1).minus(0.1).digits, 0U);
  EXPECT_FALSE((DecimalSum{~Uint128{0}, 0}).is_valid());
  EXPECT_FALSE((DecimalSum{1, 1000}).is_valid());
}

}  // namespace
}  // namespace noisefloor
