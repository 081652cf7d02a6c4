#include "noisefloor/mechanisms/counted_quantile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/random/exact_choice.h"
#include "noisefloor/random/uniform.h"

namespace noisefloor {
namespace {

constexpr std::uint64_t kUnits = std::uint64_t{1} << 28;  // of a rank
constexpr std::uint64_t kMostCells = std::uint64_t{1} << 23;
constexpr std::uint64_t kMostValues = std::uint64_t{1} << 50;
constexpr int kEpsilonBits = 30;

}  // namespace

Result<CountedQuantile> CountedQuantile::create(const QuantileTerms& terms, Epsilon epsilon) {
  if (!(terms.level >= 0 && terms.level <= 1)) {
    return invalid_argument(fmt::format("the level of a quantile must be from 0 to 1; got {}", terms.level));
  }
  constexpr std::int64_t most = std::int64_t{1} << 61;
  if (terms.lower > terms.upper || terms.lower < -most || terms.upper > most) {
    return invalid_argument(
        fmt::format("a quantile needs bounds in order, within 2^61 steps; got {} to {}", terms.lower, terms.upper));
  }
  if (epsilon.value() < 0x1p-30 || terms.rows.value() > (std::uint64_t{1} << 32)) {
    return invalid_argument(
        fmt::format("a quantile takes an epsilon of at least 2^-30 and at most 2^32 rows of a unit; "
                    "got {} and {}",
                    epsilon.value(), terms.rows.value()));
  }
  CountedQuantile made(terms, epsilon);
  made.level_ = static_cast<std::uint64_t>(std::llround(terms.level * static_cast<double>(kUnits)));
  const std::uint64_t points = static_cast<std::uint64_t>(terms.upper - terms.lower) + 1;
  made.width_ = (points - 1) / kMostCells + 1;
  made.cells_ = (points - 1) / made.width_ + 1;
  // With the lowest or highest rank wanted, a value that is added moves all distances up or none: half the range.
  const bool one_way = terms.adjacency == Adjacency::kAddRemove && (made.level_ == 0 || made.level_ == kUnits);
  const std::uint64_t change =
      terms.adjacency == Adjacency::kReplaceOne ? kUnits : std::max(made.level_, kUnits - made.level_);
  made.range_ = one_way ? 1 : 2;
  // ε rounded down to 30 bits: mantissa · 2^-shift.
  int exponent = 0;
  const double fraction = std::frexp(std::min(epsilon.value(), 0x1p20), &exponent);
  made.factor_ = static_cast<Uint128>(std::floor(std::ldexp(fraction, kEpsilonBits)));
  made.divisor_ = (static_cast<Uint128>(made.range_ * terms.rows.value()) * change) << (kEpsilonBits - exponent);
  return made;
}

double CountedQuantile::sensitivity() const {
  const double level = static_cast<double>(level_) / static_cast<double>(kUnits);
  const double change = terms_.adjacency == Adjacency::kReplaceOne ? 1 : std::max(level, 1 - level);
  return change * static_cast<double>(terms_.rows.value());
}

double CountedQuantile::rank_error_bound(Confidence confidence) const {
  const double exponent = std::log(static_cast<double>(cells_)) - std::log1p(-confidence.value());
  // ε was rounded down to 30 bits.
  return static_cast<double>(range_) * sensitivity() / (epsilon_.value() * (1 - 0x1p-29)) * exponent;
}

std::int64_t CountedQuantile::choose(std::span<const CountedValue> values, BitStream& stream) const {
  std::map<std::uint64_t, std::uint64_t> cells;
  std::uint64_t count = 0;
  for (const CountedValue& one : values) {
    if (one.times == 0) continue;
    NF_CHECK(one.times < kMostValues - count, "a quantile of too many values");
    count += one.times;
    const std::int64_t value = std::clamp(one.value, terms_.lower, terms_.upper);
    cells[static_cast<std::uint64_t>(value - terms_.lower) / width_] += one.times;
  }
  const Int128 wanted = static_cast<Int128>(level_) * static_cast<Int128>(count);
  // Runs of cells whose ranks are equal: `times` values are in it, and `below` values are before it.
  struct Run {
    std::uint64_t first;
    std::uint64_t cells;
  };
  std::vector<Run> runs;
  std::vector<ExpWeight> weights;
  std::uint64_t below = 0;
  Uint128 least = ~Uint128{0};
  const auto add = [&](std::uint64_t first, std::uint64_t length, std::uint64_t times) {
    if (length == 0) return;
    const Int128 low = static_cast<Int128>(below) * kUnits - wanted;
    const Int128 high = wanted - static_cast<Int128>(below + times) * kUnits;
    const auto distance = static_cast<Uint128>(std::max({Int128{0}, low, high}));
    least = std::min(least, distance * factor_);
    runs.push_back({first, length});
    weights.push_back({length, distance * factor_});
  };
  std::uint64_t next = 0;
  for (const auto& [cell, times] : cells) {
    add(next, cell - next, 0);
    add(cell, 1, times);
    below += times;
    next = cell + 1;
  }
  add(next, cells_ - next, 0);
  for (ExpWeight& weight : weights) weight.numerator -= least;
  const Run& run = runs[exact_choice(stream, weights, divisor_)];
  const std::uint64_t cell = run.first + uniform_below(stream, run.cells);
  const auto middle = static_cast<std::int64_t>(cell * width_ + (width_ - 1) / 2);
  return std::min(terms_.lower + middle, terms_.upper);
}

}  // namespace noisefloor
