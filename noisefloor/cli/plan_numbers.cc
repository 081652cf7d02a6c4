#include "noisefloor/cli/plan_numbers.h"

#include "noisefloor/cli/report_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/accounting/accounting_question.h"
#include "noisefloor/base/file.h"
#include "noisefloor/cli/quantity_option.h"
#include "noisefloor/plan/plan_json.h"
#include "noisefloor/plan/plan_question.h"
#include "noisefloor/report/chart.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kCurvePoints = 24;

// --- Reading ---------------------------------------------------------------------------------------------------------

// Epochs, or sizes that say how many there are.
Result<void> read_epochs(const PlanNumbers& n, PlanQuestion& question) {
  if (n.sizes.empty()) {
    NF_TRY(question.epochs, parse_number("--epochs", n.epochs));
    return question.epochs > 0
               ? success()
               : Result<void>(invalid_argument(fmt::format("--epochs must be above 0; {} was given", n.epochs)));
  }
  if (!n.epochs.empty() || !n.batch_size.empty() || !n.rounds.empty() || n.growth != "0") {
    return invalid_argument(
        "--sizes says how many gradients there are: leave out --epochs, --batch-size, --rounds and --growth");
  }
  NF_TRY(question.sizes, parse_sample_sizes(n.sizes));
  question.epochs = static_cast<double>(question.sizes->total()) / static_cast<double>(question.rows.value());
  return success();
}

Result<PlanQuestion> question_of(const PlanNumbers& n) {
  if (n.rows.empty() || (n.epochs.empty() && n.sizes.empty()) || (n.epsilon.empty() && n.noise_multiplier.empty())) {
    return invalid_argument(
        "give a training file, or --rows, --epochs (or --sizes) and --epsilon (or --noise-multiplier in the place of "
        "--epsilon)");
  }
  NF_TRY(const Rows rows, quantity<Rows>("--rows", n.rows));
  NF_TRY(const Delta usual, Delta::make(std::min(0.5, 1 / static_cast<double>(rows.value()))));
  NF_TRY(const std::optional<Delta> delta, optional_quantity<Delta>("--delta", n.delta));
  if (delta && delta->value() == 0) return invalid_argument("--delta must be above 0, as the noise is Gaussian");
  PlanQuestion question{.rows = rows, .epochs = 0, .delta = delta.value_or(usual)};
  NF_TRY_VOID(read_epochs(n, question));
  NF_TRY(question.epsilon, optional_quantity<Epsilon>("--epsilon", n.epsilon));
  NF_TRY(question.noise, optional_quantity<NoiseMultiplier>("--noise-multiplier", n.noise_multiplier));
  NF_TRY(question.batch, optional_quantity<Rows>("--batch-size", n.batch_size));
  NF_TRY(question.rounds, optional_quantity<Steps>("--rounds", n.rounds));
  NF_TRY(question.growth, parse_number("--growth", n.growth));
  if (!(question.growth >= 0 && question.growth <= 16)) {
    return invalid_argument("--growth takes a power from 0 to 16");
  }
  NF_TRY(question.draw, parse_draw(n.sampler));
  question.mode = n.paper ? GammaMode::kPaper : GammaMode::kRoot;
  return question;
}

// --- Text ------------------------------------------------------------------------------------------------------------

std::string title_of(const PlanQuestion& q, const PlanAnswer& a) {
  return fmt::format(
      "Plan for epsilon {:g} at delta {:.6g}, {:g} epochs of {} rows: noise multiplier {:.6g}, {} rounds of {}",
      a.target.value(), q.delta.value(), q.epochs, q.rows.value(), a.exact.noise.value(), a.exact.sizes.rounds(),
      a.exact.sizes.largest());
}

std::string row(NoiseMultiplier noise, const SampleSizes& sizes, Interval epsilon) {
  return fmt::format("{:>16.6g}  {:>10}  {:>10}  {}", noise.value(), sizes.largest(), sizes.rounds(),
                     shown_interval(epsilon.lower, epsilon.upper));
}

std::string row(const ExactPlan& plan) { return row(plan.noise, plan.sizes, plan.epsilon); }

void show_theorem(Report& report, const char* title, const std::vector<Condition>& conditions) {
  report.line(title, all_hold(conditions) ? "all conditions hold" : "does not apply");
  for (const Condition& one : conditions) {
    const std::string text = fmt::format("{:<7} {:<66} {:>10.5g} {} {:.5g}", one.name, one.statement, one.value,
                                         one.at_least ? ">=" : "<=", one.bound);
    report.line("", one.holds ? text : text + fmt::format("   FAILS: {}", one.remedy));
  }
}

void show_theorems(Report& report, const TheoremVerdicts& verdicts) {
  show_theorem(report, "Theorem 3.1", verdicts.theorem_3_1);
  show_theorem(report, "Theorem B.4", verdicts.theorem_b4);
  show_theorem(report, "Theorem B.2", verdicts.theorem_b2);
}

