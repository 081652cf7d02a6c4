#include "noisefloor/mechanisms/quantile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/rounding.h"
#include "noisefloor/random/exact_choice.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxValues = (std::size_t{1} << 24) - 1;
constexpr int kGridBits = 40;
// Levels are whole multiples of 1 / this, so that ranks below 2^24 times a level are exact doubles.
constexpr double kLevelUnits = 0x1p28;

}  // namespace

Result<QuantileMechanism> QuantileMechanism::create(Neighbours neighbours, Bounds bounds, double level,
                                                    Epsilon epsilon) {
  if (!(level >= 0 && level <= 1)) {
    return invalid_argument(fmt::format("the level of a quantile must be from 0 to 1; got {}", level));
  }
  level = std::round(level * kLevelUnits) / kLevelUnits;
  // One row moves the rank of a candidate by at most 1 and the wanted rank by `level`, in the same direction or not at
  // all. Both ranks and their difference are exact.
  const double change = neighbours.adjacency == Adjacency::kReplaceOne ? 1 : std::max(level, 1 - level);
  NF_TRY(const Sensitivity sensitivity,
         Sensitivity::of_scalar(neighbours, times_up(change, static_cast<double>(neighbours.rows_per_unit.value()))));
  NF_TRY(const LaplaceOnLattice ranks, laplace_on_lattice(sensitivity.l1, epsilon, 1));
  const Lattice grid(floor_log2(bounds.width()) - kGridBits);
  // Positions on the grid must be exact in 100 bits, whatever the bounds.
  if (grid.step() == 0 || bounds.largest_magnitude() / grid.step() > 0x1p90) {
    return invalid_argument(
        fmt::format("the bounds [{}, {}] are too narrow for their distance from 0: shift the values", bounds.lower(),
                    bounds.upper()));
  }
  return QuantileMechanism(bounds, level, grid, ranks,
                           {neighbours.adjacency, neighbours.unit, ExponentialEvent{epsilon}});
}

Result<double> QuantileMechanism::choose(std::span<const double> values, BitStream& stream) const {
  if (values.size() > kMaxValues) {
    return invalid_argument(fmt::format("a quantile takes at most {} values at once", kMaxValues));
  }
  const Int128 first = grid_.nearest(bounds_.lower());
  const Int128 last = grid_.nearest(bounds_.upper());
  std::vector<Int128> sorted;
  sorted.reserve(values.size() + 2);
  sorted.push_back(first - 1);
  for (double value : values) sorted.push_back(grid_.nearest(bounds_.clamp(value)));
  std::sort(sorted.begin(), sorted.end());
  sorted.push_back(last);

  // Candidates in (sorted[i], sorted[i + 1]] have i values below them.
  const double wanted = level_ * static_cast<double>(values.size());
  std::vector<ExpWeight> weights;
  std::vector<std::size_t> places;
  Int128 best = kInt128Max;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    if (sorted[i + 1] == sorted[i]) continue;
    const Int128 distance = ranks_.lattice.nearest(std::fabs(static_cast<double>(i) - wanted));
    best = std::min(best, distance);
    weights.push_back({static_cast<std::uint64_t>(sorted[i + 1] - sorted[i]), static_cast<Uint128>(distance)});
    places.push_back(i);
  }
  for (ExpWeight& weight : weights) weight.numerator -= static_cast<Uint128>(best);
  const auto scale = 2 * static_cast<Uint128>(ranks_.scale.value());
  const std::size_t chosen = exact_choice(stream, weights, scale);
  const std::uint64_t offset = uniform_below(stream, weights[chosen].multiplicity);
  return std::clamp(grid_.to_real(sorted[places[chosen]] + 1 + static_cast<Int128>(offset)), bounds_.lower(),
                    bounds_.upper());
}

double QuantileMechanism::rank_error_bound(Confidence confidence) const {
  const double scale = 2 * ranks_.lattice.to_real(static_cast<Int128>(ranks_.scale.value()));
  return scale * ((kGridBits + 1) * std::log(2.0) - std::log(1 - confidence.value())) + 1;
}

}  // namespace noisefloor
