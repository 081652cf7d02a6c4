#include "noisefloor/mechanisms/laplace.h"

#include "noisefloor/mechanisms/dimension.h"

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
  return LaplaceMechanism(calibration, noise, dimension, std::move(statement));
}

LaplaceMechanism::LaplaceMechanism(LaplaceOnLattice calibration, DiscreteLaplace noise, Dimension dimension,
                                   DpStatement statement)
    : calibration_(calibration), noise_(noise), dimension_(dimension), statement_(std::move(statement)) {}

Result<void> LaplaceMechanism::check_dimension(std::size_t got) const { return check_answer_size(dimension_, got); }

double LaplaceMechanism::add_noise(Int128 point, BitStream& stream) const {
  return lattice().to_real(saturating_add(point, noise_.sample(stream)));
}

double LaplaceMechanism::error_bound(Confidence confidence) const {
  return (static_cast<double>(noise_.quantile_of_magnitude(confidence)) + 0.5) * lattice().step();
}

}  // namespace noisefloor
