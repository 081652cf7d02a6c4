// Exact uniform integers and exact coin flips, from random bits and integer arithmetic alone.
#pragma once

#include <bit>
#include <cstdint>

#include "noisefloor/base/wide_int.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

// Uniform on {0, …, bound − 1}. Requires bound ≥ 1.
[[nodiscard]] inline std::uint64_t uniform_below(BitStream& stream, std::uint64_t bound) {
  // Lemire 2019: the high half of word · bound is uniform once the words that would favour some values are rejected.
  Uint128 product = Uint128{stream.next_u64()} * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) product = Uint128{stream.next_u64()} * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

// The same for wide unsigned integers (Uint128, or Boost.Multiprecision's fixed-width ones).
template <class Wide>
[[nodiscard]] Wide uniform_below_wide(BitStream& stream, const Wide& bound) {
  unsigned bits = 0;
  for (Wide rest = bound - 1; rest != 0; rest >>= 1) ++bits;
  for (;;) {
    Wide value = 0;
    for (unsigned drawn = 0; drawn < bits; drawn += 64) {
      const unsigned take = bits - drawn < 64 ? bits - drawn : 64;
      value = (value << take) | (stream.next_u64() >> (64 - take));
    }
    if (value < bound) return value;
  }
}

[[nodiscard]] inline bool fair_coin(BitStream& stream) { return (stream.next_u32() & 1) != 0; }

}  // namespace noisefloor
