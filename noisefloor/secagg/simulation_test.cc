#include "noisefloor/secagg/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "noisefloor/crypto/aead.h"
#include "noisefloor/random/uniform.h"
#include "noisefloor/secagg/fixed_point.h"
#include "noisefloor/secagg/graph.h"
#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/reading.h"

namespace noisefloor::secagg {
namespace {

constexpr auto kCurious = ThreatModel::kCuriousServer;
constexpr auto kLying = ThreatModel::kLyingServer;

Policy policy_for(ThreatModel threat, double corrupt) {
  return {.threat = threat, .corrupt = corrupt, .drop = 0, .minimum_cohort = 2, .last_round = {}};
}

std::vector<LaneVector> random_inputs(const RoundConfig& config, BitStream& stream) {
  std::vector<LaneVector> inputs;
  for (std::uint32_t i = 0; i < config.clients; ++i) {
    inputs.emplace_back(config.dimension, config.bits);
    for (std::uint64_t k = 0; k < config.dimension; ++k) inputs.back().set(k, stream.next_u64());
  }
  return inputs;
}

LaneVector sum_of(const std::vector<LaneVector>& inputs, const std::vector<std::uint32_t>& clients) {
  LaneVector sum(inputs[0].dimension(), inputs[0].bits());
  for (std::uint64_t k = 0; k < sum.dimension(); ++k) {
    std::uint64_t total = 0;
    for (const std::uint32_t client : clients) total += inputs[client].get(k);
    sum.set(k, total);
  }
  return sum;
}

struct Round {
  std::uint64_t seed;
  ReplayRandom stream;
  Cohort cohort;
  RoundConfig config;
  std::vector<LaneVector> inputs;
  Policy policy;

  Round(std::uint64_t drawn_from, std::uint32_t clients, const Topology& topology, ThreatModel threat, double corrupt,
        std::uint64_t dimension, unsigned bits, std::uint32_t minimum_cohort = 2)
      : seed(drawn_from),
        stream(ReplayRandom::create(drawn_from).value()),
        cohort(Cohort::draw(clients, stream)),
        config(cohort.config(1, topology, threat, minimum_cohort, dimension, bits)),
        inputs(random_inputs(config, stream)),
        policy(policy_for(threat, corrupt)) {}

