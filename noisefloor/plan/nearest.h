// Numbers in messages that name what would do: six digits, rounded to the side on which they still do.
#pragma once

#include <string>

namespace noisefloor {

// Not above the value, which is positive.
[[nodiscard]] std::string at_most_shown(double value);
// Not below it.
[[nodiscard]] std::string at_least_shown(double value);

}  // namespace noisefloor
