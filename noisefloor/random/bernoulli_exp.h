// Bernoulli(exp(−γ)) for rational γ ≥ 0: the coin that exact discrete noise is made of.
//
// Implements:  Canonne, Kamath, Steinke 2020, "The Discrete Gaussian for Differential Privacy", Algorithm 1.
// Guarantee:   true with probability exactly exp(−numerator/denominator): integer arithmetic only.
// Requires:    denominator ≥ 1. UInt is std::uint64_t, Uint128, or a fixed-width unsigned Boost.Multiprecision integer.
// Timing:      the number of draws depends on γ.
#pragma once

#include <cstdint>
#include <type_traits>

#include "noisefloor/random/uniform.h"

namespace noisefloor {

// Bernoulli(numerator / denominator). Requires numerator ≤ denominator, denominator ≥ 1.
template <class UInt>
[[nodiscard]] bool bernoulli(BitStream& stream, const UInt& numerator, const UInt& denominator) {
  if constexpr (std::is_same_v<UInt, std::uint64_t>) {
    return uniform_below(stream, denominator) < numerator;
  } else {
    return uniform_below_wide(stream, denominator) < numerator;
  }
}

// The case γ ≤ 1: the parity of the number of successes before the first failure of coins of γ/1, γ/2, γ/3, …
template <class UInt>
[[nodiscard]] bool bernoulli_exp_up_to_one(BitStream& stream, const UInt& numerator, const UInt& denominator) {
  std::uint64_t k = 1;
  while (uniform_below(stream, k) == 0 && bernoulli<UInt>(stream, numerator, denominator)) ++k;
  return k % 2 == 1;
}

template <class UInt>
[[nodiscard]] bool bernoulli_exp(BitStream& stream, const UInt& numerator, const UInt& denominator) {
  // exp(−γ) = exp(−1)^⌊γ⌋ · exp(−(γ − ⌊γ⌋)); the first failure ends it.
  for (UInt whole = numerator / denominator; whole != 0; --whole) {
    if (!bernoulli_exp_up_to_one<std::uint64_t>(stream, 1, 1)) return false;
  }
  return bernoulli_exp_up_to_one<UInt>(stream, numerator % denominator, denominator);
}

}  // namespace noisefloor
