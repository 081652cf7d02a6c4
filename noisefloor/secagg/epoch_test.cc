#include "noisefloor/secagg/epoch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "noisefloor/secagg/keys.h"
#include "noisefloor/secagg/simulation.h"

namespace noisefloor::secagg {
namespace {

constexpr std::uint32_t kClients = 7;

// Seven sites, an epoch that begins with round 10, and rounds that follow.
class Sites {
 public:
  explicit Sites(ThreatModel threat = ThreatModel::kLyingServer)
      : stream(ReplayRandom::create(21).value()), cohort(Cohort::draw(kClients, stream)), threat_(threat) {
    policy.threat = threat;
    policy.corrupt = 0;
    policy.drop = 0;
    policy.epoch_rounds = 100;
    const RoundConfig config = config_of(10);
    Server server = Server::create(config, cohort.registry, AgreementKey(cohort.server.clone())).value();
    std::vector<Client> clients;
    for (std::uint32_t i = 0; i < kClients; ++i) {
      clients.push_back(Client::join(config, cohort.registry, i, cohort.keys[i], policy, stream).value());
      EXPECT_FALSE(clients[i].epoch().has_value());  // there is no roster yet
    }
    Opening network(*this, config);
    network.silence(2, MessageType::kMaskedInput);  // its mask key is disclosed: the epoch does not rest on it
    const RoundOutcome first = play_round(server, clients, input, network).value();
    EXPECT_TRUE(first.sum.has_value());
    for (Client& client : clients) {
      sites.push_back(client.epoch().value());
      EXPECT_FALSE(client.epoch().has_value());  // once
    }
    hub.emplace(server.epoch().value());
    EXPECT_FALSE(server.epoch().has_value());
  }

  [[nodiscard]] RoundConfig config_of(std::uint64_t round, std::uint32_t threshold = 4) const {
    RoundConfig config = cohort.config(round, {kClients - 1, threshold, 0, 0}, threat_, 3, 20, 24);
    if (hub.has_value()) config.epoch = hub->terms().id;
    return config;
  }
  Result<Client> resume(const RoundConfig& config, std::uint32_t i) {
    return Client::resume(config, cohort.registry, sites[i], cohort.keys[i], policy, stream);
  }
  Result<Server> resume_server(const RoundConfig& config) {
    return Server::resume(config, cohort.registry, AgreementKey(cohort.server.clone()), *hub);
  }
  // The key that a client and the server have in a round: their channel of the first round, and its chain.
  [[nodiscard]] Secret32 channel_of(std::uint32_t i, std::uint64_t round) const {
    KeyChain chain(server_chain(channels_[i], context_, i));
    return chain.take(round - 11);
  }
  RoundOutcome run(std::uint64_t round, Network& network) {
    const RoundConfig config = config_of(round);
    Server server = resume_server(config).value();
    std::vector<Client> clients;
    for (std::uint32_t i = 0; i < kClients; ++i) clients.push_back(resume(config, i).value());
    return play_round(server, clients, input, network).value();
  }
  static LaneVector input(std::uint32_t client) {
    LaneVector vector(20, 24);
    for (std::uint64_t k = 0; k < 20; ++k) vector.set(k, 1000 * client + k);
    return vector;
  }
  static LaneVector sum_of(const std::vector<std::uint32_t>& clients) {
    LaneVector sum(20, 24);
    for (std::uint64_t k = 0; k < 20; ++k) {
      std::uint64_t total = 0;
      for (const std::uint32_t client : clients) total += 1000 * client + k;
      sum.set(k, total);
    }
    return sum;
  }

  ReplayRandom stream;
  Cohort cohort;
  Policy policy;
  std::vector<ClientEpoch> sites;
  std::optional<ServerEpoch> hub;

 private:
  // Notes what follows from the first round's roster.
  class Opening : public RecordingNetwork {
   public:
    Opening(Sites& sites, const RoundConfig& config) : sites_(sites), config_(digest_of(config)) {}
    std::vector<Message> to_client(std::uint32_t client, Message message) override {
      const Envelope envelope = parse_envelope(message).value();
      if (envelope.type == MessageType::kRoster) {
        const RosterPart roster = parse_roster(envelope.body, kClients).value();
        sites_.context_ = context_of(config_, roster.root, roster.present.bytes());
        const Message* hello = sent(client, MessageType::kAdvertisement);
        const AgreementPublicKey key = parse_advertisement(*parse_envelope(*hello))->channel_key;
        const AgreementKey server(sites_.cohort.server.clone());
        sites_.channels_.push_back(channel_key(server.agree(key).value(), config_));
      }
      return Network::to_client(client, std::move(message));
    }

