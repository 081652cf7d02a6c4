// Reading from a file or from standard input: private numbers, one a line, and documents.
//
// Guarantee:     what a line holds is private, and never an error: a line that is not one finite number is what the
//                caller states for such lines, by a public rule. Errors are about the file as a whole.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

inline constexpr std::size_t kMaxLineBytes = 4096;
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

// Calls `take` for each line's number; `for_none` stands for a line that is not one finite number, and without it such
// a line is not there. An empty line is a line, also at the end. "-" is standard input.
[[nodiscard]] Result<void> for_each_number(const std::string& path, std::optional<double> for_none,
                                           const std::function<Result<void>(double)>& take);

// The whole text of a small file (up to 64 MiB), for documents. "-" is standard input.
[[nodiscard]] Result<std::string> read_text(const std::string& path);

// All numbers.
[[nodiscard]] Result<std::vector<double>> read_numbers(const std::string& path, std::optional<double> for_none);

}  // namespace noisefloor
