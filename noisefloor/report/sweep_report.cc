#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/report/html.h"
#include "noisefloor/report/report_parts.h"

namespace noisefloor::internal {
namespace {

struct Swept {
  SweepLine line;
  RunFolder folder;

  [[nodiscard]] bool is_private() const { return folder.verdict.is_private(); }
};

Result<std::vector<Swept>> read_runs(const std::string& path) {
  NF_TRY(std::vector<SweepLine> lines, read_sweep(path));
  std::vector<Swept> runs;
  for (SweepLine& line : lines) {
    const std::filesystem::path folder = std::filesystem::path(path) / sweep_run_name(line.epsilon);
    NF_TRY(RunFolder run, read_run_folder(folder.string()));
    runs.push_back({std::move(line), std::move(run)});
  }
  return runs;
}

// --- Quality ---------------------------------------------------------------------------------------------------------

void add_sweep_curve(HtmlReport& page, const std::vector<Swept>& runs) {
  const bool has_accuracy = runs.front().line.cells.count("accuracy") > 0;
  const char* column = has_accuracy ? "accuracy" : "loss";
  const double scale = has_accuracy ? 100 : 1;
  Chart chart;
  chart.title = "What privacy costs";
  chart.subtitle = "each point is one training, measured without noise on the same test rows";
  chart.x_label = "ε of the training";
  chart.y_label = has_accuracy ? "accuracy (%)" : "loss";
  chart.log_x = true;
  chart.from_zero = false;
  chart.marks = true;
  Chart::Series series;
  for (const Swept& run : runs) {
    const auto cell = run.line.cells.find(column);
    if (cell == run.line.cells.end()) continue;
    const double value = scale * cell->second;
    if (run.line.epsilon == "inf") {
      chart.level = {value, fmt::format("without privacy: {:.4g}{}", value, has_accuracy ? " %" : "")};
    } else if (const auto epsilon = parse_finite(run.line.epsilon)) {
      series.points.push_back({*epsilon, value, value});
    }
  }
  if (series.points.size() < 2) return;
  chart.series = {std::move(series)};
  page.utility.push_back({"privacy-utility", std::move(chart),
                          fmt::format("{} is better. One training for each point: another one would differ a little.",
                                      has_accuracy ? "Higher" : "Lower")});
}

struct Column {
  const char* key;
  const char* head;
  int digits;  // after the point
  bool percent;
};
constexpr Column kColumns[]{
    {"noise_multiplier", "noise", 4, false},
    {"accuracy", "accuracy", 2, true},
    {"auc", "AUC", 4, false},
    {"rmse", "RMSE", 4, false},
    {"loss", "loss", 4, false},
    {"f1", "F1", 4, false},
    {"recall_at_20", "recall@20", 4, false},
    {"loss_of_utility", "utility lost", 1, true},
};

std::string cell_of(const SweepLine& line, const Column& column) {
  const auto found = line.cells.find(column.key);
  if (found == line.cells.end()) return "–";
  std::string text = fmt::format("{:.{}f}", (column.percent ? 100 : 1) * found->second, column.digits);
  // A value that rounds to zero has no sign.
  if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return column.percent ? text + " %" : text;
}

// Columns without a number are left out.
void add_sweep_table(HtmlReport& page, const std::vector<Swept>& runs) {
  std::vector<const Column*> columns;
  HtmlReport::Table table{"All trainings", {"ε", "certified ε"}, {}};
  for (const Column& column : kColumns) {
    const auto has = [&](const Swept& run) { return run.line.cells.count(column.key) > 0; };
    if (std::none_of(runs.begin(), runs.end(), has)) continue;
    columns.push_back(&column);
    table.head.emplace_back(column.head);
  }
  for (const Swept& run : runs) {
    const double epsilon = run.folder.verdict.certificate().epsilon.upper;
    std::vector<std::string> row{run.line.epsilon == "inf" ? "∞" : run.line.epsilon,
                                 run.is_private() ? shown_at_least(epsilon, 5) : "not private"};
    for (const Column* column : columns) row.push_back(cell_of(run.line, *column));
    table.rows.push_back(std::move(row));
  }
  page.results_tables.push_back(std::move(table));
}

// --- Privacy ---------------------------------------------------------------------------------------------------------

struct Together {
  DpStatement statement;
  Delta delta;
};

// All private runs composed, at the sum of their δ: whoever sees all models has seen all of their noise.
Result<Together> together(const std::vector<Swept>& runs) {
  std::vector<DpStatement> parts;
  double sum = 0;
  for (const Swept& run : runs) {
    if (!run.is_private()) continue;
    parts.push_back(run.folder.verdict.certificate().statement);
    sum += run.folder.verdict.certificate().delta.value();
  }
  NF_TRY(DpStatement statement, compose(parts));
  NF_TRY(const Delta delta, Delta::make(sum));
  return Together{std::move(statement), delta};
}

std::string noun_of(std::size_t private_runs, std::size_t all) {
  if (private_runs == 0) return fmt::format("{} models", all);
  return private_runs == 1 ? "private model" : fmt::format("{} private models", private_runs);
}

Result<void> add_promise(HtmlReport& page, const std::vector<Swept>& runs, std::size_t private_runs) {
  const Certificate& first = runs.front().folder.verdict.certificate();
  page.promise = promise_of(first.statement, {HUGE_VAL, HUGE_VAL}, first.delta);
  if (private_runs > 0) {
    NF_TRY(const Together all, together(runs));
    NF_TRY(const Interval epsilon, certified_epsilon(all.statement, all.delta));
    page.promise = promise_of(all.statement, epsilon, all.delta);
    page.checks.push_back({"ε:", "recomputed from the events of all certificates, composed."});
    add_privacy(page, all.statement, all.delta);
  }
  page.checks.push_back({"Certificates:", fmt::format("all {} hold, each for its model.", runs.size())});
  if (private_runs > 0 && private_runs < runs.size()) {
    page.warnings.emplace_back(
        "The model that was trained without privacy is in this folder for comparison. Nothing said here holds for it: "
        "it must not be handed on.");
  }
  return success();
}

void add_first_settings(HtmlReport& page, const Swept& first) {
  add_settings(page, first.folder);
  page.parameters.front().caption = "Privacy of " + sweep_run_name(first.line.epsilon);
  for (std::size_t i = 1; i < page.parameters.size(); ++i) page.parameters[i].caption += " of the same";
  page.not_covered = first.folder.verdict.not_covered;
}

}  // namespace

Result<AssembledReport> report_on_sweep(const std::string& path, const Trusted& trusted) {
  NF_TRY(const std::vector<Swept> runs, read_runs(path));
  const auto private_runs =
      static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), std::mem_fn(&Swept::is_private)));
  AssembledReport report;
  report.is_sweep = true;
  for (const Swept& run : runs) report.verdicts.push_back(run.folder.verdict);
  HtmlReport& page = report.page;
  page.name = runs.front().folder.verdict.certificate().name + ": a sweep";
  page.several = private_runs != 1;
  page.noun = noun_of(private_runs, runs.size());
  NF_TRY_VOID(add_promise(page, runs, private_runs));
  NF_TRY_VOID(add_budget(page, report.verdicts, trusted));
  NF_TRY_VOID(add_signers(page, report.verdicts, trusted));
  add_sweep_curve(page, runs);
  add_sweep_table(page, runs);
  add_unsigned_note(page);
  add_first_settings(page, runs.front());
  return report;
}

}  // namespace noisefloor::internal
