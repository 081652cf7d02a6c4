#include "noisefloor/summary/findings_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>
#include <vector>

#include "noisefloor/base/printable.h"
#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/report/html.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

// --- The offending line ----------------------------------------------------------------------------------------------

constexpr std::size_t kShownColumns = 110;

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The characters of a line as a terminal may show them: printable, tabs as spaces.
std::vector<std::string> characters(std::string_view line) {
  std::vector<std::string> out;
  while (!line.empty()) {
    const std::size_t bytes = next_character(line).bytes;
    out.push_back(line.front() == '\t' || line.front() == '\r' ? " " : printable(line.substr(0, bytes)));
    line.remove_prefix(bytes);
  }
  return out;
}

// The columns that a text of these takes: one for each character, also for those of more bytes.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string as_text(const std::string& file, std::string_view text, const Finding& finding) {
  return fmt::format("{}:{}:{}: {}: {} [{}]\n{}  remedy: {}\n", printable(file), finding.place.line,
                     finding.place.column, name_of(finding.severity), printable(finding.message), finding.code,
                     excerpt(text, finding.place), printable(finding.remedy));
}

Json finding_json(const Finding& finding) {
  return Json{{"severity", name_of(finding.severity)}, {"code", finding.code},       {"line", finding.place.line},
              {"column", finding.place.column},        {"message", finding.message}, {"remedy", finding.remedy}};
}

// --- What the file would cost or do ----------------------------------------------------------------------------------

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

