#include "noisefloor/query/contribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace noisefloor::query {

namespace {

double up(double x) { return std::nextafter(x, std::numeric_limits<double>::infinity()); }

// At least n, and exactly n where a double holds it.
double as_double(Uint128 n) {
  const double value = static_cast<double>(n);
  return n <= (Uint128{1} << 53) ? value : up(value);
}

// At least the root of n; exact for squares below 2^52.
double root(Uint128 n) {
  const double result = std::sqrt(as_double(n));
  const bool exact = n < (Uint128{1} << 52) && result == std::floor(result);
  return exact ? result : up(up(result));
}

// At least a * b; exact for whole numbers whose product a double holds.
double times(double a, double b) {
  const double result = a * b;
  const bool exact = a == std::floor(a) && b == std::floor(b) && result < 0x1p53;
  return exact ? result : up(result);
}

}  // namespace

Sensitivities sensitivities_of(const Contribution& c, Adjacency adjacency) {
  const auto most = static_cast<Uint128>(std::max(-static_cast<Int128>(c.low), static_cast<Int128>(c.high)));
  const auto width = static_cast<Uint128>(static_cast<Int128>(c.high) - c.low);
  Uint128 l1 = most * c.groups;
  double l2 = times(root(c.groups), as_double(most));
  bool by_rows = false;
  if (c.max_rows.has_value() && most != 0) {
    const auto each = static_cast<Uint128>(c.each < 0 ? -static_cast<Int128>(c.each) : static_cast<Int128>(c.each));
    const Uint128 in_all = each * *c.max_rows;
    if (in_all < l1) {
      // As much as possible in each group until the rows are used up: no other division gives a longer vector.
      by_rows = true;
      l1 = in_all;
      const double rest = up(as_double(in_all % most) / as_double(most));
      const double groups =
          in_all % most == 0 ? root(in_all / most) : up(up(std::sqrt(up(as_double(in_all / most) + up(rest * rest)))));
      l2 = std::min(l2, times(groups, as_double(most)));
    }
  }
  if (adjacency == Adjacency::kAddRemove) return {l1, l2};
  if (c.one_group) return {width, as_double(width)};
  // One unit's vector goes and another's comes: in other groups, or in the same ones with the opposite sign.
  const bool apart = by_rows ? c.low == 0 || c.high == 0 : width * width <= 2 * most * most;
  if (apart) return {2 * l1, times(up(std::sqrt(2.0)), l2)};
  if (by_rows) return {2 * l1, 2 * l2};
  return {2 * l1, times(root(c.groups), as_double(width))};
}

}  // namespace noisefloor::query
