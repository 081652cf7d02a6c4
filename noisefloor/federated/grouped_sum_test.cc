// Groups of secure sums: who is in which, what they cost, and what liars can do to what comes out.
#include "noisefloor/federated/grouped_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "noisefloor/secagg/costs.h"
#include "noisefloor/secagg/fixed_point.h"
#include "noisefloor/secagg/simulation.h"
#include "tests/support/refusal.h"

namespace noisefloor::federated {
namespace {

using secagg::Cohort;
using secagg::ThreatModel;
using testing::expect_invalid;

secagg::Registry made_up(std::uint32_t clients) {
  secagg::Registry registry(clients);
  for (std::uint32_t i = 0; i < clients; ++i) {
    for (unsigned byte = 0; byte < 4; ++byte) registry[i][byte] = static_cast<std::uint8_t>(i >> (8 * byte));
  }
  return registry;
}

TEST(GroupedSum, EveryClientIsInOneGroupAndAllGroupsAreAsLarge) {
  const secagg::Registry registry = made_up(103);
  const Groups groups(registry, 10, 7);
  std::set<std::uint32_t> seen;
  for (std::uint32_t group = 0; group < 10; ++group) {
    const auto& members = groups.members(group);
    EXPECT_TRUE(members.size() == 10 || members.size() == 11);
    const secagg::Registry theirs = groups.registry_of(group);
    for (std::uint32_t number = 0; number < members.size(); ++number) {
      EXPECT_TRUE(seen.insert(members[number]).second);
      EXPECT_EQ(theirs[number], registry[members[number]]);
      const Groups::Place place = groups.place_of(members[number]);
      EXPECT_EQ(place.group, group);
      EXPECT_EQ(place.number, number);
    }
  }
  EXPECT_EQ(seen.size(), 103U);
  // Everyone computes the same groups; another round, or another registry, has others.
  EXPECT_EQ(Groups(registry, 10, 7).members(3), groups.members(3));
  EXPECT_NE(Groups(registry, 10, 8).members(3), groups.members(3));
  EXPECT_NE(Groups(made_up(104), 10, 7).members(3), groups.members(3));
}

// The number of corrupt clients in a group is hypergeometric. α = 1e-6 (five standard deviations) for the mean over
// 2,000 rounds; groups that were ranges of numbers would have all 10 of them in one group, and fail.
TEST(GroupedSum, GroupsAreDrawnAtRandom) {
  const secagg::Registry registry = made_up(60);
  const auto in_first_group = [&](bool drawn, std::uint64_t round) {
    double corrupt = 0;
    double squares = 0;
    const Groups groups(registry, 6, round);
    for (std::uint32_t group = 0; group < 6; ++group) {
      double here = 0;
      for (std::uint32_t i = 0; i < 10; ++i) {
        if ((drawn ? groups.members(group)[i] : 10 * group + i) < 10) ++here;
      }
      if (group == 0) corrupt = here;
      squares += here * here;
    }
    return std::pair(corrupt, squares);
  };
  for (const bool drawn : {true, false}) {
    double mean = 0;
    double squares = 0;
    for (std::uint64_t round = 0; round < 2000; ++round) {
      const auto [corrupt, sum] = in_first_group(drawn, round);
      mean += corrupt / 2000;
      squares += sum / 2000 / 6;
    }
    const double expected = 10.0 / 6;
    const double variance = 10 * (1.0 / 6) * (5.0 / 6) * (50.0 / 59);
    const bool uniform = std::fabs(mean - expected) < 5 * std::sqrt(variance / 2000) &&
                         std::fabs(squares - expected * expected - variance) < 0.1;
    EXPECT_EQ(uniform, drawn);
  }
}

TEST(GroupedSum, PlansTheFewestGroupsThatStandTheLiars) {
  // A server that follows the protocol: 1,000 clients, 10 liars.
  GroupedSumOptions options{.assumptions = {1000, 0.1, 0.2, ThreatModel::kCuriousServer},
                            .rule = {.rule = RobustRule::kMedian, .liars = 10}};
  const GroupedSumPlan plan = plan_groups(options).value();
  EXPECT_EQ(plan.groups, 21U);
  EXPECT_EQ(plan.size, 47U);  // 13 groups have one more
  EXPECT_GT(plan.smaller.threshold, plan.corrupt);
  EXPECT_GT(plan.larger.threshold, plan.corrupt);
  // With spare groups, more of them; with a rule that needs more, more of them.
  options.lost = 2;
  EXPECT_EQ(plan_groups(options).value().groups, 23U);
  options.lost = 0;
  options.rule = {.rule = RobustRule::kKrum, .liars = 10};
  EXPECT_EQ(plan_groups(options).value().groups, 23U);
  // A server that may lie, after all its tries, asks for larger groups: 1,000 clients stand fewer liars.
  options.rule = {.rule = RobustRule::kMedian, .liars = 10};
  options.assumptions.threat = ThreatModel::kLyingServer;
  expect_invalid(plan_groups(options).error(), "Assume fewer liars");
  options.rule.liars = 3;
  const GroupedSumPlan large = plan_groups(options).value();
  EXPECT_EQ(large.groups, 7U);
  EXPECT_EQ(large.size, 142U);
  for (const auto* topology : {&large.smaller, &large.larger}) EXPECT_LE(topology->log2_insecure, -40);
  options.rule.liars = 4;
  EXPECT_EQ(plan_groups(options).value().groups, 9U);
  // 10^5 clients stand hundreds.
  options.assumptions.clients = 100'000;
  options.rule.liars = 380;
  EXPECT_EQ(plan_groups(options).value().groups, 761U);
}

TEST(GroupedSum, RefusesImpossiblePlans) {
  GroupedSumOptions options{.assumptions = {100, 0.1, 0.2, ThreatModel::kCuriousServer},
                            .rule = {.rule = RobustRule::kMedian, .liars = 40}};
  expect_invalid(plan_groups(options).error(), "cannot be divided into 81 groups");
  options.rule.liars = 2;
  options.groups = 4;
  expect_invalid(plan_groups(options).error(), "");  // 2 of 4
  options.groups = 3;
  options.lost = 3;
  expect_invalid(plan_groups(options).error(), "cannot be missing");
  options.lost = 0;
  options.groups = 5;
  options.assumptions.corrupt = 0.5;
  expect_invalid(plan_groups(options).error(), "too small");
}

// The corrupt clients of a group, in secagg's own words, are those of the plan.
TEST(GroupedSum, AClientInsistsOnThePlansCorruptClients) {
  const GroupedSumPlan plan = plan_groups({.assumptions = {1000, 0.1, 0.2, ThreatModel::kCuriousServer},
                                           .rule = {.rule = RobustRule::kMedian, .liars = 10}})
                                  .value();
  for (const std::uint32_t clients : {plan.size, plan.size + 1}) {
    const secagg::Policy policy = policy_in_group(plan, {}, clients);
    EXPECT_EQ(secagg::corrupt_clients(policy.corrupt, clients), plan.corrupt);
  }
}

// --- Liars, end to end ----------------------------------------------------------------------------------------------

constexpr std::size_t kDimension = 3;

// Rounds of all groups: everyone's vector is near (1, 2, 3), and liars send whatever the modulus holds.
class GroupRounds {
 public:
  GroupRounds(std::uint32_t clients, std::uint32_t groups, std::set<std::uint32_t> liars)
      : stream_(ReplayRandom::create(5).value()),
        cohort_(Cohort::draw(clients, stream_)),
        groups_(cohort_.registry, groups, 1),
        liars_(std::move(liars)) {}

