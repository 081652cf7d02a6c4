// How a training file becomes a descent: who is drawn, how often, and with how much noise.
//
// Guarantee:     noise that is calibrated keeps the certified epsilon of all steps at or below what was asked for, at a delta
//                that is above 0, at most the budget's and below 1/rows; anything else is refused.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/sgd/dp_sgd.h"

namespace noisefloor {

[[nodiscard]] Result<BatchSampler> sampler_of(const Training& training, const Dataset& data);

[[nodiscard]] Result<Steps> steps_of(const TrainingDescent& descent, const BatchSampler& sampler);

// What is asked for instead of what the file says. An epsilon or a multiplier, not both.
struct NoiseWish {
  std::optional<Epsilon> epsilon;
  std::optional<Delta> delta;
  std::optional<NoiseMultiplier> multiplier;
};

struct Noise {
  std::optional<NoiseMultiplier> multiplier;  // none: no privacy
  bool calibrated = false;
};

// With 1/rows or more, whole records could be published and the promise would still be kept: kInvalidArgument. Where
// people are protected, what counts is how many people the sampler draws from.
[[nodiscard]] Result<void> expect_small_delta(Delta delta, const BatchSampler& sampler);

// kInvalidArgument also for a delta of 1/rows or more, of 0, or above the budget's.
[[nodiscard]] Result<Noise> noise_of(const NoiseWish& wish, const Training& training, const BatchSampler& sampler,
                                     Steps steps, const GradientSource& source);

[[nodiscard]] Result<DpSgd> descent_of(const TrainingDescent& descent, const Noise& noise, const BatchSampler& sampler,
                                       Steps steps, GradientSource& source, std::vector<float> initial,
                                       WorkerGroup* group = nullptr);

}  // namespace noisefloor