Json run_json(const RunAssessment& run) {
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

void add_total(Summary& summary, const Budget& budget) {
  if (!budget.epsilon.has() || !budget.delta.has()) return;
  const double total = budget.epsilon.value->value();
  const double delta = budget.delta.value->value();
  summary.set("budget", Json{{"epsilon", total},
                             {"delta", delta},
                             {"adjacency", name_of(budget.neighbours())},
                             {"unit", name_of(budget.protects())}});
  summary.line("budget", fmt::format("epsilon {}, delta {}, {}, unit {}", shown(total), shown(delta),
                                     name_of(budget.neighbours()), name_of(budget.protects())));
}

void add_content(Summary& summary, const CheckedPipeline& checked) {
  const Assessment& assessment = checked.assessment;
  add_total(summary, checked.pipeline.budget);
  Json runs = Json::array();
  for (const RunAssessment& run : assessment.runs) {
    runs.push_back(run_json(run));
    summary.line("run", fmt::format("{}: {}{}", shown(run.name),
                                    run.epsilon ? fmt::format("epsilon {:.6g}", run.epsilon->upper) : "epsilon unknown",
                                    how(run)));
  }
  summary.set("runs", runs);
  if (!assessment.composed) {
    summary.set("composed", Json());
    if (!assessment.runs.empty()) summary.line("all runs", "not certified: see the errors");
    return;
  }
  const Interval spent = *assessment.composed;
  summary.set("composed", interval_json(spent.lower, spent.upper));
  summary.line("all runs", "epsilon " + shown_interval(spent.lower, spent.upper));
  const double left = std::max(0.0, checked.pipeline.budget.epsilon.value->value() - spent.upper);
  summary.set("left", left);
  summary.line("left", fmt::format("epsilon {:.6g}", left));
  if (assessment.statement) summary.set("statement", Json::parse(to_json(*assessment.statement)));
}

std::string noise_of(const TrainingPrivacy& privacy) {
  if (!privacy.private_training) return "none: NOT PRIVATE";
  if (privacy.noise_multiplier) return fmt::format("multiplier {:.6g}", privacy.noise_multiplier->value());
  return fmt::format("calibrated to epsilon {} when the rows are counted", shown(privacy.target_epsilon->value()));
}

void add_content(Summary& summary, const std::optional<Pate>& pate) {
  if (!pate) return;
  const TrainingPrivacy& privacy = pate->teachers.privacy;
  summary.line("budget", fmt::format("{}: epsilon {}, delta {}, {}, unit {}", shown(privacy.budget),
                                     shown(privacy.epsilon.value()), shown(privacy.delta.value()),
                                     name_of(privacy.adjacency), name_of(privacy.unit)));
  summary.line("votes",
               fmt::format("{} of {} teachers, noise {:g} votes, at epsilon {}", name_of(pate->votes.aggregator),
                           pate->count, pate->votes.noise.value(), shown(pate->votes.target_epsilon.value())));
  summary.set("teachers", pate->count);
  summary.set("aggregator", name_of(pate->votes.aggregator));
}

void add_content(Summary& summary, const std::optional<Training>& training) {
  if (!training) return;
  const TrainingPrivacy& privacy = training->privacy;
  summary.line("budget", fmt::format("{}: epsilon {}, delta {}, {}, unit {}", shown(privacy.budget),
                                     shown(privacy.epsilon.value()), shown(privacy.delta.value()),
                                     name_of(privacy.adjacency), name_of(privacy.unit)));
  summary.line("model", training->model.name);
  summary.line("noise", noise_of(privacy));
  summary.set("name", training->name);
  summary.set("private", privacy.private_training);
}

void add_content(Summary& summary, const std::optional<DatasetDescription>& description) {
  if (description) summary.set("name", description->name);
}

void add_content(Summary& summary, const std::optional<SimulationFile>& simulation) {
  if (!simulation) return;
  summary.set("name", simulation->name);
  summary.set("private", false);
  Json methods = Json::array();
  std::string names;
  for (const SimulatedMethod& method : simulation->methods) {
    methods.push_back(method.name);
    names += (names.empty() ? "" : "; ") + method.name;
  }
  summary.set("methods", methods);
  summary.line("simulates", shown(names));
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string excerpt(std::string_view text, Place place) {
  const std::vector<std::string> line = characters(line_of(text, place.line));
  const std::size_t column = std::clamp<std::size_t>(place.column, 1, line.size() + 1);
  const std::size_t begin = column > kShownColumns ? column - kShownColumns / 2 : 0;
  const std::size_t end = std::min(line.size(), begin + kShownColumns);
  if (begin >= end) return "";
  std::string shown_line;
  std::size_t before = 0;  // columns before the caret: a character that is written out takes several
  for (std::size_t i = begin; i < end; ++i) {
    shown_line += line[i];
    if (i + 1 < column) before += columns_of(line[i]);
  }
  return fmt::format("{:>5} | {}\n      | {:>{}}\n", place.line, shown_line, '^', before + 1);
}

Summary summary_of(const CheckedFile& checked, const std::string& file, std::string_view text, bool strict) {
  const auto is_error = [](const Finding& finding) { return finding.severity == Severity::kError; };
  const auto errors =
      static_cast<std::size_t>(std::count_if(checked.findings.begin(), checked.findings.end(), is_error));
  const std::size_t warnings = checked.findings.size() - errors;
  const bool failed = errors > 0 || (strict && warnings > 0);

  Summary summary(fmt::format("{}: {}, {}, {}", file, failed ? "FAILED" : "passed", counted(errors, "error"),
                              counted(warnings, "warning")));
  summary.set("file", file);
  summary.set("passed", !failed);
  summary.set("errors", errors);
  summary.set("warnings", warnings);
  Json list = Json::array();
  for (const Finding& finding : checked.findings) {
    list.push_back(finding_json(finding));
    summary.above(as_text(file, text, finding) + "\n");
  }
  summary.set("findings", list);
  std::visit([&](const auto& content) { add_content(summary, content); }, checked.content);
  if (failed) summary.fail_with(ErrorCode::kInvalidArgument);
  return summary;
}

Summary summary_of(const Checkup& checkup, const std::string& file, std::string_view text, bool strict) {
  Summary summary = summary_of(checkup.file, file, text, strict);
  if (!checkup.not_looked_at.empty()) {
    summary.set("not_looked_at", checkup.not_looked_at);
    summary.remark(fmt::format("Neither the header nor the cost was looked at: {}.", checkup.not_looked_at));
  }
  if (!checkup.cost) return summary;
  const TrainingCost& cost = *checkup.cost;
  summary.set("steps", cost.steps.value());
  summary.line("steps", fmt::format("{}", cost.steps.value()));
  if (cost.noise.multiplier) summary.set("noise_multiplier", cost.noise.multiplier->value());
  if (!cost.charged) {
    summary.line("would cost", "nothing: the model would be NOT PRIVATE");
    return summary;
  }
  summary.set("cost", interval_json(cost.epsilon.lower, cost.epsilon.upper));
  summary.set("delta", cost.delta.value());
  summary.line("would cost", fmt::format("epsilon {} at delta {}, with noise multiplier {:.6g}",
                                         shown_interval(cost.epsilon.lower, cost.epsilon.upper),
                                         shown(cost.delta.value()), cost.noise.multiplier->value()));
  return summary;
}

}  // namespace noisefloor
