#include "noisefloor/summary/dataset_summary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

std::string use_of(const LedgerState::Dataset& dataset) {
  if (dataset.retired) return fmt::format("retired: {}", *dataset.retired);
  if (dataset.is_public()) return "public: costs nothing";
  return fmt::format("budget {}", shown(dataset.budget));
}

// What has looked at the rows without noise, under any name.
std::vector<LedgerState::Exposure> exposures_of(const LedgerState::Dataset& dataset, const LedgerState& state) {
  if (dataset.is_public()) return {};
  return state.exposures_of(dataset.budget, state.next_sequence());
}

Json exposures_json(const std::vector<LedgerState::Exposure>& exposures) {
  Json list = Json::array();
  for (const LedgerState::Exposure& one : exposures) {
    list.push_back(
        {{"entry", one.entry}, {"kind", name_of(one.kind)}, {"key", one.key}, {"time", show_time(one.time)}});
  }
  return list;
}

Json dataset_json(const LedgerState::Dataset& dataset, const LedgerState& state) {
  Json json{{"name", dataset.name},
            {"public", dataset.is_public()},
            {"description", to_hex(dataset.description)},
            {"contents_seen", dataset.contents.size()},
            {"retired", dataset.retired ? Json(*dataset.retired) : Json()}};
  if (!dataset.same_as.empty()) json["same_as"] = dataset.same_as;
  if (const LedgerState::Budget* budget = state.find(dataset.budget)) {
    const BudgetTerms& terms = *budget->terms;
    json["budget"] = {{"name", dataset.budget},
                      {"epsilon", terms.epsilon.value()},
                      {"delta", terms.delta.value()},
                      {"adjacency", name_of(terms.adjacency)},
                      {"unit", name_of(terms.unit)},
                      {"rule", name_of(terms.rule)},
                      {"spent_share", budget->account.spent_share()},
                      {"left", budget->account.left()}};
    if (terms.blocks) json["budget"]["blocks"] = in_words(*terms.blocks);
  }
  const std::vector<LedgerState::Exposure> exposures = exposures_of(dataset, state);
  if (!exposures.empty()) json["exposures"] = exposures_json(exposures);
  return json;
}

}  // namespace

Summary summary_of(const LedgerState::Dataset& dataset, const LedgerState& state) {
  Summary summary(fmt::format("Dataset {}", dataset.name));
  if (!dataset.same_as.empty()) summary.line("rows", fmt::format("shared with {}", shown(dataset.same_as)));
  summary.line("use", use_of(dataset));
  if (const LedgerState::Budget* budget = state.find(dataset.budget)) {
    const BudgetTerms& terms = *budget->terms;
    summary.line("total", fmt::format("epsilon {}, delta {}, {} of one {}", terms.epsilon.value(), terms.delta.value(),
                                      name_of(terms.adjacency), name_of(terms.unit)));
    if (terms.blocks)
      summary.line("renews", fmt::format("in {}: each has the total for itself", in_words(*terms.blocks)));
    if (!dataset.retired) summary.line(terms.blocks ? "left at least" : "left", budget->account.left());
  }
  summary.line("contents", fmt::format("{} seen", dataset.contents.size()));
  for (const LedgerState::Exposure& one : exposures_of(dataset, state)) {
    summary.line("exposed", fmt::format("{}, {} (entry {}, {})", name_of(one.kind), shown(one.key), one.entry,
                                        show_time(one.time)));
  }
  summary.set("dataset", dataset_json(dataset, state));
  return summary;
}

Result<Summary> summary_of_dataset(Ledger& ledger, const std::string& name) {
  Summary summary("");
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    NF_TRY(const LedgerState::Dataset* const dataset, state.need_dataset(name));
    summary = summary_of(*dataset, state);
    return success();
  }));
  return summary;
}

Result<Summary> summary_of_added(Ledger& ledger, const DatasetGrant& grant, const UsedLedger& used) {
  NF_TRY(Summary summary, summary_of_dataset(ledger, grant.dataset));
  add_ledger(summary, used);
  if (grant.new_budget) summary.remark("Everything that uses these rows spends from this budget, under any name.");
  summary.set("new_budget", grant.new_budget);
  return summary;
}

Result<Summary> summary_of_retired(Ledger& ledger, const std::string& name) {
  NF_TRY(Summary summary, summary_of_dataset(ledger, name));
  summary.retitle(fmt::format("Dataset {} is retired", name));
  return summary;
}

Result<Summary> summary_of_inspected(const DescribedRows& rows, std::optional<std::uint64_t> recorded) {
  const DatasetDescription& description = rows.description;
  NF_TRY(const RowInspection found, inspect_rows(rows));
  Summary summary(description.is_public()
                      ? fmt::format("The rows of {}, which are public", description.name)
                      : fmt::format("EXACT FACTS ABOUT PRIVATE ROWS of {}: for their custodian alone, show them to "
                                    "nobody else. No epsilon covers what is below.",
                                    description.name));
  summary.set("for_custodian_only", !description.is_public());
  if (found.records) {
    summary.set("records", *found.records);
    summary.line("records", std::to_string(*found.records));
  }
  if (recorded) {
    summary.set("recorded", *recorded);
    summary.line("recorded",
                 fmt::format("entry {} of the ledger, and all later certificates of these rows name it", *recorded));
  }
  summary.set("null_records", found.nulls);
  summary.line("do not fit", fmt::format("{}, which contribute nothing{}", found.nulls,
                                         found.nulls > found.first.size() ? "; the first of them:" : ""));
  for (const std::string& one : found.first) summary.line("", one);
  summary.set("first", Json(found.first));
  return summary;
}

Result<Summary> summary_of_datasets(Ledger& ledger, const std::string& location) {
  Summary summary(fmt::format("Datasets of {}", without_password(location)));
  Json list = Json::array();
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    for (const LedgerState::Dataset& dataset : state.datasets()) {
      summary.line(dataset.name, use_of(dataset));
      list.push_back(dataset_json(dataset, state));
    }
    return success();
  }));
  if (list.empty()) summary.remark("There are none: `dataset add` adds one.");
  summary.set("datasets", list);
  return summary;
}

}  // namespace noisefloor
