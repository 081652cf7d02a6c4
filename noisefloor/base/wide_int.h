// 128-bit integers, for exact sums and products that 64 bits do not hold.
#pragma once

#include <cstdint>
#include <limits>

namespace noisefloor {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

inline constexpr Int128 kInt128Max = static_cast<Int128>(~Uint128{0} >> 1);

// value clamped to what 64 bits hold.
[[nodiscard]] constexpr std::int64_t saturate_to_int64(Int128 value) {
  constexpr Int128 low = std::numeric_limits<std::int64_t>::min();
  constexpr Int128 high = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(value < low ? low : value > high ? high : value);
}

// a + b, clamped to what 128 bits hold.
[[nodiscard]] constexpr Int128 saturating_add(Int128 a, Int128 b) {
  Int128 sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kInt128Max : -kInt128Max - 1;
}

}  // namespace noisefloor
