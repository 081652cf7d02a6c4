// Valid event trees and statements that RapidCheck draws, inside a property.
#pragma once

#include "noisefloor/event/dp_event.h"

namespace noisefloor::testing {

// At most `depth` events inside each other.
[[nodiscard]] DpEvent draw_event(int depth);

[[nodiscard]] DpStatement draw_statement();

}  // namespace noisefloor::testing
