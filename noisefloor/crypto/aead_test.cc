#include "noisefloor/crypto/aead.h"

#include <gtest/gtest.h>

#include "noisefloor/crypto/test_bytes.h"

namespace noisefloor {
namespace {

using testing::bytes_of_hex;
using testing::secret_of_hex;

// RFC 8439, 2.8.2.
TEST(Aead, SealsTheMessageOfTheStandard) {
  const Secret32 key = secret_of_hex<32>("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  const Nonce nonce = {0x07, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47};
  const auto context = bytes_of_hex("50515253c0c1c2c3c4c5c6c7");
  const Bytes message = bytes_of(
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be "
      "it.");
  const std::vector<std::uint8_t> sealed = seal(key, context, message, nonce);
  EXPECT_EQ(to_hex(Bytes(sealed).first(16)), "d31a8d34648e60db7b86afbc53ef7ec2");
  EXPECT_EQ(to_hex(Bytes(sealed).last(kTagBytes)), "1ae10b594f09e26a7e902ecbd0600691");
  std::vector<std::uint8_t> opened(message.size());
  ASSERT_TRUE(open_sealed(key, context, sealed, opened, nonce));
  EXPECT_TRUE(equal_in_constant_time(opened, message));
}

// RFC 8439, 2.5.2.
TEST(Aead, TagsTheMessageOfTheStandard) {
  const Secret32 key = secret_of_hex<32>("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b");
  EXPECT_EQ(to_hex(one_time_tag(key, bytes_of("Cryptographic Forum Research Group"))),
            "a8061dc1305136c6c22b8baf0c0127a9");
}

TEST(Aead, FindsAnyChange) {
  const Secret32 key = secret_of_hex<32>("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  const std::vector<std::uint8_t> sealed = seal(key, bytes_of("from 1 to 2"), bytes_of("twelve bytes"));
  std::vector<std::uint8_t> opened(12);
  EXPECT_TRUE(open_sealed(key, bytes_of("from 1 to 2"), sealed, opened));
  EXPECT_FALSE(open_sealed(key, bytes_of("from 1 to 3"), sealed, opened));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::vector<std::uint8_t> other = sealed;
    other[i] ^= 1U;
    EXPECT_FALSE(open_sealed(key, bytes_of("from 1 to 2"), other, opened)) << i;
  }
  Secret32 other_key = key.clone();
  other_key.bytes()[0] ^= 1U;
  EXPECT_FALSE(open_sealed(other_key, bytes_of("from 1 to 2"), sealed, opened));
}

}  // namespace
}  // namespace noisefloor
