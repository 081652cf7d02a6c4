#include "noisefloor/crypto/secret.h"

#include <sodium.h>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/sodium_init.h"

namespace noisefloor {

void internal::initialise_sodium() {
  static const bool ready = sodium_init() >= 0;
  NF_CHECK(ready, "libsodium could not be initialised");
}

void wipe(std::span<std::uint8_t> bytes) { sodium_memzero(bytes.data(), bytes.size()); }

bool equal_in_constant_time(Bytes a, Bytes b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace noisefloor
