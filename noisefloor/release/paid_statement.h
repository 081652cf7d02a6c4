// What a release has cost, from the record of the ledger that paid: all that was reserved for it, whether or not it was
// used, and what its start point has cost.
//
// Guarantee:     a certificate whose statement is this one holds whenever the run was stopped: what a run shows after
//                any of its steps is part of what all of its steps show, so the cost of all of them covers it, however
//                the moment was chosen.
// Errors:        kVerificationFailed if a reservation is not there, was taken back or belongs to another budget.
// Thread safety: as the ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/certificate.h"

namespace noisefloor {

// Requires at least one reservation (refused otherwise).
[[nodiscard]] Result<DpStatement> paid_statement(Ledger& ledger, const std::string& budget,
                                                 std::span<const std::uint64_t> reservations,
                                                 const std::optional<StartPoint>& start);

}  // namespace noisefloor
