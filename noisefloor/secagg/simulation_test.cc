#include "noisefloor/secagg/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "noisefloor/random/uniform.h"
#include "noisefloor/secagg/fixed_point.h"
#include "noisefloor/secagg/graph.h"
#include "noisefloor/secagg/keys.h"

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
  ReplayRandom stream;
  Cohort cohort;
  RoundConfig config;
  std::vector<LaneVector> inputs;
  Policy policy;

  Round(std::uint64_t seed, std::uint32_t clients, const Topology& topology, ThreatModel threat, double corrupt,
        std::uint64_t dimension, unsigned bits, std::uint32_t minimum_cohort = 2)
      : stream(ReplayRandom::create(seed).value()),
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
  masked.add_packed(parse_masked_input(parse_envelope(message)->body, config)->packed);
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
                                   MessageType::kConfirmation, MessageType::kUnmasking}) {
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
        std::vector<ShareBytes> shares(envelope.body.size() / kShareBytes);  // zeros: right in form, wrong in value
        message = unmasking_message(2, shares, channel_key(server_.agree(key).value(), config_));
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
      const std::vector<ShareBytes> zeros(envelope.body.size() / kShareBytes);
      message = unmasking_message(client, zeros, channel_of(client));
    } else if (envelope.type == MessageType::kMaskedInput && client == perjurer_) {
      LaneVector vector(config_.dimension, config_.bits);
      vector.add_packed(parse_masked_input(envelope.body, config_)->packed);
      message = masked_input_message(client, Digest{1}, vector, channel_of(client));
    }
    return RecordingNetwork::to_server(client, std::move(message));
  }

 private:
  [[nodiscard]] Secret32 channel_of(std::uint32_t client) const {
    const Message* hello = sent(client, MessageType::kAdvertisement);
    const AgreementPublicKey key = parse_advertisement(*parse_envelope(*hello))->channel_key;
    return channel_key(server_.agree(key).value(), digest_of(config_));
  }

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

// Loses, repeats, holds back, mixes up and changes messages. Some clients are malicious: they send wrong shares and
// wrong signatures. A lying server tells some clients of other survivors. The storm knows the server's key, and so tags
// the messages that it changes as they would.
class Storm : public Network {
 public:
  Storm(const Cohort& cohort, const RoundConfig& config, BitStream& stream, std::set<std::uint32_t> malicious)
      : server_(cohort.server.clone()),
        round_(config),
        config_(digest_of(config)),
        stream_(stream),
        malicious_(std::move(malicious)) {
    lies_ = config.threat == kLying && uniform_below(stream, 3) == 0 ? 15 : 0;
    loss_ = uniform_below(stream, 4) == 0 ? 0 : uniform_below(stream, 25);
    noise_ = uniform_below(stream, 3) == 0 ? uniform_below(stream, 15) : 0;
  }

  void arrange(std::vector<std::uint32_t>& clients) override {
    for (std::size_t i = clients.size(); i > 1; --i) std::swap(clients[i - 1], clients[uniform_below(stream_, i)]);
  }

  std::vector<Message> to_server(std::uint32_t client, Message message) override {
    const Envelope envelope = parse_envelope(message).value();
    if (envelope.type == MessageType::kAdvertisement) {
      const Advertisement keys = parse_advertisement(envelope).value();
      channels_[client] = channel_key(server_.agree(keys.channel_key).value(), config_);
    }
    if (envelope.type == MessageType::kUnmasking && !malicious_.contains(client)) gave_.insert(client);
    if (malicious_.contains(client)) return weather(spoil(client, envelope, message));
    return weather(std::move(message));
  }

