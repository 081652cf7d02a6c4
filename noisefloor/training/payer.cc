#include "noisefloor/training/payer.h"

#include <fmt/format.h>

#include <variant>

#include "noisefloor/base/text.h"
#include "noisefloor/dataset/registry.h"
#include "noisefloor/training/outlook.h"

namespace noisefloor {
namespace {

Error unknown_dataset(const TrainingPrivacy& privacy) {
  return invalid_argument(
      fmt::format("the ledger knows neither the dataset nor the budget {}: training would make a budget of epsilon "
                  "{:g} and delta {:g} "
                  "for all uses of these rows. Add the dataset first, or allow for it here",
                  shown(privacy.budget), privacy.epsilon.value(), privacy.delta.value()));
}

// Fails unless the uses fit the budget as it is, or as the file would create it. Returns whether the budget exists.
Result<bool> expect_room(Ledger& ledger, const TrainingPrivacy& privacy, std::span<const ReserveRequest> uses,
                         NewDatasets unknown) {
  NF_TRY(const Outlook outlook, outlook_of(uses, budget_of(privacy), &ledger));
  if (outlook.budget_is_there) return true;
  if (unknown == NewDatasets::kRefuse) return unknown_dataset(privacy);
  NF_TRY_VOID(expect_fits(outlook));
  return false;
}

// A budget that exists keeps its terms, whatever the file says.
Result<void> take_terms(Ledger& ledger, DatasetDescription& dataset) {
  if (!dataset.budget) return success();
  NF_TRY(const LedgerState::Budget found, ledger.budget(dataset.budget->name));
  const BudgetTerms& terms = *found.terms;
  dataset.budget = DatasetBudget{terms.name, terms.epsilon, terms.delta, terms.adjacency, terms.rule};
  return success();
}

}  // namespace

Result<std::string> find_payer(Ledger& ledger, const TrainingFile& file, DatasetDescription dataset,
                               std::span<const ReserveRequest> uses, NewDatasets unknown, const JobControl& control) {
  const TrainingPrivacy& privacy = file.training.privacy;
  NF_TRY(DatasetOutcome outcome, claim_dataset(ledger, dataset, file.folder));
  const auto* conflict = std::get_if<DatasetConflict>(&outcome);
  if (conflict != nullptr && conflict->kind == DatasetConflict::Kind::kUnknown) {
    NF_TRY(const bool there, expect_room(ledger, privacy, uses, unknown));
    if (there) NF_TRY_VOID(take_terms(ledger, dataset));
    NF_TRY(outcome, add_dataset(ledger, dataset, file.folder));
  }
  conflict = std::get_if<DatasetConflict>(&outcome);
  if (conflict != nullptr && control.observer != nullptr) control.observer->conflict(*conflict);
  NF_TRY(const DatasetGrant grant, granted(outcome));
  if (!grant.budget.empty()) return grant.budget;
  // The data are public; a training that adds noise all the same is charged to a budget of its own.
  NF_TRY(const bool there, expect_room(ledger, privacy, uses, unknown));
  if (!there) NF_TRY_VOID(ledger.create_budget(budget_of(privacy)));
  return privacy.budget;
}

}  // namespace noisefloor
