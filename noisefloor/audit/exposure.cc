#include "noisefloor/audit/exposure.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace noisefloor::audit {

Result<double> exposure(std::uint64_t rank, std::uint64_t candidates) {
  if (rank == 0 || rank > candidates) {
    return invalid_argument(fmt::format("a rank of {} among {} candidates: ranks begin at 1", rank, candidates));
  }
  return std::log2(static_cast<double>(candidates)) - std::log2(static_cast<double>(rank));
}

double most_median_exposure(PrivacyLoss epsilon, Delta delta) {
  const double share = 0.5 - delta.value();
  if (share <= 0) return std::numeric_limits<double>::infinity();
  return epsilon.value() / std::log(2.0) - std::log2(share);
}

}  // namespace noisefloor::audit
