// A private quantile of whole numbers that come with how often each occurs, such as the histogram of a group: by the
// exponential mechanism on ranks.
//
// Guarantee:     ε-DP where one unit gives at most `rows` of the numbers; the choice is exact. A candidate's score is
//                minus the distance of the wanted rank from its ranks: those between the number of values below it and
//                the number of values that are at most it. Adding up to r values moves either end by −level·r to
//                (1 − level)·r against the wanted rank, so that a score moves by r·max(level, 1 − level); exchanging r
//                for r moves it by r. The minimum and the maximum (level 0 and 1) under add-remove get along with half
//                the noise, because all scores move to the same side.
// Implements:    Smith 2011, with ranks of values that occur several times: where all values are equal, that value has
//                distance 0, and all others have more.
// Grid:          candidates are the whole numbers from lower to upper; above 2^23 of them, cells of equal width, by the
//                bounds alone, of which the middle is released.
// Requires:      upper − lower < 2^62, rows ≤ 2^32, ε ≥ 2^-30, and fewer than 2^50 values.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

struct CountedValue {
  std::int64_t value;
  std::uint64_t times;
};

struct QuantileTerms {
  double level = 0.5;      // from 0 (minimum) to 1 (maximum), rounded to a multiple of 2^-28
  std::int64_t lower = 0;  // public bounds: values outside are clamped to them
  std::int64_t upper = 1;
  Rows rows = Rows::of(1);  // of one unit
  Adjacency adjacency = Adjacency::kAddRemove;
};

class CountedQuantile {
 public:
  [[nodiscard]] static Result<CountedQuantile> create(const QuantileTerms& terms, Epsilon epsilon);

  // The values in any order, repeated or not. One choice costs ExponentialEvent{epsilon}; the caller states it.
  [[nodiscard]] std::int64_t choose(std::span<const CountedValue> values, BitStream& stream) const;

  [[nodiscard]] Epsilon epsilon() const { return epsilon_; }
  // Scores move by at most this much, in rows.
  [[nodiscard]] double sensitivity() const;
  // With at least the given probability the wanted rank is within this many rows of what is released.
  [[nodiscard]] double rank_error_bound(Confidence confidence) const;

 private:
  CountedQuantile(const QuantileTerms& terms, Epsilon epsilon) : terms_(terms), epsilon_(epsilon) {}

  QuantileTerms terms_;
  Epsilon epsilon_;
  std::uint64_t level_ = 0;  // in units of 2^-28
  std::uint64_t width_ = 1;  // of a cell
  std::uint64_t cells_ = 1;
  std::uint64_t range_ = 2;  // of the changes of all scores, in sensitivities
  Uint128 factor_ = 1;       // a candidate at a distance of d level units has the weight exp(−d factor/divisor)
  Uint128 divisor_ = 1;
};

}  // namespace noisefloor
