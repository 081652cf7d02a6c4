#include "noisefloor/training/payer.h"

#include <optional>
#include <utility>

namespace noisefloor {

BudgetTerms budget_of(const TrainingPrivacy& privacy) {
  return {privacy.budget,
          privacy.epsilon,
          privacy.delta,
          privacy.adjacency,
          privacy.unit,
          Rule::kBasic,
          default_failures(Rule::kBasic)};
}

Result<std::string> find_payer(Ledger& ledger, const TrainingFile& file, DatasetDescription dataset,
                               std::span<const ReserveRequest> uses, NewDatasets unknown, const JobControl& control) {
  std::optional<DatasetConflict> conflict;
  const Result<std::string> payer = find_payer(ledger, {std::move(dataset), file.folder}, uses, unknown, &conflict);
  if (conflict && control.observer != nullptr) control.observer->conflict(*conflict);
  if (!payer.has_value() || !payer.value().empty()) return payer;
  // The rows are public, and a training that adds noise all the same is charged to a budget of its own.
  const TrainingPrivacy& privacy = file.training.privacy;
  NF_TRY(const bool there, expect_room(ledger, budget_of(privacy), uses, unknown));
  if (!there) NF_TRY_VOID(ledger.create_budget(budget_of(privacy)));
  return privacy.budget;
}

}  // namespace noisefloor
