#include "noisefloor/summary/plan_summary.h"

#include <fmt/format.h>

#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/plan/plan_json.h"
#include "noisefloor/report/html.h"
#include "noisefloor/report/job_charts.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

// --- From numbers ----------------------------------------------------------------------------------------------------

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

void show_theorem(Summary& summary, const char* title, const std::vector<Condition>& conditions) {
  summary.line(title, all_hold(conditions) ? "all conditions hold" : "does not apply");
  for (const Condition& one : conditions) {
    const std::string text = fmt::format("{:<7} {:<66} {:>10.5g} {} {:.5g}", one.name, one.statement, one.value,
                                         one.at_least ? ">=" : "<=", one.bound);
    summary.line("", one.holds ? text : text + fmt::format("   FAILS: {}", one.remedy));
  }
}

void show_theorems(Summary& summary, const TheoremVerdicts& verdicts) {
  show_theorem(summary, "Theorem 3.1", verdicts.theorem_3_1);
  show_theorem(summary, "Theorem B.4", verdicts.theorem_b4);
  show_theorem(summary, "Theorem B.2", verdicts.theorem_b2);
}

// The plans side by side.
void show_plans(Summary& summary, const PlanQuestion& q, const PlanAnswer& a) {
  summary.line("", fmt::format("{:>16}  {:>10}  {:>10}  exact epsilon", "noise multiplier", "batch", "rounds"));
  if (a.closed_form) {
    const ProactiveSetting& setting = a.closed_form->plan.setting;
    summary.line(q.mode == GammaMode::kPaper ? "as printed" : "closed form",
                 row(setting.noise, setting.sizes, a.closed_form->epsilon));
  } else {
    summary.line("closed form", "none: " + a.no_closed_form);
  }
  summary.line("exact", row(a.exact) + "   " + a.how);
  if (!a.same_batch) return;
  summary.line("", row(*a.same_batch) + "   the same batch, the least noise");
  summary.line("ratio", fmt::format("the closed form takes {:.3g} times the rounds, or {:.3g} times the noise",
                                    a.rounds_ratio(), a.noise_ratio()));
}

// The theorems, condition by condition.
void explain(Summary& summary, const PlanAnswer& a) {
  if (a.closed_form) {
    const ClosedFormPlan& plan = a.closed_form->plan;
    summary.line("gamma",
                 fmt::format("{:.6g}, T_min {:.1f}, T_min,asym {:.1f}, s_max {:.1f}, s_max,asym {:.1f}", plan.gamma,
                             plan.min_rounds, plan.min_rounds_asymptotic, plan.mean_size, plan.mean_size_asymptotic));
  }
  if (a.given) {
    const ProactiveSetting& setting = a.given->setting;
    summary.line("as given", fmt::format("{} rounds of up to {}, theta {:.4g}, with sigma {:.6g}, at epsilon {:g}:",
                                         setting.sizes.rounds(), setting.sizes.largest(), setting.sizes.theta(),
                                         setting.noise.value(), setting.epsilon.value()));
  }
  if (const TheoremVerdicts* verdicts = a.verdicts()) show_theorems(summary, *verdicts);
  if (!a.capacity) return;
  summary.line("these data allow",
               fmt::format("{}{:.4g} exactly, with this noise and one row a round: {} such trainings",
                           a.capacity->closed_form_epochs
                               ? fmt::format("{:.4g} epochs by the closed form, ", *a.capacity->closed_form_epochs)
                               : "",
                           a.capacity->exact_epochs, a.capacity->trainings));
}

// --- Of trainings ----------------------------------------------------------------------------------------------------

void add_utility(Summary& summary, const PlanJob& job, const PlanOutcome& outcome) {
  const std::string svg = utility_picture_of(job);
  const UtilityChoice& choice = outcome.choice;
  Json clips = Json::array();
  for (const UtilityCurve& curve : outcome.curves) {
    clips.push_back({{"clip_norm", curve.clip.value()}, {"accuracy", curve.accuracy}});
    summary.line(fmt::format("clip norm {:g}", curve.clip.value()),
                 fmt::format("accuracy {:.4f} before noise is added", curve.accuracy));
  }
  summary.set("utility_graph", Json{{"data", in_words(job.goal().utility)},
                                    {"svg", svg},
                                    {"csv", OutputFiles{job.folder()}.utility_table()},
                                    {"models", clips},
                                    {"clip_norm", choice.clip.value()},
                                    {"noise_multiplier", choice.noise.value()}});
  summary.line("utility graph", fmt::format("{}: at most noise {:.4g}, with clip norm {:g}", svg, choice.noise.value(),
                                            choice.clip.value()));
}

void add_closed_form(Summary& summary, const ClosedFormPlan& closed, const PlanFile& plan) {
  const auto rounds = closed.setting.sizes.rounds();
  summary.line("closed form",
               fmt::format("{} rounds of {}: {:.3g} times as many", rounds, closed.setting.sizes.largest(),
                           static_cast<double>(rounds) / static_cast<double>(plan.steps.value())));
  summary.set("closed_form", Json{{"rounds", rounds},
                                  {"batch", closed.setting.sizes.largest()},
                                  {"epsilon", closed.setting.epsilon.value()},
                                  {"gamma", closed.gamma}});
}

