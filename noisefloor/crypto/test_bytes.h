// Hexadecimal text as bytes, for tests with published vectors.
//
// Internal to crypto/.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "noisefloor/base/hex.h"
#include "noisefloor/crypto/secret.h"

namespace noisefloor::testing {

inline std::vector<std::uint8_t> bytes_of_hex(std::string_view hex) {
  std::vector<std::uint8_t> bytes(hex.size() / 2);
  EXPECT_TRUE(from_hex(hex, bytes));
  return bytes;
}

template <std::size_t N>
Secret<N> secret_of_hex(std::string_view hex) {
  Secret<N> secret;
  EXPECT_TRUE(from_hex(hex, secret.bytes()));
  return secret;
}

}  // namespace noisefloor::testing