  RoundOutcome run(Network& network) {
    auto outcome = simulate_round(
        cohort, config, policy, [&](std::uint32_t i) { return inputs[i]; }, stream, network);
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return std::move(outcome).value();
  }
};

TEST(Simulation, GivesTheExactSumAtEveryModulus) {
  for (unsigned bits = 1; bits <= 64; ++bits) {
    for (const ThreatModel threat : {kCurious, kLying}) {
      Round round(bits, 5, {4, 3, 0, 0}, threat, 0, 33 + bits, bits);
      Network network;
      const RoundOutcome outcome = round.run(network);
      ASSERT_TRUE(outcome.sum.has_value());
      EXPECT_EQ(*outcome.sum, sum_of(round.inputs, {0, 1, 2, 3, 4})) << bits;
      EXPECT_EQ(outcome.survivors.size(), 5U);
    }
  }
}

// Five clients with four real numbers each, as in a demonstration: the messages look random, and the sum is right to
// the step.
TEST(Simulation, SumsRealNumbersOfFiveClients) {
  ReplayRandom stream = ReplayRandom::create(7).value();
  const Cohort cohort = Cohort::draw(5, stream);
  constexpr double step = 0x1p-30;
  const FixedPoint code = FixedPoint::create({.dimension = 4, .bound = 8, .step = step, .clients = 5}).value();
  const Topology topology = find_topology({5, 0.2, 0.2}).value();
  const RoundConfig config = cohort.config(1, topology, kCurious, 3, code.dimension(), code.bits());
  std::vector<std::vector<double>> updates;
  for (int i = 0; i < 5; ++i) updates.push_back({0.5 * i, -1.25, 0.001 * i, 1.0 / (i + 1)});
  RecordingNetwork network;
  network.silence(4, MessageType::kMaskedInput);
  const auto input = [&](std::uint32_t i) { return code.encode(stream, updates[i]); };
  const RoundOutcome outcome =
      simulate_round(cohort, config, policy_for(kCurious, 0.2), input, stream, network).value();
  ASSERT_TRUE(outcome.sum.has_value());
  const std::vector<double> sum = code.decode(*outcome.sum).values;
  const Message& message = *network.sent(0, MessageType::kMaskedInput);
  LaneVector masked(code.dimension(), code.bits());
  masked.add_packed(parse_masked_input(parse_envelope(message)->body, config, 4)->packed);
  for (std::size_t k = 0; k < 4; ++k) {
    double expected = 0;
    for (std::size_t i = 0; i < 4; ++i) expected += updates[i][k];
    EXPECT_NEAR(sum[k], expected, 4 * step);
    EXPECT_GT(std::fabs(code.decode(masked).values[k] - updates[0][k]), 1e-3);
  }
}

// One client leaves at each stage; the sum of the others is exact, with it or without it.
TEST(Simulation, RecoversFromDropoutsAtEveryStage) {
  for (const ThreatModel threat : {kCurious, kLying}) {
    for (const MessageType from : {MessageType::kAdvertisement, MessageType::kShares, MessageType::kMaskedInput,
                                   MessageType::kReceipt, MessageType::kConfirmation, MessageType::kUnmasking}) {
      Round round(7, 6, {5, 4, 0, 0}, threat, 0, 100, 20);
      RecordingNetwork network;
      network.silence(2, from);
      const RoundOutcome outcome = round.run(network);
      ASSERT_TRUE(outcome.sum.has_value());
      const bool counted = from > MessageType::kMaskedInput;
      EXPECT_EQ(outcome.survivors.size(), counted ? 6U : 5U);
      EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
    }
  }
}

TEST(Simulation, AsksForNothingBelowTheThreshold) {
  for (const ThreatModel threat : {kCurious, kLying}) {
    Round round(8, 6, {5, 4, 0, 0}, threat, 0, 10, 16);
    RecordingNetwork network;
    for (const std::uint32_t client : {0U, 3U}) network.silence(client, MessageType::kMaskedInput);
    const RoundOutcome outcome = round.run(network);
    EXPECT_EQ(outcome.aborted, AbortReason::kTooFewNeighbours);
    EXPECT_FALSE(outcome.sum.has_value());
    for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(network.sent(i, MessageType::kUnmasking), nullptr);
  }
}

TEST(Simulation, AsksForNothingBelowTheMinimumCohort) {
  Round round(9, 6, {5, 2, 0, 0}, kCurious, 0, 10, 16, 4);
  RecordingNetwork network;
  for (const std::uint32_t client : {0U, 3U, 4U}) network.silence(client, MessageType::kMaskedInput);
  EXPECT_EQ(round.run(network).aborted, AbortReason::kCohortTooSmall);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_EQ(network.sent(i, MessageType::kUnmasking), nullptr);
}

TEST(Simulation, GivesNothingForTooFewAnswers) {
  Round round(10, 6, {5, 4, 0, 0}, kCurious, 0, 10, 16);
  RecordingNetwork network;
  for (const std::uint32_t client : {0U, 3U}) network.silence(client, MessageType::kUnmasking);
  const RoundOutcome outcome = round.run(network);
  EXPECT_EQ(outcome.aborted, AbortReason::kTooFewShares);
  EXPECT_FALSE(outcome.sum.has_value());
}

TEST(Simulation, RunsOnSparseGraphs) {
  for (const ThreatModel threat : {kCurious, kLying}) {
    const Topology topology = find_topology({60, 0.05, 0.1, threat}).value();
    ASSERT_LT(topology.degree, 59U);
    Round round(11, 60, topology, threat, 0.05, 50, 24);
    RecordingNetwork network;
    for (const std::uint32_t client : {1U, 20U, 41U}) network.silence(client, MessageType::kMaskedInput);
    network.silence(33, MessageType::kUnmasking);
    network.silence(34, MessageType::kShares);
    const RoundOutcome outcome = round.run(network);
    ASSERT_TRUE(outcome.sum.has_value());
    EXPECT_EQ(outcome.survivors.size(), 56U);
    EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
  }
}

// A masked input that arrives after the survivors are told is not added, and no share of its own mask is given.
TEST(Simulation, LeavesLateInputsOut) {
  class Late : public RecordingNetwork {
   public:
    std::vector<Message> to_server(std::uint32_t client, Message message) override {
      std::vector<Message> arriving = RecordingNetwork::to_server(client, message);
      if (client == 2 && parse_envelope(message)->type == MessageType::kMaskedInput) {
        held_ = std::move(arriving);
        return {};
      }
      if (parse_envelope(message)->type == MessageType::kUnmasking) {
        for (Message& late : held_) arriving.push_back(late);
      }
      return arriving;
    }
    std::vector<Message> held_;
  };
  Round round(12, 6, {5, 4, 0, 0}, kCurious, 0, 10, 16);
  Late network;
  const RoundOutcome outcome = round.run(network);
  ASSERT_TRUE(outcome.sum.has_value());
  EXPECT_EQ(outcome.survivors, (std::vector<std::uint32_t>{0, 1, 3, 4, 5}));
  EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
}

// One neighbour gives a wrong share of someone's secret. The commitment shows it, and other shares make up for it if
// there are any.
TEST(Simulation, GivesNoWrongSumForWrongShares) {
  class Spoiler : public RecordingNetwork {
   public:
    explicit Spoiler(const Round& round) : server_(round.cohort.server.clone()), config_(digest_of(round.config)) {}
    std::vector<Message> to_server(std::uint32_t client, Message message) override {
      const Envelope envelope = parse_envelope(message).value();
      if (client == 2 && envelope.type == MessageType::kUnmasking) {
        const Message* hello = sent(2, MessageType::kAdvertisement);
        const AgreementPublicKey key = parse_advertisement(*parse_envelope(*hello))->channel_key;
        const std::vector<std::uint8_t> zeros(kShareBytes);  // right in form, wrong in value
        const Unmasking wrong{std::vector<Bytes>(envelope.body.size() / kShareBytes, zeros), {}};
        message = unmasking_message(2, wrong, channel_key(server_.agree(key).value(), config_));
      }
      return RecordingNetwork::to_server(client, std::move(message));
    }

   private:
    AgreementKey server_;
    Digest config_;
  };
  for (const std::uint32_t threshold : {3U, 4U, 5U}) {
    Round round(13, 6, {5, threshold, 0, 0}, kCurious, 0.16, 10, 16);
    Spoiler network(round);
    const RoundOutcome outcome = round.run(network);
    if (threshold == 5) {  // every share is needed
      EXPECT_EQ(outcome.aborted, AbortReason::kBadShares);
      continue;
    }
    ASSERT_TRUE(outcome.sum.has_value());
    EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
  }
}

// Some clients answer with made-up shares for everyone; one commits to another secret than it shares.
class Liars : public RecordingNetwork {
 public:
  Liars(const Round& round, std::set<std::uint32_t> holders, std::optional<std::uint32_t> perjurer = {})
      : server_(round.cohort.server.clone()),
        config_(round.config),
        holders_(std::move(holders)),
        perjurer_(perjurer) {}

  std::vector<Message> to_server(std::uint32_t client, Message message) override {
    const Envelope envelope = parse_envelope(message).value();
    if (envelope.type == MessageType::kUnmasking && holders_.contains(client)) {
      const std::vector<std::uint8_t> zeros(kShareBytes);
      const Unmasking wrong{std::vector<Bytes>(envelope.body.size() / kShareBytes, zeros), {}};
      message = unmasking_message(client, wrong, channel_of(client));
    } else if (envelope.type == MessageType::kMaskedInput && client == perjurer_) {
      LaneVector vector(config_.dimension, config_.bits);
      const MaskedInput input = parse_masked_input(envelope.body, config_, config_.clients - 1).value();
      vector.add_packed(input.packed);
      message = masked_input_message(client, Digest{1}, input.prints, vector, channel_of(client));
    }
    return RecordingNetwork::to_server(client, std::move(message));
  }

 protected:
  [[nodiscard]] Secret32 channel_of(std::uint32_t client) const {
    const Message* hello = sent(client, MessageType::kAdvertisement);
    const AgreementPublicKey key = parse_advertisement(*parse_envelope(*hello))->channel_key;
    return channel_key(server_.agree(key).value(), digest_of(config_));
  }

