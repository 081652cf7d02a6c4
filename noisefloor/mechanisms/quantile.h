// A private quantile of values within public bounds, by the exponential mechanism on ranks.
//
// Guarantee:     ε-DP. A candidate's score is minus the distance of its rank from the wanted one; the choice among
//                all points of a grid over the bounds is exact.
// Implements:    Smith 2011 (the utility of rank distance, over intervals between data points).
// Accuracy:      the rank of what is released is off by about 2 ln(range of candidates / width of the right
//                interval)/ε rows. The grid has 2^40 to 2^41 points over the bounds.
// Requires:      at most 2^24 − 1 values.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/mechanisms/answer_grid.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/mechanisms/sensitivity.h"

namespace noisefloor {

class QuantileMechanism {
 public:
  // `level` from 0 (minimum) to 1 (maximum), rounded to a multiple of 2^-28; 0.5 is the median.
  [[nodiscard]] static Result<QuantileMechanism> create(Neighbours neighbours, Bounds bounds, double level,
                                                        Epsilon epsilon);

  // Values outside the bounds are clamped to them.
  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, double>> release(std::span<const double> values, Source& source) const {
    NF_TRY(const double chosen, choose(values, source));
    return Release<Source, double>(chosen, statement_);
  }

  [[nodiscard]] const DpStatement& statement() const { return statement_; }

  // With at least the given probability no more than this many rows lie between what is released and the wanted rank,
  // if the data leave any candidate at that rank.
  [[nodiscard]] double rank_error_bound(Confidence confidence) const;

 private:
  QuantileMechanism(Bounds bounds, double level, Lattice grid, LaplaceOnLattice ranks, DpStatement statement)
      : bounds_(bounds), level_(level), grid_(grid), ranks_(ranks), statement_(std::move(statement)) {}

  [[nodiscard]] Result<double> choose(std::span<const double> values, BitStream& stream) const;

  Bounds bounds_;
  double level_;
  Lattice grid_;            // of candidates
  LaplaceOnLattice ranks_;  // of scores
  DpStatement statement_;
};

}  // namespace noisefloor
