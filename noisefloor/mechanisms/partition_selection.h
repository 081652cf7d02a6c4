// Which groups may be named at all? A group that exists only because of one person gives that person away. Partition
// selection keeps a group with a probability that depends on how many units are in it, and nearly never if it is one.
//
//   truncated-geometric   keeps as many groups as any rule can, up to a factor e^ε of δ  (Desfontaines et al. 2020)
//   laplace               noised count at or above a threshold                          (Korolova et al. 2009)
//   gaussian              the same with Gaussian noise: better where a unit is in many groups
//
// Guarantee:     (ε, δ)-DP for the set of groups that are kept, where one unit is in at most `max_partitions` groups
//                and counts once in each. Exact: integer noise and whole thresholds, rounded to the safe side.
// Adjacency:     add-remove. (Replacing a unit is removing one and adding one: at most twice the cost.)
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "noisefloor/mechanisms/gaussian.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/random/discrete_laplace.h"

namespace noisefloor {

enum class PartitionRule : std::uint8_t { kTruncatedGeometric, kLaplace, kGaussian };

[[nodiscard]] std::string_view name_of(PartitionRule rule);  // "truncated-geometric", "laplace", "gaussian"

class PartitionSelection {
 public:
  // Requires delta > 0.
  [[nodiscard]] static Result<PartitionSelection> create(Epsilon epsilon, Delta delta, std::uint64_t max_partitions = 1,
                                                         PartitionRule rule = PartitionRule::kTruncatedGeometric,
                                                         PrivacyUnit unit = PrivacyUnit::kPerson);

  // For each group, given the number of units in it, whether it is kept. Groups without units are never kept. Publish
  // the names of the kept ones only: how many groups were given is as private as their names.
  template <RandomSource Source>
  [[nodiscard]] Release<Source, std::vector<bool>> release(std::span<const std::uint64_t> units, Source& source) const {
    std::vector<bool> kept;
    kept.reserve(units.size());
    for (std::uint64_t count : units) kept.push_back(keep(count, source));
    return Release<Source, std::vector<bool>>(std::move(kept), statement_);
  }

  [[nodiscard]] const DpStatement& statement() const { return statement_; }

  // Probability that a group of this many units is kept.
  [[nodiscard]] double keep_probability(std::uint64_t units) const;

  // The fewest units with which a group is more likely kept than not.
  [[nodiscard]] std::uint64_t typical_threshold() const;

 private:
  PartitionSelection(PartitionRule rule, DpStatement statement) : rule_(rule), statement_(std::move(statement)) {}

  [[nodiscard]] bool keep(std::uint64_t units, BitStream& stream) const;

  PartitionRule rule_;
  DpStatement statement_;
  std::optional<DiscreteLaplace> laplace_;     // for the geometric and the Laplace rule
  std::optional<GaussianMechanism> gaussian_;  // for the Gaussian rule
  double threshold_ = 0;         // kept if the noised count is at least this; whole except for the Gaussian rule
  std::int64_t truncation_ = 0;  // truncated geometric: noise is conditioned on |noise| ≤ truncation = threshold − 1
};

}  // namespace noisefloor
