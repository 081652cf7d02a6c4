#include "noisefloor/federated/run_messages.h"

#include <gtest/gtest.h>

#include "noisefloor/federated/run_test_pieces.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor::federated {
namespace {

constexpr MessageSizes kSizes{.broadcast_bytes = 12, .lanes = 3};

class RunMessagesTest : public ::testing::Test {
 protected:
  RunMessagesTest() {
    key_.run[3] = 9;
    key_.epoch = 2;
    key_.round = 7;
    key_.client = 1;
    all_ = {to_bytes(Invitation{key_, 5, 4, std::vector<std::uint8_t>(12, 3)}, signer_),
            to_bytes(Upload{key_, {1, -2, 0.5F}}, signer_),
            to_bytes(Receipt{key_, digest_of(std::vector<std::uint8_t>{1})}, signer_),
            to_bytes(Decline{key_, DeclineReason::kResting}, signer_), to_bytes(Finish{key_, true, 6, {}}, signer_)};
  }
  SigningKey signer_ = internal::test_key(1);
  MessageKey key_;
  std::vector<RunBytes> all_;
};

TEST_F(RunMessagesTest, GoToBytesAndBack) {
  const auto invitation = parse_invitation(*parse_envelope(all_[0], kSizes));
  EXPECT_EQ(to_bytes(*invitation, signer_), all_[0]);
  EXPECT_EQ(invitation->key, key_);
  EXPECT_EQ(invitation->last_heard, 5U);
  const auto upload = parse_upload(*parse_envelope(all_[1], kSizes));
  EXPECT_EQ(upload->lanes, (std::vector<float>{1, -2, 0.5F}));
  EXPECT_EQ(to_bytes(*upload, signer_), all_[1]);
  EXPECT_EQ(to_bytes(*parse_receipt(*parse_envelope(all_[2], kSizes)), signer_), all_[2]);
  EXPECT_EQ(to_bytes(*parse_decline(*parse_envelope(all_[3], kSizes)), signer_), all_[3]);
  EXPECT_EQ(to_bytes(*parse_finish(*parse_envelope(all_[4], kSizes)), signer_), all_[4]);
  EXPECT_FALSE(parse_upload(*parse_envelope(all_[0], kSizes)).has_value()) << "another kind";
}

// Each byte is signed: no message with one bit changed is read and authentic.
TEST_F(RunMessagesTest, NoChangedBitPasses) {
  for (const RunBytes& bytes : all_) {
    ASSERT_TRUE(is_authentic(*parse_envelope(bytes, kSizes), signer_.public_key()));
    EXPECT_FALSE(is_authentic(*parse_envelope(bytes, kSizes), internal::test_key(2).public_key()));
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
      RunBytes changed = bytes;
      changed[byte] ^= 0x10;
      const auto envelope = parse_envelope(changed, kSizes);
      EXPECT_FALSE(envelope && is_authentic(*envelope, signer_.public_key())) << byte;
    }
  }
}

TEST_F(RunMessagesTest, OnlyTheExactSizeIsRead) {
  for (const RunBytes& bytes : all_) {
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(parse_envelope(std::span(bytes).first(size), kSizes).has_value());
    }
    RunBytes longer = bytes;
    longer.push_back(0);
    EXPECT_FALSE(parse_envelope(longer, kSizes).has_value());
  }
  EXPECT_FALSE(parse_envelope(all_[1], {.broadcast_bytes = 12, .lanes = 4}).has_value());
}

TEST_F(RunMessagesTest, UnknownKindsVersionsAndReasonsAreRefused) {
  RunBytes other = all_[3];
  other[3] = '2';
  EXPECT_FALSE(parse_envelope(other, kSizes).has_value());
  other = all_[3];
  other[4] = 6;
  EXPECT_FALSE(parse_envelope(other, kSizes).has_value());
  const auto reason = static_cast<DeclineReason>(99);
  const RunBytes unknown = to_bytes(Decline{key_, reason}, signer_);
  EXPECT_FALSE(parse_decline(*parse_envelope(unknown, kSizes)).has_value());
}

TEST_F(RunMessagesTest, AnyBytesAreReadWithoutHarm) {
  ReplayRandom random = ReplayRandom::create(2).value();
  for (int i = 0; i < 20'000; ++i) {
    RunBytes bytes = all_[uniform_below(random, all_.size())];
    const std::uint64_t changes = 1 + uniform_below(random, 8);
    for (std::uint64_t change = 0; change < changes; ++change) {
      bytes[uniform_below(random, bytes.size())] = static_cast<std::uint8_t>(random.next_u32());
    }
    if (uniform_below(random, 4) == 0) bytes.resize(uniform_below(random, 2 * bytes.size()));
    const auto envelope = parse_envelope(bytes, kSizes);
    if (!envelope) continue;
    (void)parse_invitation(*envelope);
    (void)parse_upload(*envelope);
    (void)parse_receipt(*envelope);
    (void)parse_decline(*envelope);
    (void)parse_finish(*envelope);
  }
}

}  // namespace
}  // namespace noisefloor::federated
