#include "noisefloor/cli/sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/model_report.h"
#include "noisefloor/cli/run_folder.h"
#include "noisefloor/cli/run_report.h"
#include "noisefloor/cli/training_session.h"
#include "noisefloor/report/chart.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct SweepOptions : LedgerAccess {
  std::string file;
  std::string epsilons;
  std::string output;
  std::string key;
  std::string threads;
  std::string replay_seed;
  bool quiet = false;
  bool no_report = false;
};

// One row of the table.
struct Run {
  double epsilon;  // that was asked for
  std::optional<double> noise_multiplier;
  double certified = kInfinity;
  Quality quality;
  double seconds = 0;
};

// Growing, without repeats; infinite is "inf".
Result<std::vector<double>> parse_epsilons(const std::string& text) {
  std::vector<double> epsilons;
  for (const std::string_view item : split_list(text)) {
    if (item == "inf") {
      epsilons.push_back(kInfinity);
      continue;
    }
    NF_TRY(const double value, parse_number("--epsilons", item));
    NF_TRY(const Epsilon epsilon, Epsilon::make(value));
    epsilons.push_back(epsilon.value());
  }
  std::sort(epsilons.begin(), epsilons.end());
  if (std::adjacent_find(epsilons.begin(), epsilons.end()) != epsilons.end()) {
    return invalid_argument("--epsilons has a value twice: each is trained once");
  }
  return epsilons;
}

std::string shown_epsilon(double epsilon) { return std::isfinite(epsilon) ? fmt::format("{:g}", epsilon) : "inf"; }

std::string name_of_run(double epsilon) { return sweep_run_name(shown_epsilon(epsilon)); }

// What is compared: higher is better, or lower for a loss.
struct Measure {
  const char* name;
  double value;
  bool is_loss;
};
Measure measure_of(const Quality& quality) {
  if (quality.accuracy) return {"accuracy", *quality.accuracy, false};
  return {"loss", quality.loss, true};
}

// How much worse than `best`, as a share of it.
double loss_of_utility(const Quality& quality, const Quality& best) {
  const Measure own = measure_of(quality);
  const double other = measure_of(best).value;
  if (other == 0) return 0;
  return own.is_loss ? own.value / other - 1 : 1 - own.value / other;
}