void add_plan(Summary& summary, const MadePlan& made) {
  const PlanFile& plan = made.plan;
  summary.line("phase", fmt::format("{} of at most {}", plan.phase, plan.phases));
  summary.line("plan", fmt::format("clip norm {:g}, noise {:.6g}, {} steps of {} out of {} rows", plan.clip.value(),
                                   plan.noise.value(), plan.steps.value(), plan.batch.value(), plan.rows.value()));
  summary.line("epsilon", fmt::format("{} at delta {:.4g}", shown_interval(plan.certified.lower, plan.certified.upper),
                                      plan.delta.value()));
  if (made.closed) add_closed_form(summary, *made.closed, plan);
  summary.set("phase", plan.phase);
  summary.set("clip_norm", plan.clip.value());
  summary.set("noise_multiplier", plan.noise.value());
  summary.set("batch", plan.batch.value());
  summary.set("steps", plan.steps.value());
  summary.set("epsilon", interval_json(plan.certified.lower, plan.certified.upper));
  summary.set("delta", plan.delta.value());
}

}  // namespace

Summary summary_of(const PlanQuestion& question, const PlanAnswer& answer, const PlanForm& form) {
  Summary summary(title_of(question, answer));
  replace_json(summary, Json::parse(to_json(question, answer)));
  show_plans(summary, question, answer);
  if (form.theorems) explain(summary, answer);
  if (!form.hint.empty()) summary.remark(form.hint);
  if (question.mode == GammaMode::kPaper) {
    summary.remark(
        "As printed gamma is that of one update, and sigma leaves epsilon out: this mode is for comparison with the "
        "paper's tables, and only the exact epsilon is a guarantee.");
  }
  return summary;
}

Result<void> add_trade_off(Summary& summary, const PlanQuestion& question, Epsilon target, const std::string& prefix,
                           std::size_t points) {
  NF_TRY(const std::vector<TradeOff> curves, plan_trade_offs(question, target, points));
  NF_TRY_VOID(write_file(prefix + ".csv", to_csv(curves)));
  NF_TRY_VOID(write_file(prefix + ".svg", to_svg(trade_off_chart(question, target, curves))));
  summary.set("curve", Json{{"csv", prefix + ".csv"}, {"svg", prefix + ".svg"}});
  summary.line("trade-off", fmt::format("{0}.svg, {0}.csv", prefix));
  return success();
}

Summary summary_of(const PlanJob& job, const PlanOutcome& outcome, const std::string& next) {
  const PlanFile& plan = outcome.made.plan;
  Summary summary(fmt::format("Plan for {} at epsilon {:g}", job.file().training.name, job.target().value()));
  if (!job.follows_a_phase()) add_utility(summary, job, outcome);
  add_plan(summary, outcome.made);
  summary.set("reserved", !plan.item.empty());
  summary.set("plan", outcome.path);
  summary.line("file", outcome.path + (plan.item.empty() ? "" : ", set aside in the ledger as " + plan.budget));
  const double asked = job.file().training.privacy.target_delta.value();
  if (job.whole_delta() < asked) {
    summary.remark(
        fmt::format("delta {:g} is above 1/rows, at which a record could be published outright: the plan keeps "
                    "{:.4g}.",
                    asked, job.whole_delta()));
  }
  if (!next.empty()) summary.remark(next);
  if (job.goal().utility == UtilityData::kPublic && !job.follows_a_phase()) {
    summary.remark("The utility graph was computed on the training data without noise: it is public only if they are.");
  }
  return summary;
}

Result<Summary> cost_summary(const PlanJob& job, const std::optional<MadePlan>& next_phase) {
  Summary summary(fmt::format("What planning {} would charge; nothing was spent or written", job.file().training.name));
  summary.set("dry_run", true);
  summary.set("target_epsilon", job.target().value());
  summary.set("delta", job.delta().value());
  summary.line("target", fmt::format("epsilon {:g} for all of it, delta {:.4g} for each of its private uses",
                                     job.target().value(), job.delta().value()));
  NF_TRY(const std::optional<UtilitySpend> graph, job.cost());
  if (graph) {
    NF_TRY(const Interval epsilon, certified_epsilon(graph->request.statement, job.delta()));
    const double noise = graph->noise.multiplier->value();
    const std::size_t models = job.goal().clip_norms.size();
    summary.set("utility_graph", Json{{"epsilon", interval_json(epsilon.lower, epsilon.upper)},
                                      {"noise_multiplier", noise},
                                      {"models", models}});
    summary.line("utility graph", fmt::format("epsilon {}, for {} models with noise {:.6g}",
                                              shown_interval(epsilon.lower, epsilon.upper), models, noise));
  } else if (!job.follows_a_phase()) {
    summary.line("utility graph", fmt::format("free: {}", in_words(job.goal().utility)));
  }
  if (next_phase) {
    add_plan(summary, *next_phase);
  } else {
    summary.line("plan", "clip norm and noise are chosen from the utility graph, which was not drawn");
  }
  return summary;
}

}  // namespace noisefloor
