// Sums of decimals, exactly: a hundred times 0.1 is 10.
//
// A budget of 10 and a charge of 0.1 are decimals: people type them, and the ledger writes them. A double is the
// nearest one to such a decimal, mostly a little more or less, and a sum of doubles goes wrong by what they are off.
// Here every double stands for the shortest decimal that reads back as it, which is what the ledger writes for it.
//
// Guarantee:     a sum is exact while it has at most 38 digits from its first to its last. Beyond that its last digit
//                is rounded up, so that a sum is never below the exact one; what remains of a budget is rounded down.
// Distance:      a double x of 2^-1022 or more differs from its shortest decimal d by half a unit in its last place at
//                most: |x − d| ≤ 2^-53 x, and so x ≤ d (1 + 2^-52). If the decimals of some charges add up to no more
//                than the decimal of a budget, then the doubles add up to no more than that times 1 + 2^-52. Doubles
//                below 2^-1022 have no such bound: there a charge is rounded up to the decimal of the double above it,
//                and a budget down to that of the double below.
// Thread safety: plain data; pure functions.
#pragma once

#include "noisefloor/base/wide_int.h"

namespace noisefloor {

// digits · 10^exponent, with fewer than 39 digits.
struct DecimalSum {
  Uint128 digits = 0;
  int exponent = 0;

  // The sum with one more term. Requires a finite term ≥ 0.
  [[nodiscard]] DecimalSum plus(double term) const;
  // The sum without one of its terms.
  [[nodiscard]] DecimalSum minus(double term) const;
  // Whether the sum is at most the decimal of the budget. Requires a finite budget ≥ 0.
  [[nodiscard]] bool within(double budget) const;
  // The largest double whose decimal still fits into the budget beside the sum; 0 if there is none.
  [[nodiscard]] double remaining_of(double budget) const;
  // Whether it is a state that plus() can have left.
  [[nodiscard]] bool is_valid() const;

  friend bool operator==(const DecimalSum&, const DecimalSum&) = default;
};

}  // namespace noisefloor