 private:
  AgreementKey server_;
  RoundConfig config_;
  std::set<std::uint32_t> holders_;
  std::optional<std::uint32_t> perjurer_;
};

// Two of 44 neighbours lie about every share, and eight clients do not answer. Version 1 tried a threshold of shares in
// a row and gave up (ShareDecoder.FindsTwoWrongSharesWhereNoThresholdInARowIsRight).
TEST(Simulation, GoesOnWithoutLiarsAndNamesThem) {
  for (const ThreatModel threat : {kCurious, kLying}) {
    Round round(14, 60, {44, threat == kCurious ? 21U : 28U, 0, 0}, threat, 0, 10, 16);
    Liars network(round, {7, 31});
    for (std::uint32_t client = 40; client < 48; ++client) network.silence(client, MessageType::kUnmasking);
    const RoundOutcome outcome = round.run(network);
    ASSERT_TRUE(outcome.sum.has_value());
    EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
    EXPECT_EQ(outcome.survivors.size(), 60U);
    EXPECT_EQ(outcome.culprits, (std::vector<std::uint32_t>{7, 31}));
    EXPECT_EQ(outcome.disputes.size(), 88U);
    for (const Dispute& each : outcome.disputes) EXPECT_TRUE(each.holder == 7 || each.holder == 31);
  }
}

TEST(Simulation, NamesAClientThatCommitsToAnotherSecret) {
  Round round(15, 8, {7, 3, 0, 0}, kCurious, 0, 10, 16);
  Liars network(round, {}, 5);
  const RoundOutcome outcome = round.run(network);
  EXPECT_EQ(outcome.aborted, AbortReason::kBadShares);
  EXPECT_EQ(outcome.culprits, (std::vector<std::uint32_t>{5}));
}

// --- Bad dealers -----------------------------------------------------------------------------------------------------

enum class Deal {
  kClosed,    // boxes that do not open
  kNoForm,    // boxes that open and hold no shares
  kRandom,    // shares of no polynomial
  kOnePoly,   // shares of the mask key are fine, and those of the own mask are random
  kOtherKey,  // shares of one polynomial, of another secret than the mask key
};

// One client deals junk to some of its neighbours. The network has its channel key.
class BadDealer : public RecordingNetwork {
 public:
  BadDealer(const Round& round, std::uint32_t dealer, Deal deal, std::size_t victims)
      : server_(round.cohort.server.clone()), config_(round.config), dealer_(dealer), deal_(deal), victims_(victims) {
    ReplayRandom copy = ReplayRandom::create(round.seed, round.stream.position() + 64 * dealer).value();
    Secret32 secret;
    copy.fill(std::as_writable_bytes(secret.bytes()));
    key_.emplace(std::move(secret));
  }

  std::vector<Message> to_client(std::uint32_t client, Message message) override {
    const Envelope envelope = parse_envelope(message).value();
    if (client == dealer_ && envelope.type == MessageType::kRoster) {
      const RosterPart roster = parse_roster(envelope.body, config_.clients).value();
      context_ = context_of(digest_of(config_), roster.root, roster.present.bytes());
      neighbours_ = Graph(config_.clients, config_.degree, graph_seed(context_)).neighbours(dealer_);
    }
    if (envelope.type == MessageType::kUnmasking) return {};
    return Network::to_client(client, std::move(message));
  }

  std::vector<Message> to_server(std::uint32_t client, Message message) override {
    const Envelope envelope = parse_envelope(message).value();
    if (client == dealer_ && envelope.type == MessageType::kShares) {
      std::vector<SealedShares> boxes = parse_shares(envelope.body, neighbours_.size()).value();
      Secret32 other;
      other.bytes()[0] = 9;
      std::vector<std::uint32_t> points;
      for (const std::uint32_t place : neighbours_) points.push_back(place + 1);
      const auto uniform = [this](std::span<std::uint8_t> out) { stream_.fill(std::as_writable_bytes(out)); };
      const auto fine = share_secret(other, config_.threshold, points, uniform).value();
      const auto blinding = draw_blinding(config_.threshold, points, uniform).value();
      for (std::size_t i = 0; i < std::min(victims_, boxes.size()); ++i) {
        if (deal_ == Deal::kClosed) {
          boxes[i][3] ^= 1U;
          continue;
        }
        Secret<kBoxBytes> box;
        stream_.fill(std::as_writable_bytes(box.bytes()));
        for (std::size_t at = 7; at < kBoxBytes; at += 8) box.bytes()[at] = deal_ == Deal::kNoForm ? 0xff : 0x01;
        if (deal_ >= Deal::kOnePoly) {
          std::copy(fine[i].bytes().begin(), fine[i].bytes().end(), box.bytes().begin());
          std::copy(blinding[i].bytes().begin(), blinding[i].bytes().end(), box.bytes().end() - kCheckBytes);
        }
        if (deal_ == Deal::kOtherKey) {
          std::copy(fine[i].bytes().begin(), fine[i].bytes().end(), box.bytes().begin() + kShareBytes);
        }
        const std::uint32_t holder = neighbours_[i];
        const Advertisement keys =
            parse_advertisement(*parse_envelope(*sent(holder, MessageType::kAdvertisement))).value();
        const Secret32 agreed = key_->agree(keys.channel_key).value();
        const auto closed = seal(share_key(agreed, context_, dealer_, holder), {}, box.bytes());
        std::copy(closed.begin(), closed.end(), boxes[i].begin());
      }
      const Advertisement own =
          parse_advertisement(*parse_envelope(*sent(dealer_, MessageType::kAdvertisement))).value();
      message = shares_message(dealer_, boxes, channel_key(server_.agree(own.channel_key).value(), digest_of(config_)));
    }
    return RecordingNetwork::to_server(client, std::move(message));
  }