// The plans side by side.
void show_plans(Report& report, const PlanQuestion& q, const PlanAnswer& a) {
  report.line("", fmt::format("{:>16}  {:>10}  {:>10}  exact epsilon", "noise multiplier", "batch", "rounds"));
  if (a.closed_form) {
    const ProactiveSetting& setting = a.closed_form->plan.setting;
    report.line(q.mode == GammaMode::kPaper ? "as printed" : "closed form",
                row(setting.noise, setting.sizes, a.closed_form->epsilon));
  } else {
    report.line("closed form", "none: " + a.no_closed_form);
  }
  report.line("exact", row(a.exact) + "   " + a.how);
  if (!a.same_batch) return;
  report.line("", row(*a.same_batch) + "   the same batch, the least noise");
  report.line("ratio", fmt::format("the closed form takes {:.3g} times the rounds, or {:.3g} times the noise",
                                   a.rounds_ratio(), a.noise_ratio()));
}

// The theorems, condition by condition.
void explain(Report& report, const PlanAnswer& a) {
  if (a.closed_form) {
    const ClosedFormPlan& plan = a.closed_form->plan;
    report.line("gamma",
                fmt::format("{:.6g}, T_min {:.1f}, T_min,asym {:.1f}, s_max {:.1f}, s_max,asym {:.1f}", plan.gamma,
                            plan.min_rounds, plan.min_rounds_asymptotic, plan.mean_size, plan.mean_size_asymptotic));
  }
  if (a.given) {
    const ProactiveSetting& setting = a.given->setting;
    report.line("as given", fmt::format("{} rounds of up to {}, theta {:.4g}, with sigma {:.6g}, at epsilon {:g}:",
                                        setting.sizes.rounds(), setting.sizes.largest(), setting.sizes.theta(),
                                        setting.noise.value(), setting.epsilon.value()));
    show_theorems(report, *a.given);
  } else if (a.closed_form) {
    show_theorems(report, a.closed_form->verdicts);
  }
  if (!a.capacity) return;
  report.line("these data allow",
              fmt::format("{}{:.4g} exactly, with this noise and one row a round: {} such trainings",
                          a.capacity->closed_form_epochs
                              ? fmt::format("{:.4g} epochs by the closed form, ", *a.capacity->closed_form_epochs)
                              : "",
                          a.capacity->exact_epochs, a.capacity->trainings));
}

// Whether the theorems hold, in a sentence for those who do not ask.
std::string summary(const TheoremVerdicts& verdicts) {
  const bool hold = all_hold(verdicts.theorem_3_1) && all_hold(verdicts.theorem_b4);
  return hold ? "Theorems 3.1 and B.4 of the paper apply: --explain shows their conditions."
              : "Not all conditions of the paper's theorems hold: --explain shows them. The exact plan stands.";
}

Result<void> write_trade_off(Report& report, const PlanQuestion& q, Epsilon target, const std::string& prefix) {
  NF_TRY(const std::vector<TradeOff> curves, plan_trade_offs(q, target, kCurvePoints));
  Chart chart;
  chart.title = fmt::format("Noise by batch size: epsilon {:g} at delta {:.3g}", target.value(), q.delta.value());
  chart.subtitle = fmt::format("the least noise multiplier, {} rows", q.rows.value());
  chart.x_label = "batch size";
  chart.y_label = "noise multiplier";
  chart.log_x = true;
  for (const TradeOff& curve : curves) {
    Chart::Series series{fmt::format("{:g} epochs", curve.epochs), {}};
    for (const ExactPlan& plan : curve.plans) {
      const double noise = plan.noise.value();
      series.points.push_back({static_cast<double>(plan.sizes.largest()), noise, noise});
    }
    chart.series.push_back(std::move(series));
  }
  NF_TRY_VOID(write_file(prefix + ".csv", to_csv(curves)));
  NF_TRY_VOID(write_file(prefix + ".svg", to_svg(chart)));
  report.set("curve", Json{{"csv", prefix + ".csv"}, {"svg", prefix + ".svg"}});
  report.line("trade-off", fmt::format("{0}.svg, {0}.csv", prefix));
  return success();
}

}  // namespace

bool PlanNumbers::any() const {
  return !rows.empty() || !epochs.empty() || !epsilon.empty() || !delta.empty() || !noise_multiplier.empty() ||
         !batch_size.empty() || !rounds.empty() || !sizes.empty() || growth != "0" || sampler != "poisson" ||
         !curve.empty() || paper || explain;
}

Result<Report> plan_from_numbers(const PlanNumbers& numbers) {
  NF_TRY(const PlanQuestion question, question_of(numbers));
  const Result<PlanAnswer> answered = answer_plan(question);
  if (!answered.has_value() && !question.epsilon) {
    return Error{answered.error().code, answered.error().message + ". For the exact plan alone, give --epsilon"};
  }
  NF_TRY(const PlanAnswer answer, answered);
  Report report(title_of(question, answer));
  replace_json(report, Json::parse(to_json(question, answer)));
  show_plans(report, question, answer);
  if (numbers.explain) explain(report, answer);
  if (!numbers.curve.empty()) {
    NF_TRY_VOID(write_trade_off(report, question, answer.target, numbers.curve));
  }
  const TheoremVerdicts* verdicts = answer.given         ? &*answer.given
                                    : answer.closed_form ? &answer.closed_form->verdicts
                                                         : nullptr;
  if (verdicts != nullptr && !numbers.explain) report.remark(summary(*verdicts));
  if (question.mode == GammaMode::kPaper) {
    report.remark(
        "As printed gamma is that of one update, and sigma leaves epsilon out: this mode is for comparison with the "
        "paper's tables, and only the exact epsilon is a guarantee.");
  }
  return report;
}

}  // namespace noisefloor::cli