std::string or_dash(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string as_csv(const std::vector<Run>& runs, Delta delta) {
  std::string csv =
      "epsilon,delta,noise_multiplier,certified_epsilon,loss,accuracy,f1,recall_at_20,loss_of_utility,seconds\n";
  const auto number = [](const std::optional<double>& value) { return value ? fmt::format("{:.6g}", *value) : ""; };
  for (const Run& run : runs) {
    csv +=
        fmt::format("{},{:g},{},{},{:.6g},{},{},{},{:.6g},{:.3f}\n", shown_epsilon(run.epsilon), delta.value(),
                    number(run.noise_multiplier), std::isfinite(run.certified) ? shown(run.certified) : "inf",
                    run.quality.loss, number(run.quality.accuracy), number(run.quality.f1),
                    number(run.quality.recall_at_20), loss_of_utility(run.quality, runs.back().quality), run.seconds);
  }
  return csv;
}

std::string as_svg(const std::vector<Run>& runs, const std::string& name, Delta delta) {
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
  for (const Run& run : runs) {
    const double value = measure_of(run.quality).value;
    if (std::isfinite(run.epsilon)) chart.series.front().points.push_back({run.epsilon, value, value});
  }
  if (!std::isfinite(runs.back().epsilon))
    chart.level = {last.value, fmt::format("without privacy: {:.4g}", last.value)};
  return to_svg(chart);
}

Json row_of(const Run& run, const Run& last) {
  Json json{{"epsilon", std::isfinite(run.epsilon) ? Json(run.epsilon) : Json(nullptr)},
            {"certified_epsilon", std::isfinite(run.certified) ? Json(run.certified) : Json(nullptr)},
            {"noise_multiplier", run.noise_multiplier ? Json(*run.noise_multiplier) : Json(nullptr)}};
  json.update(as_json(run.quality));
  json["loss_of_utility"] = loss_of_utility(run.quality, last.quality);
  json["seconds"] = run.seconds;
  return json;
}

void report_table(Report& report, const std::vector<Run>& runs) {
  report.line("epsilon", fmt::format("{:>8}  {:>8}  {:>9}  {:>8}  {:>9}  {:>12}  {:>8}", "noise", "loss", "accuracy",
                                     "F1", "recall@20", "utility lost", "seconds"));
  for (const Run& run : runs) {
    report.line(
        shown_epsilon(run.epsilon),
        fmt::format("{:>8}  {:>8.4f}  {:>9}  {:>8}  {:>9}  {:>11.1f}%  {:>8.1f}",
                    or_dash(run.noise_multiplier, "{:.4f}"), run.quality.loss, or_dash(run.quality.accuracy, "{:.4f}"),
                    or_dash(run.quality.f1, "{:.4f}"), or_dash(run.quality.recall_at_20, "{:.4f}"),
                    100 * loss_of_utility(run.quality, runs.back().quality), run.seconds));
  }
}

// What each of `count` private runs may fail by, so that all of them fit the budget.
Result<Delta> delta_of_run(const TrainingPrivacy& privacy, std::size_t count) {
  const double share = privacy.delta.value() / static_cast<double>(std::max<std::size_t>(count, 1));
  return Delta::make(std::min(privacy.target_delta.value(), share));
}

Result<void> expect_affordable(const std::vector<double>& epsilons, const TrainingPrivacy& privacy) {
  double sum = 0;
  for (const double epsilon : epsilons) sum += std::isfinite(epsilon) ? epsilon : 0;
  if (sum <= privacy.epsilon.value()) return success();
  return budget_exhausted(
      fmt::format("trainings at these epsilons spend {:g} together, and the budget is {:g}: raise epsilon in [budget], "
                  "take fewer, or give --replay-seed N if the data are public. Nothing was spent",
                  sum, privacy.epsilon.value()));
}

Result<Report> run_sweep(const SweepOptions& o) {
  NF_TRY(const TrainingFile file, read_training_file(o.file));
  const Training& training = file.training;
  NF_TRY(const std::size_t threads, parse_threads(o.threads));
  NF_TRY(const std::vector<double> epsilons, parse_epsilons(o.epsilons));
  std::optional<std::uint64_t> seed;
  if (!o.replay_seed.empty()) {
    NF_TRY(seed, parse_seed(o.replay_seed));
  }
  if (!training.descent.clip) return invalid_argument("private runs need clip_norm under [training]");
  const auto private_runs = static_cast<std::size_t>(
      std::count_if(epsilons.begin(), epsilons.end(), [](double epsilon) { return std::isfinite(epsilon); }));
  if (!seed) NF_TRY_VOID(expect_affordable(epsilons, training.privacy));
  NF_TRY(const Delta each, delta_of_run(training.privacy, seed ? 0 : private_runs));
  NF_TRY(const TrainingExamples examples, read_examples(file, threads));
  if (!examples.test) return invalid_argument("there are no test data: give test or test_fraction under [data]");
  for (const std::string& warning : file.warnings) fmt::print(stderr, "warning: {}\n", warning);
  OpenedLedger opened{};
  if (!seed && private_runs > 0) {
    NF_TRY(opened, open_or_create(o));
    NF_TRY_VOID(ensure_budget(*opened.ledger, training.privacy));
  }
  const std::filesystem::path folder = o.output.empty() ? training.name + "-sweep" : o.output;
  NF_TRY(TrainingSession session, begin_session(file, examples, threads));
  std::vector<Run> runs;
  for (const double epsilon : epsilons) {
    Noise noise;
    if (std::isfinite(epsilon)) {
      NF_TRY(const Epsilon target, Epsilon::make(epsilon));
      NF_TRY(noise, noise_of({target, each, {}}, training, session.sampler, session.steps, *session.model));
    }
    const std::string name = name_of_run(epsilon);
    const RunRequest request{.files = {folder / name},
                             .key = (o.key.empty() ? training.name + "-sweep" : o.key) + "/" + name,
                             .noise = noise,
                             .delta = each,
                             .replay_seed = seed,
                             .from = {},
                             .checkpoint_seconds = 0,
                             .title = fmt::format("epsilon {}: ", shown_epsilon(epsilon)),
                             .quiet = o.quiet};
    NF_TRY(const RunResult result, run_training(session, request, opened.ledger.get()));
    if (stop_was_asked()) return invalid_argument("stopped: models that are finished are in " + folder.string());
    Run run{.epsilon = epsilon, .noise_multiplier = {}, .quality = {}, .seconds = result.seconds};
    if (noise.multiplier) run.noise_multiplier = noise.multiplier->value();
    run.certified = result.model.certificate.epsilon.upper;
    run.quality = session.model->quality(result.weights, *examples.test);
    runs.push_back(run);
  }

  Report report(fmt::format("{}: quality at each epsilon (delta {:g})", training.name, each.value()));
  const std::string csv = (folder / kSweepName).string();
  NF_TRY_VOID(write_file(csv, as_csv(runs, each)));
  report_table(report, runs);
  Json rows = Json::array();
  for (const Run& run : runs) rows.push_back(row_of(run, runs.back()));
  report.set("delta", each.value());
  report.set("runs", rows);
  report.set("csv", csv);
  report.line("table", csv);
  if (private_runs >= 2) {
    const std::string svg = (folder / "sweep.svg").string();
    NF_TRY_VOID(write_file(svg, as_svg(runs, training.name, each)));
    report.set("svg", svg);
    report.line("picture", svg);
  }
  if (!o.no_report) {
    const std::string page = try_to_write_report(folder.string(), {opened.ledger.get(), location_of(o), true});
    if (!page.empty()) {
      report.set("report", page);
      report.line("report", page);
    }
  }
  report.remark(
      fmt::format("Utility lost is relative to epsilon {}; quality is that on {} test examples, taken as public.",
                  shown_epsilon(runs.back().epsilon), examples.test->rows));
  if (seed) report.remark("With --replay-seed nothing here is private: it is for data that are public.");
  if (!std::isfinite(epsilons.back())) {
    report.remark("The model without privacy is in " + (folder / name_of_run(kInfinity)).string() +
                  ": it is not to leave the house.");
  }
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
    command.add_flag("--no-report", o.no_report, "Write no report.html")->group("Output");
    command.add_option("--key", o.key, "Of these spends in the ledger (NAME-sweep)")->type_name("KEY")->group("Ledger");
    command.add_option("--threads", o.threads, "Threads (all cores)")->type_name("N");
    o.add_to(command, true, true);
  };
  add_command<SweepOptions>(app, action, "sweep", "What privacy costs: train at several epsilons and compare",
                            "examples/training/streamrec.toml --epsilons 1,3,8,inf", declare, run_sweep);
}

}  // namespace noisefloor::cli
