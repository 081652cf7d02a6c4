#include "noisefloor/plan/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/numerics/bisect.h"
#include "noisefloor/plan/nearest.h"
#include "noisefloor/plan/search.h"

namespace noisefloor {
namespace {

double real(std::uint64_t count) { return static_cast<double>(count); }

std::uint64_t rounds_of(const PhaseQuestion& question, std::uint64_t size) {
  return static_cast<std::uint64_t>(std::ceil(std::ceil(question.epochs * real(question.rows.value())) / real(size)));
}

Result<SampleSizes> sizes_with(const PhaseQuestion& question, std::uint64_t size) {
  std::vector<SampleSizes::Stretch> stretches;
  for (const Phase& phase : question.before) stretches.push_back({phase.size, phase.rounds});
  stretches.push_back({size, rounds_of(question, size)});
  return SampleSizes::of(std::move(stretches));
}

struct Outcome {
  double epsilon;
  double gamma;
};

// The least ε, at or above `floor`, that (34) allows.
Outcome least_epsilon(double floor, double target, double noise, double epochs, double unit) {
  const auto gamma = [&](double epsilon) { return proactive::gamma(noise, epsilon / epochs); };
  const auto enough = [&](double epsilon) { return epsilon >= gamma(epsilon) * unit; };
  if (enough(floor)) return {floor, gamma(floor)};
  if (target <= floor) return {target, gamma(target)};
  const double least = bisect({.holds = target, .fails = floor}, {.relative = 1e-12}, enough).holds;
  return {least, gamma(least)};
}

// One update of γ, and σ without ε, as the paper prints it.
Outcome printed_epsilon(double delta, double noise, double epochs, double unit) {
  const double floor = -2 * std::log(delta) / (noise * noise);
  const double first = std::max(floor, 2 * unit);
  const double gamma = proactive::gamma_once(noise, first / epochs);
  return {std::max(floor, gamma * unit), gamma};
}

class Calculator {
 public:
  Calculator(const PhaseQuestion& question, NoiseMultiplier noise, GammaMode mode)
      : question_(question), noise_(noise), mode_(mode) {}

  [[nodiscard]] Result<ClosedFormPlan> with(std::uint64_t size) const {
    NF_TRY(SampleSizes sizes, sizes_with(question_, size));
    const double rows = real(question_.rows.value());
    const double epochs = real(sizes.total()) / rows;
    const double theta = sizes.theta();
    const double unit = theta * theta * sizes.mean() * epochs / rows;
    const double delta = question_.delta.value();
    const double sigma = noise_.value();
    const Outcome outcome = mode_ == GammaMode::kPaper ? printed_epsilon(delta, sigma, epochs, unit)
                                                       : least_epsilon(proactive::epsilon_for(sigma, delta),
                                                                       question_.target.value(), sigma, epochs, unit);
    NF_TRY(const Epsilon epsilon, Epsilon::make(outcome.epsilon));
    const double rounds = outcome.gamma * theta * theta * epochs * epochs / outcome.epsilon;
    const double asymptotic = theta * theta * epochs * epochs / (2 * outcome.epsilon);
    const double total = real(sizes.total());
    return ClosedFormPlan{{question_.rows, epsilon, question_.delta, noise_, std::move(sizes)},
                          outcome.gamma,
                          outcome.epsilon / (outcome.gamma * epochs),
                          rounds,
                          asymptotic,
                          total / rounds,
                          total / asymptotic};
  }

  [[nodiscard]] bool fits(std::uint64_t size) const {
    const Result<ClosedFormPlan> plan = with(size);
    if (!plan.has_value() || plan.value().setting.epsilon.value() > question_.target.value()) return false;
    if (mode_ == GammaMode::kRoot) return all_hold(theorem_b4(plan.value().setting));
    const ProactiveSetting& setting = plan.value().setting;
    const double epochs = real(setting.sizes.total()) / real(question_.rows.value());
    return real(setting.sizes.largest()) <= proactive::g(noise_.value()) * real(question_.rows.value()) &&
           setting.epsilon.value() <= plan.value().gamma * proactive::h(noise_.value()) * epochs;
  }

