#include "noisefloor/crypto/short_hash.h"

#include <sodium.h>

namespace noisefloor {

static_assert(crypto_shorthash_siphashx24_BYTES == 16 && crypto_shorthash_siphashx24_KEYBYTES == 16);

ShortHash short_hash(const ShortKey& key, std::string_view text) {
  ShortHash hash;
  crypto_shorthash_siphashx24(hash.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                              key.bytes().data());
  return hash;
}

}  // namespace noisefloor
