#include "noisefloor/crypto/hkdf.h"

#include <gtest/gtest.h>

#include <numeric>

#include "noisefloor/crypto/test_bytes.h"

namespace noisefloor {
namespace {

std::vector<std::uint8_t> counting(std::uint8_t first, std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

std::string derived(const std::vector<std::uint8_t>& secret, const std::vector<std::uint8_t>& salt,
                    const std::vector<std::uint8_t>& info, std::size_t count) {
  std::vector<std::uint8_t> out(count);
  hkdf(secret, salt, info, out);
  return to_hex(out);
}

// RFC 5869, A.1 to A.3.
TEST(Hkdf, DerivesKnownKeys) {
  const std::vector<std::uint8_t> secret(22, 0x0b);
  EXPECT_EQ(derived(secret, counting(0, 13), counting(0xf0, 10), 42),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  EXPECT_EQ(
      derived(counting(0, 80), counting(0x60, 80), counting(0xb0, 80), 82),
      "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8"
      "367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
  EXPECT_EQ(derived(secret, {}, {}, 42),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(Hkdf, BeginsLongerKeysWithShorterOnes) {
  const std::vector<std::uint8_t> secret(32, 1);
  const std::string whole = derived(secret, {}, {}, 100);
  for (std::size_t count = 0; count <= 100; ++count)
    EXPECT_EQ(derived(secret, {}, {}, count), whole.substr(0, 2 * count));
}

}  // namespace
}  // namespace noisefloor
