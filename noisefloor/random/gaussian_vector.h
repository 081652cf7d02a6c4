// Gaussian noise for many floats at once: the noise of DP-SGD.
//
// Method:        Box-Muller. One 32-bit word gives the angle. Another one gives u1, where r = √(-2 ln u1); if u1 is
//                within 2^-12 of 0 or 1, it takes 64 bits more, so neither the tail nor the centre is cut or coarse.
// Guarantee:     independent draws whose law is N(0, sigma²) up to this error, for sigma = 1:
//                  arithmetic   each z is within a factor 1 ± 4.2e-7 of what exact arithmetic makes of its words (r:
//                               1.62e-7 and sine, cosine: 1.93e-7 over all 2^32 words each; the product: 6e-8);
//                  grid         that in turn is within 1.3e-7 of an exact normal variate, except for u1 < 2^-76;
//                  tail         the probability of |z| > x is right to 1 part in 10^4 for all x up to 9. The largest
//                               |z| is 11.6, where u1 = 2^-97.
//                z is never 0, infinite or NaN. Other values of sigma add one rounding (6e-8).
// Replay:        the outputs depend on the stream's state, the size and sigma alone. They have the same bits on every
//                machine and in every version (under round-to-nearest, as programs start). The bits drawn depend on
//                the size and the stream only. The first outputs of a shorter vector are not those of a longer one.
// Not covered:   this is floating-point noise. Its low-order bits can tell sums apart that should look alike (Mironov
//                2012), and no ε that is computed for it covers that. The discrete samplers have no such defect.
// Requires:      sigma finite, 0 or above (checked). Above 1e37 outputs can overflow to infinities.
// Thread safety: that of the stream: give each thread one of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

// Fills `out` with independent draws of N(0, sigma²). sigma = 0 gives zeros (of either sign).
void fill_gaussian(BitStream& stream, std::span<float> out, float sigma);

// Adds to each element the noise that fill_gaussian would have written there.
void add_gaussian(BitStream& stream, std::span<float> inout, float sigma);

// For tests and benchmarks: the functions above on a chosen path, and their arithmetic alone.
namespace internal {

// The instruction sets that the arithmetic is compiled for. They all give the same bits.
enum class GaussianPath : std::uint8_t { kPortable, kAvx2, kAvx512 };

// Whether this machine can run `path`. The functions below require it (checked).
[[nodiscard]] bool is_supported(GaussianPath path);

void fill_gaussian(GaussianPath path, BitStream& stream, std::span<float> out, float sigma);
void add_gaussian(GaussianPath path, BitStream& stream, std::span<float> inout, float sigma);

// Pairs in a block. A block of 2 p outputs (or 2 p - 1, at the end) draws p radius words, then p angle words, then 64
// bits for each radius word that needs them, in order. The two outputs of pair i stand at i and p + i.
inline constexpr std::size_t kGaussianPairs = 128;

// The outputs of pairs with sigma = 1. `extra` holds the 64 bits of each pair, read only if the radius word needs them.
// Requires: spans of one size.
void gaussian_from_words(GaussianPath path, std::span<const std::uint32_t> radius_words,
                         std::span<const std::uint32_t> angle_words, std::span<const std::uint64_t> extra,
                         std::span<float> first, std::span<float> second);

}  // namespace internal
}  // namespace noisefloor
