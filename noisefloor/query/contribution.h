// How far one unit moves the totals of all groups.
//
// Internal to query/.
//
// Guarantee:     for every two data sets that are neighbours under the adjacency, the vectors of totals differ by at
//                most l1 and l2 in these norms, if a unit is in at most `groups` groups, adds between low and high to
//                each, and has at most max_rows rows in all of them, of which each adds at most `each`. Without
//                max_rows, some neighbours reach the bounds exactly (l2 up to its rounding).
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/wide_int.h"

namespace noisefloor::query {

struct Contribution {
  std::int64_t low = 0;   // of one unit to one group, at most 0
  std::int64_t high = 1;  // at least 0
  std::uint64_t groups = 1;
  bool one_group = true;  // the query has no groups: both neighbours move the same total
  std::optional<std::uint64_t> max_rows = {};
  std::int64_t each = 1;
};

struct Sensitivities {
  Uint128 l1 = 1;
  double l2 = 1;  // rounded up
};

[[nodiscard]] Sensitivities sensitivities_of(const Contribution& contribution, Adjacency adjacency);

}  // namespace noisefloor::query
