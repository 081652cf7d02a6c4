// The transform of a loss on atoms: Σ mass e^{s · loss} on a line, at all nodes at once.
//
// Guarantee:     as loss_transform.h states, for the law whose masses and losses are exactly these doubles.
// Implements:    a Fourier transform of points that are not equally spaced, by spreading them to a lattice with a
//                Gaussian (Dutt and Rokhlin 1993); losses that are small beside the nodes go through their moments.
//                docs/proofs/certified_accounting.md, step 30.
//
// Internal to accounting/.
#pragma once

#include <memory>
#include <vector>

#include "noisefloor/accounting/loss_atoms.h"
#include "noisefloor/accounting/loss_transform.h"

namespace noisefloor {

class AtomTransform final : public LossTransform {
 public:
  // Losses of probability `infinite` count as infinite. The atoms must outlive the transform.
  AtomTransform(const LossAtoms& atoms, double infinite);

  [[nodiscard]] MomentEstimate estimate(double c) const override;
  [[nodiscard]] double max_loss() const override { return max_loss_; }
  [[nodiscard]] std::unique_ptr<LossTransform> truncated(double mass) const override;
  [[nodiscard]] double lost_mass() const override { return infinite_; }
  [[nodiscard]] std::unique_ptr<TransformOnLine> on_line(double c) const override;

 private:
  const LossAtoms* atoms_;
  double infinite_;
  double max_loss_;
  double mass_minus_one_;
  LossAtoms coarse_;  // for estimates: their means, and the variances around them
  std::vector<double> variance_;
};

}  // namespace noisefloor
