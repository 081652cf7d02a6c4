#include "noisefloor/crypto/key_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "noisefloor/crypto/test_bytes.h"

namespace noisefloor {
namespace {

using testing::bytes_of_hex;
using testing::secret_of_hex;

AgreementPublicKey public_of(std::string_view hex) {
  AgreementPublicKey key{};
  EXPECT_TRUE(from_hex(hex, key));
  return key;
}

// RFC 7748, 6.1.
TEST(KeyAgreement, AgreesOnAKnownSecret) {
  const AgreementKey alice(secret_of_hex<32>("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
  const AgreementKey bob(secret_of_hex<32>("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  EXPECT_EQ(to_hex(alice.public_key()), "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  EXPECT_EQ(to_hex(bob.public_key()), "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  const char* const shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
  EXPECT_EQ(to_hex(alice.agree(bob.public_key()).value().bytes()), shared);
  EXPECT_EQ(to_hex(bob.agree(alice.public_key()).value().bytes()), shared);
}

// RFC 7748, 5.2, first vector: a scalar and a point of which not every bit counts.
TEST(KeyAgreement, ComputesAKnownMultiple) {
  const AgreementKey key(secret_of_hex<32>("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"));
  const AgreementPublicKey point = public_of("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
  EXPECT_EQ(to_hex(key.agree(point).value().bytes()),
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
}

TEST(KeyAgreement, RefusesKeysOfSmallOrder) {
  const AgreementKey key(secret_of_hex<32>("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
  EXPECT_EQ(key.agree(AgreementPublicKey{}).error().code, ErrorCode::kProtocol);
  AgreementPublicKey one{};
  one[0] = 1;
  EXPECT_FALSE(key.agree(one).has_value());
}

}  // namespace
}  // namespace noisefloor
