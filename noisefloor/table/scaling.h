// Numbers from a file, brought into public bounds.
//
// Guarantee:     whatever the data hold, the result is within the bounds: values beyond are clamped, never refused. The
//                bounds are stated by the caller and never taken from the data. With a scaling the result is in [0, 1]
//                or [-1, 1] exactly; without one it is the nearest float.
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "noisefloor/base/result.h"

namespace noisefloor {

enum class Scaling : std::uint8_t {
  kNone,       // unchanged
  kUnit,       // lower … upper to 0 … 1
  kSymmetric,  // lower … upper to -1 … 1
};

// Fails unless lower < upper, and both are finite and not beyond what a float holds. `what` names the column.
[[nodiscard]] Result<void> check_bounds(std::string_view what, double lower, double upper);

// Requires bounds that check_bounds() accepts, and a value that is not NaN.
[[nodiscard]] inline float clamp_and_scale(double value, double lower, double upper, Scaling scaling) {
  const double clamped = std::clamp(value, lower, upper);
  if (scaling == Scaling::kNone) return static_cast<float>(clamped);
  const double part = (clamped - lower) / (upper - lower);
  return static_cast<float>(scaling == Scaling::kUnit ? part : 2 * part - 1);
}

// Parses a decimal number such as "3", "+0.5" or "1e-6"; nothing else ("nan", "inf", "0x1", "", " 1" are not). A number
// beyond the range of a double is a number like any other; here it is infinite or 0, and will be clamped.
[[nodiscard]] std::optional<double> parse_decimal(std::string_view text);

}  // namespace noisefloor
