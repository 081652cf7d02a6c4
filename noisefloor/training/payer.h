// Which budget pays for a training: what dataset/paying.h says of its rows, or a budget of its own for rows that are
// public.
//
// Thread safety: as the ledger's.
#pragma once

#include <span>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/description.h"
#include "noisefloor/dataset/paying.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/training/observer.h"
#include "noisefloor/training/training_file.h"

namespace noisefloor {

// The budget that a training file asks for.
[[nodiscard]] BudgetTerms budget_of(const TrainingPrivacy& privacy);

// The budget that pays for `uses` of the rows of `dataset`, which the file describes (dataset/paying.h). The observer
// learns of a conflict.
[[nodiscard]] Result<std::string> find_payer(Ledger& ledger, const TrainingFile& file, DatasetDescription dataset,
                                             std::span<const ReserveRequest> uses, NewDatasets unknown,
                                             const JobControl& control);

}  // namespace noisefloor
