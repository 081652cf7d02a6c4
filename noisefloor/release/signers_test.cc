#include "noisefloor/release/signers.h"

#include <gtest/gtest.h>

#include "noisefloor/base/hex.h"
#include "tests/support/ledger_pieces.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

TEST(Signers, AreReadFromLinesOfKeyAndName) {
  const PublicKey first = SigningKey::from_seed({1}).public_key();
  const PublicKey second = SigningKey::from_seed({2}).public_key();
  const std::string text = "# who may sign\n\n" + to_hex(first) + "  Cancer registry, north \r\n\t" + to_hex(second);
  const std::vector<Signer> signers = value_of(parse_signers(text));
  EXPECT_EQ(signers, (std::vector<Signer>{{first, "Cancer registry, north"}, {second, ""}}));
  ASSERT_NE(find_signer(signers, second), nullptr);
  EXPECT_EQ(find_signer(signers, second)->key, second);
  EXPECT_EQ(find_signer(signers, SigningKey::from_seed({3}).public_key()), nullptr);
}

TEST(Signers, RefuseWhatIsNoKeyByItsLine) {
  const std::string key = to_hex(SigningKey::from_seed({1}).public_key());
  expect_error(parse_signers("# a\n" + key.substr(1) + " x\n"), ErrorCode::kInputData, "line 2: ");
  expect_error(parse_signers(key + " x\n" + key + "0 y"), ErrorCode::kInputData, "line 2: ");
  expect_error(parse_signers("# nobody\n\n"), ErrorCode::kInputData, "no signer");
  expect_error(parse_signers(""), ErrorCode::kInputData, "no signer");
  expect_error(parse_public_key("0x" + key), ErrorCode::kInvalidArgument, "64 hexadecimal digits");
  expect_error(read_signers("/nowhere/signers"), ErrorCode::kIo, "/nowhere/signers");
}

}  // namespace
}  // namespace noisefloor
