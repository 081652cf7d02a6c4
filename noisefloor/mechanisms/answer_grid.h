// Answers on a grid of a power of two, and noise in whole steps of it.
//
// Floating-point noise betrays the true answer by its low-order bits (Mironov 2012). So an answer is first rounded to
// the grid g·ℤ, then integer noise from an exact sampler is added; what comes out is a multiple of g whatever the data
// are. The grid depends on public parameters alone. Rounding moves an answer by at most g/2 and a scalar's sensitivity
// up to the next whole number of steps; both are stated where they matter.
#pragma once

#include <cstdint>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/base/wide_int.h"

namespace noisefloor {

class Lattice {
 public:
  // The grid of step 2^exponent.
  explicit Lattice(int exponent) : exponent_(exponent) {}

  [[nodiscard]] double step() const;

  // The nearest point, in steps; halves go up, always, so that two answers which differ by n steps at most stay so.
  // NaN becomes 0 and what is beyond ±2^100 steps saturates: never an error, since errors would depend on the data.
  [[nodiscard]] Int128 nearest(double value) const;

  // The same for whole numbers of at most 64 bits, which need not fit in a double. Exact on grids of 1 or finer.
  [[nodiscard]] Int128 nearest_to_whole(std::int64_t value) const;

  // The double nearest to a point.
  [[nodiscard]] double to_real(Int128 point) const;

  // The whole number nearest to a point, clamped to 64 bits.
  [[nodiscard]] std::int64_t to_whole(Int128 point) const;

 private:
  int exponent_;
};

// Discrete Laplace noise on a lattice that gives ε-DP: noise of `scale` steps for answers that move by at most
// `sensitivity` steps. Both are whole numbers with sensitivity / scale ≤ ε, and the scale is the smallest such.
struct LaplaceOnLattice {
  Lattice lattice;
  L1Sensitivity sensitivity;
  NoiseScale scale;
};

// Refused if ε is so small that no grid fits.
// `roundings` is how many numbers are rounded to the lattice for one unit's change: 1 for a number that is rounded as a
// whole; the coordinates of a vector; the rows of a person whose values are rounded one by one and then added up.
[[nodiscard]] Result<LaplaceOnLattice> laplace_on_lattice(L1Sensitivity sensitivity, Epsilon epsilon,
                                                          std::uint64_t roundings);

// The exponent of the largest power of two that is at most `value`. Requires a finite value above 0.
[[nodiscard]] int floor_log2(double value);

}  // namespace noisefloor
