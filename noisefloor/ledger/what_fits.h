// Suggests changes to a refused use that make it fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/ledger/account.h"

namespace noisefloor {

// Returns short phrases, the most useful first: "noise multiplier 2.31", "at most 4200 steps", "sampling rate 0.0012".
// Each phrase changes one thing about the event and was checked to fit. A change that nobody could want is left out:
// more than twenty times the noise that the event asks for, or less than a twentieth of its steps or its sampling rate;
// where the event asks for more than the whole budget, this is relative to what would fit if nothing were spent. The
// list is empty if nothing useful fits.
[[nodiscard]] std::vector<std::string> what_fits(const BudgetTerms& terms, const Account& account, const DpEvent& event,
                                                 std::optional<Delta> delta);

// The event with `factor` times the noise, or with ε divided by `factor`. Returns nothing if the event has no noise to
// add to.
[[nodiscard]] std::optional<DpEvent> with_more_noise(const DpEvent& event, double factor);

// How many more uses with this charge fit, up to `limit`.
[[nodiscard]] std::uint64_t how_many_fit(const Account& account, const Charge& charge, const std::string& item,
                                         std::uint64_t limit);

}  // namespace noisefloor
