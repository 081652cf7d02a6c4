#include "noisefloor/engine/partials.h"

#include <algorithm>
#include <cmath>

namespace noisefloor::engine {
namespace {

constexpr Int128 kLargestPartial = Int128{1} << 53;

// The smallest whole number whose square is at least x.
Uint128 root_rounded_up(Uint128 x) {
  Uint128 low = 0;
  Uint128 high = Uint128{1} << 64;  // its square is just beyond 128 bits
  while (low < high) {
    const Uint128 middle = low + (high - low) / 2;
    if (middle * middle >= x) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

void scale_to_norm(std::span<Int128> partials, std::int64_t norm) {
  // A unit with such partials in more than 2^21 groups gives nothing: its norm is beyond 128 bits.
  constexpr Uint128 kMost = Uint128{1} << 127;
  Uint128 squares = 0;
  for (Int128& partial : partials) {
    partial = std::clamp(partial, -kLargestPartial, kLargestPartial);
    squares = std::min(kMost, squares + static_cast<Uint128>(partial * partial));
  }
  const auto most = static_cast<Uint128>(norm);
  if (squares <= most * most) return;
  if (squares == kMost) {
    std::ranges::fill(partials, 0);
    return;
  }
  const auto root = static_cast<Int128>(root_rounded_up(squares));
  for (Int128& partial : partials) partial = partial * norm / root;  // C++ divides towards zero
}

}  // namespace noisefloor::engine
