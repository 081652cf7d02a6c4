// The weights that a private training starts from, and what they have cost.
//
// Guarantee:     weights that were computed from private rows are paid for and named. A private training starts from a
//                model that its own ledger has paid for, whose cost is part of the new certificate if it is about the
//                same rows; or from weights that the training file declares public, in words that the certificate
//                repeats. A model that says of itself that it was trained without privacy on rows that are not public
//                is refused, whatever is declared; and so are weights that the ledger knows from an exposure
//                (exposing.h).
// Not covered:   a declaration that is false. Whoever signs the certificate answers for it.
// Thread safety: as the ledger.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/certificate.h"

namespace noisefloor {

// `bytes` is the file with the weights (safetensors). `declared_public` is the declaration of the training file, if it
// makes one. `budget` pays for the training that starts here. `ledger` is null where there is none yet, which has then
// paid for nothing. kInvalidArgument, with the remedy, if the training may not start here.
[[nodiscard]] Result<StartPoint> start_point_of(std::string_view bytes,
                                                const std::optional<std::string>& declared_public, Ledger* ledger,
                                                const std::string& budget);

}  // namespace noisefloor
