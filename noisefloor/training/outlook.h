// What a job would charge, and whether the budget allows for it: found out without spending or writing anything.
//
// Guarantee:     the rules are those of the ledger (account.h): what is said to fit is what reserving at this moment would be
//                granted. Others may spend in between, so reserving still decides.
// Thread safety: as the ledger's.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/config/training.h"
#include "noisefloor/ledger/ledger.h"

namespace noisefloor {

struct Outlook {
  bool budget_is_there = false;  // in the ledger
  bool makes_budget = false;     // it is not there, and these uses need it
  bool asked_before = false;     // all keys are known: nothing more would be charged
  bool fits = false;
  std::string left = {};     // before the charge, in the rule's own words
  std::string refusal = {};  // why it does not fit, and what would
};

// The budget that a training file asks for.
[[nodiscard]] BudgetTerms budget_of(const TrainingPrivacy& privacy);

// Of uses of one budget, one after the other. `ledger` may be null: then the budget would be made as `if_new`. kInvalidArgument
// for a use that has no meaning under the budget, such as one for other neighbours.
[[nodiscard]] Result<Outlook> outlook_of(std::span<const ReserveRequest> uses, const BudgetTerms& if_new,
                                         Ledger* ledger);

// The outlook as an error: kBudgetExhausted if it does not fit.
[[nodiscard]] Result<void> expect_fits(const Outlook& outlook);

}  // namespace noisefloor
