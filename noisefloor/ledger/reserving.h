// From a request to the entry that the ledger writes, and what a row of requests would do to a budget. The ledger
// reserves with these functions and looks ahead with them, so that a rehearsal and a reservation cannot disagree.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/outlook.h"
#include "noisefloor/ledger/state.h"

namespace noisefloor::internal {

// Fills in rho, and the orders if there are none; then checks the terms.
[[nodiscard]] Result<void> complete_terms(BudgetTerms& terms);

// Whether the request has a meaning under these terms: its key, its neighbours, its item of the plan.
[[nodiscard]] Result<void> check_request(const ReserveRequest& request, const BudgetTerms& terms);

// The entry without its lock. `event` is the request's event as JSON.
[[nodiscard]] Result<ReserveEntry> reserve_entry(const ReserveRequest& request, std::string event, Charge charge);

// Whether a key that is known stands for this very request (by its digest), and for one that was answered.
[[nodiscard]] Result<void> check_repeated(const ReserveRequest& request, const Digest& digest, std::uint64_t known,
                                          const LedgerState::Spend& spend);

// What stands against a request: the account of its budget; of a budget by blocks, that of the block among those it
// touches of which least is left at this time, with the terms of what is unlocked.
struct FullestBlock {
  std::string block;  // or empty
  BudgetTerms terms;
  Account account;
  std::uint32_t parts = 1;
};
[[nodiscard]] Result<FullestBlock> fullest_of(const LedgerState::Budget& budget, const ReserveRequest& request,
                                              TimeMs time);

// The refusal in full: what is left of the budget, and what would fit.
[[nodiscard]] Error refusal_of(const LedgerState& state, const ReserveRequest& request, const Error& why, TimeMs time);

struct Rehearsal {
  Outlook outlook;
  LedgerState state;  // after the uses, as far as they fit
};

// Applies the uses to a copy of the state, one after the other, at this time. A budget that is not there is made as
// `if_new`, whose name all uses have. `by` is the member who would reserve, as in Entry::by.
[[nodiscard]] Result<Rehearsal> rehearse(LedgerState state, TimeMs time, std::span<const ReserveRequest> uses,
                                         const BudgetTerms& if_new, Repeats repeats, const std::string& by = {});

}  // namespace noisefloor::internal
