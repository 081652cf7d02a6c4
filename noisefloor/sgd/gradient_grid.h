// The whole numbers that gradients are rounded to, so that noise can be exact: discrete Gaussian, in whole steps.
//
// Guarantee:     one example moves the sum of rounded gradients by at most bound() steps (L2), whatever floating-point numbers
//                its gradient came as: whoever is longer after rounding is left out. Sums of steps are exact, so that their
//                order tells nothing. event() is what adding discrete Gaussian noise of noise · bound() steps to such a sum is.
// Cost:          rounding adds at most half a step a parameter, which the bound and so the noise grow by: 2^-25 √parameters of
//                the clip norm.
// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

class GradientGrid {
 public:
  // For gradients of a norm of at most `clip`: 2^24 to 2^25 steps. Fails if that leaves the range of numbers.
  [[nodiscard]] static Result<GradientGrid> create(L2Sensitivity clip, std::size_t parameters);

  [[nodiscard]] double step() const { return step_; }    // a power of two
  [[nodiscard]] double bound() const { return bound_; }  // in steps
  // sum += the gradient, rounded to whole steps; nothing if it is longer than bound() then. Requires: as many numbers in both.
  void add_rounded(std::span<const float> gradient, std::span<std::int64_t> sum) const;
  // The noise in steps.
  [[nodiscard]] Result<NoiseScale> sigma(NoiseMultiplier noise) const;
  // Where neighbours' sums differ by `examples` of them at most.
  [[nodiscard]] Result<DpEvent> event(NoiseMultiplier noise, double examples) const;

 private:
  GradientGrid(double step, double bound, Dimension dimension) : step_(step), bound_(bound), dimension_(dimension) {}

  double step_;
  double bound_;
  Dimension dimension_;
};

}  // namespace noisefloor
