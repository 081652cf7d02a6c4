// Datasets that a ledger knows, for people and as JSON.
//
// Thread safety: as Ledger.
#pragma once

#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/inspection.h"
#include "noisefloor/ledger/dataset_outcome.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/state.h"
#include "noisefloor/summary/ledger_summary.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// One dataset and the budget that pays for its uses. `state` is that of its ledger.
[[nodiscard]] Summary summary_of(const LedgerState::Dataset& dataset, const LedgerState& state);

// The dataset of this name; kInvalidArgument with the names that there are.
[[nodiscard]] Result<Summary> summary_of_dataset(Ledger& ledger, const std::string& name);

// A dataset that was added to this ledger.
[[nodiscard]] Result<Summary> summary_of_added(Ledger& ledger, const DatasetGrant& grant, const UsedLedger& used);

// A dataset that was retired.
[[nodiscard]] Result<Summary> summary_of_retired(Ledger& ledger, const std::string& name);

// What does not fit in the rows of a dataset, as exact facts. The first line says whom they are for.
[[nodiscard]] Result<Summary> summary_of_inspected(const DescribedRows& rows, std::optional<std::uint64_t> recorded);

// All datasets, each with what pays for it.
[[nodiscard]] Result<Summary> summary_of_datasets(Ledger& ledger, const std::string& location);

}  // namespace noisefloor
