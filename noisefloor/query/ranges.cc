#include "noisefloor/query/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace noisefloor::query {

namespace {

Int128 magnitude(Int128 value) { return value < 0 ? -value : value; }

// The range from the least to the greatest of four corners; both sides are stated if all sides of both were.
IntegerRange of_corners(std::array<Int128, 4> corners, bool stated) {
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return {*low, *high, stated, stated};
}

NumberRange of_corners(std::array<double, 4> corners) {
  for (double corner : corners)
    if (std::isnan(corner)) return {};
  const auto [lower, upper] = std::minmax_element(corners.begin(), corners.end());
  return {*lower, *upper};
}

}  // namespace

Int128 IntegerRange::farthest() const { return std::max(magnitude(low), magnitude(high)); }

IntegerRange exactly(Int128 value) { return {value, value, true, true}; }
IntegerRange between(Int128 low, Int128 high) { return {low, high, true, true}; }

IntegerRange operator+(const IntegerRange& a, const IntegerRange& b) {
  return {a.low + b.low, a.high + b.high, a.low_stated && b.low_stated, a.high_stated && b.high_stated};
}

IntegerRange operator-(const IntegerRange& a, const IntegerRange& b) {
  return {a.low - b.high, a.high - b.low, a.low_stated && b.high_stated, a.high_stated && b.low_stated};
}

IntegerRange operator*(const IntegerRange& a, const IntegerRange& b) {
  return of_corners({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high}, a.stated() && b.stated());
}

IntegerRange operator-(const IntegerRange& a) { return {-a.high, -a.low, a.high_stated, a.low_stated}; }

IntegerRange absolute(const IntegerRange& a) {
  if (a.low >= 0) return a;
  if (a.high <= 0) return -a;
  return {0, std::max(-a.low, a.high), true, a.stated()};
}

IntegerRange quotient(const IntegerRange& a, const IntegerRange& b) {
  // The nearest divisors to 0 give the largest quotients; without them, the quotient is at most the dividend.
  const Int128 most = a.farthest();
  if (b.low <= 0 && b.high >= 0) return {a.low >= 0 && b.low >= 0 ? Int128{0} : -most, most, a.stated(), a.stated()};
  return of_corners({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high}, a.stated() && b.stated());
}

IntegerRange remainder(const IntegerRange& a, const IntegerRange& b) {
  const Int128 most = std::min(a.farthest(), std::max(b.farthest() - 1, Int128{0}));
  const bool stated = a.stated() || b.stated();
  return {a.low >= 0 ? Int128{0} : -most, a.high <= 0 ? Int128{0} : most, stated, stated};
}

IntegerRange least(const IntegerRange& a, const IntegerRange& b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high), a.low_stated && b.low_stated,
          a.high <= b.high ? a.high_stated || (a.high == b.high && b.high_stated) : b.high_stated};
}

IntegerRange greatest(const IntegerRange& a, const IntegerRange& b) { return -least(-a, -b); }

IntegerRange either(const IntegerRange& a, const IntegerRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.low_stated && b.low_stated,
          a.high_stated && b.high_stated};
}

IntegerRange within(const IntegerRange& a, const IntegerRange& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high), a.low >= b.low ? a.low_stated : b.low_stated,
          a.high <= b.high ? a.high_stated : b.high_stated};
}

bool NumberRange::stated() const { return std::isfinite(lower) && std::isfinite(upper); }

NumberRange operator+(const NumberRange& a, const NumberRange& b) { return {a.lower + b.lower, a.upper + b.upper}; }
NumberRange operator-(const NumberRange& a, const NumberRange& b) { return {a.lower - b.upper, a.upper - b.lower}; }

NumberRange operator*(const NumberRange& a, const NumberRange& b) {
  return of_corners({a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper});
}

NumberRange operator/(const NumberRange& a, const NumberRange& b) {
  if (b.lower <= 0 && b.upper >= 0) return {};
  return of_corners({a.lower / b.lower, a.lower / b.upper, a.upper / b.lower, a.upper / b.upper});
}

NumberRange least(const NumberRange& a, const NumberRange& b) {
  return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
}
NumberRange greatest(const NumberRange& a, const NumberRange& b) {
  return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
}
NumberRange either(const NumberRange& a, const NumberRange& b) {
  return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)};
}

NumberRange as_numbers(const IntegerRange& a) {
  NumberRange numbers;
  if (a.low_stated) numbers.lower = static_cast<double>(a.low);
  if (a.high_stated) numbers.upper = static_cast<double>(a.high);
  return numbers;
}

}  // namespace noisefloor::query
