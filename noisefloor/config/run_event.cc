#include "noisefloor/config/run_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/accounting/calibrate.h"

namespace noisefloor {
namespace {

constexpr std::uint64_t kManySteps = std::uint64_t{1} << 62;  // more than any accountant takes

Steps product(Steps a, Steps b) {
  const std::uint64_t steps = a.value() > kManySteps / b.value() ? kManySteps : a.value() * b.value();
  return Steps::make(steps).value();
}

std::optional<Rows> protected_units(const Pipeline& pipeline) {
  return pipeline.budget.protects() == PrivacyUnit::kPerson ? pipeline.data.people.value : pipeline.data.rows.value;
}

std::optional<SamplingRate> rate_of(std::uint64_t batch, std::uint64_t population) {
  if (batch > population) return std::nullopt;
  return SamplingRate::make(static_cast<double>(batch) / static_cast<double>(population)).value();
}

// The schedule of rounds that sum clients' updates with noise.
Schedule schedule_of_updates(const Run& run) {
  Schedule schedule;
  if (!run.federation.clients.has()) return schedule;
  const std::uint64_t clients = run.federation.clients.value->value();
  schedule.population = Rows::make(clients).value();
  schedule.rate = rate_of(
      run.federation.clients_per_round.has() ? run.federation.clients_per_round.value->value() : clients, clients);
  schedule.steps = run.federation.rounds.value;
  return schedule;
}

// How an iterative run draws the batch of a step.
std::optional<BatchLaw> law_of(const Pipeline& pipeline, const Run& run, const Schedule& schedule) {
  const Adjacency adjacency = pipeline.budget.neighbours();
  if (run.sampling.sampler.value != SamplerKind::kFixedSize) return BatchLaw::poisson(*schedule.rate, adjacency);
  if (!schedule.population) return std::nullopt;
  std::optional<Rows> batch = run.sampling.batch_size.value;
  if (aggregates_updates(run)) {
    batch = run.federation.clients_per_round.has() ? Rows::make(run.federation.clients_per_round.value->value()).value()
                                                   : *schedule.population;
  }
  if (!batch) return std::nullopt;
  const Result<BatchLaw> law = BatchLaw::fixed_size(*schedule.population, *batch, adjacency);
  return law.has_value() ? std::optional(law.value()) : std::nullopt;
}

// 1/ε, rounded down: the noise of ε-DP, or less.
Result<NoiseMultiplier> noise_of_pure(double epsilon) {
  return NoiseMultiplier::make(std::nextafter(1 / epsilon, 0.0));
}

Result<DpEvent> query_by_noise(NoiseMechanism mechanism, NoiseMultiplier noise) {
  switch (mechanism) {
    case NoiseMechanism::kLaplace:
      return LaplaceEvent{noise};
    case NoiseMechanism::kGaussian:
      return GaussianEvent{noise};
    case NoiseMechanism::kGeometric: {
      NF_TRY(const NoiseScale scale, NoiseScale::make(noise.value()));
      return DiscreteLaplaceEvent{scale, L1Sensitivity::of(1)};
    }
    default:
      return invalid_argument("noise_multiplier is for laplace, gaussian and geometric; give epsilon");
  }
}

// The event of one query by a mechanism that is calibrated to ε.
Result<DpEvent> query_by_epsilon(const Pipeline& pipeline, const Run& run, NoiseMechanism mechanism, Epsilon epsilon) {
  switch (mechanism) {
    case NoiseMechanism::kExponential:
      return ExponentialEvent{epsilon};
    case NoiseMechanism::kPermuteAndFlip:
      return PermuteAndFlipEvent{epsilon};
    case NoiseMechanism::kRandomizedResponse:
      return RandomizedResponseEvent{epsilon, kTwoCategories};  // the worst number of categories
    case NoiseMechanism::kGaussian: {
      const std::optional<Delta> delta = delta_of(pipeline, run);
      if (!delta || delta->value() == 0) return invalid_argument("Gaussian noise needs a delta above 0");
      const Target target{pipeline.budget.neighbours(), epsilon, *delta};
      NF_TRY(const auto best, calibrate_noise(target, [](NoiseMultiplier z) -> DpEvent { return GaussianEvent{z}; }));
      return GaussianEvent{best.value};
    }
    default: {
      NF_TRY(const NoiseMultiplier noise, noise_of_pure(epsilon.value()));
      return query_by_noise(mechanism, noise);
    }
  }
}

Result<RunEvent> event_of_queries(const Pipeline& pipeline, const Run& run) {
  const NoiseMechanism mechanism = run.noise.mechanism.value.value_or(NoiseMechanism::kLaplace);
  const Located<Epsilon>& epsilon = stated_epsilon(run);
  if (!epsilon.has() && !run.noise.multiplier.has())
    return invalid_argument("it has neither epsilon nor noise_multiplier");
  NF_TRY(const DpEvent one, run.noise.multiplier.has() ? query_by_noise(mechanism, *run.noise.multiplier)
                                                       : query_by_epsilon(pipeline, run, mechanism, *epsilon));
  const DpEvent once = run.query.queries.has() ? DpEvent(SelfComposedEvent{*run.query.queries, one}) : one;
  return RunEvent{once, with_surroundings(run, once), run.noise.multiplier.value, false};
}

Result<RunEvent> stated_bound(const Pipeline& pipeline, const Run& run) {
  const std::optional<Delta> delta = delta_of(pipeline, run);
  if (!delta) return invalid_argument("the delta of the budget is not known");
  NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(stated_epsilon(run).value->value()));
  const DpEvent once = EpsilonDeltaEvent{loss, *delta};
  return RunEvent{once, with_surroundings(run, once), std::nullopt, false};
}

Result<RunEvent> event_of_iterations(const Pipeline& pipeline, const Run& run) {
  const Schedule schedule = schedule_of(pipeline, run);
  const bool all_data = schedule.rate && schedule.rate->value() == 1;
  const SamplerKind sampler = run.sampling.sampler.value.value_or(SamplerKind::kPoisson);
  if (sampler == SamplerKind::kShuffle && !all_data) {
    return invalid_argument("no valid bound is known for batches of a shuffled list");
  }
  if (sampler == SamplerKind::kFixedSize && pipeline.budget.neighbours() == Adjacency::kAddRemove) {
    return invalid_argument("batches of fixed size have no bound under add-remove");
  }
  const EventByNoise by_noise = event_by_noise(pipeline, run);
  if (run.noise.multiplier.has()) {
    if (!by_noise) return invalid_argument("it does not say how often it looks at the data");
    const DpEvent once = by_noise(*run.noise.multiplier);
    return RunEvent{once, with_surroundings(run, once), run.noise.multiplier.value, false};
  }
  if (!stated_epsilon(run).has()) return invalid_argument("it has neither target_epsilon nor noise_multiplier");
  if (!by_noise) return stated_bound(pipeline, run);
  const std::optional<Delta> delta = delta_of(pipeline, run);
  if (!delta || delta->value() == 0) return invalid_argument("Gaussian noise needs a delta above 0");
  NF_TRY(const auto best,
         calibrate_noise(Target{pipeline.budget.neighbours(), *stated_epsilon(run), *delta}, by_noise));
  const DpEvent once = by_noise(best.value);
  return RunEvent{once, with_surroundings(run, once), best.value, true};
}

}  // namespace

