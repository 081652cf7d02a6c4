#include "noisefloor/config/pipeline_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/text.h"
#include "noisefloor/config/pipeline_check_run.h"

namespace noisefloor {
namespace {

using internal::exceeds;
using internal::shown_noise;
using internal::shown_number;

// --- The budget and the data -----------------------------------------------------------------------------------------

void check_budget(const Pipeline& pipeline, Findings& findings) {
  const Budget& budget = pipeline.budget;
  const Place place = budget.place.line == 0 ? Place{1, 1} : budget.place;
  if (!budget.epsilon.stated()) {
    findings.error("epsilon_missing", place, "there is no total epsilon, and so no cost could exceed it",
                   "add epsilon = … to [budget], the most that all runs together may cost");
  }
  internal::check_size(budget.epsilon, findings);
  if (!budget.delta.stated()) {
    findings.error("delta_missing", place, "there is no total delta",
                   "add delta = … to [budget], well below 1/rows; 0 if all noise is pure (Laplace)");
  }
}

// A δ of 1/n or above allows publishing someone's record outright.
void check_delta(const Pipeline& pipeline, const Located<Delta>& delta, const std::string& whose, Findings& findings) {
  const bool by_people = pipeline.budget.protects() == PrivacyUnit::kPerson && pipeline.data.people.has();
  const Located<Rows>& units = by_people ? pipeline.data.people : pipeline.data.rows;
  if (!delta.has() || !units.has()) return;
  const double limit = 1 / static_cast<double>(units.value->value());
  if (delta.value->value() < limit) return;
  const char* name = by_people ? "people" : "rows";
  findings.error("delta_above_one_in_rows", delta.place,
                 fmt::format("{} = {:g} is not below 1/{} = {:.3g}: it would allow publishing a whole record at random",
                             whose, delta.value->value(), name, limit),
                 fmt::format("delta = {:.0e} or less, a hundredth of 1/{}", limit / 100, name));
}

void check_data(const Pipeline& pipeline, Findings& findings) {
  const Data& data = pipeline.data;
  check_delta(pipeline, pipeline.budget.delta, "the total delta", findings);
  for (const Run& run : pipeline.runs) {
    // A run that takes its share of the total, or states no more than it, is judged by the total.
    const bool above =
        run.privacy.delta.has() && (!pipeline.budget.delta.has() || *run.privacy.delta > *pipeline.budget.delta);
    if (above) check_delta(pipeline, run.privacy.delta, fmt::format("run {}: delta", shown(run.name)), findings);
  }
  if (!data.rows.stated() && pipeline.budget.delta.has() && pipeline.budget.delta.value->value() > 0) {
    findings.warning("rows_missing", pipeline.budget.delta.place,
                     "delta cannot be judged: [data] does not say how many rows there are", "add rows = … to [data]");
  }
  if (data.people.has() && data.rows.has() && *data.people > *data.rows) {
    findings.error(
        "people_above_rows", data.people.place,
        fmt::format("people = {}, but there are only {} rows", data.people.value->value(), data.rows.value->value()),
        "each person has at least one row: correct one of the two numbers");
  }
  const bool person = pipeline.budget.protects() == PrivacyUnit::kPerson;
  // Noise on sums of clients' clipped updates needs no bound on rows.
  const bool by_rows =
      std::any_of(pipeline.runs.begin(), pipeline.runs.end(), [](const Run& run) { return !aggregates_updates(run); });
  if (person && by_rows && !data.rows_per_person.stated()) {
    findings.error("contribution_not_bounded", pipeline.budget.unit.place,
                   "the budget protects people, and nothing bounds how many rows one person has",
                   "add rows_per_person = … to [data]; further rows of a person are dropped");
  }
  if (!person && data.rows_per_person.has() && data.rows_per_person.value->value() > 1) {
    findings.warning(
        "row_unit_for_people", data.rows_per_person.place,
        fmt::format("one person has up to {} rows, and the budget protects single rows: a person's epsilon "
                    "can be {} times as large",
                    data.rows_per_person.value->value(), data.rows_per_person.value->value()),
        "set unit = \"person\" in [budget]");
  }
}

void check_names(const Pipeline& pipeline, Findings& findings) {
  for (std::size_t i = 0; i < pipeline.runs.size(); ++i) {
    const Run& run = pipeline.runs[i];
    if (!run.stated_name.has()) continue;
    const auto before = pipeline.runs.begin() + static_cast<std::ptrdiff_t>(i);
    const auto same = std::find_if(pipeline.runs.begin(), before, [&](const Run& r) { return r.name == run.name; });
    if (same == before) continue;
    findings.error("duplicate_name", run.stated_name.place,
                   fmt::format("run {} has the same name as the run in line {}", shown(run.name), same->place.line),
                   "give each run a name of its own: charges are booked under it");
  }
}

// --- All runs together -----------------------------------------------------------------------------------------------

// Whether the joint law is computed in milliseconds, so that the noise can be calibrated.
bool only_gaussian(const DpEvent& event) {
  return !contains<LaplaceEvent, DiscreteLaplaceEvent, ExponentialEvent, PermuteAndFlipEvent, RandomizedResponseEvent,
                   EpsilonDeltaEvent, FixedSizeSampledEvent, PoissonRepeatAndSelectEvent>(event);
}

Result<double> basic_epsilon(const Pipeline& pipeline, const std::vector<RunAssessment>& runs) {
  double sum = 0;
  double delta_sum = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].charged) continue;
    const std::optional<Delta> delta = delta_of(pipeline, pipeline.runs[i]);
    if (!delta || !runs[i].event) return invalid_argument("a run has no bound");
    NF_TRY(const Interval epsilon, pld_epsilon(runs[i].event->all, pipeline.budget.neighbours(), *delta));
    sum = std::nextafter(sum + epsilon.upper, HUGE_VAL);
    delta_sum += delta->value();
  }
  if (exceeds(delta_sum, pipeline.budget.delta.value->value())) {
    return invalid_argument(fmt::format("the deltas of the runs add up to {:g}, above the total of {:g}", delta_sum,
                                        pipeline.budget.delta.value->value()));
  }
  return sum;
}

