#include "noisefloor/secagg/messages.h"

#include <gtest/gtest.h>

#include "noisefloor/base/hex.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/secagg/keys.h"

namespace noisefloor::secagg {
namespace {

RoundConfig some_config() {
  RoundConfig config;
  config.round = 7;
  config.clients = 100;
  config.degree = 12;
  config.threshold = 6;
  config.minimum_cohort = 50;
  config.minimum_roster = 80;
  config.dimension = 10;
  config.bits = 17;
  return config;
}

TEST(Messages, RoundTripConfigurations) {
  const RoundConfig config = some_config();
  EXPECT_EQ(to_bytes(config).size(), kConfigBytes);
  EXPECT_EQ(parse_config(to_bytes(config)).value(), config);
  const SigningKey server = SigningKey::from_seed({1});
  const Message message = invitation(config, server);
  const Invitation invited = parse_invitation(*parse_envelope(message)).value();
  EXPECT_EQ(invited.config, config);
  EXPECT_TRUE(verify_signature(server.public_key(), signed_invitation(config), invited.signature));
  std::vector<std::uint8_t> bytes = to_bytes(config);
  bytes.push_back(0);
  EXPECT_FALSE(parse_config(bytes).has_value());
  bytes.resize(kConfigBytes - 1);
  EXPECT_FALSE(parse_config(bytes).has_value());
}

TEST(Messages, RefuseBadConfigurations) {
  const auto refused = [](auto change) {
    RoundConfig config = some_config();
    change(config);
    return !check_config(config).has_value() && !parse_config(to_bytes(config)).has_value();
  };
  EXPECT_TRUE(refused([](RoundConfig& c) { c.clients = 1; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.clients = kMaxClients + 1; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.degree = 13; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.degree = 100; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.threshold = 0; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.threshold = 13; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.minimum_cohort = 1; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.minimum_cohort = 101; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.minimum_roster = 49; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.minimum_roster = 101; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.dimension = 0; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.dimension = kMaxDimension + 1; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.bits = 0; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.bits = 65; }));
}

TEST(Messages, CoverEveryFieldOfAConfiguration) {
  const Digest digest = digest_of(some_config());
  std::vector<std::uint8_t> bytes = to_bytes(some_config());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= 1U;
    const auto other = parse_config(bytes);
    EXPECT_TRUE(!other.has_value() || digest_of(*other) != digest) << i;
    bytes[i] ^= 1U;
  }
}

TEST(Messages, HaveStrictEnvelopes) {
  const Secret32 channel;
  const Message message = confirmation_message(5, {}, channel);
  const Envelope envelope = parse_envelope(message).value();
  EXPECT_EQ(envelope.type, MessageType::kConfirmation);
  EXPECT_EQ(envelope.client, 5U);
  EXPECT_EQ(envelope.body.size(), 64U);
  EXPECT_TRUE(is_authentic(envelope, channel));
  for (std::size_t i = 0; i < message.size(); ++i) {
    Message changed = message;
    changed[i] ^= 1U;
    const auto other = parse_envelope(changed);
    EXPECT_TRUE(!other.has_value() || !is_authentic(*other, channel) || other->tag.empty()) << i;
  }
  for (std::size_t size = 0; size < kHeaderBytes + kTagBytes; ++size) {
    EXPECT_FALSE(parse_envelope(Bytes(message).first(size)).has_value()) << size;
  }
  Message unknown = message;
  unknown[3] = 10;
  EXPECT_FALSE(parse_envelope(unknown).has_value());
  unknown[3] = 7;
  unknown[2] = 1;  // another version
  EXPECT_FALSE(parse_envelope(unknown).has_value());
}

// Fixes the format by a digest of one message of each kind.
TEST(Messages, HaveAFixedFormat) {
  const Secret32 channel;
  LaneVector vector(10, 17);
  for (std::uint64_t i = 0; i < 10; ++i) vector.set(i, 1000 * i);
  ClientSet set(10);
  set.insert(0);
  set.insert(9);
  std::vector<ShareBytes> shares(2);
  Message all;
  for (const Message& each :
       {invitation(some_config(), SigningKey::from_seed({1})), to_message(Advertisement{3, {1}, {2}, {3}}),
        roster_message(1, to_bytes(Roster{{3, {1}, {2}, {3}}}), channel),
        shares_message(2, std::vector<SealedShares>(2), channel),
        delivery_message(3, {set, std::vector<SealedShares>(1)}, channel),
        masked_input_message(4, Digest{}, vector, channel), survivors_message(5, set, channel),
        confirmation_message(6, {}, channel), confirmations_message(7, {{3, {}}}, channel),
        unmasking_message(8, shares, channel)}) {
    all.insert(all.end(), each.begin(), each.end());
  }
  EXPECT_EQ(to_hex(blake2b({reinterpret_cast<const char*>(all.data()), all.size()})),
            "282427ae6d010fea3b45835875d94328c197239a9157a82c03f84b2a7e5a0a65");
}

TEST(Messages, HaveTheSizesOfTheConfiguration) {
  const std::vector<std::uint32_t> neighbours = {1, 3, 4};
  EXPECT_FALSE(parse_shares(std::vector<std::uint8_t>(kSealedBytes * 2), 3).has_value());
  EXPECT_TRUE(parse_shares(std::vector<std::uint8_t>(kSealedBytes * 3), 3).has_value());
  EXPECT_FALSE(parse_roster(std::vector<std::uint8_t>(kAdvertisementBytes * 3), 2).has_value());
  EXPECT_FALSE(parse_roster(std::vector<std::uint8_t>(kAdvertisementBytes + 1), 2).has_value());
  EXPECT_FALSE(parse_unmasking(std::vector<std::uint8_t>(kShareBytes * 2 - 1), 2).has_value());
  EXPECT_FALSE(parse_unmasking(std::vector<std::uint8_t>(kShareBytes * 2, 0xff), 2).has_value());
  EXPECT_TRUE(parse_unmasking(std::vector<std::uint8_t>(kShareBytes * 2), 2).has_value());
  // Bits for clients 1 and 3 of 5: two boxes are due.
  std::vector<std::uint8_t> delivery(1 + 2 * kSealedBytes);
  delivery[0] = 0b01011;
  EXPECT_TRUE(parse_delivery(delivery, 5, neighbours).has_value());
  delivery[0] = 0b00011;
  EXPECT_FALSE(parse_delivery(delivery, 5, neighbours).has_value());
  delivery[0] = 0b101011;  // a sixth client of five
  EXPECT_FALSE(parse_delivery(delivery, 5, neighbours).has_value());
  EXPECT_FALSE(parse_confirmations(std::vector<std::uint8_t>(68), neighbours).has_value());  // place 0 is no neighbour
  std::vector<std::uint8_t> confirmations(2 * 68);
  confirmations[0] = 3;
  confirmations[68] = 4;
  EXPECT_TRUE(parse_confirmations(confirmations, neighbours).has_value());
  confirmations[68] = 3;
  EXPECT_FALSE(parse_confirmations(confirmations, neighbours).has_value());
}

}  // namespace
}  // namespace noisefloor::secagg
