// BLAKE2b with 256 bits (RFC 7693), through libsodium.
//
// Guarantee:     collision and second-preimage resistance of about 128 bits.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace noisefloor {

inline constexpr std::size_t kDigestBytes = 32;
using Digest = std::array<std::uint8_t, kDigestBytes>;

[[nodiscard]] Digest blake2b(std::string_view bytes);

}  // namespace noisefloor
