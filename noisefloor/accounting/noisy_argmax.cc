#include "noisefloor/accounting/noisy_argmax.h"

#include <cmath>

#include "noisefloor/base/rounding.h"

namespace noisefloor {

Result<DpEvent> gaussian_noisy_argmax(NoiseScale sigma) {
  NF_TRY(const NoiseMultiplier multiplier, NoiseMultiplier::make(std::nextafter(sigma.value() / sqrt_up(2), 0)));
  return DpEvent(GaussianEvent{multiplier});
}

Result<DpEvent> laplace_noisy_argmax(NoiseScale scale) {
  // The arg-max of noised counts is less than the counts themselves, and those are this much.
  NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(divided_up(2, scale.value())));
  return DpEvent(EpsilonDeltaEvent{epsilon, Delta::of(0)});
}

}  // namespace noisefloor
