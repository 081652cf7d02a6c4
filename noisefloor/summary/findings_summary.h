// What is wrong with a file, for people and as JSON: findings with the line that they are about, and what the file
// would cost or do.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "noisefloor/config/any_file.h"
#include "noisefloor/config/finding.h"
#include "noisefloor/summary/summary.h"
#include "noisefloor/training/checkup.h"

namespace noisefloor {

// A line of `text` and a caret under the column, as a compiler shows them; nothing for a line that is empty or missing.
// Control characters become spaces, and a long line is cut around the place.
[[nodiscard]] std::string excerpt(std::string_view text, Place place);

// `file` names what was checked, and `text` is what stood there. Fails with kInvalidArgument if there is an error; if
// it is `strict`, also if there is a warning.
[[nodiscard]] Summary summary_of(const CheckedFile& checked, const std::string& file, std::string_view text,
                                 bool strict);

// The same with what a training would cost, or why that is not known.
[[nodiscard]] Summary summary_of(const Checkup& checkup, const std::string& file, std::string_view text, bool strict);

}  // namespace noisefloor
