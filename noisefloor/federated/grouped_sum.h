// Secure sums within groups, and a robust combination of the groups: nobody sees a single client's vector, and a few
// clients that lie about theirs spoil their own groups and not the result.
//
// Guarantee:     each client is in one group, so f liars spoil f groups at most, whatever they send and however they
//                work together. What combine_groups() makes of the groups' means stands f of them as its rule does
//                (robust.h): with kMedian and kTrimmedMean every coordinate lies between the least and the greatest
//                mean of the groups without a liar. Who is in which group follows from the registry and the round by a
//                hash. Clients compute it themselves, so the server cannot gather its own clients around a victim: a
//                group has more than `corrupt` of them with probability 2^-security_bits at most, after
//                2^grinding_bits tries, and each group's sum is as secret as a round with that many is (secagg/).
// Privacy:       every group's sum is shown. A client hides among the clients of its group. A client is in one group,
//                so the release of all groups costs what the statement of one group's noise says; the noise of the
//                groups adds up to √groups times that of one sum of everyone.
// Not covered:   a liar may send any vector within the modulus, and shift its group; liars within the spread of honest
//                groups are not found; f is an assumption. Nobody learns who lied (docs/adr/0027).
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/federated/robust.h"
#include "noisefloor/secagg/client.h"
#include "noisefloor/secagg/parameters.h"

namespace noisefloor::federated {

struct GroupedSumOptions {
  secagg::Assumptions assumptions;  // of the registry
  RobustOptions rule{.rule = RobustRule::kMedian, .liars = 1};
  std::uint32_t lost = 0;    // groups that may end without a sum
  std::uint32_t groups = 0;  // 0: the fewest that stand these liars when `lost` of them are missing
};

struct GroupedSumPlan {
  GroupedSumOptions options;
  std::uint32_t groups;
  std::uint32_t size;          // clients of a group: this many, or one more
  std::uint32_t corrupt;       // no group has more corrupt clients
  secagg::Topology smaller{};  // of a round among `size` clients, and among one more
  secagg::Topology larger{};

  [[nodiscard]] const secagg::Topology& topology_of(std::uint32_t clients) const {
    return clients == size ? smaller : larger;
  }
};

// Refused where the rule does not stand the liars, and where groups are too small for their share of corrupt clients
// and dropouts.
[[nodiscard]] Result<GroupedSumPlan> plan_groups(const GroupedSumOptions& options);

// Who is in which group. Server and clients compute it from the same registry.
class Groups {
 public:
  // Requires 1 ≤ groups ≤ clients (checked).
  Groups(const secagg::Registry& registry, std::uint32_t groups, std::uint64_t round);

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(members_.size()); }
  // A group's clients by their numbers in the registry, ascending. A client's number within its group is its index.
  [[nodiscard]] const std::vector<std::uint32_t>& members(std::uint32_t group) const { return members_[group]; }
  // The registry of a group: that of its round.
  [[nodiscard]] secagg::Registry registry_of(std::uint32_t group) const;

  struct Place {
    std::uint32_t group;
    std::uint32_t number;  // within the group
  };
  // Requires a client of the registry (checked).
  [[nodiscard]] Place place_of(std::uint32_t client) const;

 private:
  const secagg::Registry* registry_;
  std::vector<std::vector<std::uint32_t>> members_;
};

// What a client insists on in the round of its group of `clients` clients: its own policy, with the corrupt clients of
// the plan.
[[nodiscard]] secagg::Policy policy_in_group(const GroupedSumPlan& plan, secagg::Policy own, std::uint32_t clients);

// The sum of one group, decoded, and how many clients or what weight it is of.
struct GroupSum {
  std::uint32_t group;
  std::vector<double> sum;
  double weight;
};

// Combines the groups' means by the rule. A group whose weight is not positive, or whose mean is not finite, counts as
// spoilt. Fails if too few groups are left for the rule (`centre` is that of combine_robustly).
[[nodiscard]] Result<Combined> combine_groups(const RobustOptions& rule, std::span<const GroupSum> groups,
                                              std::span<const float> centre = {});

}  // namespace noisefloor::federated