  std::vector<Message> to_client(std::uint32_t client, Message message) override {
    const Envelope envelope = parse_envelope(message).value();
    if (envelope.type == MessageType::kRoster) {
      roster_ = parse_roster(envelope.body, round_.clients).value();
      roster_clients_ = static_cast<std::uint32_t>(roster_.size());
      context_ = context_of(config_, envelope.body);
    }
    if (envelope.type == MessageType::kSurvivors) {
      ClientSet survivors = ClientSet::parse(envelope.body, roster_clients_).value();
      if (chance(lies_)) {
        ClientSet other(roster_clients_);
        for (std::uint32_t place = 0; place < roster_clients_; ++place) {
          if (survivors.contains(place) != chance(20)) other.insert(place);
        }
        survivors = other;
        message = survivors_message(client, survivors, channels_.at(client));
      }
      told_.insert_or_assign(client, survivors);
    }
    return weather(std::move(message));
  }

  // Whether neighbours of someone gave so many shares of both kinds that an input could be unmasked.
  [[nodiscard]] bool unmasked() const {
    if (roster_.empty()) return false;
    const Graph graph(roster_clients_, degree_among(round_, roster_clients_), graph_seed(context_));
    for (std::uint32_t place = 0; place < roster_clients_; ++place) {
      std::size_t own_mask = 0;
      std::size_t mask_key = 0;
      for (const std::uint32_t neighbour : graph.neighbours(place)) {
        const std::uint32_t client = roster_[neighbour].client;
        const bool both = malicious_.contains(client);
        if (!both && !gave_.contains(client)) continue;
        if (both || told_.at(client).contains(place)) ++own_mask;
        if (both || !told_.at(client).contains(place)) ++mask_key;
      }
      if (own_mask >= round_.threshold && mask_key >= round_.threshold) return true;
    }
    return false;
  }

 private:
  bool chance(std::uint64_t percent) { return uniform_below(stream_, 100) < percent; }

  // A message of a malicious client, tagged anew.
  Message spoil(std::uint32_t client, const Envelope& envelope, const Message& message) {
    if (envelope.type == MessageType::kMaskedInput || envelope.type == MessageType::kAdvertisement || !chance(50)) {
      return message;
    }
    if (envelope.type == MessageType::kUnmasking) {
      std::vector<ShareBytes> wrong(envelope.body.size() / kShareBytes);
      for (std::size_t i = 0; i < wrong.size(); ++i) {
        std::copy_n(envelope.body.begin() + static_cast<std::ptrdiff_t>(kShareBytes * i), kShareBytes,
                    wrong[i].bytes().begin());
        if (chance(70)) wrong[i].bytes()[8 * uniform_below(stream_, 5)] ^= 1;
      }
      return unmasking_message(client, wrong, channels_.at(client));
    }
    if (envelope.type == MessageType::kConfirmation) {
      Signature wrong{};
      return confirmation_message(client, wrong, channels_.at(client));
    }
    std::vector<SealedShares> wrong = parse_shares(envelope.body, envelope.body.size() / kSealedBytes).value();
    if (chance(20)) wrong[uniform_below(stream_, wrong.size())][uniform_below(stream_, kSealedBytes)] ^= 4;
    return shares_message(client, wrong, channels_.at(client));
  }

  std::vector<Message> weather(Message message) {
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
    arriving.push_back(message);
    if (chance(10)) arriving.push_back(std::move(message));
    return arriving;
  }

  AgreementKey server_;
  RoundConfig round_;
  Digest config_;
  BitStream& stream_;
  std::set<std::uint32_t> malicious_;
  Roster roster_;
  Digest context_{};
  std::map<std::uint32_t, Secret32> channels_;
  std::map<std::uint32_t, ClientSet> told_;  // the survivors that each client was told of
  std::set<std::uint32_t> gave_;             // honest clients that answered with shares
  std::vector<Message> held_;
  std::uint32_t roster_clients_ = 0;
  std::uint64_t lies_;
  std::uint64_t loss_;
  std::uint64_t noise_;
};

struct Tally {
  std::uint64_t rounds = 0;
  std::uint64_t sums = 0;
  std::uint64_t with_dropouts = 0;
  std::uint64_t sparse_sums = 0;
  std::uint64_t with_disputes = 0;
  std::uint64_t named = 0;
  std::map<AbortReason, std::uint64_t> aborts;
  std::map<AbortReason, std::uint64_t> client_aborts;
};

