#include "noisefloor/config/pipeline_check_run.h"

#include <fmt/format.h>

#include <cmath>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/accounting/pld.h"

namespace noisefloor::internal {
namespace {

class CostChecker : public RunChecker {
 public:
  CostChecker(const Pipeline& pipeline, const Run& run, const RunAssessment& assessment, Findings& findings)
      : RunChecker(pipeline, run, findings), assessment_(assessment) {}

  void check() {
    if (is_iterative(run_)) rates();
    targets();
    accountant();
    tuning();
  }

 private:
  void rates();
  void targets();
  void accountant();
  void tuning();

  const RunAssessment& assessment_;
};

void CostChecker::rates() {
  if (!schedule_.known()) return;
  const double rate = schedule_.rate->value();
  const double uses = rate * static_cast<double>(schedule_.steps->value());
  const Place place =
      run_.sampling.sample_rate.stated() ? run_.sampling.sample_rate.place : run_.sampling.batch_size.place;
  if (uses < 1) {
    warning(
        "few_uses", place,
        fmt::format("a sampling rate of {:.4g} times {} steps is {:.3g}: fewer than one expected use of each record",
                    rate, schedule_.steps->value(), uses),
        "raise steps or the batch size; did you mean a number of epochs?");
  }
  if (rate > 0.5 && rate < 1) {
    warning(
        "rate_large", place,
        fmt::format("a sampling rate of {:.4g} takes most records in every step: there is little amplification", rate),
        "lower the batch size; did you mean batch / rows?");
  }
}

void CostChecker::targets() {
  const Located<Epsilon>& target = stated_epsilon(run_);
  if (!target.has()) return;
  const double wanted = target.value->value();
  const std::optional<Epsilon>& total = pipeline_.budget.epsilon.value;
  if (total && exceeds(wanted, total->value())) {
    error(
        "target_above_total", target.place,
        fmt::format("{} = {:g} is above the total of {:g}",
                    run_.privacy.target_epsilon.stated() ? "target_epsilon" : "epsilon", wanted, total->value()),
        fmt::format("at most {:g} fits, less what the other runs spend; or raise epsilon in [budget]", total->value()));
  }
  if (!run_.noise.multiplier.has() || !assessment_.event) return;
  const std::optional<Delta> delta = delta_of(pipeline_, run_);
  if (!delta) return;
  const Result<Interval> spent = pld_epsilon(assessment_.event->once, pipeline_.budget.neighbours(), *delta);
  if (spent.has_value() && !exceeds(spent.value().upper, wanted)) return;
  std::string remedy = "raise noise_multiplier, or leave it out to have it calibrated";
  const EventByNoise by_noise = event_by_noise(pipeline_, run_);
  if (by_noise) {
    const auto best = calibrate_noise(Target{pipeline_.budget.neighbours(), *target, *delta}, by_noise);
    if (best.has_value()) {
      remedy = fmt::format("noise_multiplier = {}, or leave it out to have it calibrated",
                           shown_noise(best.value().value.value()));
    }
  }
  const double noise = run_.noise.multiplier.value->value();
  error("noise_below_target", run_.noise.multiplier.place,
        spent.has_value()
            ? fmt::format("noise_multiplier = {:g} spends epsilon {} at delta {:g}, above its target of {}", noise,
                          shown_number(spent.value().upper, wanted), delta->value(),
                          shown_number(wanted, spent.value().upper))
            : fmt::format("noise_multiplier = {:g} reaches no target: {}", noise, spent.error().message),
        std::move(remedy));
}

void CostChecker::accountant() {
  if (!run_.privacy.accountant.has() || *run_.privacy.accountant == Accountant::kPld || !assessment_.event) return;
  const std::optional<Delta> delta = delta_of(pipeline_, run_);
  if (!delta) return;
  const std::string_view name = name_of(*run_.privacy.accountant);
  if (contains<EpsilonDeltaEvent>(assessment_.event->once)) {
    // A stated bound does not tell what another accountant would find. GDP is known to be an estimate.
    if (*run_.privacy.accountant == Accountant::kGdp) {
      error("accountant_is_estimate", run_.privacy.accountant.place,
            "accountant gdp is a central-limit estimate for sampled batches, and not a bound", "accountant = \"pld\"");
    }
    return;
  }
  const Adjacency adjacency = pipeline_.budget.neighbours();
  const Result<AccountantAnswer> answer =
      epsilon_by(*run_.privacy.accountant, assessment_.event->once, adjacency, *delta);
  const bool sampled = is_iterative(run_) && !(schedule_.rate && schedule_.rate->value() == 1);
  if (!answer.has_value()) {
    error("accountant_does_not_fit", run_.privacy.accountant.place,
          fmt::format("accountant {} has no answer for this run: {}", name, answer.error().message),
          "accountant = \"pld\", which is certified");
    return;
  }
  const double epsilon = answer.value().epsilon;
  const Result<Interval> certified = pld_epsilon(assessment_.event->once, adjacency, *delta);
  const double upper = certified.has_value() ? certified.value().upper : HUGE_VAL;
  if (answer.value().is_estimate) {
    error("accountant_is_estimate", run_.privacy.accountant.place,
          fmt::format("accountant {} is a central-limit estimate and not a bound: it says epsilon {:.4g}, and the "
                      "certified one is {:.4g}",
                      name, epsilon, upper),
          "accountant = \"pld\"");
  } else if (sampled && *run_.privacy.accountant != Accountant::kRdp && epsilon > upper) {
    warning("accountant_without_amplification", run_.privacy.accountant.place,
            fmt::format(
                "accountant {} does not know about sampling: it says epsilon {:.4g}, and the certified one is {:.4g}",
                name, epsilon, upper),
            R"(accountant = "pld", or "rdp")");
  } else if (stated_epsilon(run_).has() && exceeds(epsilon, stated_epsilon(run_).value->value()) &&
             run_.noise.multiplier.stated() && !exceeds(upper, stated_epsilon(run_).value->value())) {
    warning("accountant_above_target", run_.privacy.accountant.place,
            fmt::format(
                "by accountant {} the run spends epsilon {:.4g}, above its target of {:g}; the certified one is {:.4g}",
                name, epsilon, stated_epsilon(run_).value->value(), upper),
            "accountant = \"pld\", or more noise");
  }
}

void CostChecker::tuning() {
  if (run_.tuning.how.stated() && !run_.tuning.trials.stated()) {
    warning("tuning_without_trials", run_.tuning.how.place,
            "it says how tuning is paid for, but not how many trials there are", "add trials = …, or remove tuning");
  }
  if (!run_.tuning.trials.has() || run_.tuning.trials.value->value() == 1 || run_.tuning.how.stated()) return;
  std::string cost;
  if (assessment_.epsilon) {
    cost =
        fmt::format("; all of them together spend epsilon {:.4g}, which is charged here", assessment_.epsilon->upper);
  }
  error("tuning_not_charged", run_.tuning.trials.place,
        fmt::format("it has {} trials on the same data, and does not say how the choice of the best is paid for{}",
                    run_.tuning.trials.value->value(), cost),
        "tuning = \"every-trial\", \"repeat-and-select\" (cheaper: only the best of a random number is published), or "
        "\"public-data\"");
}

}  // namespace

std::string shown_number(double value, double beside) {
  std::string text = fmt::format("{:.5g}", value);
  if (value != beside && text == fmt::format("{:.5g}", beside)) text = fmt::format("{:.13g}", value);
  return text;
}

std::string shown_noise(double noise) {
  const double rounded = std::ceil(noise * 1e4) / 1e4;
  return fmt::format("{:.4f}", rounded);
}

void check_cost(const Pipeline& pipeline, const Run& run, const RunAssessment& assessment, Findings& findings) {
  CostChecker(pipeline, run, assessment, findings).check();
}

}  // namespace noisefloor::internal
