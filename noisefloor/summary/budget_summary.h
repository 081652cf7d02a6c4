// Budgets and what is spent from them, for people and as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/ledger/audit.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/state.h"
#include "noisefloor/summary/ledger_summary.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// A share as a bar of 30 characters, with its percentage.
[[nodiscard]] std::string bar(double share);

// Adds the lines about one budget.
void add_budget(Summary& summary, const LedgerState::Budget& budget);

// A budget that was made in this ledger. Of a planned one also the epsilon of the whole plan, or the error of
// certifying it.
[[nodiscard]] Result<Summary> summary_of_new_budget(const LedgerState::Budget& budget, const UsedLedger& ledger);

// A part of a budget, and what that leaves of its parent. `rehearsed`: it would fit, and was not made.
[[nodiscard]] Summary summary_of_part(const LedgerState::Budget& part, const LedgerState::Budget& parent,
                                      bool rehearsed);

// A request that was granted, or the answer that it got before. `after` is its budget as of now. The bytes of an
// earlier answer are a field only: the front end says where they went.
[[nodiscard]] Summary summary_of(const Reservation& reservation, const ReserveRequest& request,
                                 const LedgerState::Budget& after);

// A request that would fit, and what it would leave of its budget. Nothing was spent.
[[nodiscard]] Summary summary_of_rehearsal(const ReserveRequest& request, const LedgerState::Budget& after);

// A reservation for which this was released. `kept` is the size of an answer that is kept for the same request.
[[nodiscard]] Summary summary_of_commit(std::uint64_t reservation, const Digest& release,
                                        std::optional<std::size_t> kept);

// One budget, and what its uses have come to.
[[nodiscard]] Summary summary_of(const BudgetSummary& found);

// How long a budget will last; there is no forecast for one that was not used yet.
[[nodiscard]] Summary summary_of_forecast(const LedgerState::Budget& budget, const std::optional<Forecast>& forecast);

}  // namespace noisefloor
