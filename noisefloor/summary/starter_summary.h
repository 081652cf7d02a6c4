// The first two files for someone with a table (config/starter.h), for people and as JSON.
//
// Thread safety: pure functions.
#pragma once

#include "noisefloor/config/starter.h"
#include "noisefloor/config/tables_starter.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// Files that were written for this request.
[[nodiscard]] Summary summary_of(const StarterFiles& files, const StarterRequest& request);

[[nodiscard]] Summary summary_of(const TablesStarterFile& file);

}  // namespace noisefloor
