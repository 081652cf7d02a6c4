#include "noisefloor/summary/sweep_summary.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "noisefloor/report/job_charts.h"
#include "noisefloor/summary/summary_json.h"
#include "noisefloor/training/exposing.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

Json row_of(const SweepRun& run, const SweepRun& last) {
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json json{{"epsilon", finite(run.epsilon)},
            {"certified_epsilon", finite(run.certified)},
            {"noise_multiplier", run.noise ? Json(run.noise->value()) : Json(nullptr)}};
  json.update(quality_json(run.quality));
  json["loss_of_utility"] = loss_of_utility(run, last);
  json["seconds"] = run.seconds;
  return json;
}

// With one digit behind the point, and never "-0.0".
std::string percent(double share) {
  const double rounded = std::round(1000 * share) / 10;
  return fmt::format("{:.1f}%", rounded == 0 ? 0.0 : rounded);
}

void add_table(Summary& summary, const std::vector<SweepRun>& runs) {
  const std::vector<SweepMeasure> measures = measures_of(runs);
  std::string header = fmt::format("{:>8}", "noise");
  for (const SweepMeasure& measure : measures) header += fmt::format("  {:>9}", measure.label);
  summary.line("epsilon", header + fmt::format("  {:>12}  {:>8}", "utility lost", "seconds"));
  for (const SweepRun& run : runs) {
    std::string line = fmt::format("{:>8}", run.noise ? fmt::format("{:.4f}", run.noise->value()) : "-");
    for (const SweepMeasure& measure : measures) {
      const std::optional<double> value = measure.of(run.quality);
      line += fmt::format("  {:>9}", value ? fmt::format("{:.4f}", *value) : "-");
    }
    summary.line(epsilon_text(run.epsilon),
                 line + fmt::format("  {:>12}  {:>8.1f}", percent(loss_of_utility(run, runs.back())), run.seconds));
  }
}

}  // namespace

Summary summary_of(const SweepJob& job, const std::vector<SweepRun>& runs, const std::string& repeated) {
  Summary summary(
      fmt::format("{}: quality at each epsilon (delta {:g})", job.file().training.name, job.delta().value()));
  add_table(summary, runs);
  Json rows = Json::array();
  for (const SweepRun& run : runs) rows.push_back(row_of(run, runs.back()));
  const std::string csv = (job.folder() / kSweepTableName).string();
  summary.set("delta", job.delta().value());
  summary.set("runs", rows);
  summary.set("csv", csv);
  summary.line("table", csv);
  if (const std::optional<std::string> svg = sweep_picture_of(job)) {
    summary.set("svg", *svg);
    summary.line("picture", *svg);
  }
  const Training& training = job.file().training;
  const bool private_rows = measures_private_rows(training) && !training.data.test;
  summary.remark(fmt::format("Utility lost is relative to epsilon {}; quality is that on {} test examples, {}.",
                             epsilon_text(job.epsilons().back()), job.examples().test->rows,
                             private_rows ? "kept from private rows: measured without noise" : "taken as public"));
  if (job.repeated()) summary.remark(repeated);
  if (job.epsilons().back() == kNoPrivacy) {
    summary.remark(
        fmt::format("The model without privacy is in {}. Keep this file inside your organisation: it is not private.",
                    (job.folder() / sweep_folder_of(kNoPrivacy)).string()));
  }
  return summary;
}

Summary cost_summary(const SweepJob& job) {
  Summary summary(
      fmt::format("What the sweep of {} would charge; nothing was spent or written", job.file().training.name));
  summary.set("dry_run", true);
  summary.set("charged", job.charged());
  summary.set("delta", job.delta().value());
  summary.set("steps", job.steps().value());
  Json runs = Json::array();
  double sum = 0;
  summary.line("epsilon", fmt::format("{:>8}", "noise"));
  for (std::size_t i = 0; i < job.epsilons().size(); ++i) {
    const double epsilon = job.epsilons()[i];
    const std::optional<NoiseMultiplier>& noise = job.noise()[i].multiplier;
    runs.push_back({{"epsilon", noise ? Json(epsilon) : Json(nullptr)},
                    {"noise_multiplier", noise ? Json(noise->value()) : Json(nullptr)}});
    summary.line(epsilon_text(epsilon), fmt::format("{:>8}", noise ? fmt::format("{:.4f}", noise->value()) : "-"));
    if (noise) sum += epsilon;
  }
  summary.set("runs", runs);
  summary.line("steps", fmt::format("{} each", job.steps().value()));
  if (!job.charged()) {
    summary.line("charge", "nothing: none of it would be private");
    return summary;
  }
  summary.set("epsilon", sum);
  summary.line("charge", fmt::format("epsilon {:g} in all, delta {:g} each", sum, job.delta().value()));
  return summary;
}

}  // namespace noisefloor
