// Arithmetic in the field of 2^61 − 1 elements, in which secrets are shared.
//
// Guarantee:     results are below the prime if the operands are.
// Timing:        independent of the operands, except the exponent of inverse(), which is public.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "noisefloor/base/wide_int.h"

namespace noisefloor::field61 {

inline constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;

// x, or x − kPrime if that is not negative. Requires x < 2 · kPrime.
[[nodiscard]] constexpr std::uint64_t reduced_once(std::uint64_t x) {
  const std::uint64_t less = x - kPrime;
  const std::uint64_t borrowed = 0 - (less >> 63);
  return less + (kPrime & borrowed);
}

[[nodiscard]] constexpr std::uint64_t add(std::uint64_t a, std::uint64_t b) { return reduced_once(a + b); }

[[nodiscard]] constexpr std::uint64_t subtract(std::uint64_t a, std::uint64_t b) {
  return reduced_once(a + kPrime - b);
}

[[nodiscard]] inline std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  const Uint128 product = Uint128{a} * b;
  return reduced_once((static_cast<std::uint64_t>(product) & kPrime) + static_cast<std::uint64_t>(product >> 61));
}

// 1/a; 0 for 0.
[[nodiscard]] inline std::uint64_t inverse(std::uint64_t a) {
  std::uint64_t result = 1;
  for (std::uint64_t exponent = kPrime - 2; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, a);
    a = multiply(a, a);
  }
  return result;
}

}  // namespace noisefloor::field61
