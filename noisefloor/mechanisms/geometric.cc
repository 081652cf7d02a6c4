#include "noisefloor/mechanisms/geometric.h"

#include <fmt/format.h>

#include <cmath>

#include "noisefloor/base/rounding.h"
#include "noisefloor/base/wide_int.h"

namespace noisefloor {

Result<GeometricMechanism> GeometricMechanism::create(const Sensitivity& sensitivity, Epsilon epsilon) {
  const double l1 = sensitivity.l1.value();
  if (l1 != std::floor(l1)) {
    return invalid_argument(fmt::format("the geometric mechanism needs a whole sensitivity; got {}", l1));
  }
  const double scale = divided_up(l1, epsilon.value());
  if (!(scale >= DiscreteLaplace::kMinScale && scale <= DiscreteLaplace::kMaxScale)) {
    return invalid_argument(
        fmt::format("epsilon {} for a sensitivity of {} needs noise of scale {:.3g}; exact noise has {:.3g} to {:.3g}",
                    epsilon.value(), l1, scale, DiscreteLaplace::kMinScale, DiscreteLaplace::kMaxScale));
  }
  NF_TRY(const NoiseScale noise_scale, NoiseScale::make(scale));
  NF_TRY(const DiscreteLaplace noise, DiscreteLaplace::create(noise_scale));
  return GeometricMechanism(noise, {sensitivity.neighbours.adjacency, sensitivity.neighbours.unit,
                                    DiscreteLaplaceEvent{noise_scale, sensitivity.l1}});
}

std::int64_t GeometricMechanism::add_noise(std::int64_t count, BitStream& stream) const {
  return saturate_to_int64(Int128{count} + noise_.sample(stream));
}

}  // namespace noisefloor
