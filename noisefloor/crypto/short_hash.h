// SipHash-2-4 with 128 bits (Aumasson, Bernstein 2012), through libsodium: a fast keyed hash for many short texts.
//
// Guarantee:     to everyone who does not know the key, the hashes of different texts look uniform and independent. Two
//                texts that were chosen without the key collide with probability 2⁻¹²⁸.
// Not promised:  resistance against collisions to someone who knows the key.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "noisefloor/crypto/secret.h"

namespace noisefloor {

using ShortKey = Secret<16>;
using ShortHash = std::array<std::uint8_t, 16>;

[[nodiscard]] ShortHash short_hash(const ShortKey& key, std::string_view text);

}  // namespace noisefloor
