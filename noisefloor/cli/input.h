// Reading private numbers from a file or from standard input: one number a line.
//
// Errors name the line and never its content, which is private. Reading stops at the first line that is not a number,
// so that endless garbage costs nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor::cli {

inline constexpr std::size_t kMaxLineBytes = 4096;
inline constexpr std::size_t kMaxRowsInMemory = 200'000'000;

// Calls `take` for each number. "-" is standard input. Empty lines at the end are passed over.
[[nodiscard]] Result<void> for_each_number(const std::string& path, const std::function<Result<void>(double)>& take);

// All numbers, at most kMaxRowsInMemory.
[[nodiscard]] Result<std::vector<double>> read_numbers(const std::string& path);

}  // namespace noisefloor::cli
