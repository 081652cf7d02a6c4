#include "noisefloor/cli/check_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/cli/report_json.h"
#include "noisefloor/config/dataset_file.h"
#include "noisefloor/config/pipeline_check.h"
#include "noisefloor/config/training.h"
#include "noisefloor/event/json.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file;
  bool strict = false;
};

// --- The offending line --------------------------------------------------------------------------------------------------

constexpr std::size_t kShownColumns = 110;

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The characters of a line, as a terminal may show them: no control characters, tabs as spaces.
std::vector<std::string> characters(std::string_view line) {
  std::vector<std::string> out;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = (byte & 0xC0U) == 0x80U;
    if (continues && !out.empty()) {
      out.back() += c;
    } else {
      out.emplace_back(1, byte < 0x20 || byte == 0x7F ? ' ' : c);
    }
  }
  return out;
}

// The line and a caret under the column.
std::string excerpt(std::string_view text, Place place) {
  const std::vector<std::string> line = characters(line_of(text, place.line));
  const std::size_t column = std::clamp<std::size_t>(place.column, 1, line.size() + 1);
  const std::size_t begin = column > kShownColumns ? column - kShownColumns / 2 : 0;
  const std::size_t end = std::min(line.size(), begin + kShownColumns);
  if (begin >= end) return "";
  std::string shown_line;
  for (std::size_t i = begin; i < end; ++i) shown_line += line[i];
  return fmt::format("{:>5} | {}\n      | {:>{}}\n", place.line, shown_line, '^', column - begin);
}

std::string as_text(const std::string& file, std::string_view text, const Finding& finding) {
  return fmt::format("{}:{}:{}: {}: {} [{}]\n{}  remedy: {}\n", file, finding.place.line, finding.place.column,
                     name_of(finding.severity), finding.message, finding.code, excerpt(text, finding.place),
                     finding.remedy);
}

Json as_json(const Finding& finding) {
  return Json{{"severity", name_of(finding.severity)}, {"code", finding.code},       {"line", finding.place.line},
              {"column", finding.place.column},        {"message", finding.message}, {"remedy", finding.remedy}};
}

// --- What the runs cost --------------------------------------------------------------------------------------------------

std::string how(const RunAssessment& run) {
  if (!run.charged) return ", not released and not charged";
  if (!run.event) return fmt::format(", no bound: {}", run.reason);
  std::string text;
  if (run.event->noise) {
    text += fmt::format(", noise multiplier {:.6g}{}", run.event->noise->value(),
                        run.event->calibrated ? " (calibrated)" : "");
  }
  if (run.schedule.steps && run.schedule.rate) {
    text += fmt::format(", {} steps at rate {:.4g}", run.schedule.steps->value(), run.schedule.rate->value());
  }
  return text;
}

Json as_json(const RunAssessment& run) {
  Json json{{"name", run.name}, {"line", run.place.line}, {"charged", run.charged}};
  if (run.epsilon) json["epsilon"] = interval_json(run.epsilon->lower, run.epsilon->upper);
  if (run.event && run.event->noise) {
    json["noise_multiplier"] = run.event->noise->value();
    json["calibrated"] = run.event->calibrated;
  }
  if (run.schedule.rate) json["sample_rate"] = run.schedule.rate->value();
  if (run.schedule.steps) json["steps"] = run.schedule.steps->value();
  if (!run.reason.empty()) json["reason"] = run.reason;
  return json;
}

void report_costs(Report& report, const Pipeline& pipeline, const Assessment& assessment) {
  const Budget& budget = pipeline.budget;
  if (budget.epsilon.has() && budget.delta.has()) {
    const double total = budget.epsilon.value->value();
    const double delta = budget.delta.value->value();
    report.set("budget", Json{{"epsilon", total},
                              {"delta", delta},
                              {"adjacency", name_of(budget.neighbours())},
                              {"unit", name_of(budget.protects())}});
    report.line("budget", fmt::format("epsilon {}, delta {}, {}, unit {}", shown(total), shown(delta),
                                      name_of(budget.neighbours()), name_of(budget.protects())));
  }
  Json runs = Json::array();
  for (const RunAssessment& run : assessment.runs) {
    runs.push_back(as_json(run));
    report.line("run", fmt::format("{}: {}{}", noisefloor::shown(run.name),
                                   run.epsilon ? fmt::format("epsilon {:.6g}", run.epsilon->upper) : "epsilon unknown",
                                   how(run)));
  }
  report.set("runs", runs);
  if (!assessment.composed) {
    report.set("composed", nullptr);
    if (!assessment.runs.empty()) report.line("all runs", "not certified: see the errors");
    return;
  }
  const Interval spent = *assessment.composed;
  report.set("composed", interval_json(spent.lower, spent.upper));
  report.line("all runs", "epsilon " + shown_interval(spent.lower, spent.upper));
  const double left = std::max(0.0, budget.epsilon.value->value() - spent.upper);
  report.set("left", left);
  report.line("left", fmt::format("epsilon {:.6g}", left));
  if (assessment.statement) report.set("statement", Json::parse(to_json(*assessment.statement)));
}

