// Budgets for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "noisefloor/cli/report.h"
#include "noisefloor/ledger/state.h"

namespace noisefloor::cli {

[[nodiscard]] nlohmann::ordered_json budget_json(const LedgerState::Budget& budget);

// A share as a bar of 30 characters, with its percentage.
[[nodiscard]] std::string bar(double share);

// The lines about one budget.
void describe(Report& report, const LedgerState::Budget& budget);

}  // namespace noisefloor::cli
