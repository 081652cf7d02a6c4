// Which budget pays for a use of rows: the ledger's word on whose the rows are (registry.h), for every job alike.
//
//   NF_TRY(const std::string budget, find_payer(*ledger, {description, folder}, uses, NewDatasets::kRefuse));
//   NF_TRY(const Reservation reservation, ledger->reserve({budget, …}));
//
// Guarantee:     rows that the ledger knows under another name are refused, also if they were shuffled, compressed or
//                partly exchanged. A dataset and its budget are added only where the caller allows it, or where a
//                budget of that name is there and has no dataset yet, as in ledgers of version 0.1. Nothing is added
//                for uses that the budget would not allow for.
// Thread safety: as the ledger's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/description.h"
#include "noisefloor/ledger/dataset_outcome.h"
#include "noisefloor/ledger/ledger.h"

namespace noisefloor {

// What becomes of a dataset that the ledger does not know.
enum class NewDatasets : std::uint8_t { kRefuse, kAdd };

// A description, and the folder that its paths start from.
struct DescribedRows {
  DatasetDescription description;
  std::string folder;
};

// The budget that pays for `uses` of the rows: the dataset's own, which is the owner's where it shares the rows of
// another one. Empty: the rows are public. kBudgetExhausted if the rows belong to another dataset or to one that was
// retired, or if a budget as the description states it would not allow for the uses; kInvalidArgument if the dataset is
// unknown and may not be added. A conflict is written to `conflict`, where there is one, for callers that know a
// remedy.
[[nodiscard]] Result<std::string> find_payer(Ledger& ledger, DescribedRows rows, std::span<const ReserveRequest> uses,
                                             NewDatasets unknown, std::optional<DatasetConflict>* conflict = nullptr);

// The outlook of uses of a dataset's rows (ledger/outlook.h): of the budget that the ledger has for the dataset, which
// is another one's where it shares rows, or else of `if_new`. The rows are not read. `ledger` may be null.
[[nodiscard]] Result<Outlook> outlook_for(const std::string& dataset, std::vector<ReserveRequest> uses,
                                          BudgetTerms if_new, Ledger* ledger, Repeats repeats = Repeats::kFit);

// Whether the uses fit the budget as it is or, where the caller allows for a new one, as `if_new`. Returns whether it
// is there.
[[nodiscard]] Result<bool> expect_room(Ledger& ledger, const BudgetTerms& if_new, std::span<const ReserveRequest> uses,
                                       NewDatasets unknown);

}  // namespace noisefloor
