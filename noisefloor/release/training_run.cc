#include "noisefloor/release/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

using Clock = std::chrono::steady_clock;

DpStatement statement_of(const TrainingPlan& plan, const DpSgd& sgd, Steps steps) {
  return {sgd.sampler().adjacency(), plan.unit, sgd.event(steps)};
}

TrainingProgress progress_of(const TrainingPlan& plan, const DpSgd& sgd, double seconds) {
  TrainingProgress progress;
  progress.steps = sgd.steps();
  progress.planned = plan.steps.value();
  progress.clip_norm = sgd.clip_norm();
  progress.seconds = seconds;
  const auto done = static_cast<double>(sgd.steps());
  const double per_step = done > 0 ? seconds / done : 0;
  progress.seconds_left = per_step * static_cast<double>(plan.steps.value() - sgd.steps());
  progress.examples_per_second =
      per_step > 0 ? static_cast<double>(sgd.sampler().expected_batch().value()) / per_step : 0;
  if (const auto steps = Steps::make(sgd.steps())) {
    const auto epsilon = certified_epsilon(statement_of(plan, sgd, steps.value()), plan.delta);
    progress.epsilon = epsilon ? epsilon.value().upper : HUGE_VAL;
  }
  return progress;
}

// Steps until the plan is done, or someone wants to stop.
template <class Random>
Result<void> descend(const TrainingPlan& plan, DpSgd& sgd, Random& random, const TrainingHooks& hooks) {
  const Clock::time_point start = Clock::now();
  Clock::time_point told = start;
  const auto tell = [&](Clock::time_point now) {
    if (hooks.progress) hooks.progress(progress_of(plan, sgd, std::chrono::duration<double>(now - start).count()));
  };
  while (sgd.steps() < plan.steps.value()) {
    NF_TRY_VOID(sgd.step(random));
    const Clock::time_point now = Clock::now();
    if (now - told >= hooks.interval && sgd.steps() < plan.steps.value()) {
      tell(now);
      told = now;
    }
    if (hooks.stop && hooks.stop()) break;
  }
  tell(Clock::now());
  const std::vector<float>& weights = sgd.result();
  if (!std::all_of(weights.begin(), weights.end(), [](float x) { return std::isfinite(x); })) {
    return invalid_argument(fmt::format(
        "the training diverged: after {} steps weights are not finite. Take a smaller learning rate", sgd.steps()));
  }
  return success();
}

Result<TrainedModel> seal(const TrainingPlan& plan, const DpSgd& sgd, const NameWeights& name_weights,
                          std::optional<std::uint64_t> reservation) {
  TensorFile file{name_weights(sgd.result()), {}};
  NF_TRY(const Steps steps, Steps::make(sgd.steps()));
  const DpStatement statement = statement_of(plan, sgd, steps);
  NF_TRY(const Interval epsilon, certified_epsilon(statement, plan.delta));
  Certificate certificate{plan.name,
                          statement,
                          plan.delta,
                          epsilon,
                          sgd.steps(),
                          plan.steps.value(),
                          reservation ? plan.budget : "",
                          reservation.value_or(0),
                          digest_of(file.tensors),
                          plan.program_version};
  file.metadata["noisefloor.certificate"] = to_json(certificate);
  return TrainedModel{to_safetensors(file), std::move(certificate)};
}

}  // namespace

Result<TrainedModel> train_privately(const TrainingPlan& plan, DpSgd& sgd, SecureRandom& random, Ledger& ledger,
                                     const NameWeights& name_weights, const TrainingHooks& hooks,
                                     const Publish& publish) {
  if (sgd.steps() != 0) return invalid_argument("a training begins with the first step");
  const DpStatement statement = statement_of(plan, sgd, plan.steps);
  if (contains<NonPrivateEvent>(statement.event))
    return invalid_argument("a training without noise or clipping is not private");
  ReserveRequest request{plan.budget, plan.key, statement};
  request.delta = plan.delta;
  request.note = {plan.name, "training", {"dp-sgd"}, plan.configuration};
  NF_TRY(Reservation reservation, ledger.reserve(request));
  if (reservation.earlier_release()) {
    return invalid_argument(
        fmt::format("the key {} was used before, for reservation {}: the model that it made has the digest {}. To "
                    "train again, and spend "
                    "again, give another key",
                    shown(plan.key), reservation.sequence(), to_hex(*reservation.earlier_release())));
  }
  reservation.begin();
  NF_TRY_VOID(descend(plan, sgd, random, hooks));
  NF_TRY(TrainedModel model, seal(plan, sgd, name_weights, reservation.sequence()));
  NF_TRY_VOID(publish(model));
  NF_TRY_VOID(ledger.commit(reservation.sequence(), blake2b(model.bytes)));
  return model;
}

Result<TrainedModel> train_without_privacy(const TrainingPlan& plan, DpSgd& sgd, ReplayRandom& random,
                                           const NameWeights& name_weights, const TrainingHooks& hooks,
                                           const Publish& publish) {
  NF_TRY_VOID(descend(plan, sgd, random, hooks));
  NF_TRY(TrainedModel model, seal(plan, sgd, name_weights, std::nullopt));
  NF_TRY_VOID(publish(model));
  return model;
}

}  // namespace noisefloor
