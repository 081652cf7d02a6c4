#include "noisefloor/summary/query_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/release/certificate.h"
#include "noisefloor/report/html.h"
#include "noisefloor/summary/answer_summary.h"
#include "noisefloor/summary/answer_table.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

// What is left of the budget that pays for the dataset.
Result<std::string> left_of(Ledger& ledger, const std::string& dataset) {
  std::string left;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    const LedgerState::Dataset* const known = state.find_dataset(dataset);
    const LedgerState::Budget* const budget = known == nullptr ? nullptr : state.find(known->budget);
    if (budget != nullptr) left = fmt::format("{} of the budget {}", budget->account.left(), shown(known->budget));
    return success();
  }));
  return left;
}

std::string bounds_of(const DescribedColumn& column) {
  if (column.values) return fmt::format("{} public values", column.values->size());
  if (!column.lower) return "";
  std::string text = column.type == engine::Type::kDate ? std::string("a public range of days")
                                                        : fmt::format("{} to {}", *column.lower, *column.upper);
  if (column.public_range) text += ", each a public value";
  return text;
}

}  // namespace

Result<Summary> summary_of(const query::Asked& asked, Ledger& ledger, const std::string& dataset) {
  Summary summary(asked.is_free ? "Answered before: nothing was spent" : "Paid for");
  for (const AnswerTable& table : asked.tables) summary.above(table_text(table) + "\n");
  const std::string paid = fmt::format("{}", fmt::join(asked.paid_by, ", "));
  if (asked.released) {
    const Certificate& certificate = asked.released->release.certificate;
    replace_json(summary, Json::parse(asked.released->release.bytes));
    if (!asked.is_free) {
      summary.line("cost", fmt::format("epsilon {} at delta {:g}",
                                       shown_interval(certificate.epsilon.lower, certificate.epsilon.upper),
                                       certificate.delta.value()));
    }
  } else {
    summary.set("reservations", asked.paid_by);
    summary.set("cost", 0);
    Json tables = Json::array();
    for (const AnswerTable& table : asked.tables) tables.push_back(table_csv(table));
    summary.set("csv", tables);
  }
  summary.line(asked.paid_by.size() > 1 ? "reservations" : "reservation", paid);
  NF_TRY(const std::string left, left_of(ledger, dataset));
  if (!left.empty()) summary.line("left", left);
  for (const std::string& note : asked.notes) summary.remark(note);
  return summary;
}

Summary csv_of(const query::Asked& asked) {
  std::string text;
  for (const AnswerTable& table : asked.tables) text += (text.empty() ? "" : "\n") + table_csv(table);
  return Summary::of_data(std::move(text));
}

Result<Summary> summary_of(const query::Forecast& forecast) {
  if (forecast.question) return outlook_summary(*forecast.question, forecast.request, forecast.outlook);
  Summary summary("It would cost nothing: it follows from answers that were bought");
  summary.set("free", true);
  summary.set("cost", 0);
  return summary;
}

Summary summary_of_explanation(const std::string& text) {
  Summary summary("Explained: nothing was read and nothing was spent");
  summary.above(text + "\n");
  summary.set("explanation", text);
  return summary;
}

std::string tables_in_words(const TablesFormat& tables) {
  std::string text;
  for (const DescribedTable& table : tables.tables) {
    text += fmt::format("{}{}\n", table.name, table.is_public ? " (public)" : "");
    for (const DescribedColumn& column : table.columns) {
      const std::string bounds = bounds_of(column);
      const bool is_unit = table.unit && table.unit->column == column.name;
      text += fmt::format("  {:<20} {}{}{}\n", column.name, name_of(column.type), bounds.empty() ? "" : ", " + bounds,
                          is_unit ? "; tells persons apart" : "");
    }
  }
  return text;
}

std::vector<std::string> names_in(const TablesFormat& tables) {
  std::vector<std::string> names;
  for (const DescribedTable& table : tables.tables) {
    names.push_back(table.name);
    for (const DescribedColumn& column : table.columns) names.push_back(column.name);
  }
  return names;
}

}  // namespace noisefloor
