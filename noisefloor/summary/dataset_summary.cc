#include "noisefloor/summary/dataset_summary.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

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
