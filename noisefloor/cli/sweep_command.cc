#include "noisefloor/cli/sweep_command.h"

#include "noisefloor/cli/report_json.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/cli/model_report.h"
#include "noisefloor/report/chart.h"
#include "noisefloor/training/sweep.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SweepOptions : LedgerAccess {
  std::string file;
  std::string epsilons;
  std::string output;
  std::string key;
  std::string threads;
  std::string replay_seed;
  bool quiet = false;
  bool no_report = false;
  bool dry_run = false;
  CreateOption creating;
};

// "inf" is without privacy.
Result<std::vector<double>> parse_epsilons(const std::string& text) {
  std::vector<double> epsilons;
  for (const std::string_view item : split_list(text)) {
    if (item == "inf") {
      epsilons.push_back(kNoPrivacy);
      continue;
    }
    NF_TRY(const double value, parse_number("--epsilons", item));
    epsilons.push_back(value);
  }
  return epsilons;
}

Result<SweepWish> wish_of(const SweepOptions& o) {
  SweepWish wish{.epsilons = {}, .folder = o.output, .key = o.key, .replay_seed = {}, .unknown = o.creating.unknown()};
  NF_TRY(wish.epsilons, parse_epsilons(o.epsilons));
  if (!o.replay_seed.empty()) {
    NF_TRY(wish.replay_seed, parse_seed(o.replay_seed));
  }
  return wish;
}

std::string as_svg(const std::vector<SweepRun>& runs, const std::string& name, Delta delta) {
  const Measure last = measure_of(runs.back().quality);
  Chart chart{
      .title = fmt::format("{}: what privacy costs", name),
      .subtitle = fmt::format("each point is one private training at delta {:g}, on its test data", delta.value()),
      .x_label = "epsilon",
      .y_label = last.name,
      .log_x = true,
      .series = {{}},
      .from_zero = false,
      .diagonal = {},
      .marks = true};
  for (const SweepRun& run : runs) {
    const double value = measure_of(run.quality).value;
    if (std::isfinite(run.epsilon)) chart.series.front().points.push_back({run.epsilon, value, value});
  }
  if (!std::isfinite(runs.back().epsilon))
    chart.level = {last.value, fmt::format("without privacy: {:.4g}", last.value)};
  return to_svg(chart);
}

Json row_of(const SweepRun& run, const SweepRun& last) {
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  Json json{{"epsilon", finite(run.epsilon)},
            {"certified_epsilon", finite(run.certified)},
            {"noise_multiplier", run.noise ? Json(run.noise->value()) : Json(nullptr)}};
  json.update(as_json(run.quality));
  json["loss_of_utility"] = loss_of_utility(run, last);
  json["seconds"] = run.seconds;
  return json;
}

// Of one digit behind the point, and never "-0.0".
std::string percent(double share) {
  const double rounded = std::round(1000 * share) / 10;
  return fmt::format("{:.1f}%", rounded == 0 ? 0.0 : rounded);
}

void report_table(Report& report, const std::vector<SweepRun>& runs) {
  const std::vector<SweepMeasure> measures = measures_of(runs);
  std::string header = fmt::format("{:>8}", "noise");
  for (const SweepMeasure& measure : measures) header += fmt::format("  {:>9}", measure.label);
  report.line("epsilon", header + fmt::format("  {:>12}  {:>8}", "utility lost", "seconds"));
  for (const SweepRun& run : runs) {
    std::string line = fmt::format("{:>8}", run.noise ? fmt::format("{:.4f}", run.noise->value()) : "-");
    for (const SweepMeasure& measure : measures) {
      const std::optional<double> value = measure.of(run.quality);
      line += fmt::format("  {:>9}", value ? fmt::format("{:.4f}", *value) : "-");
    }
    report.line(epsilon_text(run.epsilon),
                line + fmt::format("  {:>12}  {:>8.1f}", percent(loss_of_utility(run, runs.back())), run.seconds));
  }
}

void remark_on(Report& report, const SweepJob& job, bool repeated) {
  report.remark(
      fmt::format("Utility lost is relative to epsilon {}; quality is that on {} test examples, taken as public.",
                  epsilon_text(job.epsilons().back()), job.examples().test->rows));
  if (repeated) report.remark("With --replay-seed nothing here is private: it is for data that are public.");
  if (job.epsilons().back() != kNoPrivacy) return;
  report.remark(
      fmt::format("The model without privacy is in {}. Keep this file inside your organisation: it is not "
                  "private.",
                  (job.folder() / sweep_folder_of(kNoPrivacy)).string()));
}

