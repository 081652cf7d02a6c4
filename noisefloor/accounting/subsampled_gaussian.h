// The Gaussian mechanism on a Poisson sample, under add-remove and replace-one neighbours.
//
// With noise multiplier z, sampling rate q and M± = (1 − q) N(0, z²) + q N(±1, z²) the dominating pair is
//   remove   P = M₊         against   Q = N(0, z²)
//   add      P = N(0, z²)   against   Q = M₋
//   replace  P = M₊         against   Q = M₋
// (Zhu, Dong, Wang 2022 for the first two, mirrored for the second; docs/proofs/certified_accounting.md, 26, for the
// third). Write w(x) = 1 − q + q e^{(2x−1)/2z²}: the loss is ln w(x), − ln w(−x), or ln w(x) − ln w(−x).
//
// Guarantee:     the transform's errors and decay are proved in docs/proofs/certified_accounting.md, part III.
// Requires:      0 < q < 1. (At q = 1 there is nothing to integrate: gaussian_dp.h.)
// Thread safety: const after construction.
//
// Internal to accounting/.
#pragma once

#include <cstdint>
#include <memory>

#include "noisefloor/accounting/loss_transform.h"
#include "noisefloor/base/privacy_types.h"

namespace noisefloor {

// Which of two neighbours has one record more than the other; or both have one, and the two pull in opposite
// directions.
enum class Direction : std::uint8_t { kRemove, kAdd, kReplace };

class SubsampledGaussianTransform final : public LossTransform {
 public:
  SubsampledGaussianTransform(SamplingRate rate, NoiseMultiplier multiplier, Direction direction);

  [[nodiscard]] MomentEstimate estimate(double c) const override;
  [[nodiscard]] double max_loss() const override;
  [[nodiscard]] std::unique_ptr<LossTransform> truncated(double mass) const override;
  [[nodiscard]] double lost_mass() const override;
  [[nodiscard]] std::unique_ptr<TransformOnLine> on_line(double c) const override;

 private:
  double q_;
  double sigma_;
  Direction direction_;
  double x_max_;
};

}  // namespace noisefloor
