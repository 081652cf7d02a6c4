#include "noisefloor/cli/training_plan.h"

#include "noisefloor/cli/report_json.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/report/chart.h"
#include "noisefloor/training/planning.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

Result<PlanWish> wish_of(const PlanTrainingOptions& o, const TrainingFile& file) {
  PlanWish wish;
  wish.folder = o.output;
  wish.reserve = o.reserve;
  wish.unknown = o.creating.unknown();
  if (!o.after.empty()) {
    NF_TRY(wish.after, read_earlier_phase(o.after, file));
  } else if (!o.noise_multiplier.empty()) {
    return invalid_argument("--noise-multiplier is for a next phase (--after), or for a plan from numbers alone");
  }
  if (!o.noise_multiplier.empty()) {
    NF_TRY(const double noise, parse_number("--noise-multiplier", o.noise_multiplier));
    NF_TRY(wish.noise, NoiseMultiplier::make(noise));
  }
  return wish;
}

Chart chart_of(const PlanJob& job, const std::vector<UtilityCurve>& curves) {
  Chart chart;
  chart.title = job.file().training.name + ": what noise costs in accuracy";
  chart.subtitle =
      fmt::format("share of accuracy left with noise on the final weights, {} draws each", job.goal().draws);
  chart.x_label = "noise multiplier";
  chart.y_label = "share of accuracy";
  chart.log_x = true;
  chart.marks = true;
  for (const UtilityCurve& curve : curves) {
    Chart::Series series{fmt::format("C = {:g}", curve.clip.value()), {}};
    for (const UtilityPoint& p : curve.points) series.points.push_back({p.noise.value(), p.lowest, p.highest});
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string picture_of(const PlanJob& job) { return (job.folder() / "utility-graph.svg").string(); }

void report_utility(Report& report, const PlanJob& job, const std::vector<UtilityCurve>& curves,
                    const UtilityChoice& choice) {
  const std::string svg = picture_of(job);
  Json clips = Json::array();
  for (const UtilityCurve& curve : curves) {
    clips.push_back({{"clip_norm", curve.clip.value()}, {"accuracy", curve.accuracy}});
    report.line(fmt::format("clip norm {:g}", curve.clip.value()),
                fmt::format("accuracy {:.4f} before noise is added", curve.accuracy));
  }
  report.set("utility_graph", Json{{"data", in_words(job.goal().utility)},
                                   {"svg", svg},
                                   {"csv", OutputFiles{job.folder()}.utility_table()},
                                   {"models", clips},
                                   {"clip_norm", choice.clip.value()},
                                   {"noise_multiplier", choice.noise.value()}});
  report.line("utility graph", fmt::format("{}: at most noise {:.4g}, with clip norm {:g}", svg, choice.noise.value(),
                                           choice.clip.value()));
}

void report_closed_form(Report& report, const ClosedFormPlan& closed, const PlanFile& plan) {
  const auto rounds = closed.setting.sizes.rounds();
  report.line("closed form",
              fmt::format("{} rounds of {}: {:.3g} times as many", rounds, closed.setting.sizes.largest(),
                          static_cast<double>(rounds) / static_cast<double>(plan.steps.value())));
  report.set("closed_form", Json{{"rounds", rounds},
                                 {"batch", closed.setting.sizes.largest()},
                                 {"epsilon", closed.setting.epsilon.value()},
                                 {"gamma", closed.gamma}});
}

void report_plan(Report& report, const MadePlan& made) {
  const PlanFile& plan = made.plan;
  report.line("phase", fmt::format("{} of at most {}", plan.phase, plan.phases));
  report.line("plan", fmt::format("clip norm {:g}, noise {:.6g}, {} steps of {} out of {} rows", plan.clip.value(),
                                  plan.noise.value(), plan.steps.value(), plan.batch.value(), plan.rows.value()));
  report.line("epsilon", fmt::format("{} at delta {:.4g}", shown_interval(plan.certified.lower, plan.certified.upper),
                                     plan.delta.value()));
  if (made.closed) report_closed_form(report, *made.closed, plan);
  report.set("phase", plan.phase);
  report.set("clip_norm", plan.clip.value());
  report.set("noise_multiplier", plan.noise.value());
  report.set("batch", plan.batch.value());
  report.set("steps", plan.steps.value());
  report.set("epsilon", interval_json(plan.certified.lower, plan.certified.upper));
  report.set("delta", plan.delta.value());
}

// What is known before a utility graph is drawn; of a next phase, all of it.
Result<Report> dry_run(const PlanTrainingOptions& o, const PlanJob& job) {
  const Training& training = job.file().training;
  Report report(fmt::format("What planning {} would charge; nothing was spent or written", training.name));
  report.set("dry_run", true);
  report.set("target_epsilon", job.target().value());
  report.set("delta", job.delta().value());
  report.line("target", fmt::format("epsilon {:g} for all of it, delta {:.4g} for each of its private uses",
                                    job.target().value(), job.delta().value()));
  NF_TRY(const std::optional<UtilitySpend> graph, job.cost());
  if (graph) {
    NF_TRY(const Interval epsilon, certified_epsilon(graph->request.statement, job.delta()));
    report.set("utility_graph", Json{{"epsilon", interval_json(epsilon.lower, epsilon.upper)},
                                     {"noise_multiplier", graph->noise.multiplier->value()},
                                     {"models", job.goal().clip_norms.size()}});
    report.line("utility graph",
                fmt::format("epsilon {}, for {} models with noise {:.6g}", shown_interval(epsilon.lower, epsilon.upper),
                            job.goal().clip_norms.size(), graph->noise.multiplier->value()));
  } else if (!job.follows_a_phase()) {
    report.line("utility graph", fmt::format("free: {}", in_words(job.goal().utility)));
  }
  std::optional<MadePlan> made;
  if (job.follows_a_phase()) {
    NF_TRY(const UtilityChoice choice, job.choose({}));
    NF_TRY(made, job.make(choice));
    report_plan(report, *made);
  } else {
    report.line("plan", "clip norm and noise are chosen from the utility graph, which was not drawn");
  }
  const PlanFile* reserved = o.reserve && made ? &made->plan : nullptr;
  NF_TRY_VOID(report_outlook(report, o, training.privacy.budget,
                             [&](Ledger* ledger) { return job.outlook(ledger, reserved); }));
  return report;
}

void remark_on(Report& report, const PlanTrainingOptions& o, const PlanJob& job, const std::string& path) {
  const double asked = job.file().training.privacy.target_delta.value();
  if (job.whole_delta() < asked) {
    report.remark(
        fmt::format("delta {:g} is above 1/rows, at which a record could be published outright: the plan keeps "
                    "{:.4g}.",
                    asked, job.whole_delta()));
  }
  report.remark(fmt::format("Next: noisefloor train {} --plan {}", o.file, path));
  if (job.goal().utility == UtilityData::kPublic && !job.follows_a_phase()) {
    report.remark("The utility graph was computed on the training data without noise: it is public only if they are.");
  }
}

}  // namespace

Result<Report> plan_training(const PlanTrainingOptions& o) {
  NF_TRY(TrainingFile file, training_file_at(o.file));
  NF_TRY(Machine machine, machine_with(o.threads));
  NF_TRY(PlanWish wish, wish_of(o, file));
  NF_TRY(PlanJob job, PlanJob::prepare(std::move(file), std::move(wish), std::move(machine)));
  if (o.dry_run) return dry_run(o, job);
  OpenedLedger opened{};
  if (job.charges_for_graph()) {
    NF_TRY(opened,
           open_to_pay(o, o.creating, job.file(), [&](Ledger* ledger) { return job.outlook(ledger, nullptr); }));
  }
  Console console(o.quiet);
  const JobControl control = console.control();
  Result<std::vector<UtilityCurve>> drawn = job.draw_graph(opened.ledger.get(), control);
  if (!drawn.has_value()) return console.explained(std::move(drawn).error(), o.file);
  const std::vector<UtilityCurve>& curves = drawn.value();
  if (!job.follows_a_phase() && job.goal().noise.size() > 1) {
    NF_TRY_VOID(write_file(picture_of(job), to_svg(chart_of(job, curves))));
  }
  Report report(fmt::format("Plan for {} at epsilon {:g}", job.file().training.name, job.target().value()));
  NF_TRY(const UtilityChoice choice, job.choose(curves));
  if (!job.follows_a_phase()) report_utility(report, job, curves, choice);
  NF_TRY(MadePlan made, job.make(choice));
  if (!opened.ledger) {
    const PlanFile* reserved = o.reserve ? &made.plan : nullptr;
    NF_TRY(opened,
           open_to_pay(o, o.creating, job.file(), [&](Ledger* ledger) { return job.outlook(ledger, reserved); }));
  }
  const Result<std::string> written = job.sign(made.plan, *opened.ledger, control);
  if (!written.has_value()) return console.explained(written.error(), o.file);
  const std::string& path = written.value();
  report_plan(report, made);
  report.set("reserved", !made.plan.item.empty());
  report.set("plan", path);
  report.line("file", path + (made.plan.item.empty() ? "" : ", set aside in the ledger as " + made.plan.budget));
  remark_on(report, o, job, path);
  return report;
}

}  // namespace noisefloor::cli
