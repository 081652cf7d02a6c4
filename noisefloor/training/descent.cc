#include "noisefloor/training/descent.h"

#include <fmt/format.h>

#include <utility>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/config/run_event.h"

namespace noisefloor {
namespace {

Result<ClipRule> clip_of(const TrainingDescent& descent, const GradientSource& source) {
  if (!descent.clip) return invalid_argument("noise needs a bound on each example: give clip_norm under [training]");
  ClipRule::Kind clip = *descent.clip;
  if (auto* groups = std::get_if<GroupClip>(&clip); groups != nullptr && groups->norms.size() == 1) {
    groups->norms.assign(source.groups(), groups->norms.front());
  }
  return ClipRule::create(clip);
}

// Checks the settings that were given besides the file.
Result<void> check_wish(const NoiseWish& wish, const TrainingPrivacy& privacy) {
  if (wish.epsilon && wish.multiplier) {
    return invalid_argument("noise is calibrated to an epsilon or given as a multiplier: give one of them, not both");
  }
  if (wish.delta && (wish.delta->value() == 0 || *wish.delta > privacy.delta)) {
    return invalid_argument(
        fmt::format("delta must be above 0, as the noise is Gaussian, and at most the budget's delta of {:.10g}; "
                    "{:.10g} was given",
                    privacy.delta.value(), wish.delta->value()));
  }
  return success();
}

}  // namespace

Result<void> expect_small_delta(Delta delta, const BatchSampler& sampler) {
  const double share = 1 / static_cast<double>(sampler.rows().value());
  if (delta.value() < share) return success();
  const std::string_view units = plural_of(sampler.unit());
  return invalid_argument(
      fmt::format("delta is {:g}, and must be well below 1/{}, which is {:.3g} for {} {} to learn from: take a "
                  "smaller delta in [budget], or target_delta in [training]",
                  delta.value(), units, share, sampler.rows().value(), units));
}

Result<BatchSampler> sampler_of(const Training& training, const PublicCount& count, const Dataset& data) {
  const Draw draw = training.descent.sampler == SamplerKind::kFixedSize ? Draw::kFixedSize : Draw::kPoisson;
  NF_TRY(const BatchSampler sampler,
         BatchSampler::create(draw, count.units, training.descent.batch_size, training.privacy.adjacency, data.unit()));
  return sampler.with_population(data.units());
}

Result<Steps> steps_of(const TrainingDescent& descent, const BatchSampler& sampler) {
  if (descent.steps) return *descent.steps;
  return steps_for_epochs(descent.epochs, sampler.rate());
}

Result<Noise> noise_of(const NoiseWish& wish, const Training& training, const BatchSampler& sampler, Steps steps,
                       const GradientSource& source) {
  const TrainingPrivacy& privacy = training.privacy;
  NF_TRY_VOID(check_wish(wish, privacy));
  if (wish.multiplier || wish.epsilon || privacy.private_training) {
    NF_TRY_VOID(expect_small_delta(wish.delta.value_or(privacy.target_delta), sampler));
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

}  // namespace noisefloor
