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

// Makes the folder `wanted`, or uses it if it is empty; refused if it is not. If nothing is wanted, makes the first of
// `usual`, `usual`-2, `usual`-3, … that is not there. Returns its absolute path.
[[nodiscard]] Result<std::string> make_empty_folder(const std::string& wanted, const std::string& usual);

}  // namespace noisefloor