 private:
  ReplayRandom stream_ = ReplayRandom::create(99).value();
  AgreementKey server_;
  RoundConfig config_;
  std::uint32_t dealer_;
  Deal deal_;
  std::size_t victims_;
  std::optional<AgreementKey> key_;
  Digest context_{};
  std::vector<std::uint32_t> neighbours_;
};

// In version 1 each of these ended the round, for the neighbours or for everyone. Now the dealer is named and left out,
// nobody else is, and the sum is that of all others; on a sparse graph as on a complete one.
TEST(Simulation, GoesOnWithoutADealerOfJunkAndNamesIt) {
  for (const ThreatModel threat : {kCurious, kLying}) {
    for (const Deal deal : {Deal::kClosed, Deal::kNoForm, Deal::kRandom, Deal::kOnePoly}) {
      for (const bool sparse : {false, true}) {
        const Topology topology{sparse ? 16U : 11U, sparse ? 11U : 8U, 0, 0};
        Round round(17, sparse ? 40 : 12, topology, threat, 0, 10, 16);
        BadDealer network(round, 5, deal, 100);
        const RoundOutcome outcome = round.run(network);
        ASSERT_TRUE(outcome.sum.has_value()) << static_cast<int>(deal);
        EXPECT_EQ(outcome.survivors.size(), round.config.clients - 1);
        EXPECT_EQ(std::count(outcome.survivors.begin(), outcome.survivors.end(), 5U), 0);
        EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
        EXPECT_EQ(outcome.culprits, (std::vector<std::uint32_t>{5}));
        EXPECT_TRUE(outcome.client_aborts.empty());
      }
    }
  }
}

// Junk for a few neighbours: their answers are off the polynomial of the others, which is still there. Both stay, and
// the dispute is recorded. A box that does not open parts the two: the dealer leaves, since it is in more such pairs.
TEST(Simulation, GoesOnWithJunkForAFew) {
  for (const Deal deal : {Deal::kClosed, Deal::kNoForm, Deal::kRandom, Deal::kOnePoly}) {
    Round round(18, 40, {16, 11, 0, 0}, kLying, 0, 10, 16);
    BadDealer network(round, 5, deal, 2);
    const RoundOutcome outcome = round.run(network);
    ASSERT_TRUE(outcome.sum.has_value()) << static_cast<int>(deal);
    EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
    const bool opens = deal == Deal::kRandom || deal == Deal::kOnePoly;
    EXPECT_EQ(outcome.survivors.size(), opens ? 40U : 39U);
    EXPECT_TRUE(outcome.culprits.empty());  // two neighbours may be liars
    EXPECT_EQ(outcome.disputes.size(), 2U);
    for (const Dispute& each : outcome.disputes) EXPECT_EQ(each.owner, 5U);
  }
}

// A pair of which nobody knows who lies: both leave, so that the one who does is gone.
TEST(Simulation, LeavesBothOutWhereOneBoxDoesNotOpen) {
  Round round(19, 12, {11, 8, 0, 0}, kLying, 0, 10, 16);
  BadDealer network(round, 5, Deal::kClosed, 1);
  const RoundOutcome outcome = round.run(network);
  ASSERT_TRUE(outcome.sum.has_value());
  EXPECT_EQ(outcome.survivors.size(), 10U);
  EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
}

// A dealer whose shares are consistent and give another secret than its mask key is found when it drops out: its
// neighbours name their masks themselves, so the round goes on. Only if one of them is silent, too, there is no sum.
TEST(Simulation, GoesOnWithoutADropoutThatSharedAnotherKey) {
  for (const bool silent : {false, true}) {
    Round round(20, 12, {11, 8, 0, 0}, kLying, 0, 10, 16);
    BadDealer network(round, 5, Deal::kOtherKey, 100);
    network.silence(5, MessageType::kMaskedInput);
    if (silent) network.silence(7, MessageType::kUnmasking);
    const RoundOutcome outcome = round.run(network);
    EXPECT_EQ(outcome.culprits, (std::vector<std::uint32_t>{5}));
    if (silent) {
      EXPECT_EQ(outcome.aborted, AbortReason::kBadShares);
      continue;
    }
    ASSERT_TRUE(outcome.sum.has_value());
    EXPECT_EQ(outcome.survivors.size(), 11U);
    EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
  }
}

// A survivor that names another mask with a dropout than it said before is found at once, and the dropout's key, which
// others have shares of, gives the right one.
TEST(Simulation, NamesASurvivorThatNamesTwoMasks) {
  class TwoMasks : public Liars {
   public:
    explicit TwoMasks(const Round& round) : Liars(round, {}) {}
    std::vector<Message> to_server(std::uint32_t client, Message message) override {
      const Envelope envelope = parse_envelope(message).value();
      if (client == 3 && envelope.type == MessageType::kUnmasking) {
        std::vector<std::uint8_t> body(envelope.body.begin(), envelope.body.end());
        body.back() ^= 1U;  // a byte of the only seed
        message = unmasking_message(3, parse_unmasking(body, 11, 1).value(), channel_of(3));
      }
      return Liars::to_server(client, std::move(message));
    }
  };
  Round round(21, 12, {11, 8, 0, 0}, kLying, 0, 10, 16);
  TwoMasks network(round);
  network.silence(8, MessageType::kMaskedInput);
  const RoundOutcome outcome = round.run(network);
  EXPECT_EQ(outcome.culprits, (std::vector<std::uint32_t>{3}));
  ASSERT_TRUE(outcome.sum.has_value());
  EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
}

// A complaint about everyone: the complainer leaves, and is named.
TEST(Simulation, GoesOnWithoutAClientThatComplainsAboutEveryone) {
  class Complainer : public Liars {
   public:
    explicit Complainer(const Round& round) : Liars(round, {}) {}
    std::vector<Message> to_server(std::uint32_t client, Message message) override {
      if (client == 3 && parse_envelope(message)->type == MessageType::kReceipt) {
        message = receipt_message(3, Receipt{ClientSet(11)}, channel_of(3));
      }
      return Liars::to_server(client, std::move(message));
    }
  };
  Round round(22, 12, {11, 8, 0, 0}, kLying, 0, 10, 16);
  Complainer network(round);
  const RoundOutcome outcome = round.run(network);
  EXPECT_EQ(outcome.culprits, (std::vector<std::uint32_t>{3}));
  ASSERT_TRUE(outcome.sum.has_value());
  EXPECT_EQ(outcome.survivors.size(), 11U);
  EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
}

// Holders that work together against one honest dealer say that its shares lie on no polynomial. Of 11 answers for a
// threshold of 6, two wrong ones are found, and their holders are in dispute. Three make an honest dealer look like one
// of junk: it is left out and named, as Server::culprits says it may be; and its secrets stay its own, since it masks
// nothing.
TEST(Simulation, FramingNeedsMoreThanHalfOfTheAnswersBeyondAThreshold) {
  class Slander : public Liars {
   public:
    Slander(const Round& round, std::set<std::uint32_t> holders, std::uint32_t victim)
        : Liars(round, {}), holders_(std::move(holders)), victim_(victim) {}
    std::vector<Message> to_server(std::uint32_t client, Message message) override {
      const Envelope envelope = parse_envelope(message).value();
      if (envelope.type == MessageType::kReceipt && holders_.contains(client)) {
        Receipt wrong = parse_receipt(envelope.body, 11).value();
        wrong.answers[victim_ < client ? victim_ : victim_ - 1] ^= 1U;
        message = receipt_message(client, wrong, channel_of(client));
      }
      return Liars::to_server(client, std::move(message));
    }

   private:
    std::set<std::uint32_t> holders_;
    std::uint32_t victim_;
  };
  for (const std::set<std::uint32_t>& holders : {std::set<std::uint32_t>{2, 9}, std::set<std::uint32_t>{2, 9, 10}}) {
    Round round(23, 12, {11, 6, 0, 0}, kCurious, 0, 10, 16);
    Slander network(round, holders, 5);
    const RoundOutcome outcome = round.run(network);
    ASSERT_TRUE(outcome.sum.has_value());
    EXPECT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors));
    if (holders.size() == 2) {
      EXPECT_EQ(outcome.survivors.size(), 12U);
      EXPECT_EQ(outcome.disputes, (std::vector<Dispute>{{2, 5}, {9, 5}}));
      EXPECT_TRUE(outcome.culprits.empty());
    } else {
      EXPECT_EQ(outcome.culprits, (std::vector<std::uint32_t>{5}));
      EXPECT_EQ(outcome.survivors.size(), 11U);
      EXPECT_EQ(network.sent(5, MessageType::kMaskedInput), nullptr);
    }
  }
}

