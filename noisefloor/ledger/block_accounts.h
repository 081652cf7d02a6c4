// The accounts of one block of a budget. Internal to ledger/.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/account.h"
#include "noisefloor/ledger/terms.h"

namespace noisefloor::internal {

// What a budget by blocks may be at all (blocks.h, "Refused"). Requires terms with blocks.
[[nodiscard]] Result<void> check_blocked_terms(const BudgetTerms& terms);

// The terms of `parts` of the parts that a block's budget is unlocked in; of all parts, the terms themselves. The rule
// zcdp divides ρ, and the others ε; both divide δ.
[[nodiscard]] BudgetTerms stage_terms(const BudgetTerms& terms, std::uint32_t parts);

// Unspent accounts of `parts` parts and of every larger number of them.
[[nodiscard]] Result<std::vector<Account>> open_stages(const BudgetTerms& terms, std::uint32_t parts);

[[nodiscard]] Error blocks_cannot_be_split(const std::string& budget);

}  // namespace noisefloor::internal
