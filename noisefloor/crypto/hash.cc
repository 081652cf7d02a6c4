#include "noisefloor/crypto/hash.h"

#include <sodium.h>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/sodium_init.h"

namespace noisefloor {

Digest blake2b(std::string_view bytes) {
  internal::initialise_sodium();
  Digest digest;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const int failed = crypto_generichash(digest.data(), digest.size(), data, bytes.size(), nullptr, 0);
  NF_CHECK(failed == 0, "BLAKE2b of 32 bytes always succeeds");
  return digest;
}

}  // namespace noisefloor
