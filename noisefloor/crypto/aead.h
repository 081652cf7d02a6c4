// Sealed messages: ChaCha20-Poly1305 (RFC 8439), through libsodium; and one-time tags: Poly1305 alone, through OpenSSL,
// for long messages that need not be hidden.
//
// Guarantee:     a message that opens, or that carries the right tag, was made by a holder of the key, with the same
//                `context`.
// Requires:      a key seals one message with a nonce, and makes one tag.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "noisefloor/crypto/secret.h"

namespace noisefloor {

// kZeroNonce is for keys that seal only one message.
using Nonce = std::array<std::uint8_t, 12>;
inline constexpr Nonce kZeroNonce{};

inline constexpr std::size_t kTagBytes = 16;
using Tag = std::array<std::uint8_t, kTagBytes>;

// Seals a message. The result is kTagBytes longer than the message.
[[nodiscard]] std::vector<std::uint8_t> seal(const Secret32& key, Bytes context, Bytes message,
                                             const Nonce& nonce = kZeroNonce);
// Writes the message, sealed.size() − kTagBytes long (checked), into `message`; false if it is not authentic.
[[nodiscard]] bool open_sealed(const Secret32& key, Bytes context, Bytes sealed, std::span<std::uint8_t> message,
                               const Nonce& nonce = kZeroNonce);

[[nodiscard]] Tag one_time_tag(const Secret32& key, Bytes message);

}  // namespace noisefloor
