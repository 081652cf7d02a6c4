// X25519 key agreement (RFC 7748), through libsodium.
//
// Guarantee:     both holders compute the same 32 bytes, and no one else does. They are not uniform: derive keys from
//                them (hkdf.h). A public key of small order, with which everyone would know the result, is refused.
// Requires:      32 uniform bytes as a private key.
// Thread safety: const members may be called from several threads.
#pragma once

#include <array>
#include <cstdint>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/secret.h"

namespace noisefloor {

using AgreementPublicKey = std::array<std::uint8_t, 32>;

class AgreementKey {
 public:
  explicit AgreementKey(Secret32 secret);

  [[nodiscard]] const AgreementPublicKey& public_key() const { return public_key_; }
  [[nodiscard]] const Secret32& secret() const { return secret_; }

  [[nodiscard]] Result<Secret32> agree(const AgreementPublicKey& other) const;

 private:
  Secret32 secret_;
  AgreementPublicKey public_key_{};
};

}  // namespace noisefloor
