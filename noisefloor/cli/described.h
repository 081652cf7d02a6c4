// Datasets that a command names by the file that describes them.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/config/any_file.h"
#include "noisefloor/ledger/dataset_outcome.h"

namespace noisefloor::cli {

// The error, with the command that would allow the use of another dataset's rows deliberately.
[[nodiscard]] Error with_remedy(Error error, const std::optional<DatasetConflict>& conflict, const std::string& file);

}  // namespace noisefloor::cli
