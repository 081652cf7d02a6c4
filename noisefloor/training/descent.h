// Turns a training file into a descent: who is drawn, how often, and with how much noise.
//
// Guarantee:     calibrated noise keeps the certified epsilon of all steps at or below the one that was asked for, at a
//                delta that is above 0, at most the budget's and below 1/rows; any other delta is refused.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/training/public_count.h"

namespace noisefloor {

// Draws from `data` by the public number of its rows or people (public_count.h).
[[nodiscard]] Result<BatchSampler> sampler_of(const Training& training, const PublicCount& count, const Dataset& data);

[[nodiscard]] Result<Steps> steps_of(const TrainingDescent& descent, const BatchSampler& sampler);

// Wishes that replace what the file says: an epsilon or a multiplier, not both.
struct NoiseWish {
  std::optional<Epsilon> epsilon;
  std::optional<Delta> delta;
  std::optional<NoiseMultiplier> multiplier;
};

struct Noise {
  std::optional<NoiseMultiplier> multiplier;  // none: no privacy
  bool calibrated = false;
};

// kInvalidArgument for 1/rows or more: whole records could then be published and the promise would still be kept. If
// people are protected, 1/rows means one over the number of people. The number is the sampler's public one.
[[nodiscard]] Result<void> expect_small_delta(Delta delta, const BatchSampler& sampler);

// kInvalidArgument also for a delta of 1/rows or more, a delta of 0, or one above the budget's.
[[nodiscard]] Result<Noise> noise_of(const NoiseWish& wish, const Training& training, const BatchSampler& sampler,
                                     Steps steps, const GradientSource& source);

[[nodiscard]] Result<DpSgd> descent_of(const TrainingDescent& descent, const Noise& noise, const BatchSampler& sampler,
                                       Steps steps, GradientSource& source, std::vector<float> initial,
                                       WorkerGroup* group = nullptr);

}  // namespace noisefloor
