// HKDF with SHA-256 (RFC 5869): derives uniform keys from a secret that is not uniform.
//
// Guarantee:     outputs for different `info` are independent uniform keys to everyone who does not know `secret`.
// Requires:      at most 255 · 32 bytes of output (checked).
// Thread safety: pure functions.
#pragma once

#include <span>

#include "noisefloor/crypto/secret.h"

namespace noisefloor {

void hkdf(Bytes secret, Bytes salt, Bytes info, std::span<std::uint8_t> out);

template <std::size_t N>
[[nodiscard]] Secret<N> derive(Bytes secret, Bytes salt, Bytes info) {
  Secret<N> key;
  hkdf(secret, salt, info, key.bytes());
  return key;
}

}  // namespace noisefloor
