// The table of a ledger in PostgreSQL that keeps the heads of its peers.
//
// Internal to ledger/.
#pragma once

#include <memory>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/witness_place.h"

namespace noisefloor::internal {

[[nodiscard]] Result<std::unique_ptr<WitnessPlace>> open_postgres_witness(const std::string& place,
                                                                          const WitnessPlaceOptions& options);

}  // namespace noisefloor::internal
