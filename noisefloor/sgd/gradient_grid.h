// The grid of whole numbers that gradients are rounded to, so that noise can be exact: discrete Gaussian, in whole
// steps.
//
// Guarantee:     one example moves the sum of rounded gradients by at most bound() steps (L2), whatever floating-point
//                numbers its gradient has: a gradient that is longer after rounding is left out. Sums of steps are
//                exact, so that their order tells nothing. event() describes adding discrete Gaussian noise of noise ·
//                bound() steps to such a sum.
// Cost:          rounding adds at most half a step per parameter. The bound, and with it the noise, grows by that:
//                2^-25 √parameters of the clip norm, with the usual 24 bits.
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
  static constexpr int kBits = 24;
  // Makes a grid for gradients of a norm of at most `clip`: 2^bits to 2^(bits + 1) steps, plus what rounding adds.
  // Fails if that leaves the range of numbers.
  [[nodiscard]] static Result<GradientGrid> create(L2Sensitivity clip, std::size_t parameters, int bits = kBits);

  [[nodiscard]] double step() const { return step_; }    // a power of two
  [[nodiscard]] double bound() const { return bound_; }  // in steps
  // Adds the gradient, rounded to whole steps, to `sum`; adds nothing if it is then longer than bound(). Requires: both
  // have as many numbers.
  void add_rounded(std::span<const float> gradient, std::span<std::int64_t> sum) const;
  // The scale of the noise in steps.
  [[nodiscard]] Result<NoiseScale> sigma(NoiseMultiplier noise) const;
  // The event of such noise where neighbours' sums differ by at most `examples` examples.
  [[nodiscard]] Result<DpEvent> event(NoiseMultiplier noise, double examples) const;

 private:
  GradientGrid(double step, double bound, Dimension dimension) : step_(step), bound_(bound), dimension_(dimension) {}

  double step_;
  double bound_;
  Dimension dimension_;
};

}  // namespace noisefloor