// With no share to spare, a wrong one cannot be told from a wrong commitment: nobody is named.
TEST(Simulation, NamesNobodyWithoutShareToSpare) {
  Round round(16, 6, {5, 5, 0, 0}, kCurious, 0, 10, 16);
  Liars network(round, {2});
  const RoundOutcome outcome = round.run(network);
  EXPECT_EQ(outcome.aborted, AbortReason::kBadShares);
  EXPECT_TRUE(outcome.culprits.empty());
  EXPECT_TRUE(outcome.disputes.empty());
}

// --- Storms ----------------------------------------------------------------------------------------------------------

// Loses, repeats, holds back, mixes up and changes messages. Some clients are malicious: they deal junk, complain about
// shares that are fine, send wrong shares and seeds, and wrong signatures. A lying server tells some clients of other
// clients that go on, and of other survivors. The storm knows the server's key and those of malicious clients, and so
// tags and seals what it changes as they would.
class Storm : public Network {
 public:
  // A round with fresh keys.
  Storm(Round& round, BitStream& stream, std::set<std::uint32_t> malicious) : Storm(round.config, stream, malicious) {
    server_.emplace(round.cohort.server.clone());
    // Clients draw their channel keys and mask keys from the round's stream, one after the other.
    for (const std::uint32_t client : malicious_) {
      ReplayRandom copy = ReplayRandom::create(round.seed, round.stream.position() + 64 * client).value();
      Secret32 secret;
      copy.fill(std::as_writable_bytes(secret.bytes()));
      keys_.emplace(client, AgreementKey(std::move(secret)));
    }
  }
  // A further round of the epoch that began with `first`, of which everyone is.
  Storm(const RoundConfig& config, const Storm& first, BitStream& stream) : Storm(config, stream, first.malicious_) {
    for (const auto& [client, channel] : first.channels_) {
      KeyChain chain(server_chain(channel, first.context_, client));
      channels_[client] = chain.take(config.round - first.round_.round - 1);
    }
    numbers_ = first.numbers_;
    ClientSet present(config.clients);
    for (const std::uint32_t number : numbers_) present.insert(number);
    context_ = context_of(config_, config.epoch, present.bytes());
    graph_.emplace(clients(), clients() - 1, graph_seed(context_));
  }

  void arrange(std::vector<std::uint32_t>& clients) override {
    for (std::size_t i = clients.size(); i > 1; --i) std::swap(clients[i - 1], clients[uniform_below(stream_, i)]);
  }

  std::vector<Message> to_server(std::uint32_t client, Message message) override {
    const Envelope envelope = parse_envelope(message).value();
    if (envelope.type == MessageType::kAdvertisement) {
      const Advertisement keys = parse_advertisement(envelope).value();
      channels_[client] = channel_key(server_->agree(keys.channel_key).value(), config_);
      advertised_.emplace(client, keys);
    }
    const bool honest = !malicious_.contains(client);
    if (envelope.type == MessageType::kMaskedInput && honest) read_[place_of(client)].sharing = sharing_.at(client);
    if (envelope.type == MessageType::kUnmasking && honest) read_[place_of(client)].survivors = told_.at(client);
    const MessageType type = envelope.type;
    if (!honest) {
      // A malicious client says one thing, however often.
      const auto [said, is_new] = said_.try_emplace({client, type});
      if (is_new) said->second = spoil(client, envelope, message);
      message = said->second;
    }
    bool arrives = false;
    std::vector<Message> arriving = weather(message, &arrives);
    if (!arrives) return arriving;
    if (type == MessageType::kReceipt) {
      const std::uint32_t degree = static_cast<std::uint32_t>(neighbours_of(client).size());
      receipts_.emplace(place_of(client), parse_receipt(parse_envelope(message)->body, degree).value());
    }
    if (type == MessageType::kUnmasking) answered_.insert(place_of(client));
    return arriving;
  }

  std::vector<Message> to_client(std::uint32_t client, Message message) override {
    const Envelope envelope = parse_envelope(message).value();
    if (envelope.type == MessageType::kRoster && numbers_.empty()) {
      const RosterPart roster = parse_roster(envelope.body, round_.clients).value();
      for (std::uint32_t number = 0; number < round_.clients; ++number) {
        if (roster.present.contains(number)) numbers_.push_back(number);
      }
      context_ = context_of(config_, roster.root, roster.present.bytes());
      graph_.emplace(clients(), degree_among(round_, clients()), graph_seed(context_));
    }
    if (envelope.type == MessageType::kDelivery) {
      const auto degree = static_cast<std::uint32_t>(neighbours_of(client).size());
      delivered_.insert_or_assign(place_of(client), parse_delivery(envelope.body, degree)->sharing);
    }
    if (envelope.type == MessageType::kSharers) {
      ClientSet sharing = ClientSet::parse(envelope.body, clients()).value();
      if (chance(lies_)) {
        for (std::uint32_t place = 0; place < clients(); ++place) {
          if (chance(15)) sharing.erase(place);
        }
        message = sharers_message(client, sharing, channels_.at(client));
      }
      sharing_.insert_or_assign(client, sharing);
    }
    if (envelope.type == MessageType::kSurvivors) {
      ClientSet survivors = ClientSet::parse(envelope.body, clients()).value();
      if (chance(lies_)) {
        ClientSet other(clients());
        for (std::uint32_t place = 0; place < clients(); ++place) {
          if (survivors.contains(place) != chance(20)) other.insert(place);
        }
        survivors = other;
        message = survivors_message(client, survivors, channels_.at(client));
      }
      told_.insert_or_assign(client, survivors);
    }
    return weather(std::move(message), nullptr);
  }

  // Whether the server, with all that malicious clients know, could read anything beside the sum of all honest
  // survivors. With a curious server a sparse graph may fall apart by chance, which is not looked at.
  [[nodiscard]] bool is_read() const {
    if (!graph_.has_value()) return false;
    std::optional<ClientSet> story;
    for (const auto& [place, told] : read_) {
      if (told.survivors.has_value()) story = told.survivors;
    }
    const Reading reading(*graph_, round_.threshold, places_of(malicious_), read_);
    const std::vector<Places> groups = reading.groups();
    if (groups.empty()) return false;
    if (!story.has_value() || story->size() < round_.minimum_cohort) return true;
    Places honest;
    for (std::uint32_t place = 0; place < clients(); ++place) {
      if (story->contains(place) && !malicious_.contains(numbers_[place])) honest.insert(place);
    }
    if (round_.threat == kCurious && !is_connected(honest)) return false;
    return groups.size() != 1 || groups.front() != honest;
  }