Result<Report> dry_run(const SweepOptions& o, SweepJob& job) {
  const Training& training = job.file().training;
  Report report(fmt::format("What the sweep of {} would charge; nothing was spent or written", training.name));
  report.set("dry_run", true);
  report.set("charged", job.charged());
  report.set("delta", job.delta().value());
  report.set("steps", job.steps().value());
  Json runs = Json::array();
  double sum = 0;
  report.line("epsilon", fmt::format("{:>8}", "noise"));
  for (std::size_t i = 0; i < job.epsilons().size(); ++i) {
    const double epsilon = job.epsilons()[i];
    const std::optional<NoiseMultiplier>& noise = job.noise()[i].multiplier;
    runs.push_back({{"epsilon", noise ? Json(epsilon) : Json(nullptr)},
                    {"noise_multiplier", noise ? Json(noise->value()) : Json(nullptr)}});
    report.line(epsilon_text(epsilon), fmt::format("{:>8}", noise ? fmt::format("{:.4f}", noise->value()) : "-"));
    if (noise) sum += epsilon;
  }
  report.set("runs", runs);
  report.line("steps", fmt::format("{} each", job.steps().value()));
  if (!job.charged()) {
    report.line("charge", "nothing: none of it would be private");
    return report;
  }
  report.set("epsilon", sum);
  report.line("charge", fmt::format("epsilon {:g} in all, delta {:g} each", sum, job.delta().value()));
  NF_TRY_VOID(report_outlook(report, o, training.privacy.budget, [&](Ledger* ledger) { return job.outlook(ledger); }));
  return report;
}

// The library knows nothing of options.
Error with_option(Error error) {
  if (error.code == ErrorCode::kBudgetExhausted) error.message += " (--replay-seed N repeats the noise)";
  return error;
}

Result<Report> run_sweep(const SweepOptions& o) {
  NF_TRY(TrainingFile file, training_file_at(o.file));
  NF_TRY(const Machine machine, machine_with(o.threads));
  NF_TRY(SweepWish wish, wish_of(o));
  Result<SweepJob> prepared = SweepJob::prepare(std::move(file), std::move(wish), machine);
  if (!prepared.has_value()) return with_option(std::move(prepared).error());
  SweepJob job = std::move(prepared).value();
  if (o.dry_run) return dry_run(o, job);
  OpenedLedger opened{};
  if (job.charged()) {
    NF_TRY(opened, open_to_pay(o, o.creating, job.file(), [&](Ledger* ledger) { return job.outlook(ledger); }));
  }
  Console console(o.quiet);
  Result<std::vector<SweepRun>> made = job.run(opened.ledger.get(), console.control());
  if (!made.has_value()) return console.explained(std::move(made).error(), o.file);
  const std::vector<SweepRun>& runs = made.value();

  const std::string& name = job.file().training.name;
  Report report(fmt::format("{}: quality at each epsilon (delta {:g})", name, job.delta().value()));
  report_table(report, runs);
  Json rows = Json::array();
  for (const SweepRun& run : runs) rows.push_back(row_of(run, runs.back()));
  const std::string csv = (job.folder() / kSweepTableName).string();
  report.set("delta", job.delta().value());
  report.set("runs", rows);
  report.set("csv", csv);
  report.line("table", csv);
  if (job.private_runs() >= 2) {
    const std::string svg = (job.folder() / "sweep.svg").string();
    NF_TRY_VOID(write_file(svg, as_svg(runs, name, job.delta())));
    report.set("svg", svg);
    report.line("picture", svg);
  }
  if (!o.no_report) add_report_page(report, job.folder().string(), {opened.ledger.get(), location_of(o), true});
  remark_on(report, job, !o.replay_seed.empty());
  return report;
}

}  // namespace

void add_sweep_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, SweepOptions& o) {
    command.add_option("FILE", o.file, "The training as TOML (docs/formats/training.md)")->required();
    command.add_option("--epsilons", o.epsilons, "Trained at each of these; inf is without privacy")
        ->type_name("E,E,...")
        ->required()
        ->group("Privacy");
    command.add_option("--replay-seed", o.replay_seed, "Repeatable noise: NOT PRIVATE, not charged")
        ->type_name("N")
        ->group("Privacy");
    command.add_option("--output", o.output, "Folder for models, table and picture (NAME-sweep)")
        ->type_name("DIR")
        ->group("Output");
    command.add_flag("--quiet", o.quiet, "No progress")->group("Output");
    command.add_flag("--dry-run", o.dry_run, kDryRunHelp);
    o.creating.add_to(command);
    command.add_flag("--no-report", o.no_report, "Write no report.html")->group("Output");
    command.add_option("--key", o.key, "Of these spends in the ledger (NAME-sweep)")->type_name("KEY")->group("Ledger");
    command.add_option("--threads", o.threads, "Threads (all cores)")->type_name("N");
    o.add_to(command, true, true);
  };
  add_command<SweepOptions>(app, action, "sweep", "What privacy costs: train at several epsilons and compare",
                            "examples/training/streamrec.toml --epsilons 1,3,8,inf", declare, run_sweep);
}

}  // namespace noisefloor::cli
