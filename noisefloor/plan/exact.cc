#include "noisefloor/plan/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/check.h"
#include "noisefloor/plan/nearest.h"
#include "noisefloor/plan/search.h"

namespace noisefloor {
namespace {

double real(std::uint64_t count) { return static_cast<double>(count); }

DpEvent with_earlier(const ExactQuestion& question, DpEvent event) {
  if (question.before.empty()) return event;
  std::vector<DpEvent> all = question.before;
  all.push_back(std::move(event));
  return DpEvent(ComposedEvent{std::move(all)});
}

Result<SampleSizes> sizes_of(const ExactQuestion& question, std::uint64_t largest) {
  return SampleSizes::for_epochs(question.rows, question.epochs, largest, question.growth);
}

std::uint64_t smallest_size(const ExactQuestion& question) {
  return SampleSizes::smallest_for_epochs(question.rows, question.epochs, question.growth);
}

// The plan with its ε, whether that keeps the target or not.
Result<ExactPlan> evaluated(const ExactQuestion& question, NoiseMultiplier noise, SampleSizes sizes) {
  NF_TRY(DpEvent event, sizes.event(question.rows, noise, question.target.adjacency, question.draw));
  NF_TRY(const Interval epsilon,
         pld_epsilon(with_earlier(question, event), question.target.adjacency, question.target.delta));
  return ExactPlan{noise, std::move(sizes), std::move(event), epsilon};
}

bool keeps(const ExactQuestion& question, const ExactPlan& plan) {
  return plan.epsilon.upper <= question.target.epsilon.value();
}

Result<void> expect_room(const ExactQuestion& question) {
  if (question.before.empty()) return success();
  NF_TRY(const Interval spent,
         pld_epsilon(DpEvent(ComposedEvent{question.before}), question.target.adjacency, question.target.delta));
  if (spent.upper < question.target.epsilon.value()) return success();
  return invalid_argument(
      fmt::format("nothing is left: what was done before costs epsilon {:.6g}, and the target is {:g}", spent.upper,
                  question.target.epsilon.value()));
}

}  // namespace

Result<ExactPlan> exact_for_noise(const ExactQuestion& question, NoiseMultiplier noise) {
  NF_TRY_VOID(expect_room(question));
  const auto plan_of = [&](std::uint64_t largest) -> Result<ExactPlan> {
    NF_TRY(SampleSizes sizes, sizes_of(question, largest));
    return evaluated(question, noise, std::move(sizes));
  };
  NF_TRY_VOID(plan_of(question.rows.value()));
  const std::uint64_t smallest = smallest_size(question);
  const std::uint64_t largest = largest_that_fits(smallest, question.rows.value(), [&](std::uint64_t size) {
    const Result<ExactPlan> plan = plan_of(size);
    return plan.has_value() && keeps(question, plan.value());
  });
  if (largest >= smallest) return plan_of(largest);
  NF_TRY(const Rows least_size, Rows::make(smallest));
  NF_TRY(const ExactPlan least, exact_for_size(question, least_size));
  return invalid_argument(fmt::format(
      "noise multiplier {:g} cannot keep epsilon {:g} over {:g} epochs: even with samples of {} it takes "
      "a noise multiplier of {}",
      noise.value(), question.target.epsilon.value(), question.epochs, smallest, at_least_shown(least.noise.value())));
}

Result<ExactPlan> exact_for_sizes(const ExactQuestion& question, const SampleSizes& sizes) {
  NF_TRY_VOID(expect_room(question));
  NF_TRY_VOID(sizes.event(question.rows, NoiseMultiplier::of(1.0), question.target.adjacency, question.draw));
  NF_TRY(const Calibrated<NoiseMultiplier> found, calibrate_noise(question.target, [&](NoiseMultiplier noise) {
           Result<DpEvent> event = sizes.event(question.rows, noise, question.target.adjacency, question.draw);
           NF_CHECK(event.has_value(), "sizes that fit do so whatever the noise is");
           return with_earlier(question, std::move(event).value());
         }));
  return evaluated(question, found.value, sizes);
}

Result<ExactPlan> exact_as_given(const ExactQuestion& question, NoiseMultiplier noise, const SampleSizes& sizes) {
  NF_TRY(ExactPlan plan, evaluated(question, noise, sizes));
  if (keeps(question, plan)) return plan;
  NF_TRY(const ExactPlan least, exact_for_sizes(question, sizes));
  return invalid_argument(fmt::format(
      "noise multiplier {:g} with these samples costs epsilon {}, above {:g}: it takes a noise multiplier of {}",
      noise.value(), at_least_shown(plan.epsilon.upper), question.target.epsilon.value(),
      at_least_shown(least.noise.value())));
}

Result<ExactPlan> exact_for_size(const ExactQuestion& question, Rows size) {
  NF_TRY(const SampleSizes sizes, sizes_of(question, size.value()));
  return exact_for_sizes(question, sizes);
}

Result<ExactPlan> exact_for_rounds(const ExactQuestion& question, Steps rounds) {
  const double size =
      std::ceil(question.epochs * real(question.rows.value()) * (1 + question.growth) / real(rounds.value()));
  if (size > real(question.rows.value())) {
    return invalid_argument(
        fmt::format("{} rounds are too few for {:g} epochs: samples would be larger than the data. The "
                    "least are {:.0f}",
                    rounds.value(), question.epochs, std::ceil(question.epochs * (1 + question.growth))));
  }
  NF_TRY(const Rows rows, Rows::make(static_cast<std::uint64_t>(std::max(1.0, size))));
  return exact_for_size(question, rows);
}

Result<ExactPlan> exact_for_noise_and_size(const ExactQuestion& question, NoiseMultiplier noise, Rows size) {
  NF_TRY_VOID(expect_room(question));
  const auto sizes = [&](Steps rounds) { return SampleSizes::constant(size.value(), rounds.value()); };
  NF_TRY(const SampleSizes one, sizes(Steps::of(1)));
  NF_TRY(const DpEvent step, one.event(question.rows, noise, question.target.adjacency, question.draw));
  NF_TRY(const Calibrated<Steps> found, calibrate_steps(question.target, [&](Steps rounds) {
           return with_earlier(question, DpEvent(SelfComposedEvent{rounds, step}));
         }));
  NF_TRY(SampleSizes all, sizes(found.value));
  return evaluated(question, noise, std::move(all));
}

Result<std::vector<ExactPlan>> exact_trade_off(const ExactQuestion& question, std::size_t points) {
  std::vector<ExactPlan> plans;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < std::max<std::size_t>(points, 2); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(points, 2) - 1);
    const auto size = static_cast<std::uint64_t>(std::llround(std::pow(real(question.rows.value()), share)));
    if (size == last) continue;
    last = size;
    NF_TRY(const Rows rows, Rows::make(size));
    NF_TRY(ExactPlan plan, exact_for_size(question, rows));
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace noisefloor
