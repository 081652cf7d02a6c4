#include "noisefloor/summary/answer_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/release/certificate.h"
#include "noisefloor/report/html.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAnsweredBefore = "Answered before: nothing was spent";

struct Title {
  std::string_view mechanism;
  const char* title;
};
constexpr std::array<Title, 14> kTitles{{{"laplace", "Laplace mechanism"},
                                         {"gaussian", "Gaussian mechanism"},
                                         {"geometric", "Geometric mechanism"},
                                         {"sum", "Private sum"},
                                         {"mean", "Private mean"},
                                         {"quantile", "Private quantile"},
                                         {"exponential", "Private choice"},
                                         {"permute-and-flip", "Private choice"},
                                         {"noisy-max", "Private choice"},
                                         {"above-threshold", "Above threshold"},
                                         {"randomized-response", "Randomized response"},
                                         {"histogram", "Private histogram"},
                                         {"partition-selection", "Partition selection"},
                                         {"tree-count", "Running total"}}};

std::string title_of(const std::string& mechanism) {
  for (const Title& one : kTitles) {
    if (one.mechanism == mechanism) return one.title;
  }
  return mechanism;
}

Json interval_of(Confidence confidence, const Interval& range) {
  return {{"confidence", confidence.value()}, {"lower", range.lower}, {"upper", range.upper}};
}

struct ShownCell {
  std::string operator()(double value) const { return shown(value); }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(bool value) const { return value ? "above" : "below"; }
};

std::string shown_cell(const AnswerColumn& column, std::size_t row) {
  return std::visit([&](const auto& cells) { return ShownCell{}(cells[row]); }, column.cells);
}

// --- For programs ----------------------------------------------------------------------------------------------------

Json cell_json(const AnswerColumn& column, std::size_t row) {
  return std::visit(
      [&](const auto& cells) {
        using Cell = typename std::decay_t<decltype(cells)>::value_type;
        return Json(static_cast<Cell>(cells[row]));
      },
      column.cells);
}

// A list of objects, or of cells if there is one column.
Json table_json(const AnswerTable& table) {
  Json list = Json::array();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.columns.size() == 1) {
      list.push_back(cell_json(table.columns.front(), row));
      continue;
    }
    Json item;
    for (const AnswerColumn& column : table.columns) {
      item[column.name] = cell_json(column, row);
      if (!column.ranges.empty()) item["interval"] = interval_of(*column.confidence, column.ranges[row]);
    }
    list.push_back(std::move(item));
  }
  return list;
}

Json value_json(const AnswerValue& value) {
  return std::visit(
      [](const auto& datum) {
        if constexpr (std::is_same_v<std::decay_t<decltype(datum)>, AnswerTable>) {
          return table_json(datum);
        } else {
          return Json(datum);
        }
      },
      value.value);
}

void set_fields(Summary& summary, const Answer& answer) {
  summary.set("mechanism", answer.mechanism);
  if (answer.asked) summary.set("epsilon", answer.asked->epsilon.value());
  summary.set("delta", answer.delta.value());
  for (const AnswerValue& value : answer.content.values) {
    summary.set(value.name.c_str(), value_json(value));
    if (value.error_bars) summary.set("interval", interval_of(value.error_bars->confidence, value.error_bars->range));
  }
  for (const AnswerBound& bound : answer.content.bounds) {
    summary.set(bound.name.c_str(), Json{{"confidence", bound.confidence.value()}, {"at_most", bound.at_most}});
  }
  for (const AnswerFact& fact : answer.content.facts) {
    summary.set(fact.name.c_str(), std::visit([](const auto& datum) { return Json(datum); }, fact.value));
  }
  for (const AnswerValue& value : answer.content.values) {
    if (value.grid) summary.set("grid", *value.grid);
  }
}

// --- For people ------------------------------------------------------------------------------------------------------

void add_bars(Summary& summary, const ErrorBars& bars) {
  summary.line(fmt::format("{} % interval", shown(100 * bars.confidence.value())),
               fmt::format("{} to {} holds the true answer", shown(bars.range.lower), shown(bars.range.upper)));
}

// Names that were chosen or kept, in one line.
void add_names(Summary& summary, const std::string& label, const AnswerColumn& names) {
  std::string text;
  for (std::size_t row = 0; row < names.rows(); ++row) text += (row == 0 ? "" : ", ") + shown_cell(names, row);
  summary.line(label, text.empty() ? "none" : text);
}

// A line for each row.
void add_rows(Summary& summary, const AnswerTable& table) {
  const AnswerColumn* names = table.find("name");
  const AnswerColumn& cells = table.columns.back();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::string text = shown_cell(cells, row);
    if (!cells.ranges.empty()) text += " ± " + shown((cells.ranges[row].upper - cells.ranges[row].lower) / 2);
    summary.line(names == nullptr ? fmt::format("after step {}", row + 1) : shown_cell(*names, row), std::move(text));
  }
}

