// Divides the rows of one table among the sites of a simulation.
//
// Kinds:         kEven       shuffled, as many for each as for the others
//                kDirichlet  for each class, shares of its rows drawn from Dirichlet(α, …, α): small α, few classes at
//                            a site. Drawn again until each site has the least number of rows
//                kLabels     rows sorted by class, cut into sites · shards pieces, and `shards` random ones for each
//                            site
//                kQuantity   shuffled; the number of rows of each site is drawn from Dirichlet(α, …, α)
// Guarantee:     every row is at one site. The same options and labels give the same parts on every machine.
// Implements:    Hsu et al. 2019 (Dirichlet); McMahan et al. 2017 (shards of labels).
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor::federated {

enum class PartitionKind : std::uint8_t { kEven, kDirichlet, kLabels, kQuantity };
// The names that users write.
inline constexpr std::array<std::pair<std::string_view, PartitionKind>, 4> kPartitions{
    {{"even", PartitionKind::kEven},
     {"dirichlet", PartitionKind::kDirichlet},
     {"labels", PartitionKind::kLabels},
     {"quantity", PartitionKind::kQuantity}}};

struct PartitionOptions {
  PartitionKind kind = PartitionKind::kEven;
  std::uint32_t sites = 2;
  double alpha = 1;          // kDirichlet, kQuantity
  std::uint32_t shards = 2;  // kLabels
  std::uint64_t least = 1;   // rows of a site
  std::uint64_t seed = 0;
};

// The numbers of each site's rows, ascending. `labels` are those of all rows, in 0 … classes − 1; kDirichlet and
// kLabels need them. Fails if there are too few rows, or if no draw of 1000 gives every site its least number.
[[nodiscard]] Result<std::vector<std::vector<std::uint64_t>>> partition_rows(const PartitionOptions& options,
                                                                             std::uint64_t rows,
                                                                             std::span<const std::int32_t> labels,
                                                                             std::int32_t classes);

}  // namespace noisefloor::federated