Schedule schedule_of(const Pipeline& pipeline, const Run& run) {
  if (aggregates_updates(run)) return schedule_of_updates(run);
  Schedule schedule;
  const bool federated = run.uses(Technique::kFederated);
  schedule.population = protected_units(pipeline);
  if (federated && run.federation.smallest_client.has()) {
    schedule.population = run.federation.smallest_client.value;
  } else if (federated && schedule.population && run.federation.clients.has()) {
    const std::uint64_t share = schedule.population->value() / run.federation.clients.value->value();
    schedule.population = Rows::make(std::max<std::uint64_t>(share, 1)).value();
  }
  schedule.rate = run.sampling.sample_rate.value;
  if (!run.sampling.sample_rate.stated() && run.sampling.batch_size.has() && schedule.population) {
    schedule.rate = rate_of(run.sampling.batch_size.value->value(), schedule.population->value());
  }
  const auto visits = [&](const Located<Steps>& steps, const Located<double>& epochs) -> std::optional<Steps> {
    if (steps.has()) return steps.value;
    if (!epochs.has() || !schedule.rate) return std::nullopt;
    const Result<Steps> found = steps_for_epochs(*epochs, *schedule.rate);
    return found.has_value() ? std::optional(found.value()) : std::nullopt;
  };
  if (federated) {
    const std::optional<Steps> local = visits(run.federation.local_steps, run.federation.local_epochs);
    if (local && run.federation.rounds.has()) schedule.steps = product(*local, *run.federation.rounds);
  } else {
    schedule.steps = visits(run.sampling.steps, run.sampling.epochs);
  }
  return schedule;
}