   private:
    Sites& sites_;
    Digest config_;
  };

  ThreatModel threat_;
  Digest context_{};
  std::vector<Secret32> channels_;
};

TEST(Epoch, GivesExactSumsRoundAfterRound) {
  for (const ThreatModel threat : {ThreatModel::kCuriousServer, ThreatModel::kLyingServer}) {
    Sites sites(threat);
    for (const std::uint64_t round : {11U, 12U, 20U, 21U}) {  // rounds may be left out
      Network network;
      const RoundOutcome outcome = sites.run(round, network);
      ASSERT_TRUE(outcome.sum.has_value());
      EXPECT_EQ(outcome.survivors.size(), kClients);
      EXPECT_EQ(*outcome.sum, Sites::sum_of(outcome.survivors));
    }
  }
}

// Sites leave at every stage, and one is silent at the end as well: what it would have said of its mask with the one
// that left is deposited.
TEST(Epoch, RecoversFromDropouts) {
  Sites sites;
  std::uint64_t round = 11;
  for (const MessageType from : {MessageType::kShares, MessageType::kReceipt, MessageType::kMaskedInput,
                                 MessageType::kConfirmation, MessageType::kUnmasking}) {
    for (const bool silent : {false, true}) {
      RecordingNetwork network;
      network.silence(2, from);
      if (silent) network.silence(5, MessageType::kUnmasking);
      const RoundOutcome outcome = sites.run(round++, network);
      ASSERT_TRUE(outcome.sum.has_value()) << static_cast<int>(from) << silent;
      EXPECT_EQ(outcome.survivors.size(), from > MessageType::kMaskedInput ? 7U : 6U);
      EXPECT_EQ(*outcome.sum, Sites::sum_of(outcome.survivors));
      EXPECT_TRUE(outcome.culprits.empty());
    }
  }
}

// A deposit that holds another seed than the two share gives no wrong sum: the round ends, and the two are named in
// dispute.
TEST(Epoch, GivesNoWrongSumForAFalseDeposit) {
  class FalseDeposit : public RecordingNetwork {
   public:
    explicit FalseDeposit(Secret32 channel) : channel_(std::move(channel)) {}
    std::vector<Message> to_server(std::uint32_t client, Message message) override {
      const Envelope envelope = parse_envelope(message).value();
      if (client == 2 && envelope.type == MessageType::kShares) {
        Bytes body = envelope.body;
        Deposit deposit = take_deposit(body, kClients - 1).value();
        const std::vector<std::uint8_t> other(kMaskSeedBytes, 3);
        deposit.seeds[4] = other;  // of its mask with client 5
        message = shares_message(2, deposit, parse_shares(body, kClients - 1).value(), channel_);
      }
      return RecordingNetwork::to_server(client, std::move(message));
    }

   private:
    Secret32 channel_;
  };
  for (const bool silent : {false, true}) {
    Sites sites;
    FalseDeposit network(sites.channel_of(2, 11));
    network.silence(2, MessageType::kMaskedInput);
    if (silent) network.silence(5, MessageType::kUnmasking);
    const RoundOutcome outcome = sites.run(11, network);
    if (!silent) {
      ASSERT_TRUE(outcome.sum.has_value());
      EXPECT_EQ(*outcome.sum, Sites::sum_of(outcome.survivors));
      continue;
    }
    EXPECT_EQ(outcome.aborted, AbortReason::kBadShares);
    EXPECT_EQ(outcome.disputes, (std::vector<Dispute>{{5, 2}}));
  }
}

TEST(Epoch, IsRefusedByDefault) {
  Sites sites;
  const RoundConfig config = sites.config_of(11);
  sites.policy = Policy{};
  sites.policy.corrupt = 0;
  EXPECT_EQ(sites.resume(config, 0).error(), error_of(AbortReason::kEpochRefused));
  // Nor does a client join such a round as a stranger.
  EXPECT_EQ(Client::join(config, sites.cohort.registry, 0, sites.cohort.keys[0], sites.policy, sites.stream).error(),
            error_of(AbortReason::kEpochRefused));
}

TEST(Epoch, IsOverAfterItsRounds) {
  Sites sites;
  sites.policy.epoch_rounds = 5;
  EXPECT_EQ(sites.resume(sites.config_of(16), 0).error(), error_of(AbortReason::kEpochRefused));
  EXPECT_TRUE(sites.resume(sites.config_of(15), 0).has_value());
  sites.policy.epoch_rounds = 1'000'000;
  EXPECT_EQ(sites.resume(sites.config_of(10 + kMaxEpochRounds + 1), 0).error(), error_of(AbortReason::kEpochRefused));
  EXPECT_FALSE(sites.resume_server(sites.config_of(10 + kMaxEpochRounds + 1)).has_value());
  EXPECT_FALSE(sites.resume_server(sites.config_of(10)).has_value());
}

// The server asks for a round a second time, with another configuration: the keys are gone.
TEST(Epoch, HasEachRoundOnce) {
  Sites sites;
  EXPECT_TRUE(sites.resume(sites.config_of(13), 0).has_value());
  EXPECT_EQ(sites.resume(sites.config_of(13), 0).error(), error_of(AbortReason::kOldRound));
  EXPECT_EQ(sites.resume(sites.config_of(12), 0).error(), error_of(AbortReason::kOldRound));
  EXPECT_EQ(sites.resume(sites.config_of(10), 0).error(), error_of(AbortReason::kOldRound));
  EXPECT_TRUE(sites.resume(sites.config_of(14), 0).has_value());
}

TEST(Epoch, RefusesAnotherEpochAndWeakerRounds) {
  Sites sites;
  RoundConfig lie = sites.config_of(11);
  lie.epoch[0] ^= 1;
  EXPECT_EQ(sites.resume(lie, 0).error(), error_of(AbortReason::kEpochRefused));
  EXPECT_FALSE(sites.resume_server(lie).has_value());
  EXPECT_EQ(sites.resume(sites.config_of(11, 3), 0).error(), error_of(AbortReason::kThresholdTooLow));
  lie = sites.config_of(11);
  lie.threat = ThreatModel::kCuriousServer;
  EXPECT_EQ(sites.resume(lie, 0).error(), error_of(AbortReason::kThreatModelRefused));
  // A refusal leaves the epoch as it was.
  Network network;
  EXPECT_TRUE(sites.run(11, network).sum.has_value());
}

// One site is told another configuration of the same round: its keys come from another context, so its shares open for
// nobody, and it is left out like a dealer of junk.
TEST(Epoch, LeavesOutASiteThatWasToldAnotherConfiguration) {
  Sites sites;
  const RoundConfig config = sites.config_of(11);
  RoundConfig other = config;
  other.model[0] ^= 1;
  Server server = sites.resume_server(config).value();
  std::vector<Client> clients;
  for (std::uint32_t i = 0; i < kClients; ++i) clients.push_back(sites.resume(i == 3 ? other : config, i).value());
  Network network;
  const RoundOutcome outcome = play_round(server, clients, Sites::input, network).value();
  ASSERT_TRUE(outcome.sum.has_value());
  EXPECT_EQ(std::count(outcome.survivors.begin(), outcome.survivors.end(), 3U), 0);
  EXPECT_EQ(*outcome.sum, Sites::sum_of(outcome.survivors));
}

// Keys of a chain are distinct, do not depend on which ones were taken before, and none can be taken again.
TEST(Epoch, ChainsGiveAKeyForEachRound) {
  const auto chain = [] { return KeyChain(Secret32()); };
  std::set<std::vector<std::uint8_t>> keys;
  KeyChain all = chain();
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Secret32 key = all.take(index);
    keys.emplace(key.bytes().begin(), key.bytes().end());
    KeyChain late = chain();
    EXPECT_TRUE(equal_in_constant_time(late.take(index).bytes(), key.bytes()));
  }
  EXPECT_EQ(keys.size(), 20U);
  EXPECT_DEATH(static_cast<void>(all.take(19)), "in order");
}

TEST(Epoch, NeedsACompleteGraph) {
  ReplayRandom stream = ReplayRandom::create(22).value();
  const Cohort cohort = Cohort::draw(12, stream);
  const RoundConfig config = cohort.config(1, {6, 4, 0, 0}, ThreatModel::kLyingServer, 3, 4, 16);
  Policy policy;
  policy.corrupt = 0;
  policy.epoch_rounds = 10;
  Server server = Server::create(config, cohort.registry, AgreementKey(cohort.server.clone())).value();
  std::vector<Client> clients;
  for (std::uint32_t i = 0; i < 12; ++i) {
    clients.push_back(Client::join(config, cohort.registry, i, cohort.keys[i], policy, stream).value());
  }
  Network network;
  const auto input = [](std::uint32_t) { return LaneVector(4, 16); };
  ASSERT_TRUE(play_round(server, clients, input, network).value().sum.has_value());
  EXPECT_EQ(clients[0].epoch().error(), error_of(AbortReason::kEpochRefused));
  EXPECT_EQ(server.epoch().error(), error_of(AbortReason::kEpochRefused));
}

}  // namespace
}  // namespace noisefloor::secagg