  const Groups& groups() const { return groups_; }
  static double value_of(std::uint32_t client, std::size_t k) {
    return static_cast<double>(k + 1) + 0.01 * static_cast<double>(client % 7);
  }
  // The mean of a group's honest clients.
  [[nodiscard]] double honest_mean(std::uint32_t group, std::size_t k) const {
    double sum = 0;
    double count = 0;
    for (const std::uint32_t client : groups_.members(group)) {
      if (liars_.contains(client)) continue;
      sum += value_of(client, k);
      ++count;
    }
    return sum / count;
  }
  [[nodiscard]] bool is_spoilt(std::uint32_t group) const {
    return std::any_of(groups_.members(group).begin(), groups_.members(group).end(),
                       [&](std::uint32_t client) { return liars_.contains(client); });
  }

  std::vector<GroupSum> play(secagg::Network& network) {
    std::vector<GroupSum> sums;
    for (std::uint32_t group = 0; group < groups_.count(); ++group) {
      const std::vector<std::uint32_t>& members = groups_.members(group);
      const auto size = static_cast<std::uint32_t>(members.size());
      Cohort cohort;  // that of the group
      cohort.registry = groups_.registry_of(group);
      cohort.server = cohort_.server.clone();
      cohort.replayed = true;
      const secagg::FixedPoint code =
          secagg::FixedPoint::create({.dimension = kDimension, .bound = 8, .step = 0x1p-20, .clients = size}).value();
      const secagg::RoundConfig config =
          cohort.config(1, {size - 1, size / 2 + 1, 0, 0}, ThreatModel::kLyingServer, 3, code.dimension(), code.bits());
      secagg::Policy policy;
      policy.corrupt = 0;
      secagg::Server server =
          secagg::Server::create(config, cohort.registry, AgreementKey(cohort.server.clone())).value();
      std::vector<secagg::Client> clients;
      for (std::uint32_t i = 0; i < size; ++i) {
        clients.push_back(
            secagg::Client::join(config, cohort.registry, i, cohort_.keys[members[i]], policy, stream_).value());
      }
      const auto input = [&](std::uint32_t i) {
        if (liars_.contains(members[i])) {
          secagg::LaneVector lie(code.dimension(), code.bits());
          for (std::size_t k = 0; k < kDimension; ++k) lie.set(k, (std::uint64_t{1} << (code.bits() - 1)) - 1);
          return lie;
        }
        std::vector<double> vector;
        for (std::size_t k = 0; k < kDimension; ++k) vector.push_back(value_of(members[i], k));
        return code.encode(stream_, vector);
      };
      const secagg::RoundOutcome outcome = play_round(server, clients, input, network).value();
      if (!outcome.sum.has_value()) continue;
      sums.push_back({group, code.decode(*outcome.sum).values, static_cast<double>(outcome.survivors.size())});
    }
    return sums;
  }

