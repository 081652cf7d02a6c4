// Interval arithmetic over public bounds: the proof that integers stay within 64 bits, and the bounds of sums.
//
// Internal to query/.
//
// Guarantee:     for all integers within the ranges of its arguments, the exact result of an operation lies in the
//                range that is returned, which is an interval of exact 128-bit integers. fits() says whether all of it
//                fits 64 bits. Ranges of numbers are what clamps are made of, and prove nothing.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <limits>

#include "noisefloor/base/wide_int.h"

namespace noisefloor::query {

// Integers from low to high. A side that is not stated follows from the type or from how an engine counts, and not from
// what the owner or the query says: sums need stated sides.
struct IntegerRange {
  Int128 low = std::numeric_limits<std::int64_t>::min();
  Int128 high = std::numeric_limits<std::int64_t>::max();
  bool low_stated = false;
  bool high_stated = false;

  [[nodiscard]] bool stated() const { return low_stated && high_stated; }
  [[nodiscard]] bool fits() const {
    return low >= std::numeric_limits<std::int64_t>::min() && high <= std::numeric_limits<std::int64_t>::max();
  }
  [[nodiscard]] bool holds(Int128 value) const { return low <= value && value <= high; }
  // The integer of the range that is farthest from 0, without its sign.
  [[nodiscard]] Int128 farthest() const;

  friend bool operator==(const IntegerRange&, const IntegerRange&) = default;
};

[[nodiscard]] IntegerRange exactly(Int128 value);
[[nodiscard]] IntegerRange between(Int128 low, Int128 high);  // stated

// Requires ranges that fit 64 bits, so that 128 bits hold every result.
[[nodiscard]] IntegerRange operator+(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange operator-(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange operator*(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange operator-(const IntegerRange& a);
[[nodiscard]] IntegerRange absolute(const IntegerRange& a);
[[nodiscard]] IntegerRange quotient(const IntegerRange& a, const IntegerRange& b);   // towards 0; x/0 has no value
[[nodiscard]] IntegerRange remainder(const IntegerRange& a, const IntegerRange& b);  // with the sign of a
[[nodiscard]] IntegerRange least(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange greatest(const IntegerRange& a, const IntegerRange& b);
[[nodiscard]] IntegerRange either(const IntegerRange& a, const IntegerRange& b);  // all of both
[[nodiscard]] IntegerRange within(const IntegerRange& a, const IntegerRange& b);  // what both hold; may be empty

// The bounds of a number, without a side where it is infinite.
struct NumberRange {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool stated() const;

  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

[[nodiscard]] NumberRange operator+(const NumberRange& a, const NumberRange& b);
[[nodiscard]] NumberRange operator-(const NumberRange& a, const NumberRange& b);
[[nodiscard]] NumberRange operator*(const NumberRange& a, const NumberRange& b);
[[nodiscard]] NumberRange operator/(const NumberRange& a, const NumberRange& b);
[[nodiscard]] NumberRange least(const NumberRange& a, const NumberRange& b);
[[nodiscard]] NumberRange greatest(const NumberRange& a, const NumberRange& b);
[[nodiscard]] NumberRange either(const NumberRange& a, const NumberRange& b);
[[nodiscard]] NumberRange as_numbers(const IntegerRange& a);

}  // namespace noisefloor::query
