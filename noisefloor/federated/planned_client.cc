#include "noisefloor/federated/planned_client.h"

#include <fmt/format.h>

#include <utility>

namespace noisefloor {
namespace {

// The sampler that the statement describes.
Result<BatchSampler> sampler_of(const ClientPlan& plan) {
  const auto stated = [&](const BatchSampler& sampler) {
    return DpEvent(SelfComposedEvent{plan.rounds, sampler.event(plan.noise)}) == plan.statement.event;
  };
  NF_TRY(BatchSampler poisson, BatchSampler::poisson(plan.rows, plan.batch, plan.statement.adjacency));
  if (stated(poisson)) return poisson;
  Result<BatchSampler> fixed = BatchSampler::fixed_size(plan.rows, plan.batch, plan.statement.adjacency);
  if (fixed.has_value() && stated(fixed.value())) return fixed;
  return invalid_argument(fmt::format(
      "the plan's statement is not that of {} rounds of {} out of {} rows with noise {:g}: make another plan",
      plan.rounds.value(), plan.batch.value(), plan.rows.value(), plan.noise.value()));
}

}  // namespace

Result<PlannedClient> PlannedClient::create(const ClientPlan& plan, const Updates& updates, GradientSource& source,
                                            std::vector<float> initial) {
  NF_TRY(const BatchSampler planned, sampler_of(plan));
  NF_TRY(BatchSampler sampler, planned.with_population(source.examples()));
  NF_TRY(ClipRule clip, ClipRule::create(FlatClip{plan.clip}));
  DpSgd::Options options;
  options.noise = plan.noise;
  options.clip = std::move(clip);
  options.optimizer = updates.optimizer;
  options.learning_rate = updates.learning_rate;
  NF_TRY(DpSgd descent, DpSgd::create(std::move(options), std::move(sampler), source, std::move(initial)));
  return PlannedClient(plan.rounds, std::move(descent));
}

template <class Random>
Result<void> PlannedClient::next(Random& random) {
  if (descent_.steps() < rounds_.value()) return descent_.step(random);
  return invalid_argument(fmt::format(
      "all {} rounds of the plan are done: a further one would deviate from it. Plan a next phase", rounds_.value()));
}

Result<void> PlannedClient::step(SecureRandom& random) { return next(random); }

Result<void> PlannedClient::step(ReplayRandom& random) { return next(random); }

}  // namespace noisefloor
