#include "noisefloor/mechanisms/dimension.h"

#include <fmt/format.h>

namespace noisefloor {

Result<void> check_answer_size(Dimension expected, std::size_t got) {
  if (expected.value() == got) return success();
  return invalid_argument(fmt::format("the mechanism was calibrated for {} numbers; got {}", expected.value(), got));
}

}  // namespace noisefloor
