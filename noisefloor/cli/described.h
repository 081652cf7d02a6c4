// Datasets that a command names by the file that describes them.
#pragma once

#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/paying.h"
#include "noisefloor/ledger/dataset_outcome.h"

namespace noisefloor::cli {

// The file is a description, or a training that names or holds one.
[[nodiscard]] Result<DescribedRows> described_rows(const std::string& file);

// The error, with the command that would allow the use of another dataset's rows deliberately.
[[nodiscard]] Error with_remedy(Error error, const std::optional<DatasetConflict>& conflict, const std::string& file);

}  // namespace noisefloor::cli
