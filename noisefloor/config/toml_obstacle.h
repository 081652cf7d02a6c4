// Finds text that the TOML parser mishandles, before the parser sees it.
//
// toml++ 3.3 follows dotted keys by recursion without a limit, and tells the compiler that certain letters beyond ASCII
// do not occur where white space may be. Both are harmless once such text is refused here. Internal to config/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "noisefloor/config/finding.h"

namespace noisefloor::internal {

struct Obstacle {
  Place place;
  std::string message;
  std::string remedy;
};

// Returns the first of these: a character beyond ASCII outside of texts and comments, or after a backslash; a text of
// several lines; more than 16 dots outside of texts and comments in one line.
[[nodiscard]] std::optional<Obstacle> find_obstacle(std::string_view text);

}  // namespace noisefloor::internal
