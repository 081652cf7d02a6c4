// The check that an answer has as many coordinates as its mechanism was calibrated for.
#pragma once

#include <cstddef>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

[[nodiscard]] Result<void> check_answer_size(Dimension expected, std::size_t got);

}  // namespace noisefloor
