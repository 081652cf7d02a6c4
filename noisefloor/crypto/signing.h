// Ed25519 signatures (RFC 8032), through libsodium.
//
// Guarantee:     a signature that verifies was made by someone who holds the key. Private keys are wiped when they are
//                destroyed and kept out of swap where the system allows it; no message ever contains one.
// Key files:     one line of 64 hexadecimal digits (the seed), readable by its owner only. A file that others can read
//                is refused.
// Thread safety: const members may be called from several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/secret.h"

namespace noisefloor {

using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

class SigningKey {
 public:
  // A new key from the system's randomness.
  [[nodiscard]] static SigningKey generate();
  // The key of a seed (RFC 8032, 5.1.5).
  [[nodiscard]] static SigningKey from_seed(const std::array<std::uint8_t, 32>& seed);
  [[nodiscard]] static Result<SigningKey> load(const std::string& path);

  SigningKey(SigningKey&& other) noexcept;
  SigningKey& operator=(SigningKey&& other) noexcept;
  ~SigningKey();

  // Writes a new file, durably. Refused if the file exists.
  [[nodiscard]] Result<void> save(const std::string& path) const;

  [[nodiscard]] Signature sign(std::string_view message) const;
  [[nodiscard]] PublicKey public_key() const;
  // Derives a secret key for another use. Keys for different purposes are independent of each other and of all
  // signatures, to everyone who does not hold this key.
  [[nodiscard]] noisefloor::Secret32 derive(std::string_view purpose) const;

 private:
  struct Secret;
  explicit SigningKey(std::unique_ptr<Secret> secret);

  std::unique_ptr<Secret> secret_;
};

[[nodiscard]] bool verify_signature(const PublicKey& key, std::string_view message, const Signature& signature);

}  // namespace noisefloor