  // The malicious clients that the server has enough against to name them: a fatal number of neighbours whose boxes did
  // not open to one side, or answers that lie on no polynomial.
  [[nodiscard]] std::set<std::uint32_t> must_be_named() const {
    std::set<std::uint32_t> named;
    if (receipts_.empty()) return named;
    std::map<std::uint32_t, Places> against;
    std::map<std::uint32_t, std::uint32_t> answers;
    for (const auto& [holder, receipt] : receipts_) {
      const std::vector<std::uint32_t> theirs = graph_->neighbours(holder);
      for (std::uint32_t i = 0; i < theirs.size(); ++i) {
        if (receipt.opened.contains(i)) {
          ++answers[theirs[i]];
        } else if (delivered_.at(holder).contains(i)) {
          against[theirs[i]].insert(holder);
          against[holder].insert(theirs[i]);
        }
      }
    }
    for (const auto& [place, others] : against) {
      if (others.size() >= fatal() && malicious_.contains(numbers_[place])) named.insert(numbers_[place]);
    }
    for (const std::uint32_t client : junk_) {
      const std::uint32_t place = place_of(client);
      if (receipts_.contains(place) && answers[place] >= round_.threshold + 2) named.insert(client);
    }
    return named;
  }

  // Whether so many malicious neighbours answered for this client's secrets that they can make an honest dealer look
  // like one of junk: more than half of the answers beyond a threshold.
  [[nodiscard]] bool can_be_framed(std::uint32_t client) const {
    const std::uint32_t place = place_of(client);
    std::uint32_t said = 0;
    std::uint32_t answered = 0;
    std::uint32_t lie = 0;
    for (const std::uint32_t other : graph_->neighbours(place)) {
      said += receipts_.contains(other) ? 1U : 0U;
      answered += answered_.contains(other) ? 1U : 0U;
      lie += malicious_.contains(numbers_[other]) ? 1U : 0U;
    }
    const std::uint32_t fewest = answered_.empty() ? said : std::min(said, answered);
    return fewest < round_.threshold || 2 * lie > fewest - round_.threshold;
  }

  // The clients none of whose boxes opened.
  [[nodiscard]] const std::set<std::uint32_t>& closed() const { return closed_; }

 private:
  Storm(const RoundConfig& config, BitStream& stream, std::set<std::uint32_t> malicious)
      : round_(config), config_(digest_of(config)), stream_(stream), malicious_(std::move(malicious)) {
    lies_ = config.threat == kLying && uniform_below(stream, 3) == 0 ? 15 : 0;
    loss_ = uniform_below(stream, 4) == 0 ? 0 : uniform_below(stream, 25);
    noise_ = uniform_below(stream, 3) == 0 ? uniform_below(stream, 15) : 0;
    malice_ = uniform_below(stream, 8);
  }

  bool chance(std::uint64_t percent) { return uniform_below(stream_, 100) < percent; }
  [[nodiscard]] std::uint32_t clients() const { return static_cast<std::uint32_t>(numbers_.size()); }
  [[nodiscard]] std::uint32_t place_of(std::uint32_t client) const {
    return static_cast<std::uint32_t>(std::lower_bound(numbers_.begin(), numbers_.end(), client) - numbers_.begin());
  }
  [[nodiscard]] std::vector<std::uint32_t> neighbours_of(std::uint32_t client) const {
    return graph_->neighbours(place_of(client));
  }
  [[nodiscard]] Places places_of(const std::set<std::uint32_t>& some) const {
    Places places;
    for (const std::uint32_t client : some) {
      if (std::binary_search(numbers_.begin(), numbers_.end(), client)) places.insert(place_of(client));
    }
    return places;
  }
  // As in server.h: so many of a client's neighbours cannot all be corrupt.
  [[nodiscard]] std::size_t fatal() const {
    if (round_.threat == kCurious) return std::max(2U, round_.threshold);
    const std::uint32_t degree = degree_among(round_, clients());
    const std::uint32_t group = degree + 1 == clients() ? clients() : degree;
    return std::max(2U, 2 * round_.threshold > group ? 2 * round_.threshold - group : 1);
  }
  [[nodiscard]] bool is_connected(Places places) const {
    if (places.empty()) return true;
    std::vector<std::uint32_t> open = {*places.begin()};
    places.erase(places.begin());
    while (!open.empty()) {
      const std::uint32_t place = open.back();
      open.pop_back();
      for (const std::uint32_t other : graph_->neighbours(place)) {
        if (places.erase(other) > 0) open.push_back(other);
      }
    }
    return places.empty();
  }

  // A message of a malicious client, tagged anew.
  Message spoil(std::uint32_t client, const Envelope& envelope, const Message& message) {
    const auto does = [&](std::uint64_t bit) { return (malice_ >> bit & 1U) != 0; };
    switch (envelope.type) {
      case MessageType::kShares:
        return does(0) ? spoil_shares(client, envelope) : message;
      case MessageType::kReceipt: {
        if (!does(1) || !chance(60)) return message;
        Receipt wrong = parse_receipt(envelope.body, static_cast<std::uint32_t>(neighbours_of(client).size())).value();
        for (std::uint64_t& answer : wrong.answers) {
          if (chance(50)) answer ^= 1U;
        }
        if (chance(50)) {
          for (std::uint32_t i = 0; i < wrong.opened.clients(); ++i) wrong.opened.erase(i);
          wrong.answers.clear();
        }
        return receipt_message(client, wrong, channels_.at(client));
      }
      case MessageType::kConfirmation:
        return chance(30) ? confirmation_message(client, Signature{}, channels_.at(client)) : message;
      case MessageType::kUnmasking: {
        if (!does(2)) return message;
        std::size_t gone = 0;
        while ((envelope.body.size() - kMaskSeedBytes * gone) % kShareBytes != 0) ++gone;
        const std::size_t shares = (envelope.body.size() - kMaskSeedBytes * gone) / kShareBytes;
        std::vector<std::uint8_t> body(envelope.body.begin(), envelope.body.end());
        for (std::size_t i = 0; i < shares; ++i) {
          if (chance(70)) body[kShareBytes * i + 8 * uniform_below(stream_, 5)] ^= 1U;
        }
        for (std::size_t i = 0; i < gone; ++i) {
          if (chance(70)) body[kShareBytes * shares + kMaskSeedBytes * i] ^= 1U;
        }
        const auto wrong = parse_unmasking(body, shares, gone);
        return wrong.has_value() ? unmasking_message(client, *wrong, channels_.at(client)) : message;
      }
      default:
        return message;
    }
  }

