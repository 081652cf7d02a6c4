#include "noisefloor/base/rounding.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>

namespace noisefloor {
namespace {

using Exact = boost::multiprecision::cpp_rational;

// Rounded up means: not below the exact result, and the double before it is.
TEST(Rounding, IsTheSmallestDoubleThatIsNotBelow) {
  const auto spread = [](int i) { return std::exp2(40 * std::sin(1.7 * i)); };
  int inexact = 0;
  for (int i = 0; i < 2000; ++i) {
    const double a = spread(i);
    const double b = spread(i + 1);
    for (double signed_b : {b, -b}) {
      const double sum = add_up(a, signed_b);
      EXPECT_GE(Exact(sum), Exact(a) + Exact(signed_b));
      EXPECT_LT(Exact(std::nextafter(sum, -HUGE_VAL)), Exact(a) + Exact(signed_b));
    }
    const double product = times_up(a, b);
    EXPECT_GE(Exact(product), Exact(a) * Exact(b));
    EXPECT_LT(Exact(std::nextafter(product, 0)), Exact(a) * Exact(b));
    const double quotient = divided_up(a, b);
    EXPECT_GE(Exact(quotient) * Exact(b), Exact(a));
    EXPECT_LT(Exact(std::nextafter(quotient, 0)) * Exact(b), Exact(a));
    const double root = sqrt_up(a);
    EXPECT_GE(Exact(root) * Exact(root), Exact(a));
    EXPECT_LT(Exact(std::nextafter(root, 0)) * Exact(std::nextafter(root, 0)), Exact(a));
    inexact += product != a * b ? 1 : 0;
  }
  EXPECT_GT(inexact, 800) << "plain multiplication would have passed";
}

TEST(Rounding, LeavesExactResultsAlone) {
  EXPECT_EQ(add_up(3, 0.5), 3.5);
  EXPECT_EQ(add_up(1, 1e-18), next_up(1));
  EXPECT_EQ(add_up(1, -1e-18), 1);
  EXPECT_EQ(times_up(3, 0.5), 1.5);
  EXPECT_EQ(divided_up(3, 0.5), 6);
  EXPECT_EQ(sqrt_up(9), 3);
  EXPECT_EQ(times_up(0, 7), 0);
}

TEST(Rounding, ABinaryFractionEqualsTheDouble) {
  for (double value : {1.0, 0.1, 3.0, 0x1p-60, 700.0, 5e-324, 1.7976931348623157e308}) {
    const BinaryFraction fraction = binary_fraction(value);
    EXPECT_EQ(fraction.mantissa % 2, 1U);
    EXPECT_EQ(std::ldexp(static_cast<double>(fraction.mantissa), fraction.exponent), value);
  }
}

}  // namespace
}  // namespace noisefloor
