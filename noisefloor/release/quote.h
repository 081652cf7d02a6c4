// The cost of a use, and whether its budget allows for it: for looking before paying.
//
// Guarantee:     reads the ledger and changes nothing, so that a ledger that is open for reading is enough. A quote is
//                true at this moment; another use may come first.
// Thread safety: as the ledger's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

struct Quote {
  Interval epsilon;                         // certified ε of the use alone, at the request's δ (0 if it has none)
  std::string left;                         // what remains of the budget before the use, in words
  bool fits = false;                        // whether asking now would succeed
  std::string why_not = {};                 // the reason, in words, if it would not
  std::vector<std::string> what_fits = {};  // changes that would make it fit, if it does not
  std::optional<std::uint64_t> reservation =
      {};  // reservation of an earlier use under the same key, which is not paid for again
};

// Fails as a reservation would, for other reasons than an exhausted budget: a budget that does not exist, neighbours
// that do not fit it, a use that is not private.
[[nodiscard]] Result<Quote> quote(const ReserveRequest& request, Ledger& ledger);

}  // namespace noisefloor
