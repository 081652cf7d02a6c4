#include "noisefloor/cli/descent.h"

#include <fmt/format.h>

#include <utility>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/config/run_event.h"

namespace noisefloor::cli {
namespace {

Result<ClipRule> clip_of(const TrainingDescent& descent, const GradientSource& source) {
  if (!descent.clip) return invalid_argument("noise needs a bound on each example: give clip_norm under [training]");
  ClipRule::Kind clip = *descent.clip;
  if (auto* groups = std::get_if<GroupClip>(&clip); groups != nullptr && groups->norms.size() == 1) {
    groups->norms.assign(source.groups(), groups->norms.front());
  }
  return ClipRule::create(clip);
}

// With 1/rows and more whole records may be published, and the promise is still kept.
Result<void> expect_small(Delta delta, Rows rows) {
  const double share = 1 / static_cast<double>(rows.value());
  if (delta.value() < share) return success();
  return invalid_argument(
      fmt::format("delta is {:g}, and must be well below 1/rows, which is {:.3g} for {} rows to learn from: take a "
                  "smaller delta in [budget], or target_delta in [training]",
                  delta.value(), share, rows.value()));
}

}  // namespace

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

Result<Noise> noise_of(const NoiseWish& wish, const Training& training, const BatchSampler& sampler, Steps steps,
                       const GradientSource& source) {
  const TrainingPrivacy& privacy = training.privacy;
  if (wish.multiplier || wish.epsilon || privacy.private_training) {
    NF_TRY_VOID(expect_small(wish.delta.value_or(privacy.target_delta), sampler.rows()));
  }
  if (wish.multiplier) return Noise{wish.multiplier, false};
  Epsilon target = privacy.target_epsilon.value_or(privacy.epsilon);
  if (wish.epsilon) {
    target = *wish.epsilon;
  } else if (!privacy.private_training) {
    return Noise{};
  } else if (privacy.noise_multiplier) {
    return Noise{privacy.noise_multiplier, false};
  }
  NF_TRY(const ClipRule clip, clip_of(training.descent, source));
  const auto event = [&](NoiseMultiplier noise) {
    return DpSgd::event_of_step(sampler, noise, clip, training.descent.discrete_noise, source.parameters());
  };
  NF_TRY_VOID(event(NoiseMultiplier::of(1)));
  NF_TRY(const Calibrated<NoiseMultiplier> found,
         calibrate_noise({privacy.adjacency, target, wish.delta.value_or(privacy.target_delta)},
                         [&](NoiseMultiplier noise) -> DpEvent {
                           return SelfComposedEvent{steps, event(noise).value()};
                         }));
  return Noise{found.value, true};
}

Result<DpSgd> descent_of(const TrainingDescent& descent, const Noise& noise, const BatchSampler& sampler, Steps steps,
                         GradientSource& source, std::vector<float> initial, WorkerGroup* group) {
  DpSgd::Options options;
  options.noise = noise.multiplier;
  options.discrete = noise.multiplier && descent.discrete_noise;
  if (noise.multiplier || descent.clip) {
    NF_TRY(ClipRule rule, clip_of(descent, source));
    options.clip = std::move(rule);
    options.adaptive = descent.adaptive;
  }
  options.optimizer = descent.optimizer;
  options.learning_rate = descent.learning_rate;
  options.learning_rate.steps = steps.value();
  options.averaging = descent.averaging;
  return DpSgd::create(std::move(options), sampler, source, std::move(initial), group);
}

}  // namespace noisefloor::cli