class Composition {
 public:
  Composition(const Pipeline& pipeline, Assessment& assessment, Findings& findings)
      : pipeline_(pipeline), assessment_(assessment), findings_(findings) {}

  void run() {
    const Budget& budget = pipeline_.budget;
    if (pipeline_.runs.empty() || !pipeline_.readable || !budget.epsilon.has() || !budget.delta.has()) return;
    for (std::size_t i = 0; i < assessment_.runs.size(); ++i) {
      if (!assessment_.runs[i].charged) continue;
      if (!assessment_.runs[i].event) return;
      events_.push_back(assessment_.runs[i].event->all);
      last_ = i;
    }
    const DpEvent all = ComposedEvent{events_};
    const Result<Interval> epsilon = compose(all);
    if (!epsilon.has_value()) {
      findings_.error("composition_refused", place_of_last(),
                      fmt::format("the runs together have no epsilon at delta {:g}: {}", budget.delta.value->value(),
                                  epsilon.error().message),
                      "lower the deltas of the runs: the composition needs a part of the total delta as well");
      return;
    }
    assessment_.composed = epsilon.value();
    assessment_.statement = DpStatement{budget.neighbours(), budget.protects(), all};
    if (exceeds(epsilon.value().upper, budget.epsilon.value->value())) report(epsilon.value());
  }

 private:
  [[nodiscard]] Result<Interval> compose(const DpEvent& all) const {
    if (pipeline_.budget.rule.value == Rule::kBasic) {
      NF_TRY(const double sum, basic_epsilon(pipeline_, assessment_.runs));
      return Interval{0, sum};  // the charge of the rule; it is not known how loose it is
    }
    return pld_epsilon(all, pipeline_.budget.neighbours(), *pipeline_.budget.delta);
  }

  [[nodiscard]] Place place_of_last() const {
    return events_.empty() ? pipeline_.budget.place : pipeline_.runs[last_].place;
  }

  void report(const Interval& spent) {
    const double total = pipeline_.budget.epsilon.value->value();
    // A single run that is above the total, or above its target, has a finding already.
    const auto told = [](const Finding& f) { return f.code == "target_above_total" || f.code == "noise_below_target"; };
    if (events_.size() == 1 && std::any_of(findings_.list().begin(), findings_.list().end(), told)) return;
    std::vector<std::string> parts;
    for (const RunAssessment& run : assessment_.runs) {
      if (run.epsilon) parts.push_back(fmt::format("{} {:.4g}", shown(run.name), run.epsilon->upper));
    }
    const std::string message =
        events_.size() == 1
            ? fmt::format("run {} spends epsilon {}, above the total of {}", shown(pipeline_.runs[last_].name),
                          shown_number(spent.upper, total), shown_number(total, spent.upper))
            : fmt::format("the {} runs together spend epsilon {}, above the total of {} (by themselves: {})",
                          events_.size(), shown_number(spent.upper, total), shown_number(total, spent.upper),
                          fmt::join(parts, ", "));
    findings_.error("runs_above_total", place_of_last(), message, remedy());
  }

