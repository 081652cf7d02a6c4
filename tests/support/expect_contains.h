// Whether an interval holds the smallest ε with δ(ε) ≤ `delta`, by a function δ(ε) that is known exactly.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/numerics/interval.h"

namespace noisefloor::testing {

template <class Exact>
bool contains(Interval epsilon, double delta, Exact&& exact) {
  if (!(epsilon.lower >= 0 && epsilon.upper >= epsilon.lower)) return false;
  if (epsilon.lower > 0 && exact(epsilon.lower) < delta) return false;
  return std::isinf(epsilon.upper) || exact(epsilon.upper) <= delta;
}

// The interval holds the true ε, and one that is moved by a little more than its width does not, to either side: so an
// error of 1e-7 or less would be seen where intervals are as narrow as that. `rounding` is added to the move,
// relatively.
template <class Exact>
void expect_contains(Interval epsilon, double delta, double rounding, Exact&& exact) {
  EXPECT_TRUE(contains(epsilon, delta, exact)) << epsilon.lower << " " << epsilon.upper;
  if (epsilon.lower <= 0 || std::isinf(epsilon.upper)) return;
  const double step = 1.01 * (epsilon.upper - epsilon.lower) + rounding * epsilon.upper;
  EXPECT_FALSE(contains({epsilon.lower + step, epsilon.upper + step}, delta, exact)) << "a mutant";
  EXPECT_FALSE(contains({epsilon.lower - step, epsilon.upper - step}, delta, exact)) << "a mutant";
}

}  // namespace noisefloor::testing
