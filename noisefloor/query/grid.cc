#include "noisefloor/query/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/text.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/engine/evaluate.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Function;
using engine::Type;

std::int64_t in_steps(double value, double step) { return static_cast<std::int64_t>(std::floor(value / step + 0.5)); }

Result<Grid> checked(Grid grid, const std::string& name, std::uint64_t max_rows) {
  const auto is_normal = [](double x) { return engine::normal(x).has_value() && *engine::normal(x) == x; };
  const double most = std::max(std::abs(grid.from), std::abs(grid.to));
  if (!is_normal(grid.from) || !is_normal(grid.to) || !is_normal(grid.step) || !(grid.step > 0) ||
      most / grid.step > engine::kWholeNumbers)
    return invalid_argument(
        fmt::format("{} reaches {:g} in steps of {:g}, which is too fine to add up: state narrower bounds", shown(name),
                    most, grid.step));
  grid.lower = in_steps(grid.from, grid.step);
  grid.upper = in_steps(grid.to, grid.step);
  const Int128 farthest = std::max(std::abs(grid.lower), std::abs(grid.upper));
  if (farthest * static_cast<Int128>(max_rows) >= (Int128{1} << 63))
    return invalid_argument(
        fmt::format("{} may exceed 2^63 steps of {:g} over {} rows: state narrower bounds or fewer rows", shown(name),
                    grid.step, max_rows));
  return grid;
}

}  // namespace

Result<Grid> grid_of(const Bound& argument, const std::string& name, std::uint64_t max_rows) {
  if (argument.type() != Type::kInteger && argument.type() != Type::kNumber)
    return invalid_argument(
        fmt::format("{} takes numbers, and not a {}: convert it with CAST", shown(name), name_of(argument.type())));
  Grid grid;
  const bool integer = argument.type() == Type::kInteger;
  if (integer ? !argument.integers.stated() : !argument.numbers.stated())
    return invalid_argument(
        fmt::format("{} has no public bounds, so that one unit could move it without limit: bound what it takes with "
                    "least(…) and greatest(…), or state bounds",
                    shown(name)));
  grid.from = integer ? static_cast<double>(argument.integers.low) : argument.numbers.lower;
  grid.to = integer ? static_cast<double>(argument.integers.high) : argument.numbers.upper;
  const double most = std::max(std::abs(grid.from), std::abs(grid.to));
  if (integer) {
    grid.step = 1;
  } else if (argument.step.has_value()) {
    grid.step = *argument.step;
  } else {
    // Without a grid of its own: a power of two, about a millionth of the farthest value.
    grid.step = most > 0 ? std::exp2(std::ceil(std::log2(most)) - 20) : 1;
  }
  return checked(grid, name, max_rows);
}

Expression steps_of(const Bound& argument, const Grid& grid) {
  const Expression value = argument.expression;
  return normal_call(Function::kSteps, Type::kInteger,
                     {value, engine::constant(grid.from), engine::constant(grid.to), engine::constant(grid.step)});
}

double centre_of(const Grid& grid) {
  return (static_cast<double>(grid.lower) + static_cast<double>(grid.upper)) / 2 * grid.step;
}

Result<Grid> centred(const Grid& grid, const std::string& name, std::uint64_t max_rows) {
  const double half = (static_cast<double>(grid.upper) - static_cast<double>(grid.lower)) / 2 * grid.step;
  Grid result;
  result.from = -half;
  result.to = half;
  result.step = (grid.upper - grid.lower) % 2 == 0 ? grid.step : grid.step / 2;
  return checked(result, name, max_rows);
}

Result<Grid> squared(const Grid& centred, const std::string& name, std::uint64_t max_rows) {
  Grid result;
  result.from = 0;
  result.to = centred.to * centred.to;
  result.step = result.to > 0 ? std::max(centred.step * centred.step, result.to * 0x1p-28) : 1;
  return checked(result, name, max_rows);
}

}  // namespace noisefloor::query
