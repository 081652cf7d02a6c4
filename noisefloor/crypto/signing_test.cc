#include "noisefloor/crypto/signing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "noisefloor/base/hex.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

template <std::size_t N>
std::array<std::uint8_t, N> bytes(std::string_view hex) {
  std::array<std::uint8_t, N> result{};
  EXPECT_TRUE(from_hex(hex, result));
  return result;
}

// RFC 8032, 7.1, TEST 2.
TEST(Signing, GivesAKnownSignature) {
  const SigningKey key =
      SigningKey::from_seed(bytes<32>("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"));
  EXPECT_EQ(to_hex(key.public_key()), "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  EXPECT_EQ(to_hex(key.sign("\x72")),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(Signing, FindsAnyChange) {
  const SigningKey key = SigningKey::generate();
  const PublicKey holder = key.public_key();
  const Signature signature = key.sign("twelve bytes");
  EXPECT_TRUE(verify_signature(holder, "twelve bytes", signature));
  EXPECT_FALSE(verify_signature(holder, "twelve bytez", signature));
  EXPECT_FALSE(verify_signature(SigningKey::generate().public_key(), "twelve bytes", signature));
  for (std::size_t i = 0; i < signature.size(); ++i) {
    Signature other = signature;
    other[i] ^= 1U;
    EXPECT_FALSE(verify_signature(holder, "twelve bytes", other)) << i;
  }
}

TEST(Signing, ReadsBackKeyFiles) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("a.key");
  const SigningKey key = SigningKey::generate();
  ASSERT_TRUE(key.save(path).has_value());
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(SigningKey::load(path).value().public_key(), key.public_key());
  // A key never overwrites another.
  EXPECT_EQ(SigningKey::generate().save(path).error().code, ErrorCode::kIo);
  EXPECT_EQ(SigningKey::load(path).value().public_key(), key.public_key());
}

TEST(Signing, RefusesBadKeyFiles) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(SigningKey::load(folder.path("none.key")).error().code, ErrorCode::kIo);
  for (const char* content : {"", "xyz", "00", "\n"}) {
    const std::string path = folder.path("bad.key");
    std::ofstream(path, std::ios::trunc) << content;
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_EQ(SigningKey::load(path).error().code, ErrorCode::kIo) << content;
  }
  const std::string open = folder.path("open.key");
  ASSERT_TRUE(SigningKey::generate().save(open).has_value());
  ASSERT_EQ(::chmod(open.c_str(), 0644), 0);
  const Result<SigningKey> read = SigningKey::load(open);
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().message.find("chmod 600"), std::string::npos);
}

// Python's hmac computed the value. A ledger must recognise rows that an earlier version has seen.
TEST(Signing, KeepsTheDerivedKeysOfEarlierVersions) {
  const SigningKey key = SigningKey::from_seed({1, 2, 3});
  EXPECT_EQ(to_hex(key.derive("rows").bytes()), "fe0bd6a7c56c092017ef56d6a2cbb127eac0efbc445bfa817b4297b8c8ff7c05");
}

TEST(Signing, DerivesDifferentKeysByPurposeAndByKey) {
  const SigningKey key = SigningKey::from_seed({1, 2, 3});
  const SigningKey other = SigningKey::from_seed({1, 2, 4});
  EXPECT_NE(to_hex(key.derive("rows").bytes()), to_hex(key.derive("sketches").bytes()));
  EXPECT_NE(to_hex(key.derive("rows").bytes()), to_hex(other.derive("rows").bytes()));
}

TEST(SealedFor, OnlyTheHolderOpens) {
  const SigningKey key = SigningKey::generate();
  const std::string message = "two keys of thirty-two bytes";
  const std::vector<std::uint8_t> sealed = seal_for(key.public_key(), bytes_of(message)).value();
  ASSERT_EQ(sealed.size(), message.size() + kSealedForBytes);
  std::vector<std::uint8_t> opened(message.size());
  ASSERT_TRUE(key.open(sealed, opened));
  EXPECT_EQ(std::string(opened.begin(), opened.end()), message);
  EXPECT_FALSE(SigningKey::generate().open(sealed, opened));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::vector<std::uint8_t> altered = sealed;
    altered[i] ^= 1;
    EXPECT_FALSE(key.open(altered, opened)) << i;
  }
  EXPECT_NE(seal_for(key.public_key(), bytes_of(message)).value(), sealed) << "each message has a key of its own";
}

TEST(SealedFor, RefusesKeysThatNobodyHolds) {
  // The neutral element, a point of order 8, and an encoding of no point.
  for (const char* bad : {"0100000000000000000000000000000000000000000000000000000000000000",
                          "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
                          "0200000000000000000000000000000000000000000000000000000000000000"}) {
    EXPECT_FALSE(check_public_key(bytes<32>(bad)).has_value()) << bad;
    EXPECT_FALSE(seal_for(bytes<32>(bad), bytes_of("x")).has_value()) << bad;
  }
  EXPECT_TRUE(check_public_key(SigningKey::generate().public_key()).has_value());
}

}  // namespace
}  // namespace noisefloor
