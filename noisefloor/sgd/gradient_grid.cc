#include "noisefloor/sgd/gradient_grid.h"

#include <fmt/core.h>

#include <cmath>

#include "noisefloor/base/rounding.h"

namespace noisefloor {

Result<GradientGrid> GradientGrid::create(L2Sensitivity clip, std::size_t parameters, int bits) {
  if (bits < 1 || bits > kBits)
    return invalid_argument(fmt::format("a grid has 1 to {} bits, and not {}", kBits, bits));
  const int exponent = std::ilogb(clip.value());
  if (exponent < -900 || exponent > 900) {
    return invalid_argument(fmt::format("a clip norm of {} leaves no grid for discrete noise", clip.value()));
  }
  NF_TRY(const Dimension dimension, Dimension::make(parameters));
  const double step = std::ldexp(1.0, exponent - bits);
  // Each coordinate is rounded by at most half a step.
  const double rounding = sqrt_up(static_cast<double>(parameters)) / 2;
  return GradientGrid(step, add_up(clip.value() / step, rounding), dimension);
}

void GradientGrid::add_rounded(std::span<const float> gradient, std::span<std::int64_t> sum) const {
  const auto steps = [this](float x) { return std::nearbyint(static_cast<double>(x) / step_); };
  double squares = 0;
  for (const float x : gradient) squares += steps(x) * steps(x);
  if (!(squares <= bound_ * bound_)) return;
  for (std::size_t i = 0; i < gradient.size(); ++i) sum[i] += static_cast<std::int64_t>(steps(gradient[i]));
}

Result<NoiseScale> GradientGrid::sigma(NoiseMultiplier noise) const {
  return NoiseScale::make(times_up(noise.value(), bound_));
}

Result<DpEvent> GradientGrid::event(NoiseMultiplier noise, double examples) const {
  NF_TRY(const NoiseScale scale, sigma(noise));
  const double l2 = examples * bound_;
  NF_TRY(const L2Sensitivity l2_sensitivity, L2Sensitivity::make(l2));
  NF_TRY(const L1Sensitivity l1_sensitivity,
         L1Sensitivity::make(times_up(l2, sqrt_up(static_cast<double>(dimension_.value())))));
  return DpEvent(DiscreteGaussianEvent{scale, Contributors::of(1), l1_sensitivity, l2_sensitivity, dimension_});
}

}  // namespace noisefloor
