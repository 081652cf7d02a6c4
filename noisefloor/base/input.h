// Reading from a file or from standard input: private numbers, one a line, and documents.
//
// Errors name the line and never its content, which is private. Reading stops at the first line that is not a number,
// so that endless garbage costs nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

inline constexpr std::size_t kMaxLineBytes = 4096;
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxRowsInMemory = 200'000'000;

// Calls `take` for each number. "-" is standard input. Empty lines at the end are passed over.
[[nodiscard]] Result<void> for_each_number(const std::string& path, const std::function<Result<void>(double)>& take);

// The whole text of a small file (up to 64 MiB), for documents. "-" is standard input.
[[nodiscard]] Result<std::string> read_text(const std::string& path);

// All numbers, at most kMaxRowsInMemory.
[[nodiscard]] Result<std::vector<double>> read_numbers(const std::string& path);

}  // namespace noisefloor
