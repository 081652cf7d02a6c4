// An answer for people and for programs: the same fields for every mechanism that has them.
#pragma once

#include <string>

#include "noisefloor/cli/report.h"
#include "noisefloor/release/answer.h"

namespace noisefloor::cli {

// `guarantee` is what was asked for, in the words of the command: "epsilon 1, delta 1e-6".
[[nodiscard]] Report report_of(const Answer& answer, const std::string& guarantee);

}  // namespace noisefloor::cli
