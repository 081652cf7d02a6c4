// Whether a reservation was charged what its event costs. Internal to ledger/.
//
// Guarantee:     a reservation that passes was charged at least what the accountant of this program finds for its
//                event, up to the rounding of another machine.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor::internal {

// The elementary functions of two machines differ by less than this.
inline constexpr double kSameCharge = 1 + 1e-9;

// The cost of a reservation, from its event.
[[nodiscard]] Result<Charge> charge_due(const BudgetTerms& terms, const ReserveEntry& e);

// kVerificationFailed if `charged` is less than what is due, or if that cannot be known.
[[nodiscard]] Result<void> check_charged(const Charge& charged, const Result<Charge>& due);

}  // namespace noisefloor::internal
