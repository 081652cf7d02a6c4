#include "noisefloor/federated/grouped_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/hash.h"

namespace noisefloor::federated {
namespace {

Result<secagg::Topology> topology_for(const GroupedSumOptions& options, std::uint32_t clients, std::uint32_t corrupt) {
  secagg::Assumptions group = options.assumptions;
  group.clients = clients;
  group.minimum_roster = 0;
  group.corrupt = static_cast<double>(corrupt) / clients;
  return secagg::find_topology(group);
}

Result<GroupedSumPlan> plan_of(const GroupedSumOptions& options, std::uint32_t groups) {
  GroupedSumPlan plan{options, groups, options.assumptions.clients / groups, 0, {}, {}};
  const std::uint32_t size = plan.size + (options.assumptions.clients % groups > 0 ? 1 : 0);
  NF_TRY(plan.corrupt, secagg::most_corrupt_in(options.assumptions, size, groups));
  for (const std::uint32_t clients : {plan.size, size}) {
    const auto topology = clients < 2 || plan.corrupt + 2 > clients ? Result<secagg::Topology>(invalid_argument(""))
                                                                    : topology_for(options, clients, plan.corrupt);
    if (!topology.has_value()) {
      return invalid_argument(fmt::format(
          "{} groups of {} clients are too small: {} of a group may be corrupt. Assume fewer liars, fewer corrupt "
          "clients or fewer dropouts, or register more clients",
          groups, clients, plan.corrupt));
    }
    (clients == plan.size ? plan.smaller : plan.larger) = topology.value();
  }
  if (size == plan.size) plan.larger = plan.smaller;
  return plan;
}

// NaN marks a group as spoilt.
float mean_of(double sum, double weight) {
  const double mean = sum / weight;
  if (!(weight > 0) || !(std::fabs(mean) <= std::numeric_limits<float>::max())) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return static_cast<float>(mean);
}

}  // namespace

Result<GroupedSumPlan> plan_groups(const GroupedSumOptions& options) {
  const std::uint32_t clients = options.assumptions.clients;
  std::uint32_t groups = options.groups;
  if (groups == 0) {
    groups = options.lost + 1;
    while (groups <= clients && !check_robust(options.rule, groups - options.lost).has_value()) ++groups;
  }
  if (groups < 1 || groups > clients / 2) {
    return invalid_argument(fmt::format("{} clients cannot be divided into {} groups", clients, groups));
  }
  if (groups <= options.lost) {
    return invalid_argument(fmt::format("of {} groups, {} cannot be missing", groups, options.lost));
  }
  NF_TRY_VOID(check_robust(options.rule, groups - options.lost));
  return plan_of(options, groups);
}

Groups::Groups(const secagg::Registry& registry, std::uint32_t groups, std::uint64_t round)
    : registry_(&registry), members_(groups) {
  const auto clients = static_cast<std::uint32_t>(registry.size());
  NF_CHECK(groups >= 1 && groups <= clients, "a group has a client");
  // Every client gets a random number. They stand in that order, and take turns among the groups.
  const Digest seed = secagg::digest_of(registry);
  std::vector<Digest> ranks;
  ranks.reserve(clients);
  for (std::uint32_t client = 0; client < clients; ++client) {
    std::string text = "noisefloor grouped sum 1";
    text.append(reinterpret_cast<const char*>(seed.data()), seed.size());
    for (const std::uint64_t number : {round, std::uint64_t{client}}) {
      for (unsigned byte = 0; byte < 8; ++byte) text.push_back(static_cast<char>(number >> (8 * byte)));
    }
    ranks.push_back(blake2b(text));
  }
  std::vector<std::uint32_t> order(clients);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return ranks[a] < ranks[b]; });
  for (std::uint32_t i = 0; i < clients; ++i) members_[i % groups].push_back(order[i]);
  for (auto& group : members_) std::sort(group.begin(), group.end());
}

secagg::Registry Groups::registry_of(std::uint32_t group) const {
  secagg::Registry registry;
  for (const std::uint32_t client : members_[group]) registry.push_back((*registry_)[client]);
  return registry;
}

Groups::Place Groups::place_of(std::uint32_t client) const {
  for (std::uint32_t group = 0; group < count(); ++group) {
    const auto found = std::lower_bound(members_[group].begin(), members_[group].end(), client);
    if (found == members_[group].end() || *found != client) continue;
    return {group, static_cast<std::uint32_t>(found - members_[group].begin())};
  }
  NF_UNREACHABLE("every client of the registry is in a group");
}

secagg::Policy policy_in_group(const GroupedSumPlan& plan, secagg::Policy own, std::uint32_t clients) {
  own.corrupt = static_cast<double>(plan.corrupt) / clients;
  own.drop = plan.options.assumptions.drop;
  return own;
}

Result<Combined> combine_groups(const RobustOptions& rule, std::span<const GroupSum> groups,
                                std::span<const float> centre) {
  std::vector<std::vector<float>> means;
  std::vector<ClientVector> vectors;
  means.reserve(groups.size());
  for (const GroupSum& each : groups) {
    std::vector<float>& mean = means.emplace_back();
    mean.reserve(each.sum.size());
    for (const double value : each.sum) mean.push_back(mean_of(value, each.weight));
    vectors.push_back({each.group, mean});
  }
  return combine_robustly(rule, std::move(vectors), centre);
}

}  // namespace noisefloor::federated
