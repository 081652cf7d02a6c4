// Ed25519 signatures (RFC 8032), and messages that are sealed for the holder of a signing key (X25519 with the
// converted key, XSalsa20-Poly1305), through libsodium.
//
// Guarantee:     a signature that verifies was made by someone who holds the key. Private keys are wiped when they are
//                destroyed and kept out of swap where the system allows it; no message ever contains one. A message
//                that seal_for() made can be read by the holder of that key alone; not even its maker can open it. It
//                does not say who made it: sign it, or what it stands in.
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
#include <vector>

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
  // Opens what seal_for(public_key()) made: writes the message, sealed.size() − kSealedForBytes long (checked), into
  // `message`; false if it was sealed for someone else, or altered.
  [[nodiscard]] bool open(Bytes sealed, std::span<std::uint8_t> message) const;

 private:
  struct Secret;
  explicit SigningKey(std::unique_ptr<Secret> secret);

  std::unique_ptr<Secret> secret_;
};

// Checks that a public key is one that somebody can hold: kInvalidArgument for encodings of no point, and of points of
// small order, under which anyone can sign.
[[nodiscard]] Result<void> check_public_key(const PublicKey& key);

// Seals a message for the holder of the key. The result is kSealedForBytes longer. kInvalidArgument as for
// check_public_key().
inline constexpr std::size_t kSealedForBytes = 48;
[[nodiscard]] Result<std::vector<std::uint8_t>> seal_for(const PublicKey& holder, Bytes message);

[[nodiscard]] bool verify_signature(const PublicKey& key, std::string_view message, const Signature& signature);

}  // namespace noisefloor