  // The largest size that fits; 0 if none does.
  [[nodiscard]] std::uint64_t largest() const {
    if (mode_ == GammaMode::kPaper) {
      std::uint64_t size = 0;
      while (size < question_.rows.value() && fits(size + 1)) ++size;
      return size;
    }
    // Below the largest size so far, s_max²T only grows, because there are more rounds: if that size does not fit, no
    // smaller one does.
    std::uint64_t least = 1;
    for (const Phase& phase : question_.before) least = std::max(least, phase.size);
    const std::uint64_t found =
        largest_that_fits(least, question_.rows.value(), [&](std::uint64_t size) { return fits(size); });
    return found < least ? 0 : found;
  }

 private:
  const PhaseQuestion& question_;
  NoiseMultiplier noise_;
  GammaMode mode_;
};

// Names what would fit instead of a phase that does not: fewer epochs with the same noise, or a larger ε.
std::string nearest_phase(const PhaseQuestion& question, GammaMode mode) {
  const auto fits = [&](double epochs, double target) {
    PhaseQuestion other = question;
    other.epochs = epochs;
    const auto epsilon = Epsilon::make(target);
    if (!epsilon.has_value()) return false;
    other.target = epsilon.value();
    return Calculator(other, *question.noise, mode).largest() > 0;
  };
  const double one_row = 1 / real(question.rows.value());
  const double fewer =
      bisect({.holds = 0, .fails = question.epochs}, {.relative = 1e-3, .absolute = one_row}, [&](double epochs) {
        return fits(epochs, question.target.value());
      }).holds;
  if (fewer > 0) return fmt::format("At most {} epochs fit", at_most_shown(fewer));
  double below = question.target.value();
  double enough = 2 * below;
  while (enough < 1e6 && !fits(question.epochs, enough)) {
    below = enough;
    enough *= 2;
  }
  if (enough >= 1e6) return "No other number of epochs fits either: do not take part";
  enough = bisect({.holds = enough, .fails = below}, {.relative = 1e-3}, [&](double target) {
             return fits(question.epochs, target);
           }).holds;
  return fmt::format("It would take epsilon {}", at_least_shown(enough));
}

}  // namespace

Result<PlannedPhase> next_phase(const PhaseQuestion& question, GammaMode mode) {
  if (question.before.empty() && !question.noise) {
    NF_TRY(ClosedFormPlan plan,
           closed_form_plan({question.rows, question.epochs, question.delta}, question.target, mode));
    const SampleSizes& sizes = plan.setting.sizes;
    const Phase phase{plan.setting.noise, question.clip, sizes.largest(), sizes.rounds()};
    return PlannedPhase{phase, std::move(plan)};
  }
  if (!question.noise) return invalid_argument("a next phase needs its noise: give one that is less than before");
  const double least = proactive::sigma_for(question.target.value(), question.delta.value());
  if (!question.before.empty() && question.noise->value() >= question.before.back().noise.value()) {
    return invalid_argument(fmt::format("a next phase must have less noise than the one before, {:g}; {:g} was given",
                                        question.before.back().noise.value(), question.noise->value()));
  }
  if (mode == GammaMode::kRoot && question.noise->value() * (1 + 1e-12) < least) {
    return invalid_argument(fmt::format("sigma {:g} is too small for epsilon {:g} at delta {:g}: the least is {}",
                                        question.noise->value(), question.target.value(), question.delta.value(),
                                        at_least_shown(least)));
  }
  const Calculator calculator(question, *question.noise, mode);
  const std::uint64_t size = calculator.largest();
  if (size == 0) {
    return invalid_argument(fmt::format("no sample size keeps epsilon {:g} over {:g} more epochs. {}",
                                        question.target.value(), question.epochs, nearest_phase(question, mode)));
  }
  NF_TRY(ClosedFormPlan all, calculator.with(size));
  return PlannedPhase{{*question.noise, question.clip, size, rounds_of(question, size)}, std::move(all)};
}

}  // namespace noisefloor