  // Says what would fit in place of the last run.
  [[nodiscard]] std::string remedy() const {
    std::string any = "more noise, fewer steps or fewer runs; or raise epsilon in [budget]";
    const Run& last = pipeline_.runs[last_];
    const double total = pipeline_.budget.epsilon.value->value();
    const Delta delta = *pipeline_.budget.delta;
    const Adjacency adjacency = pipeline_.budget.neighbours();
    if (pipeline_.budget.rule.value == Rule::kBasic) return any;
    const std::vector<DpEvent> others(events_.begin(), events_.end() - 1);
    const EventByNoise by_noise = event_by_noise(pipeline_, last);
    if (by_noise && only_gaussian(ComposedEvent{events_})) {
      const auto joint = [&](NoiseMultiplier z) -> DpEvent {
        std::vector<DpEvent> events = others;
        events.push_back(with_surroundings(last, by_noise(z)));
        return ComposedEvent{std::move(events)};
      };
      const auto best = calibrate_noise(Target{adjacency, *pipeline_.budget.epsilon, delta}, joint);
      if (best.has_value()) return fits(last, best.value().value.value());
    }
    // Half of δ is for the others and half for the last run: the epsilons then add up.
    const Delta half = Delta::make(delta.value() / 2).value();
    const Result<Interval> before = pld_epsilon(ComposedEvent{others}, adjacency, half);
    if (!before.has_value()) return any;
    const double left = total - before.value().upper;
    const Result<Epsilon> room = Epsilon::make(left);
    if (!room.has_value()) {
      return fmt::format("the runs before {} already spend {:.4g}: {}", shown(last.name), before.value().upper, any);
    }
    if (by_noise) {
      const auto best = calibrate_noise(Target{adjacency, room.value(), half},
                                        [&](NoiseMultiplier z) { return with_surroundings(last, by_noise(z)); });
      return best.has_value() ? fits(last, best.value().value.value()) : any;
    }
    return fmt::format("an epsilon of {:.4g} for run {} would fit; or raise epsilon in [budget]",
                       std::floor(left * 1e4) / 1e4, shown(last.name));
  }

  [[nodiscard]] static std::string fits(const Run& last, double noise) {
    return fmt::format("noise_multiplier = {} in run {} would fit; or fewer steps, or a larger epsilon in [budget]",
                       shown_noise(noise), shown(last.name));
  }

  const Pipeline& pipeline_;
  Assessment& assessment_;
  Findings& findings_;
  std::vector<DpEvent> events_;
  std::size_t last_ = 0;
};

// --- One run ---------------------------------------------------------------------------------------------------------

// Finds the cost of a run, or the reason why it is unknown.
void find_cost(const Pipeline& pipeline, const Run& run, RunAssessment& assessment, Findings& findings) {
  const Result<RunEvent> event = event_of(pipeline, run);
  if (!event.has_value()) {
    assessment.reason = event.error().message;
    if (run.readable && pipeline.readable && pipeline.budget.delta.has()) {
      findings.error("no_bound", run.place, fmt::format("run {} has no bound: {}", shown(run.name), assessment.reason),
                     "change its parameters so that a bound is known");
    }
    return;
  }
  assessment.event = event.value();
  if (!pipeline.budget.delta.has()) return;
  const auto epsilon = pld_epsilon(event.value().all, pipeline.budget.neighbours(), *pipeline.budget.delta);
  if (epsilon.has_value()) assessment.epsilon = epsilon.value();
}

RunAssessment assess_run(const Pipeline& pipeline, const Run& run, Findings& findings) {
  RunAssessment assessment;
  assessment.name = run.name;
  assessment.place = run.place;
  assessment.schedule = schedule_of(pipeline, run);
  if (!run.readable) {
    assessment.reason = "part of it could not be read";
    return assessment;
  }
  Findings statement;
  internal::check_statement(pipeline, run, statement);
  for (const Finding& finding : statement.list()) findings.add(finding);
  if (has_errors(statement.list())) {
    assessment.reason = "it has errors";
  } else if (!has_dp(run)) {
    assessment.charged = false;
    assessment.reason = "it is not released";
  } else {
    find_cost(pipeline, run, assessment, findings);
  }
  internal::check_cost(pipeline, run, assessment, findings);
  return assessment;
}

}  // namespace

Assessment assess(const Pipeline& pipeline) {
  Assessment assessment;
  Findings findings;
  if (pipeline.readable) {
    check_budget(pipeline, findings);
    check_data(pipeline, findings);
    if (pipeline.runs.empty()) {
      findings.error("no_runs", {1, 1}, "there are no runs: nothing uses the budget",
                     "add a [[run]] with its technique");
    }
  }
  check_names(pipeline, findings);
  for (const Run& run : pipeline.runs) assessment.runs.push_back(assess_run(pipeline, run, findings));
  Composition(pipeline, assessment, findings).run();
  // Nothing passes without a bound, whatever the reason.
  const bool readable = pipeline.readable && std::all_of(pipeline.runs.begin(), pipeline.runs.end(),
                                                         [](const Run& run) { return run.readable; });
  if (readable && !assessment.composed && !has_errors(findings.list())) {
    findings.error("not_certified", {1, 1}, "the runs together have no certified epsilon", "give each run a bound");
  }
  assessment.findings = findings.sorted();
  return assessment;
}

std::vector<Finding> check(const Pipeline& pipeline) { return assess(pipeline).findings; }

}  // namespace noisefloor
