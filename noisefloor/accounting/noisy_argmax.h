// What one answer of an ensemble costs, whose members ("teachers") each vote for one class and whose noised arg-max is
// released: PATE's aggregation, whatever the votes are.
//
// Guarantee:     the event dominates the answer where one unit's data belong to one teacher, hence change one vote: two
//                counts move by 1. It does not depend on the data; a bound by how clear the votes are must be released
//                with care of its own.
// Implements:    Papernot et al. 2017 (Laplace noise: 2/b-DP) and 2018 (Gaussian noise: Rényi divergence α/σ²).
// Thread safety: pure functions.
#pragma once

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

// N(0, σ²) on each class's count: an L2 distance of √2.
[[nodiscard]] Result<DpEvent> gaussian_noisy_argmax(NoiseScale sigma);

// Laplace(b) on each class's count: an L1 distance of 2.
[[nodiscard]] Result<DpEvent> laplace_noisy_argmax(NoiseScale scale);

}  // namespace noisefloor
