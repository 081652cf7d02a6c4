// Doubles rounded to a known side, and doubles as what they are: rational numbers.
//
// Guarantee: the results of *_up are at least the exact ones, and equal to them where those are doubles. (A fused
//            multiply-add rounds once, so that the sign of a remainder is exact. Remainders below 10^-290 and results
//            that overflow to infinity are not covered.)
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace noisefloor {

[[nodiscard]] inline double next_up(double value) { return std::nextafter(value, HUGE_VAL); }

[[nodiscard]] inline double add_up(double a, double b) {
  const double sum = a + b;
  // Knuth's two-sum: the remainder is exact.
  const double b_part = sum - a;
  const double remainder = (a - (sum - b_part)) + (b - b_part);
  return remainder > 0 ? next_up(sum) : sum;
}

[[nodiscard]] inline double times_up(double a, double b) {
  const double product = a * b;
  return std::fma(a, b, -product) > 0 ? next_up(product) : product;
}

// Requires a ≥ 0 and b > 0. The smallest double q with q b ≥ a.
[[nodiscard]] inline double divided_up(double a, double b) {
  const double quotient = a / b;
  return std::fma(quotient, b, -a) < 0 ? next_up(quotient) : quotient;
}

// Requires value ≥ 0.
[[nodiscard]] inline double sqrt_up(double value) {
  const double root = std::sqrt(value);
  return std::fma(root, root, -value) < 0 ? next_up(root) : root;
}

// mantissa · 2^exponent, with an odd mantissa below 2^53.
struct BinaryFraction {
  std::uint64_t mantissa;
  int exponent;
};

// Exact. Requires a finite value above 0.
[[nodiscard]] inline BinaryFraction binary_fraction(double value) {
  int exponent = 0;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  const int zeros = std::countr_zero(mantissa);
  return {mantissa >> zeros, exponent - 53 + zeros};
}

}  // namespace noisefloor
