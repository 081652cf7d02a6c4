// Which budget pays for a training: the ledger's word on whose the rows are (dataset/registry.h).
//
// Guarantee:     rows that the ledger knows under another name are refused, also if they were shuffled, compressed or partly
//                exchanged. A dataset and its budget are added only where the caller allows it, or where a budget of that
//                name is there and has no dataset yet, as in ledgers of version 0.1. Nothing is added for uses that the
//                budget would not allow for.
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

// What becomes of a dataset that the ledger does not know.
enum class NewDatasets : std::uint8_t { kRefuse, kAdd };

// The budget that pays for `uses` of the rows of `dataset`, which the file describes: the dataset's own, which is the owner's where it shares the
// rows of another one. kInvalidArgument if the rows belong to another dataset, or if the dataset is unknown and may not be
// added; kBudgetExhausted if a budget as the file states it would not allow for the uses. The observer learns of a conflict.
[[nodiscard]] Result<std::string> find_payer(Ledger& ledger, const TrainingFile& file, DatasetDescription dataset,
                                             std::span<const ReserveRequest> uses, NewDatasets unknown,
                                             const JobControl& control);

}  // namespace noisefloor
