#include "noisefloor/secagg/messages.h"

#include <gtest/gtest.h>

#include <algorithm>

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

RoundConfig some_noisy_config() {
  RoundConfig config = some_config();
  config.dimension = 16;
  config.noise =
      NoiseContract{NoiseLaw::kDiscreteGaussian, 10, ClipNorm::of(2), NoiseMultiplier::of(0.5), 9, Digest{3}};
  return config;
}

TEST(Messages, RoundTripConfigurationsWithNoise) {
  const RoundConfig config = some_noisy_config();
  EXPECT_EQ(parse_config(to_bytes(config)).value(), config);
  EXPECT_NE(digest_of(config), digest_of(some_config()));
}

TEST(Messages, RefuseBadNoise) {
  const auto refused = [](auto change) {
    RoundConfig config = some_noisy_config();
    change(config);
    return !check_config(config).has_value() && !parse_config(to_bytes(config)).has_value();
  };
  EXPECT_TRUE(refused([](RoundConfig& c) { c.noise->colluders = c.minimum_cohort; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.noise->values = 17; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.noise->values = 8; }));  // 8 coordinates would do
  EXPECT_TRUE(refused([](RoundConfig& c) { c.noise->values = 0; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.bits = 1; }));
  EXPECT_TRUE(refused([](RoundConfig& c) { c.bits = 63; }));
  // Clip and multiplier as other numbers: NaN, infinite, negative, zero.
  const std::vector<std::uint8_t> bytes = to_bytes(some_noisy_config());
  for (const std::size_t at : {kConfigBytes - kNoiseBytes + 9, kConfigBytes - kNoiseBytes + 17}) {
    for (const std::uint64_t number : std::vector<std::uint64_t>{0x7ff8U, 0x7ff0U, 0xbff0U, 0}) {
      std::vector<std::uint8_t> odd = bytes;
      for (std::size_t i = 0; i < 8; ++i) odd[at + i] = static_cast<std::uint8_t>(number << 48 >> (8 * i));
      EXPECT_FALSE(parse_config(odd).has_value()) << at << " " << number;
    }
  }
  // One text for no noise.
  std::vector<std::uint8_t> none = to_bytes(some_config());
  none.back() = 1;
  EXPECT_FALSE(parse_config(none).has_value());
}

TEST(Messages, CoverEveryFieldOfAConfiguration) {
  const Digest digest = digest_of(some_noisy_config());
  std::vector<std::uint8_t> bytes = to_bytes(some_noisy_config());
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
  unknown[3] = 12;
  EXPECT_FALSE(parse_envelope(unknown).has_value());
  unknown[3] = 9;
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
  const MaskSeed seed;
  const std::vector<std::uint8_t> proof(32, 9);
  Message all;
  for (const Message& each :
       {invitation(some_config(), SigningKey::from_seed({1})), to_message(Advertisement{3, {1}, {2}, {3}}),
        roster_message(1, {Digest{7}, set, {{3, {1}, {2}, {3}}}, proof}, channel),
        shares_message(2, std::vector<SealedShares>(2), channel),
        delivery_message(3, {Digest{8}, set, std::vector<SealedShares>(2)}, channel),
        receipt_message(3, {set, {5, 6}}, channel), sharers_message(3, set, channel),
        masked_input_message(4, Digest{}, proof, vector, channel), survivors_message(5, set, channel),
        confirmation_message(6, {}, channel), confirmations_message(7, {{3, {}}}, channel),
        unmasking_message(8, {{shares[0].bytes(), shares[1].bytes()}, {Bytes(seed.bytes())}}, channel)}) {
    all.insert(all.end(), each.begin(), each.end());
  }
  EXPECT_EQ(to_hex(blake2b({reinterpret_cast<const char*>(all.data()), all.size()})),
            "1d2a7a27f762627a0b2513195317cd743a17596efa75049193aebd2e2bfd3905");
}

TEST(Messages, HaveTheSizesOfTheConfiguration) {
  const std::vector<std::uint32_t> neighbours = {1, 3, 4};
  EXPECT_FALSE(parse_shares(std::vector<std::uint8_t>(kSealedBytes * 2), 3).has_value());
  EXPECT_TRUE(parse_shares(std::vector<std::uint8_t>(kSealedBytes * 3), 3).has_value());
  // A root, and a set of five clients.
  EXPECT_FALSE(parse_roster(std::vector<std::uint8_t>(32), 5).has_value());
  std::vector<std::uint8_t> roster(32 + 1 + kKeysBytes + 64);
  roster[32] = 0b10010;
  RosterPart part = parse_roster(roster, 5).value();
  EXPECT_TRUE(parse_neighbours(roster, {4}, part));
  EXPECT_EQ(part.neighbours.size(), 1U);
  EXPECT_EQ(part.proof.size(), 64U);
  EXPECT_FALSE(parse_neighbours(roster, {1, 4}, part));
  roster[32] = 0b110010;  // a sixth client of five
  EXPECT_FALSE(parse_roster(roster, 5).has_value());
  const auto unmasking = [](std::size_t bytes) { return std::vector<std::uint8_t>(bytes); };
  EXPECT_FALSE(parse_unmasking(unmasking(kShareBytes * 2 - 1), 2, 0).has_value());
  EXPECT_FALSE(parse_unmasking(std::vector<std::uint8_t>(kShareBytes * 2, 0xff), 2, 0).has_value());
  EXPECT_TRUE(parse_unmasking(unmasking(kShareBytes * 2), 2, 0).has_value());
  EXPECT_FALSE(parse_unmasking(unmasking(kShareBytes * 2), 2, 1).has_value());
  EXPECT_TRUE(parse_unmasking(unmasking(kShareBytes * 2 + kMaskSeedBytes), 2, 1).has_value());
  // Bits for two of three neighbours: two boxes are due, and two answers.
  std::vector<std::uint8_t> delivery(32 + 1 + 2 * kSealedBytes);
  delivery[32] = 0b101;
  EXPECT_TRUE(parse_delivery(delivery, 3).has_value());
  delivery[32] = 0b111;
  EXPECT_FALSE(parse_delivery(delivery, 3).has_value());
  EXPECT_FALSE(parse_delivery(std::vector<std::uint8_t>(1), 3).has_value());  // the set alone, without the nonce
  EXPECT_FALSE(parse_roster(std::vector<std::uint8_t>(1), 3).has_value());    // without the root
  delivery[32] = 0b1001;                                                      // a fourth neighbour of three
  EXPECT_FALSE(parse_delivery(delivery, 3).has_value());
  std::vector<std::uint8_t> receipt(1 + 2 * kCheckBytes);
  receipt[0] = 0b011;
  EXPECT_TRUE(parse_receipt(receipt, 3).has_value());
  EXPECT_FALSE(parse_receipt(Bytes(receipt).first(receipt.size() - 1), 3).has_value());
  std::fill(receipt.begin() + 1, receipt.end(), 0xff);  // above the prime
  EXPECT_FALSE(parse_receipt(receipt, 3).has_value());
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
