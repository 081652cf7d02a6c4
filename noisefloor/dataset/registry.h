// Datasets and their budgets, for whatever uses private rows: training, mechanisms, queries.
//
//   // When the user decides to add a dataset, once:
//   auto added = add_dataset(*ledger, description, folder);
//   // In each job, before anything else touches the rows:
//   NF_TRY(const DatasetOutcome outcome, claim_dataset(*ledger, description, folder));
//   NF_TRY(const DatasetGrant grant, granted(outcome));      // or look at its DatasetConflict
//   if (!grant.budget.empty()) ledger->reserve({.budget = grant.budget, …});
//
// Guarantee:     a grant names the one budget that pays for the rows. Rows that the ledger knows under another name are
//                refused, also if they are shuffled or compressed or some of them are exchanged (row_sketch.h and
//                docs/formats/dataset.md say how far that goes). A description that tells persons apart by another
//                column than the one that was added, or not at all, is refused. Two processes cannot both add the same
//                rows: the ledger decides in one transaction.
// Errors:        kInputData and kIo for rows that cannot be read; a conflict is not an error but part of the outcome.
// Thread safety: as for Ledger.
#pragma once

#include <span>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/description.h"
#include "noisefloor/ledger/dataset_outcome.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/row_sketch.h"

namespace noisefloor {

// The sketch of the rows by which this ledger knows them. It reads all rows: whoever asks several questions asks once.
// kBudgetExhausted if a description of tables declares rows public that belong to a private dataset.
[[nodiscard]] Result<RowSketch> sketch_for(Ledger& ledger, const DatasetDescription& description,
                                           const std::string& folder);

// The description's paths are relative to `folder`. With `same_as` the dataset shares the rows and the budget of
// another one.
[[nodiscard]] Result<DatasetOutcome> add_dataset(Ledger& ledger, const DatasetDescription& description,
                                                 const std::string& folder, const std::string& same_as = {});
[[nodiscard]] Result<DatasetOutcome> add_dataset(Ledger& ledger, const DatasetDescription& description,
                                                 const RowSketch& rows, const std::string& same_as = {});

// Finds the dataset and the budget that a use of the rows spends from. If the dataset was not added, the outcome says
// so.
[[nodiscard]] Result<DatasetOutcome> claim_dataset(Ledger& ledger, const DatasetDescription& description,
                                                   const std::string& folder);
[[nodiscard]] Result<DatasetOutcome> claim_dataset(Ledger& ledger, const DatasetDescription& description,
                                                   const RowSketch& rows);

// The same for the chosen blocks of a dataset whose rows are in blocks.
[[nodiscard]] Result<DatasetOutcome> claim_blocks(Ledger& ledger, const DatasetDescription& description,
                                                  std::span<const BlockRows> blocks);

}  // namespace noisefloor
