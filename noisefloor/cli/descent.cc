#include "noisefloor/cli/descent.h"

#include <utility>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/config/run_event.h"

namespace noisefloor::cli {

Result<BatchSampler> sampler_of(const Training& training, std::size_t rows) {
  NF_TRY(const Rows population, Rows::make(rows));
  const Adjacency adjacency = training.privacy.adjacency;
  if (training.descent.sampler == SamplerKind::kFixedSize) {
    return BatchSampler::fixed_size(population, training.descent.batch_size, adjacency);
  }
  return BatchSampler::poisson(population, training.descent.batch_size, adjacency);
}

Result<Steps> steps_of(const TrainingDescent& descent, const BatchSampler& sampler) {
  if (descent.steps) return *descent.steps;
  return steps_for_epochs(descent.epochs, sampler.rate());
}

Result<Noise> noise_of(const NoiseWish& wish, const TrainingPrivacy& privacy, const BatchSampler& sampler,
                       Steps steps) {
  if (wish.multiplier) return Noise{wish.multiplier, false};
  Epsilon target = privacy.target_epsilon.value_or(privacy.epsilon);
  if (wish.epsilon) {
    target = *wish.epsilon;
  } else if (!privacy.private_training) {
    return Noise{};
  } else if (privacy.noise_multiplier) {
    return Noise{privacy.noise_multiplier, false};
  }
  NF_TRY(const Calibrated<NoiseMultiplier> found,
         calibrate_noise({privacy.adjacency, target, privacy.delta}, [&](NoiseMultiplier noise) -> DpEvent {
           return SelfComposedEvent{steps, sampler.event(noise)};
         }));
  return Noise{found.value, true};
}

Result<DpSgd> descent_of(const TrainingDescent& descent, const Noise& noise, const BatchSampler& sampler, Steps steps,
                         GradientSource& source, std::vector<float> initial) {
  DpSgd::Options options;
  options.noise = noise.multiplier;
  if (noise.multiplier && !descent.clip) {
    return invalid_argument("noise needs a bound on each example: give clip_norm under [training]");
  }
  if (descent.clip) {
    ClipRule::Kind clip = *descent.clip;
    if (auto* groups = std::get_if<GroupClip>(&clip); groups != nullptr && groups->norms.size() == 1) {
      groups->norms.assign(source.groups(), groups->norms.front());
    }
    NF_TRY(ClipRule rule, ClipRule::create(clip));
    options.clip = std::move(rule);
    options.adaptive = descent.adaptive;
  }
  options.optimizer = descent.optimizer;
  options.learning_rate = descent.learning_rate;
  options.learning_rate.steps = steps.value();
  options.averaging = descent.averaging;
  return DpSgd::create(std::move(options), sampler, source, std::move(initial));
}

}  // namespace noisefloor::cli
