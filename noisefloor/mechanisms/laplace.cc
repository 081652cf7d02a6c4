#include "noisefloor/mechanisms/laplace.h"

namespace noisefloor {

Result<LaplaceMechanism> LaplaceMechanism::create(const Sensitivity& sensitivity, Epsilon epsilon,
                                                  Dimension dimension) {
  return create_rounded(sensitivity, epsilon, dimension, dimension.value());
}

Result<LaplaceMechanism> LaplaceMechanism::create_for_sum(const Sensitivity& sensitivity, Epsilon epsilon, Rows rows) {
  return create_rounded(sensitivity, epsilon, kScalar, rows.value());
}

Result<LaplaceMechanism> LaplaceMechanism::create_rounded(const Sensitivity& sensitivity, Epsilon epsilon,
                                                          Dimension dimension, std::uint64_t roundings) {
  NF_TRY(const LaplaceOnLattice calibration, laplace_on_lattice(sensitivity.l1, epsilon, roundings));
  NF_TRY(const DiscreteLaplace noise, DiscreteLaplace::create(calibration.scale));
  DpStatement statement{sensitivity.neighbours.adjacency, sensitivity.neighbours.unit,
                        DiscreteLaplaceEvent{calibration.scale, calibration.sensitivity}};
  return LaplaceMechanism(calibration.lattice, noise, dimension, std::move(statement));
}

double LaplaceMechanism::error_bound(Confidence confidence) const {
  return (static_cast<double>(noise().quantile_of_magnitude(confidence)) + 0.5) * lattice().step();
}

}  // namespace noisefloor
