// How a training file becomes a descent: who is drawn, how often, and with how much noise.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/sgd/dp_sgd.h"

namespace noisefloor::cli {

[[nodiscard]] Result<BatchSampler> sampler_of(const Training& training, std::size_t rows);

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

// kInvalidArgument also for a delta of 1/rows or more.
[[nodiscard]] Result<Noise> noise_of(const NoiseWish& wish, const Training& training, const BatchSampler& sampler,
                                     Steps steps, const GradientSource& source);

[[nodiscard]] Result<DpSgd> descent_of(const TrainingDescent& descent, const Noise& noise, const BatchSampler& sampler,
                                       Steps steps, GradientSource& source, std::vector<float> initial,
                                       WorkerGroup* group = nullptr);

}  // namespace noisefloor::cli
