// The Gaussian mechanism on a Poisson sample, under add-remove neighbours.
//
// With noise multiplier z and sampling rate q the dominating pair is
//   remove   P = (1 − q) N(0, z²) + q N(1, z²)   against   Q = N(0, z²)
//   add      P = N(0, z²)                         against   Q = (1 − q) N(0, z²) + q N(1, z²)
// (Zhu, Dong, Wang 2022). Write w(x) = 1 − q + q e^{(2x−1)/2z²}: the loss is ln w in the first case, − ln w in the second.
//
// Guarantee:     the transform's errors and decay are proved in docs/proofs/certified_accounting.md.
// Requires:      0 < q < 1. (At q = 1 there is nothing to integrate: gaussian_dp.h.)
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <memory>

#include "noisefloor/accounting/loss_transform.h"
#include "noisefloor/base/privacy_types.h"

namespace noisefloor {

// Which of two neighbours has the record more.
enum class Direction : std::uint8_t { kRemove, kAdd };

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
