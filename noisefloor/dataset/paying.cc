#include "noisefloor/dataset/paying.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/dataset/records.h"
#include "noisefloor/dataset/registry.h"
#include "noisefloor/ledger/outlook.h"

namespace noisefloor {
namespace {

Error unknown_dataset(const BudgetTerms& terms) {
  return invalid_argument(fmt::format(
      "the ledger knows neither the dataset nor the budget {}: this use would make a budget of epsilon {:g} "
      "and delta {:g} for all uses of these rows. Add the dataset first, or allow for it here",
      shown(terms.name), terms.epsilon.value(), terms.delta.value()));
}

// The sketch of all rows, and of each block that the uses touch.
Result<SketchedBlocks> sketch_of(Ledger& ledger, const DescribedRows& rows, std::span<const ReserveRequest> uses) {
  if (!rows.description.blocks) {
    NF_TRY(RowSketch all, sketch_for(ledger, rows.description, rows.folder));
    return SketchedBlocks{std::move(all), {}};
  }
  const std::vector<std::string>& chosen = rows.description.chosen;
  const bool agree =
      std::all_of(uses.begin(), uses.end(), [&](const ReserveRequest& use) { return use.blocks == chosen; });
  if (chosen.empty() || !agree) {
    return invalid_argument(fmt::format("the dataset {} has {}: a use names those that it touches, and reads no others",
                                        shown(rows.description.name), in_words(*rows.description.blocks)));
  }
  NF_TRY(const Secret32 key, ledger.row_key());
  return sketch_blocks(key, rows.description, rows.folder);
}

// A budget that is there keeps its terms, whatever the description says.
Result<void> take_terms(Ledger& ledger, DatasetDescription& dataset) {
  NF_TRY(const LedgerState::Budget found, ledger.budget(dataset.budget->name));
  const BudgetTerms& terms = *found.terms;
  dataset.budget = DatasetBudget{terms.name, terms.epsilon, terms.delta, terms.adjacency, terms.rule};
  return success();
}

// A claim makes a batch begin and is never taken back: uses that are refused anyway, of a block that has not begun,
// say, claim no rows.
Result<void> expect_blocks_to_pay(Ledger& ledger, const DatasetDescription& dataset,
                                  std::span<const ReserveRequest> uses) {
  bool known = false;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    known = state.find_dataset(dataset.name) != nullptr;
    return success();
  }));
  if (!dataset.blocks || !dataset.budget || !known) return success();
  NF_TRY(const Outlook ahead, outlook_for(dataset.name, {uses.begin(), uses.end()}, terms_of(dataset), &ledger));
  return expect_fits(ahead);
}

}  // namespace

Result<Outlook> outlook_for(const std::string& dataset, std::vector<ReserveRequest> uses, BudgetTerms if_new,
                            Ledger* ledger, Repeats repeats) {
  if (ledger != nullptr) {
    NF_TRY_VOID(ledger->read([&](const LedgerState& state) -> Result<void> {
      const LedgerState::Dataset* const known = state.find_dataset(dataset);
      // What was set aside for a plan has a budget of its own.
      const bool planned = std::any_of(uses.begin(), uses.end(), [](const auto& use) { return !use.item.empty(); });
      if (known == nullptr || known->is_public() || planned) return success();
      for (ReserveRequest& use : uses) {
        if (use.budget == if_new.name) use.budget = known->budget;
      }
      if_new = *state.find(known->budget)->terms;
      return success();
    }));
  }
  return outlook_of(uses, if_new, ledger, repeats);
}

Result<bool> expect_room(Ledger& ledger, const BudgetTerms& if_new, std::span<const ReserveRequest> uses,
                         NewDatasets unknown) {
  NF_TRY(const Outlook outlook, outlook_of(uses, if_new, &ledger));
  if (outlook.budget_is_there) return true;
  if (unknown == NewDatasets::kRefuse) return unknown_dataset(if_new);
  NF_TRY_VOID(expect_fits(outlook));
  return false;
}

Result<std::string> find_payer(Ledger& ledger, DescribedRows rows, std::span<const ReserveRequest> uses,
                               NewDatasets unknown, std::optional<DatasetConflict>* conflict) {
  NF_TRY_VOID(expect_blocks_to_pay(ledger, rows.description, uses));
  NF_TRY(const SketchedBlocks sketch, sketch_of(ledger, rows, uses));
  const auto claim = [&] {
    return rows.description.blocks ? claim_blocks(ledger, rows.description, sketch.blocks)
                                   : claim_dataset(ledger, rows.description, sketch.all);
  };
  NF_TRY(DatasetOutcome outcome, claim());
  const auto* refused = std::get_if<DatasetConflict>(&outcome);
  if (refused != nullptr && refused->kind == DatasetConflict::Kind::kUnknown) {
    if (rows.description.budget) {
      NF_TRY(const bool there, expect_room(ledger, terms_of(rows.description), uses, unknown));
      if (there) NF_TRY_VOID(take_terms(ledger, rows.description));
    }
    NF_TRY(outcome, add_dataset(ledger, rows.description, sketch.all));
    if (rows.description.blocks && std::holds_alternative<DatasetGrant>(outcome)) {
      NF_TRY(outcome, claim());
    }
  }
  refused = std::get_if<DatasetConflict>(&outcome);
  if (refused != nullptr && conflict != nullptr) *conflict = *refused;
  NF_TRY(const DatasetGrant grant, granted(outcome));
  return grant.budget;
}

}  // namespace noisefloor