bool aggregates_updates(const Run& run) {
  return run.uses(Technique::kFederated) && run.uses(Technique::kDpAggregation) && !run.uses(Technique::kDpSgd);
}

bool is_iterative(const Run& run) { return run.uses(Technique::kDpSgd) || aggregates_updates(run); }

bool has_dp(const Run& run) {
  return run.uses(Technique::kDpSgd) || run.uses(Technique::kDpAggregation) ||
         (run.uses(Technique::kSynthetic) && run.privacy.epsilon.stated());
}

bool adds_gaussian_noise(const Run& run) {
  return is_iterative(run) ||
         (run.uses(Technique::kDpAggregation) && run.noise.mechanism.value == NoiseMechanism::kGaussian);
}

const Located<Epsilon>& stated_epsilon(const Run& run) {
  return run.privacy.target_epsilon.stated() ? run.privacy.target_epsilon : run.privacy.epsilon;
}

std::optional<Delta> delta_of(const Pipeline& pipeline, const Run& run) {
  if (run.privacy.delta.stated()) return run.privacy.delta.value;
  if (!pipeline.budget.delta.has()) return std::nullopt;
  const std::size_t runs = std::max<std::size_t>(pipeline.runs.size(), 1);
  return Delta::make(pipeline.budget.delta.value->value() / static_cast<double>(runs)).value();
}

EventByNoise event_by_noise(const Pipeline& pipeline, const Run& run) {
  const Schedule schedule = schedule_of(pipeline, run);
  if (!is_iterative(run) || !schedule.known()) return {};
  const std::optional<BatchLaw> law = law_of(pipeline, run, schedule);
  if (!law) return {};
  return [law = *law, steps = *schedule.steps](NoiseMultiplier noise) { return law.run(noise, steps); };
}

DpEvent with_surroundings(const Run& run, const DpEvent& once) {
  DpEvent event = once;
  if (run.tuning.trials.has() && run.tuning.trials.value->value() > 1 && run.tuning.how.value != Tuning::kPublicData) {
    const std::uint64_t trials = run.tuning.trials.value->value();
    if (run.tuning.how.value == Tuning::kRepeatAndSelect) {
      event = PoissonRepeatAndSelectEvent{MeanRuns::make(static_cast<double>(trials)).value(), once};
    } else {
      event = SelfComposedEvent{*run.tuning.trials, once};
    }
  }
  if (run.bounds.source.value == BoundsSource::kPrivate && run.bounds.epsilon.has()) {
    const DpEvent bounds =
        EpsilonDeltaEvent{PrivacyLoss::make(run.bounds.epsilon.value->value()).value(), Delta::of(0)};
    event = ComposedEvent{{event, bounds}};
  }
  return event;
}

Result<RunEvent> event_of(const Pipeline& pipeline, const Run& run) {
  if (!run.readable || !run.technique.has()) return invalid_argument("part of it could not be read");
  if (run.noise.replay_seed.stated()) return invalid_argument("its noise is replayed from a seed");
  if (!has_dp(run)) return invalid_argument("nothing in it is differentially private");
  if (is_iterative(run)) return event_of_iterations(pipeline, run);
  if (run.uses(Technique::kDpAggregation)) return event_of_queries(pipeline, run);
  return stated_bound(pipeline, run);
}

}  // namespace noisefloor
