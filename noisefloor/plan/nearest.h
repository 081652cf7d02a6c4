// Formats limits for messages: six digits, rounded to the side on which the number is still within the limit.
//
// Internal to plan/.
#pragma once

#include <string>

namespace noisefloor {

// A text that is not above the value, which must be positive.
[[nodiscard]] std::string at_most_shown(double value);
// A text that is not below it.
[[nodiscard]] std::string at_least_shown(double value);

}  // namespace noisefloor