// --- The command ---------------------------------------------------------------------------------------------------------

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// The findings, and what add_costs has to say.
template <class AddCosts>
Report report_findings(const Options& o, const std::string& text, std::vector<Finding> findings,
                       const AddCosts& add_costs) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.place < b.place; });
  const auto errors = static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::kError; }));
  const std::size_t warnings = findings.size() - errors;
  const bool failed = errors > 0 || (o.strict && warnings > 0);

  const std::string file = o.file == "-" ? "standard input" : o.file;
  Report report(fmt::format("{}: {}, {}, {}", file, failed ? "FAILED" : "passed", counted(errors, "error"),
                            counted(warnings, "warning")));
  report.set("file", file);
  report.set("passed", !failed);
  report.set("errors", errors);
  report.set("warnings", warnings);
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back(as_json(finding));
    report.above(as_text(file, text, finding) + "\n");
  }
  report.set("findings", list);
  add_costs(report);
  if (failed) report.exit_with(exit_code(ErrorCode::kInvalidArgument));
  return report;
}

void report_training(Report& report, const Training& training) {
  const TrainingPrivacy& privacy = training.privacy;
  report.line("budget", fmt::format("{}: epsilon {}, delta {}, {}, unit {}", noisefloor::shown(privacy.budget),
                                    shown(privacy.epsilon.value()), shown(privacy.delta.value()),
                                    name_of(privacy.adjacency), name_of(privacy.unit)));
  report.line("model", training.model.name);
  report.line("noise", !privacy.private_training  ? "none: NOT PRIVATE"
                       : privacy.noise_multiplier ? fmt::format("multiplier {:.6g}", privacy.noise_multiplier->value())
                                                  : fmt::format("calibrated to epsilon {} when the rows are counted",
                                                                shown(privacy.target_epsilon->value())));
  report.set("name", training.name);
  report.set("private", privacy.private_training);
}

Result<Report> run_check(const Options& o) {
  const Result<std::string> text = read_text(o.file);
  if (!text.has_value()) return io_error(text.error().message);
  if (is_training(text.value())) {
    const TrainingText read = read_training(text.value(), files_beside(o.file));
    return report_findings(o, text.value(), read.findings, [&](Report& report) {
      if (read.training) report_training(report, *read.training);
    });
  }
  if (is_dataset(text.value())) {
    const DatasetText read = read_dataset(text.value());
    return report_findings(o, text.value(), read.findings, [&](Report& report) {
      if (read.description) report.set("name", read.description->name);
    });
  }
  const PipelineText read = read_pipeline(text.value());
  const Assessment assessment = assess(read.pipeline);
  std::vector<Finding> findings = read.findings;
  findings.insert(findings.end(), assessment.findings.begin(), assessment.findings.end());
  return report_findings(o, text.value(), std::move(findings),
                         [&](Report& report) { report_costs(report, read.pipeline, assessment); });
}
}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("check", "Does a pipeline keep its budget, and what looks wrong with it or with a training");
  command->add_option("FILE", options->file, "A pipeline or a training as TOML (docs/formats/); - is standard input")
      ->required();
  command->add_flag("--strict", options->strict, "Warnings fail, too");
  command->add_flag("--json", action.json, "Print one JSON object")->group("Output");
  command->footer(R"(Examples:
  noisefloor check examples/pipelines/medicore.toml
  noisefloor check examples/training/fashion.toml
  noisefloor check --strict --json pipeline.toml

Exit codes: 0 no errors, 2 errors were found (with --strict: or warnings), 5 the file cannot be read.)");
  command->callback([&action, options] { action.run = [options] { return run_check(*options); }; });
}

}  // namespace noisefloor::cli
