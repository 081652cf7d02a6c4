// Finds the budget that pays for a training. The ledger decides which dataset the rows belong to (dataset/registry.h).
//
// Guarantee:     rows that the ledger knows under another name are refused, even if they were shuffled, compressed or
//                partly exchanged. A dataset and its budget are added only if the caller allows it, or if a budget of
//                that name exists and has no dataset yet, as in ledgers of version 0.1. Nothing is added for uses that
//                the budget would not allow for.
// Thread safety: as the ledger's.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/description.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/training/observer.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

// What to do with a dataset that the ledger does not know.
enum class NewDatasets : std::uint8_t { kRefuse, kAdd };

// The budget that pays for `uses` of the rows of `dataset`, which the file describes: the dataset's own, or, if it
// shares the rows of another dataset, the owner's. kInvalidArgument if the rows belong to another dataset, or if the
// dataset is unknown and may not be added; kBudgetExhausted if a budget as the file states it would not allow for the
// uses. The observer is told of a conflict.
[[nodiscard]] Result<std::string> find_payer(Ledger& ledger, const TrainingFile& file, DatasetDescription dataset,
                                             std::span<const ReserveRequest> uses, NewDatasets unknown,
                                             const JobControl& control);

}  // namespace noisefloor