  // Boxes that do not open, or shares that lie on no polynomial: for one neighbour, for some, or for all. In a round of
  // an epoch boxes that do not open, and other seeds than those that are shared.
  Message spoil_shares(std::uint32_t client, const Envelope& envelope) {
    const std::vector<std::uint32_t> others = neighbours_of(client);
    const bool in_epoch = round_.epoch != Digest{};
    Bytes body = envelope.body;
    std::optional<Deposit> deposit;
    if (in_epoch) deposit = take_deposit(body, others.size());
    std::vector<SealedShares> wrong = parse_shares(body, others.size()).value();
    const std::uint64_t percent = chance(40) ? 100 : uniform_below(stream_, 60);
    const bool well_formed = !in_epoch && chance(50);
    const std::vector<std::uint8_t> other_seed(kMaskSeedBytes, 7);
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (in_epoch && chance(20)) deposit->seeds[i] = other_seed;
      if (!chance(percent)) continue;
      if (!well_formed) {
        wrong[i][uniform_below(stream_, kSealedBytes)] ^= 4;
        continue;
      }
      const std::uint32_t other = numbers_[others[i]];
      Secret<kBoxBytes> box;
      stream_.fill(std::as_writable_bytes(box.bytes()));
      for (std::size_t at = 7; at < kBoxBytes; at += 8) box.bytes()[at] &= 0x0f;  // below the prime
      const Secret32 agreed = keys_.at(client).agree(advertised_.at(other).channel_key).value();
      const std::vector<std::uint8_t> closed = seal(share_key(agreed, context_, client, other), {}, box.bytes());
      std::copy(closed.begin(), closed.end(), wrong[i].begin());
    }
    if (percent == 100) (well_formed ? junk_ : closed_).insert(client);
    return in_epoch ? shares_message(client, *deposit, wrong, channels_.at(client))
                    : shares_message(client, wrong, channels_.at(client));
  }

  std::vector<Message> weather(Message message, bool* arrives) {
    std::vector<Message> arriving;
    if (!held_.empty() && chance(30)) {
      arriving.push_back(std::move(held_.back()));
      held_.pop_back();
    }
    if (chance(noise_) && !message.empty()) {
      Message changed = message;
      if (chance(50)) {
        const std::uint64_t bit = uniform_below(stream_, 8 * changed.size());
        changed[bit / 8] = static_cast<std::uint8_t>(changed[bit / 8] ^ 1U << bit % 8);
      } else if (chance(50)) {
        changed.resize(uniform_below(stream_, changed.size()));
      } else {
        changed.push_back(static_cast<std::uint8_t>(stream_.next_u32()));
      }
      arriving.push_back(std::move(changed));
    }
    if (chance(loss_)) {
      if (chance(50)) held_.push_back(std::move(message));
      return arriving;
    }
    if (arrives != nullptr) *arrives = true;
    arriving.push_back(message);
    if (chance(10)) arriving.push_back(std::move(message));
    return arriving;
  }

  std::optional<AgreementKey> server_;
  RoundConfig round_;
  Digest config_;
  BitStream& stream_;
  std::set<std::uint32_t> malicious_;
  std::set<std::uint32_t> closed_;
  std::set<std::uint32_t> junk_;                                   // dealers of shares on no polynomial, to everyone
  std::map<std::pair<std::uint32_t, MessageType>, Message> said_;  // by malicious clients
  std::map<std::uint32_t, AgreementKey> keys_;                     // of the channels of malicious clients
  std::map<std::uint32_t, Advertisement> advertised_;
  std::vector<std::uint32_t> numbers_;  // by place
  std::optional<Graph> graph_;
  Digest context_{};
  std::map<std::uint32_t, Secret32> channels_;
  std::map<std::uint32_t, ClientSet> delivered_;  // by place: whose boxes the server passed on
  std::map<std::uint32_t, Receipt> receipts_;     // by place: those that arrived
  Places answered_;                               // likewise, with shares
  std::map<std::uint32_t, ClientSet> sharing_;    // who goes on, as each client was told
  std::map<std::uint32_t, ClientSet> told_;       // the survivors, as each client was told
  std::map<std::uint32_t, Told> read_;            // by place: what honest clients did with it
  std::vector<Message> held_;
  std::uint64_t lies_;
  std::uint64_t loss_;
  std::uint64_t noise_;
  std::uint64_t malice_;
};

struct Tally {
  std::uint64_t rounds = 0;
  std::uint64_t sums = 0;
  std::uint64_t with_dropouts = 0;
  std::uint64_t sparse_sums = 0;
  std::uint64_t epoch_sums = 0;
  std::uint64_t with_disputes = 0;
  std::uint64_t named = 0;
  std::uint64_t framed = 0;  // by more than half of the answers beyond a threshold
  std::uint64_t had_to_be_named = 0;
  std::uint64_t sums_with_culprits = 0;
  std::map<AbortReason, std::uint64_t> aborts;
  std::map<AbortReason, std::uint64_t> client_aborts;
};

// What holds after any round in a storm.
void judge(std::uint64_t seed, const Round& round, const RoundConfig& config, const Storm& storm,
           const std::set<std::uint32_t>& malicious, const RoundOutcome& outcome, Tally& tally) {
  ++tally.rounds;
  for (const auto& [client, reason] : outcome.client_aborts) ++tally.client_aborts[reason];
  ASSERT_FALSE(storm.is_read()) << "seed " << seed << ": more than the sum could be read";
  bool framed = false;
  for (const std::uint32_t culprit : outcome.culprits) {
    if (malicious.contains(culprit)) {
      ++tally.named;
      continue;
    }
    ASSERT_TRUE(storm.can_be_framed(culprit)) << "seed " << seed << ": an honest client is named";
    framed = true;
  }
  if (framed) ++tally.framed;
  for (const std::uint32_t client : storm.must_be_named()) {
    ++tally.had_to_be_named;
    ASSERT_EQ(std::count(outcome.culprits.begin(), outcome.culprits.end(), client), 1)
        << "seed " << seed << ": client " << client << " is not named";
  }
  for (const Dispute& each : outcome.disputes) {
    ASSERT_TRUE(malicious.contains(each.holder) || malicious.contains(each.owner) || framed ||
                storm.can_be_framed(each.owner))
        << "seed " << seed;
  }
  if (!outcome.disputes.empty()) ++tally.with_disputes;
  for (const std::uint32_t client : storm.closed()) {
    ASSERT_EQ(std::count(outcome.survivors.begin(), outcome.survivors.end(), client), 0) << "seed " << seed;
  }
  if (outcome.aborted.has_value()) {
    ++tally.aborts[*outcome.aborted];
    return;
  }
  ++tally.sums;
  if (!outcome.culprits.empty()) ++tally.sums_with_culprits;
  if (config.degree + 1 < config.clients) ++tally.sparse_sums;
  if (config.epoch != Digest{}) ++tally.epoch_sums;
  if (outcome.survivors.size() < config.clients) ++tally.with_dropouts;
  ASSERT_GE(outcome.survivors.size(), config.minimum_cohort) << "seed " << seed;
  ASSERT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors)) << "seed " << seed << ": a wrong sum";
}