// One random round in a storm; everything follows from the seed.
void run_storm(std::uint64_t seed, Tally& tally) {
  ReplayRandom dice = ReplayRandom::create(seed).value();
  // There are few clients, each a neighbour of all; or more on a sparse graph. The policy counts nobody as corrupt
  // there, since a few on a circle may stand anywhere; one malicious client is below what its thresholds bear in any
  // case.
  const bool sparse = uniform_below(dice, 5) == 0;
  const auto clients = static_cast<std::uint32_t>(sparse ? 8 + uniform_below(dice, 6) : 3 + uniform_below(dice, 5));
  const auto degree = static_cast<std::uint32_t>(sparse ? 4 + 2 * uniform_below(dice, 2) : clients - 1);
  const ThreatModel threat = fair_coin(dice) ? kCurious : kLying;
  const std::uint32_t corrupt = !sparse && clients >= 5 && uniform_below(dice, 4) == 0 ? 1 : 0;
  const std::uint32_t lowest = sparse ? degree / 2 + 1 : (threat == kLying ? (clients + corrupt) / 2 + 1 : corrupt + 1);
  const auto threshold =
      static_cast<std::uint32_t>(lowest + (lowest < degree ? uniform_below(dice, degree - lowest) : 0));
  const std::uint64_t dimension = 1 + uniform_below(dice, 20);
  const auto bits = static_cast<unsigned>(1 + uniform_below(dice, 64));
  Round round(seed ^ 0x5eed, clients, {degree, std::min(threshold, degree), 0, 0}, threat,
              static_cast<double>(corrupt) / clients, dimension, bits);
  std::set<std::uint32_t> malicious;
  if (corrupt == 1 || (sparse && fair_coin(dice))) {
    malicious.insert(static_cast<std::uint32_t>(uniform_below(dice, clients)));
  }
  Storm storm(round.cohort, round.config, dice, malicious);

  const RoundOutcome outcome = round.run(storm);
  ++tally.rounds;
  for (const auto& [client, reason] : outcome.client_aborts) ++tally.client_aborts[reason];
  ASSERT_FALSE(storm.unmasked()) << "seed " << seed << ": an input could be unmasked";
  for (const std::uint32_t culprit : outcome.culprits) {
    ASSERT_TRUE(malicious.contains(culprit)) << "seed " << seed << ": an honest client is named";
    ++tally.named;
  }
  for (const Dispute& each : outcome.disputes) {
    ASSERT_TRUE(malicious.contains(each.holder) || malicious.contains(each.owner)) << "seed " << seed;
  }
  if (!outcome.disputes.empty()) ++tally.with_disputes;
  if (outcome.aborted.has_value()) {
    ++tally.aborts[*outcome.aborted];
    return;
  }
  ++tally.sums;
  if (sparse) ++tally.sparse_sums;
  if (outcome.survivors.size() < clients) ++tally.with_dropouts;
  ASSERT_GE(outcome.survivors.size(), round.config.minimum_cohort) << "seed " << seed;
  ASSERT_EQ(*outcome.sum, sum_of(round.inputs, outcome.survivors)) << "seed " << seed << ": a wrong sum";
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
  EXPECT_GT(tally.sparse_sums, count / 50);
  EXPECT_GT(tally.with_disputes, 0U);
  EXPECT_GE(tally.aborts.size(), 3U);
  EXPECT_GE(tally.client_aborts.size(), 3U);
  ::testing::Test::RecordProperty("sums", static_cast<int>(tally.sums));
}

TEST(Simulation, GivesNoWrongSumAndNoInputInAStorm) { run_storms(1, 400); }

// 10^5 rounds, in parts that can run side by side.
class SlowStorm : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(SlowStorm, GivesNoWrongSumAndNoInput) { run_storms(1'000'000 * GetParam(), 10'000); }
INSTANTIATE_TEST_SUITE_P(SlowParts, SlowStorm, ::testing::Range<std::uint64_t>(1, 11));

}  // namespace
}  // namespace noisefloor::secagg