void add_value(Summary& summary, const AnswerValue& value, const std::string& mechanism) {
  if (const auto* table = std::get_if<AnswerTable>(&value.value)) {
    const bool names_alone = value.name == "chosen" || value.name == "kept";
    return names_alone ? add_names(summary, value.name, *table->find("name")) : add_rows(summary, *table);
  }
  const char* label = mechanism == "randomized-response" ? "reported" : "released";
  std::visit(
      [&](const auto& datum) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(datum)>, AnswerTable>) {
          summary.line(label, ShownCell{}(datum));
        }
      },
      value.value);
  if (value.error_bars) add_bars(summary, *value.error_bars);
}

void add_bound(Summary& summary, const AnswerBound& bound, const Answer& answer) {
  const std::string confidence = shown(bound.confidence.value());
  if (bound.name == "rank_error") {
    const AnswerFact* level = find_fact(answer, "level");
    summary.line("rank",
                 fmt::format("within {} rows of the {} quantile, with probability {}", shown(std::ceil(bound.at_most)),
                             level == nullptr ? "" : std::visit(ShownCell{}, level->value), confidence));
  } else {
    summary.line("score", fmt::format("within {} of the best left, with probability {} for each choice",
                                      shown(bound.at_most), confidence));
  }
}

void add_fact(Summary& summary, const AnswerFact& fact) {
  const std::string value = std::visit(ShownCell{}, fact.value);
  if (fact.name == "scale") summary.line("noise scale", fmt::format("{} ({})", value, fact.meaning));
  if (fact.name == "truth_probability") summary.line("is the truth", "with probability " + value);
  if (fact.name == "typical_threshold") {
    summary.line("threshold", fmt::format("a group of {} units is kept about every second time", value));
  }
}

void add_guarantee(Summary& summary, const Answer& answer, const std::string& guarantee) {
  const bool proved = !answer.asked || answer.asked->proved;
  summary.set("proved", proved);
  summary.line("guarantee", proved ? guarantee : "not what was asked for: account for the event");
  summary.state(answer.statement);
  if (answer.asked && answer.asked->epsilon.value() > 10) {
    summary.remark(
        "An epsilon above 10 promises little: an output may be 20,000 times as likely because of one person.");
  }
}

}  // namespace

Summary summary_of(const Answer& answer, const std::string& guarantee) {
  Summary summary(title_of(answer.mechanism));
  set_fields(summary, answer);
  for (const AnswerValue& value : answer.content.values) {
    add_value(summary, value, answer.mechanism);
    if (answer.mechanism == "mean" && !value.error_bars) {
      summary.remark("No interval: under add-remove the number of rows is private. Under replace-one it is public.");
    }
  }
  for (const AnswerBound& bound : answer.content.bounds) add_bound(summary, bound, answer);
  for (const AnswerFact& fact : answer.content.facts) add_fact(summary, fact);
  for (const AnswerValue& value : answer.content.values) {
    if (value.grid) summary.line("grid", shown(*value.grid) + " (every released number is a multiple of it)");
  }
  add_guarantee(summary, answer, guarantee);
  return summary;
}

Summary summary_of(const ReleasedAnswer& released, const std::string& guarantee) {
  Json whole = Json::parse(released.release.bytes);
  // Version 0.1 wrote fields, and no typed answer.
  Summary summary =
      released.answer ? summary_of(*released.answer, guarantee) : summary_of_fields(kAnsweredBefore, whole);
  if (released.again) summary.retitle(kAnsweredBefore);
  replace_json(summary, std::move(whole));
  const CertifiedSpend& spend = *released.release.certificate.spend;
  summary.line("charged",
               fmt::format("reservation {} of the budget {}", spend.reservations.back(), shown(spend.budget)));
  return summary;
}

Result<Summary> outlook_summary(const Question& question, const AnswerRequest& request, const Outlook& outlook) {
  NF_TRY(const Interval cost, certified_epsilon(question.statement, question.delta));
  Summary summary("Dry run: nothing was drawn and nothing was spent");
  summary.set("dry_run", true);
  summary.set("mechanism", question.mechanism);
  summary.set("budget", request.budget);
  summary.set("key", request.key);
  summary.set("cost", interval_json(cost.lower, cost.upper));
  summary.set("delta", question.delta.value());
  if (!request.blocks.empty()) {
    summary.set("blocks", request.blocks);
    summary.line("blocks", fmt::format("{}", fmt::join(request.blocks, ", ")));
  }
  summary.set("left", outlook.left);
  summary.set("fits", outlook.fits);
  summary.set("answered_before", outlook.asked_before);
  summary.line("would cost",
               fmt::format("epsilon {} at delta {:g}", shown_interval(cost.lower, cost.upper), question.delta.value()));
  summary.line("budget", fmt::format("{}, with {} left{}", shown(request.budget), outlook.left,
                                     outlook.makes_budget ? "; it would be made with the dataset" : ""));
  if (outlook.fits) {
    summary.line("fits", outlook.asked_before ? fmt::format("yes: reservation {} has paid for it, and the same answer "
                                                            "would be given again",
                                                            *outlook.reservation)
                                              : "yes");
  } else {
    summary.set("why_not", outlook.refusal);
    summary.line("fits", "NO: " + outlook.refusal);
    summary.fail_with(ErrorCode::kBudgetExhausted);
  }
  summary.state(question.statement);
  return summary;
}

}  // namespace noisefloor
