// Files that commands write.
#pragma once

#include <string>

#include "noisefloor/base/result.h"

namespace noisefloor::cli {

// Writes the whole file or leaves what was there: a temporary file beside it is renamed at the end.
[[nodiscard]] Result<void> write_file(const std::string& path, const std::string& content);

}  // namespace noisefloor::cli
