// Small files, read and written whole.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "noisefloor/base/result.h"

namespace noisefloor {

// Writes the whole file or leaves what was there before: a temporary file beside it takes its place at the end. The
// content is durable when the function returns.
[[nodiscard]] Result<void> write_file(const std::string& path, const std::string& content);

// The content of a file of at most `limit` bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t limit);

}  // namespace noisefloor
