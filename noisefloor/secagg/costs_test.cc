#include "noisefloor/secagg/costs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/secagg/simulation.h"
#include "noisefloor/secagg/test_roster.h"

namespace noisefloor::secagg {
namespace {

class Counting : public Network {
 public:
  std::vector<Message> to_server(std::uint32_t client, Message message) override {
    (client == 3 ? sent : others) += static_cast<double>(message.size());
    return Network::to_server(client, std::move(message));
  }
  std::vector<Message> to_client(std::uint32_t client, Message message) override {
    if (client == 3) received += static_cast<double>(message.size());
    return Network::to_client(client, std::move(message));
  }
  double sent = 0;
  double received = 0;
  double others = 0;
};

TEST(Costs, CountTheBytesOfARound) {
  for (const ThreatModel threat : {ThreatModel::kCuriousServer, ThreatModel::kLyingServer}) {
    const Assumptions assumptions{40, 0.05, 0, threat};
    const Topology topology = find_topology(assumptions).value();
    ReplayRandom stream = ReplayRandom::create(1).value();
    const Cohort cohort = Cohort::draw(40, stream);
    const RoundConfig config = cohort.config(1, topology, threat, 30, 1000, 13);
    const Policy policy{.threat = threat, .corrupt = 0.05, .drop = 0, .last_round = {}};
    Counting network;
    const auto input = [](std::uint32_t) { return LaneVector(1000, 13); };
    ASSERT_TRUE(simulate_round(cohort, config, policy, input, stream, network).value().sum.has_value());
    const RoundCost cost = cost_of_round(assumptions, topology, 1000, 13);
    EXPECT_EQ(cost.client.sent_bytes, network.sent);
    EXPECT_NEAR(cost.client.received_bytes, network.received, 32 * 12);  // a dozen hashes more or less
    EXPECT_EQ(cost.server.received_bytes, network.sent + network.others);
    EXPECT_EQ(cost.payload_bytes, 1625);
  }
}

TEST(Costs, AreSmallForAThousandClients) {
  const Assumptions assumptions{1000, 0.1, 0.2};
  const RoundCost cost = cost_of_round(assumptions, find_topology(assumptions).value(), 1U << 20, 16);
  EXPECT_LT(cost.client.sent_bytes, 1.02 * cost.payload_bytes);
  EXPECT_LT(cost.client.sent_bytes, 0.55 * cost.plain_bytes);
  EXPECT_EQ(cost.client.mask_bytes, 67 * 0x1p21);
  EXPECT_EQ(cost.server.mask_bytes, (800 + 200 * 66 * 0.8) * 0x1p21);
  EXPECT_GT(cost.server.seconds(), 0.5);
  EXPECT_LT(cost.server.seconds(), 5);
}

// What a client receives beside keys, proofs and shares of its neighbours: a bit for each client in each of three sets,
// and the committee's signatures.
TEST(Costs, DownloadsGrowLittleWithTheCohort) {
  double last = 0;
  for (const std::uint32_t clients : {1'000U, 10'000U, 100'000U}) {
    for (const Assumptions& assumptions :
         {Assumptions{clients, 0.05, 0.05, ThreatModel::kLyingServer}, Assumptions{clients, 0.1, 0.2}}) {
      const Topology topology = find_topology(assumptions).value();
      const RoundCost cost = cost_of_round(assumptions, topology, 1000, 16);
      EXPECT_LT(cost.client.received_bytes - cost.neighbour_bytes, 100 * 1024) << clients;
      EXPECT_LT(cost.neighbour_bytes, topology.degree * (128 + 104 + 32 * std::log2(clients))) << clients;
      last = cost.client.received_bytes;
    }
  }
  EXPECT_LT(last, 132 * 100'000 / 50);  // the whole roster had 132 bytes for each client
}

// The messages themselves for a client of 10^5, against a server that may lie, with 10 % corrupt and 20 % dropping out:
// what they hold beside keys, shares and proofs of its 442 neighbours is below 100 KiB.
TEST(Costs, MessagesForOneOf100000ClientsAreSmall) {
  constexpr std::uint32_t clients = 100'000;
  const Assumptions assumptions{clients, 0.1, 0.2, ThreatModel::kLyingServer};
  const Topology topology = find_topology(assumptions).value();
  EXPECT_EQ(topology.degree, 442U);
  RoundConfig config;
  config.clients = clients;
  config.degree = topology.degree;
  std::vector<Advertisement> entries(clients);
  for (std::uint32_t i = 0; i < clients; ++i) {
    entries[i].client = i;
    for (unsigned byte = 0; byte < 4; ++byte) entries[i].mask_key[byte] = static_cast<std::uint8_t>(i >> (8 * byte));
  }
  const TestRoster roster(config, entries);
  const Secret32 channel;
  const std::size_t degree = roster.graph().neighbours(7).size();
  ClientSet neighbours(static_cast<std::uint32_t>(degree));
  for (std::uint32_t i = 0; i < degree; ++i) neighbours.insert(i);
  const Message keys = roster.message(7, channel);
  const Message delivery = delivery_message(7, {Digest{}, neighbours, std::vector<SealedShares>(degree)}, channel);
  std::vector<Confirmation> signatures(topology.threshold);
  const std::size_t everything = keys.size() + delivery.size() +
                                 2 * survivors_message(7, ClientSet(clients), channel).size() +
                                 confirmations_message(7, signatures, channel).size();
  const std::size_t proof = keys.size() - kHeaderBytes - kTagBytes - 32 - (clients + 7) / 8 - kKeysBytes * degree;
  const std::size_t of_neighbours = (kKeysBytes + kSealedBytes) * degree + proof;
  EXPECT_LT(everything - of_neighbours, 100 * 1024);
  EXPECT_LT(proof, degree * 32 * 12);  // log2(10^5 / 442) is 7.8
  const RoundCost cost = cost_of_round(assumptions, topology, 1000, 16);
  EXPECT_NEAR(static_cast<double>(everything), cost.client.received_bytes, 0.02 * cost.client.received_bytes);
  RecordProperty("everything", static_cast<int>(everything));
  RecordProperty("of_neighbours", static_cast<int>(of_neighbours));
}

TEST(Costs, APlannedRoundHasItsTopologyAndCost) {
  const Assumptions assumptions{1000, 0.1, 0.2};
  const PlannedRound planned = plan_round(assumptions, 1000, 16).value();
  const Topology topology = find_topology(assumptions).value();
  EXPECT_EQ(planned.topology.degree, topology.degree);
  EXPECT_EQ(planned.topology.threshold, topology.threshold);
  EXPECT_EQ(planned.cost.client.sent_bytes, cost_of_round(assumptions, topology, 1000, 16).client.sent_bytes);
  EXPECT_FALSE(plan_round({100, 0.6, 0.5}, 1000, 16).has_value());
}

}  // namespace
}  // namespace noisefloor::secagg
