// The transform of a Gaussian mechanism's loss, in closed form: φ(s) = e^{s (s + 1) μ²/2}.
//
// Any number of Gaussian mechanisms compose to one, with μ² the sum of theirs.
// Thread safety: const after construction.
//
// Internal to accounting/.
#pragma once

#include <memory>

#include "noisefloor/accounting/loss_transform.h"

namespace noisefloor {

class GaussianTransform final : public LossTransform {
 public:
  // Requires μ² > 0.
  explicit GaussianTransform(double mu_squared) : mu_squared_(mu_squared) {}

  [[nodiscard]] MomentEstimate estimate(double c) const override;
  [[nodiscard]] double max_loss() const override;
  [[nodiscard]] std::unique_ptr<LossTransform> truncated(double mass) const override;
  [[nodiscard]] double lost_mass() const override { return 0; }
  [[nodiscard]] std::unique_ptr<TransformOnLine> on_line(double c) const override;

 private:
  double mu_squared_;
};

}  // namespace noisefloor
