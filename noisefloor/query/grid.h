// The grid on which numbers are added: bounds and step of an argument, in whole steps.
//
// Internal to query/.
//
// Guarantee:     max_rows values within the bounds add up to less than 2^63 steps.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/query/bound.h"

namespace noisefloor::query {

struct Grid {
  double from = 0;  // bounds of the value
  double to = 0;
  double step = 1;
  std::int64_t lower = 0;  // the same in steps, as kSteps rounds them
  std::int64_t upper = 0;
};

// Refuses an argument without public bounds, and sums that might not fit. `name` is shown.
[[nodiscard]] Result<Grid> grid_of(const Bound& argument, const std::string& name, std::uint64_t max_rows);
// The argument in whole steps of the grid, clamped to it.
[[nodiscard]] engine::Expression steps_of(const Bound& argument, const Grid& grid);
// The grid of (x - centre) and that of its square.
[[nodiscard]] double centre_of(const Grid& grid);
[[nodiscard]] Result<Grid> centred(const Grid& grid, const std::string& name, std::uint64_t max_rows);
[[nodiscard]] Result<Grid> squared(const Grid& centred, const std::string& name, std::uint64_t max_rows);

}  // namespace noisefloor::query
