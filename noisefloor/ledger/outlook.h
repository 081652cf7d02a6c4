// What uses would be charged, and whether their budget allows for them: found out without spending or writing anything.
//
// Guarantee:     a new use is said to fit where reserving at this moment would grant it: both go through the same
//                functions, with times, plans and retired datasets. Others may spend in between, so reserving still
//                decides.
// Thread safety: as the ledger's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/terms.h"

namespace noisefloor {

class Ledger;
struct ReserveRequest;

struct Outlook {
  bool budget_is_there = false;  // in the ledger
  bool makes_budget = false;     // it is not there, and these uses need it
  bool asked_before = false;     // all keys are known: nothing more would be charged
  bool fits = false;
  std::string left = {};                          // before the charge, in the rule's own words
  std::string refusal = {};                       // why it does not fit, and what would
  std::optional<std::uint64_t> reservation = {};  // of the last use whose key is known
};

// What is said of a use whose key is known. It costs nothing more in any case.
enum class Repeats : std::uint8_t {
  kFit,  // for jobs that may go on from what an earlier run left behind, and say so themselves if they cannot
  kMustBeAnswered,  // it fits as reserving would: the key stands for this very request, and that was answered
};

// The outlook of uses of one budget, one after the other. `ledger` may be null, and may be open for looking only. A
// budget that is not there is tried as `if_new`. kInvalidArgument for a use that has no meaning under the budget, such
// as one for other neighbours.
[[nodiscard]] Result<Outlook> outlook_of(std::span<const ReserveRequest> uses, const BudgetTerms& if_new,
                                         Ledger* ledger, Repeats repeats = Repeats::kFit);

// The outlook as an error: kBudgetExhausted if it does not fit.
[[nodiscard]] Result<void> expect_fits(const Outlook& outlook);

}  // namespace noisefloor
