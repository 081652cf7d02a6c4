// An index drawn with probability proportional to multiplicity · exp(−γ), for rational γ: the exponential mechanism's
// law.
//
// Each weight is bounded from above by an integer, barely; an index is proposed by those integers exactly, and kept
// with the ratio of its weight to its bound. Nearly every proposal is kept on sight; where the first 64 bits of the
// uniform number do not decide, 320 bits do.
//
// Guarantee:   exact, up to an event of probability below 2^-200, on which the process ends.
// Requires:    at least one option and at most 2^24; multiplicities from 1 to 2^52; the smallest numerator is 0;
//              denominator ≥ 1.
// Timing:      one exp for each option; independent of the weights except for rare repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "noisefloor/base/wide_int.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

struct ExpWeight {
  std::uint64_t multiplicity;
  Uint128 numerator;  // γ = numerator / denominator
};

// `margin`: a uniform number this close to its bound is decided with 320 bits. Tests widen it.
[[nodiscard]] std::size_t exact_choice(BitStream& stream, std::span<const ExpWeight> options, Uint128 denominator,
                                       double margin = 0x1p-36);

}  // namespace noisefloor
