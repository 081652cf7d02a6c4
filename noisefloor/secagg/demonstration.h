// A demonstration of secure sums that anyone can follow: five clients, one server that may lie, and three rounds. In
// the first everyone stays, in the second one client falls silent after its keys were shared, and in the third two do,
// which is one more than the round can bear.
//
// Guarantee:     the same stream gives the same demonstration. Updates and keys are made up.
// Errors:        kInternal if a round that should give a sum gives none, or one below its threshold gives one.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/secagg/abort.h"

namespace noisefloor::secagg {

inline constexpr std::uint32_t kDemonstrationClients = 5;
inline constexpr std::uint64_t kDemonstrationDimension = 4;
// Updates are rounded to multiples of this.
inline constexpr double kDemonstrationStep = 0x1p-40;

struct RecoveredSum {
  std::vector<std::uint32_t> survivors;  // the clients whose updates are in the sum
  std::vector<double> sum;               // what the server has recovered
  std::vector<double> true_sum;          // of the updates themselves
  double error = 0;                      // the largest difference between the two
};

struct Demonstration {
  std::vector<double> masked;  // what client 0 sent in the first round, read as if it were an update
  std::vector<double> update;  // of client 0
  RecoveredSum everyone;
  RecoveredSum one_dropped;     // without client 2
  AbortReason below_threshold;  // how the round without clients 1 and 2 ended
};

[[nodiscard]] Result<Demonstration> demonstrate(ReplayRandom& stream);

}  // namespace noisefloor::secagg