// One random round in a storm, and sometimes a further one of its epoch; everything follows from the seed.
void run_storm(std::uint64_t seed, Tally& tally) {
  ReplayRandom dice = ReplayRandom::create(seed).value();
  // There are few clients, each a neighbour of all; or more on a sparse graph. The policy counts nobody as corrupt
  // there, since a few on a circle may stand anywhere; malicious clients are so few that the threshold bears them
  // wherever they stand: below 2·threshold − degree, so that no two stretches have threshold − degree/2 of them each.
  const bool sparse = uniform_below(dice, 2) == 0;
  const auto clients = static_cast<std::uint32_t>(sparse ? 10 + uniform_below(dice, 11) : 3 + uniform_below(dice, 5));
  const auto degree = static_cast<std::uint32_t>(sparse ? 4 + 2 * uniform_below(dice, 3) : clients - 1);
  const ThreatModel threat = fair_coin(dice) ? kCurious : kLying;
  auto corrupt = static_cast<std::uint32_t>(!sparse && clients >= 5 && uniform_below(dice, 4) == 0 ? 1 : 0);
  const std::uint32_t lowest = sparse ? degree / 2 + 1 : (threat == kLying ? (clients + corrupt) / 2 + 1 : corrupt + 1);
  const auto threshold = std::min(
      static_cast<std::uint32_t>(lowest + (lowest < degree ? uniform_below(dice, degree - lowest) : 0)), degree);
  const std::uint64_t dimension = 1 + uniform_below(dice, 20);
  const auto bits = static_cast<unsigned>(1 + uniform_below(dice, 64));
  Round round(seed ^ 0x5eed, clients, {degree, threshold, 0, 0}, threat, static_cast<double>(corrupt) / clients,
              dimension, bits);
  if (sparse) corrupt = static_cast<std::uint32_t>(uniform_below(dice, std::min(4U, 2 * threshold - degree)));
  std::set<std::uint32_t> malicious;
  while (malicious.size() < corrupt) malicious.insert(static_cast<std::uint32_t>(uniform_below(dice, clients)));
  round.policy.epoch_rounds = 5;

  const auto input = [&](std::uint32_t i) { return round.inputs[i]; };
  Storm storm(round, dice, malicious);
  Server server =
      Server::create(round.config, round.cohort.registry, AgreementKey(round.cohort.server.clone())).value();
  std::vector<Client> joined;
  for (std::uint32_t i = 0; i < clients; ++i) {
    joined.push_back(
        Client::join(round.config, round.cohort.registry, i, round.cohort.keys[i], round.policy, round.stream).value());
  }
  const RoundOutcome outcome = play_round(server, joined, input, storm).value();
  judge(seed, round, round.config, storm, malicious, outcome, tally);
  if (sparse || outcome.aborted.has_value() || ::testing::Test::HasFatalFailure()) return;

  // Everyone who was in the roster goes on, whatever became of it in this round.
  ServerEpoch hub = server.epoch().value();
  std::vector<ClientEpoch> epochs;
  for (Client& each : joined) {
    auto epoch = each.epoch();
    if (!epoch.has_value()) return;
    epochs.push_back(std::move(epoch).value());
  }
  if (hub.terms().present.size() != clients) return;
  RoundConfig config = round.config;
  config.round += 1 + uniform_below(dice, 3);
  config.challenge = Server::challenge(AgreementKey(round.cohort.server.clone()), config.round);
  config.epoch = hub.terms().id;
  Storm next(config, storm, dice);
  Server resumed =
      Server::resume(config, round.cohort.registry, AgreementKey(round.cohort.server.clone()), hub).value();
  joined.clear();
  for (std::uint32_t i = 0; i < clients; ++i) {
    joined.push_back(
        Client::resume(config, round.cohort.registry, epochs[i], round.cohort.keys[i], round.policy, round.stream)
            .value());
  }
  judge(seed, round, config, next, malicious, play_round(resumed, joined, input, next).value(), tally);
}

void run_storms(std::uint64_t first_seed, std::uint64_t count) {
  Tally tally;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    run_storm(seed, tally);
    if (::testing::Test::HasFatalFailure()) return;
  }
  // The storm is neither too weak nor too strong to show anything.
  EXPECT_GT(tally.sums, count / 5);
  EXPECT_GT(tally.with_dropouts, count / 20);
  EXPECT_GT(tally.sparse_sums, count / 20);
  EXPECT_GT(tally.epoch_sums, count / 50);
  EXPECT_GT(tally.with_disputes, count / 50);
  EXPECT_GT(tally.named, count / 100);
  EXPECT_GT(tally.had_to_be_named, count / 100);
  EXPECT_GT(tally.sums_with_culprits, 0U);
  EXPECT_GE(tally.aborts.size(), 3U);
  EXPECT_GE(tally.client_aborts.size(), 3U);
  ::testing::Test::RecordProperty("rounds", static_cast<int>(tally.rounds));
  ::testing::Test::RecordProperty("sums", static_cast<int>(tally.sums));
  ::testing::Test::RecordProperty("sparse_sums", static_cast<int>(tally.sparse_sums));
  ::testing::Test::RecordProperty("epoch_sums", static_cast<int>(tally.epoch_sums));
  ::testing::Test::RecordProperty("named", static_cast<int>(tally.named));
  ::testing::Test::RecordProperty("framed", static_cast<int>(tally.framed));
}

TEST(Simulation, GivesNoWrongSumAndNoInputInAStorm) { run_storms(1, 300); }

// 10^5 rounds, in parts that can run side by side.
class SlowStorm : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(SlowStorm, GivesNoWrongSumAndNoInput) { run_storms(1'000'000 * GetParam(), 10'000); }
INSTANTIATE_TEST_SUITE_P(SlowParts, SlowStorm, ::testing::Range<std::uint64_t>(1, 11));

}  // namespace
}  // namespace noisefloor::secagg
