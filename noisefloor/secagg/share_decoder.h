// Recovers a shared secret when some of the shares are wrong, and says which ones.
//
// Guarantee:     if at most (shares − threshold)/2 shares are wrong, the secret is found, and `wrong` lists exactly the
//                wrong ones. If more are, it may still be found (the five polynomials of a secret have their errors at
//                the same points; few combinations are tried in turn); the caller's check decides, so that a wrong
//                secret is never returned.
// Implements:    Peterson's decoder for Reed–Solomon codes, on the syndromes of all five polynomials together
//                (crypto/shamir.h); the same errors as Berlekamp–Welch, with a smaller system of equations.
// Requires:      distinct points from 1 to kMaxPoint, and shares of the right form.
// Timing:        depends on which shares are wrong, not on the secret.
// Thread safety: pure functions.
//
// Internal to secagg/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/crypto/shamir.h"

namespace noisefloor::secagg {

struct DecodedSecret {
  Secret32 secret;
  std::vector<std::size_t> wrong;  // indices of shares that are not on the polynomials of the others, ascending
};

// `is_right` recognises the secret. Nothing if there are fewer shares than the threshold, or no secret is found.
[[nodiscard]] std::optional<DecodedSecret> decode_shares(std::span<const HeldShare> shares, std::uint32_t threshold,
                                                         const std::function<bool(const Secret32&)>& is_right);

// Whether all shares lie on polynomials of degree threshold − 1. Says nothing about fewer than threshold + 1 shares.
[[nodiscard]] bool are_consistent(std::span<const HeldShare> shares, std::uint32_t threshold);

// Values of one polynomial of degree threshold − 1 at distinct points, some of which may be wrong: the indices of the
// wrong ones, ascending, if at most (values − threshold)/2 are. Nothing if no polynomial fits so many.
[[nodiscard]] std::optional<std::vector<std::size_t>> wrong_values(std::span<const std::uint32_t> points,
                                                                   std::span<const std::uint64_t> values,
                                                                   std::uint32_t threshold);

}  // namespace noisefloor::secagg
