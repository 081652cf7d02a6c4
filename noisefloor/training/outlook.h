// The charge of a job, and whether the budget allows for it, found out without spending or writing anything.
//
// Guarantee:     the rules are those of the ledger (account.h): a charge is said to fit if the ledger would grant it at
//                this moment. Others may spend in between, so the reservation still decides.
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
  bool budget_is_there = false;  // the ledger has the budget
  bool makes_budget = false;     // the ledger has no such budget, and these uses need it
  bool asked_before = false;     // all keys are known: nothing more would be charged
  bool fits = false;
  std::string left = {};     // what remains before the charge, in the rule's own words
  std::string refusal = {};  // why it does not fit, and what would fit
};

// The budget that a training file asks for.
[[nodiscard]] BudgetTerms budget_of(const TrainingPrivacy& privacy);

// The outlook for uses of one budget, one after the other. `ledger` may be null: then the budget would be created as
// `if_new`. kInvalidArgument for a use that has no meaning under the budget, such as one for other neighbours.
[[nodiscard]] Result<Outlook> outlook_of(std::span<const ReserveRequest> uses, const BudgetTerms& if_new,
                                         Ledger* ledger);

// The outlook as an error: kBudgetExhausted if it does not fit.
[[nodiscard]] Result<void> expect_fits(const Outlook& outlook);

}  // namespace noisefloor
