// Real numbers with 320 bits, for the probabilities that exact samplers are built from. Internal to random/.
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdint>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::internal {

using WideReal =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<320, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

// Probabilities below are computed to within this, absolutely: up to half a million operations of 2^-318 each, with
// room to spare.
inline const WideReal& wide_error() {
  static const WideReal error = ldexp(WideReal(1), -300);
  return error;
}

// Probabilities of outcomes 0, 1, …
struct WideProbabilities {
  std::vector<WideReal> p;
};

// A uniform real in [0, 1), of which the first `known_bits` bits are `prefix` and 256 more are drawn.
inline WideReal wide_uniform(BitStream& stream, std::uint64_t prefix, int known_bits) {
  WideReal value = ldexp(WideReal(prefix), -known_bits);
  for (int word = 1; word <= 4; ++word) value += ldexp(WideReal(stream.next_u64()), -known_bits - 64 * word);
  return value;
}

// Whether a ≥ b, for numbers known to within `error`. A tie within it has a probability below 2^-200 for the uniform
// numbers that are compared here; the process ends then rather than guess.
inline bool decided_at_least(const WideReal& a, const WideReal& b, const WideReal& error) {
  NF_CHECK(abs(a - b) > error, "a uniform number fell within 2^-200 of a boundary");
  return a > b;
}

}  // namespace noisefloor::internal
