#include "noisefloor/crypto/hkdf.h"

#include <sodium.h>

#include <algorithm>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

constexpr std::size_t kHashBytes = crypto_auth_hmacsha256_BYTES;

class Hmac {
 public:
  explicit Hmac(Bytes key) {
    const std::uint8_t none = 0;  // libsodium needs an address even for an empty input
    crypto_auth_hmacsha256_init(&state_, key.empty() ? &none : key.data(), key.size());
  }
  Hmac(const Hmac&) = delete;
  Hmac& operator=(const Hmac&) = delete;
  ~Hmac() { sodium_memzero(&state_, sizeof state_); }

  Hmac& add(Bytes bytes) {
    crypto_auth_hmacsha256_update(&state_, bytes.data(), bytes.size());
    return *this;
  }
  void finish(Secret<kHashBytes>& into) { crypto_auth_hmacsha256_final(&state_, into.bytes().data()); }

 private:
  crypto_auth_hmacsha256_state state_;
};

}  // namespace

void hkdf(Bytes secret, Bytes salt, Bytes info, std::span<std::uint8_t> out) {
  NF_CHECK(out.size() <= 255 * kHashBytes, "HKDF gives at most 8160 bytes");
  Secret<kHashBytes> pseudorandom;
  Hmac(salt).add(secret).finish(pseudorandom);
  Secret<kHashBytes> block;
  for (std::uint8_t counter = 1; !out.empty(); ++counter) {
    Hmac hmac(pseudorandom.bytes());
    if (counter > 1) hmac.add(block.bytes());
    hmac.add(info).add({&counter, 1}).finish(block);
    const std::size_t count = std::min(out.size(), kHashBytes);
    std::copy_n(block.bytes().begin(), count, out.begin());
    out = out.subspan(count);
  }
}

}  // namespace noisefloor
