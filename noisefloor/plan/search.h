// Bisection over whole numbers.
//
// Internal to plan/.
#pragma once

#include <cstdint>

namespace noisefloor {

// The largest n from `least` to `most` that fits, provided that all up to some n fit and none beyond; least − 1 if none
// fits.
template <class Fits>
[[nodiscard]] std::uint64_t largest_that_fits(std::uint64_t least, std::uint64_t most, const Fits& fits) {
  std::uint64_t good = least - 1;
  for (std::uint64_t step = std::uint64_t{1} << 62; step > 0; step /= 2) {
    if (good < most && step <= most - good && fits(good + step)) good += step;
  }
  return good;
}

}  // namespace noisefloor
