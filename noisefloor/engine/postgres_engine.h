// Internal to engine/: tables in PostgreSQL, on one server or divided over several by their unit.
//
// Guarantee:     every connection only reads, sees one snapshot for a measurement, has an empty search path, and a
//                limit on the time of each statement. No message of a server is passed on.
#pragma once

#include <memory>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/source.h"

namespace noisefloor::engine {

[[nodiscard]] Result<std::unique_ptr<Engine>> open_postgres(const Source& source);

}  // namespace noisefloor::engine