 private:
  ReplayRandom stream_;
  Cohort cohort_;
  Groups groups_;
  std::set<std::uint32_t> liars_;
};

// Two clients that send the largest vectors there are move the mean of all sums anywhere, and the median by nothing
// that honest groups would not have said. They work in one group or in two.
TEST(GroupedSum, LiarsSpoilTheirOwnGroupsAlone) {
  for (const std::set<std::uint32_t>& liars : {std::set<std::uint32_t>{3, 17}, std::set<std::uint32_t>{4}}) {
    GroupRounds run(30, 5, liars);
    secagg::Network network;
    const std::vector<GroupSum> sums = run.play(network);
    ASSERT_EQ(sums.size(), 5U);
    const auto combined = [&](RobustRule rule) {
      return combine_groups({.rule = rule, .liars = rule == RobustRule::kMean ? 0U : 2U}, sums).value().value;
    };
    for (std::size_t k = 0; k < kDimension; ++k) {
      double least = 1e9;
      double most = -1e9;
      for (std::uint32_t group = 0; group < 5; ++group) {
        if (run.is_spoilt(group)) continue;
        least = std::min(least, run.honest_mean(group, k));
        most = std::max(most, run.honest_mean(group, k));
      }
      EXPECT_GT(std::fabs(combined(RobustRule::kMean)[k] - static_cast<float>(k + 1)), 1);
      for (const RobustRule rule : {RobustRule::kMedian, RobustRule::kTrimmedMean}) {
        EXPECT_GE(combined(rule)[k], least - 1e-5);
        EXPECT_LE(combined(rule)[k], most + 1e-5);
      }
    }
  }
}

// A group that ends without a sum is missing; the others still have to be enough for the rule.
TEST(GroupedSum, AGroupMayBeMissing) {
  class OneGroupIsSilent : public secagg::Network {
   public:
    std::vector<secagg::Message> to_server(std::uint32_t client, secagg::Message message) override {
      const auto type = secagg::parse_envelope(message)->type;
      if (type == secagg::MessageType::kAdvertisement && client == 0) ++group_;
      if (group_ == 2 && type == secagg::MessageType::kMaskedInput && client > 1) return {};
      return Network::to_server(client, std::move(message));
    }

   private:
    int group_ = -1;
  };
  GroupRounds run(30, 5, {4});
  OneGroupIsSilent network;
  const std::vector<GroupSum> sums = run.play(network);
  ASSERT_EQ(sums.size(), 4U);
  EXPECT_TRUE(combine_groups({.rule = RobustRule::kMedian, .liars = 1}, sums).has_value());
  expect_invalid(combine_groups({.rule = RobustRule::kMedian, .liars = 2}, sums).error(), "");
}

TEST(GroupedSum, GroupsThatAreNoNumbersCountAsSpoilt) {
  const std::vector<GroupSum> sums = {
      {0, {4, 8}, 4}, {1, {4, 8}, 0}, {2, {1e300, 8}, 1e-9}, {3, {2, 4}, 2}, {4, {3, 6}, 3}};
  const Combined combined = combine_groups({.rule = RobustRule::kMedian, .liars = 2}, sums).value();
  EXPECT_EQ(combined.value, (std::vector<float>{1, 2}));
  EXPECT_EQ(combined.left_out, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_FALSE(combine_groups({.rule = RobustRule::kMedian, .liars = 1}, sums).has_value());
}

// What it costs a client at d = 10^5: less than one sum of everyone, because groups are small and complete.
TEST(GroupedSum, CostsAClientLessThanOneSumOfEveryone) {
  const secagg::Assumptions everyone{1000, 0.1, 0.2, ThreatModel::kLyingServer};
  const GroupedSumPlan plan =
      plan_groups({.assumptions = everyone, .rule = {.rule = RobustRule::kMedian, .liars = 3}}).value();
  secagg::Assumptions group = everyone;
  group.clients = plan.size;
  const secagg::SideCost alone = cost_of_round(everyone, find_topology(everyone).value(), 100'000, 16).client;
  const secagg::SideCost grouped = cost_of_round(group, plan.smaller, 100'000, 16).client;
  EXPECT_LT(grouped.mask_bytes, 0.6 * alone.mask_bytes);
  EXPECT_LT(grouped.agreements, 0.6 * alone.agreements);
  EXPECT_LE(grouped.sent_bytes, alone.sent_bytes);
  RecordProperty("grouped_us", static_cast<int>(1e6 * grouped.seconds()));
  RecordProperty("alone_us", static_cast<int>(1e6 * alone.seconds()));
}

}  // namespace
}  // namespace noisefloor::federated
