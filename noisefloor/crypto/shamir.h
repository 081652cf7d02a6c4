// Shamir's secret sharing of 32 bytes, over the field of 2^61 − 1 elements.
//
// Guarantee:     fewer than `threshold` shares are independent of the secret; `threshold` of them give it back. A share
//                that was changed gives another secret, or none: check what comes back.
// Requires:      1 ≤ threshold ≤ number of shares; distinct points from 1 to kMaxPoint; uniform bytes for the
//                polynomials.
// Timing:        independent of secret and shares.
// Thread safety: pure functions.
//
// The secret is cut into five parts of at most 56 bits, little-endian; each is the value at 0 of a polynomial of degree
// threshold − 1 of its own. The holder of a point gets the five values there.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/secret.h"

namespace noisefloor {

inline constexpr std::uint32_t kMaxPoint = 1U << 20;
inline constexpr std::size_t kShareParts = 5;
inline constexpr std::size_t kShareBytes = 8 * kShareParts;

// The values at one point, each below 2^61 − 1, little-endian.
using ShareBytes = Secret<kShareBytes>;

struct HeldShare {
  std::uint32_t point;
  Bytes bytes;  // kShareBytes of them
};

// Fills its argument with uniform bytes.
using FillUniform = std::function<void(std::span<std::uint8_t>)>;

// One share for each point, in that order.
[[nodiscard]] Result<std::vector<ShareBytes>> share_secret(const Secret32& secret, std::uint32_t threshold,
                                                           std::span<const std::uint32_t> points,
                                                           const FillUniform& uniform);

// The values of one uniform polynomial of degree threshold − 1, in that order. Wipe them.
[[nodiscard]] Result<std::vector<std::uint64_t>> uniform_polynomial(std::uint32_t threshold,
                                                                    std::span<const std::uint32_t> points,
                                                                    const FillUniform& uniform);

// Returns the secret. Refused unless there are exactly `threshold` shares, at distinct points, of the right form, and
// they give 32 bytes.
[[nodiscard]] Result<Secret32> recover_secret(std::span<const HeldShare> shares, std::uint32_t threshold);

// Whether the bytes have the form of a share.
[[nodiscard]] bool is_share(Bytes bytes);

}  // namespace noisefloor
