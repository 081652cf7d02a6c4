// Lets a collector find out whether a dealer's shares of two secrets lie on polynomials, without learning anything of
// the secrets. The dealer adds the values of a random polynomial, its *blinding*. After all shares are out, a challenge
// gives ten coefficients, and each holder tells the collector one number: its blinding value plus the combination of
// its ten share values by these coefficients. The numbers of a dealer that shared as it should lie on one polynomial
// of degree threshold − 1.
//
// Guarantee:     secrecy: if everyone uses the same coefficients, the numbers of all holders say nothing about the
//                secrets to whoever holds fewer than `threshold` shares: the combined polynomial is uniform.
//                Soundness: if the shares of some holders lie on no polynomials of degree threshold − 1, their numbers
//                lie on one with probability at most 2^-60 over the coefficients.
// Requires:      coefficients that are unknown to the dealer until its shares are out, and the same for all holders. A
//                blinding is used once.
// Timing:        independent of shares and blinding.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/shamir.h"

namespace noisefloor {

// Bytes of a blinding value, or of what a holder tells: a number below 2^61 − 1, little-endian.
inline constexpr std::size_t kCheckBytes = 8;
inline constexpr std::size_t kCheckParts = 2 * kShareParts;
using Blinding = Secret<kCheckBytes>;
using CheckCoefficients = std::array<std::uint64_t, kCheckParts>;

// The coefficients that uniform bytes give.
[[nodiscard]] CheckCoefficients check_coefficients(std::span<const std::uint8_t, 8 * kCheckParts> uniform);

// One blinding value for each point, of a uniform polynomial. Refused as share_secret() refuses.
[[nodiscard]] Result<std::vector<Blinding>> draw_blinding(std::uint32_t threshold,
                                                          std::span<const std::uint32_t> points,
                                                          const FillUniform& uniform);

// What a holder tells the collector. Requires shares and a blinding value of the right form.
[[nodiscard]] std::uint64_t check_value(Bytes first_share, Bytes second_share, Bytes blinding,
                                        const CheckCoefficients& coefficients);

// Whether these are the bytes of a number below 2^61 − 1.
[[nodiscard]] bool is_check_value(Bytes bytes);

}  // namespace noisefloor
