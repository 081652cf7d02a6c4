// Bisection of a predicate, for whoever needs the last point where something still holds.
//
// Guarantee:     the end `holds` of what is returned is the caller's, or a point at which the predicate was asked and
//                held; the end `fails` likewise. So an answer is as certain as the predicate is, also where that is not
//                monotone: monotony only makes the bracket close in on the one place where it changes.
// Requires:      that the predicate holds at bracket.holds; the caller has seen to it. Where it does not fail at
//                bracket.fails, `holds` moves up to that end. Either may be the larger one. Both above 0 for
//                bisect_ratio.
// Thread safety: as the predicate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "noisefloor/base/result.h"

namespace noisefloor {

struct Bracket {
  double holds;
  double fails;
};

// When a bracket is narrow enough: after so many halvings, or when its width is at most `relative` times its larger
// end, or at most `absolute`. It also ends where there is no number between the ends.
struct BisectUntil {
  int halvings = 2000;
  double relative = 0;
  double absolute = 0;
};

namespace internal {

// Halves by `middle_of(low, high)` while `is_open(low, high)`. `ask` returns a Result<bool>.
template <class MiddleOf, class IsOpen, class Ask>
[[nodiscard]] Result<Bracket> halve(Bracket bracket, int halvings, const MiddleOf& middle_of, const IsOpen& is_open,
                                    const Ask& ask) {
  for (int i = 0; i < halvings; ++i) {
    const double low = std::min(bracket.holds, bracket.fails);
    const double high = std::max(bracket.holds, bracket.fails);
    if (!is_open(low, high)) break;
    const double middle = middle_of(low, high);
    if (!(middle > low && middle < high)) break;
    NF_TRY(const bool holds, ask(middle));
    (holds ? bracket.holds : bracket.fails) = middle;
  }
  return bracket;
}

}  // namespace internal

// Halves the distance. `holds` returns a Result<bool>, whose errors end the search.
template <class Holds>
[[nodiscard]] Result<Bracket> try_bisect(Bracket bracket, BisectUntil until, const Holds& holds) {
  return internal::halve(
      bracket, until.halvings, [](double low, double high) { return low + (high - low) / 2; },
      [&](double low, double high) { return high - low > until.absolute && high - low > until.relative * high; },
      holds);
}

// The same with a predicate that always has an answer.
template <class Holds>
[[nodiscard]] Bracket bisect(Bracket bracket, BisectUntil until, const Holds& holds) {
  return try_bisect(bracket, until, [&](double x) -> Result<bool> { return holds(x); }).value();
}

namespace internal {

// √(low · high), also where the product is too small or too large for a number.
[[nodiscard]] inline double geometric_mean(double low, double high) {
  const double product = low * high;
  return std::isnormal(product) ? std::sqrt(product) : std::sqrt(low) * std::sqrt(high);
}

}  // namespace internal

// Halves the ratio of ends that are above 0: until it is at most `ratio`, or after so many halvings.
template <class Holds>
[[nodiscard]] Bracket bisect_ratio(Bracket bracket, double ratio, int halvings, const Holds& holds) {
  return internal::halve(
             bracket, halvings, internal::geometric_mean, [&](double low, double high) { return high > low * ratio; },
             [&](double x) -> Result<bool> { return holds(x); })
      .value();
}

struct CountBracket {
  std::uint64_t holds;
  std::uint64_t fails;
};

// Over whole numbers, until the ends are neighbours.
template <class Holds>
[[nodiscard]] CountBracket bisect_counts(CountBracket bracket, const Holds& holds) {
  for (;;) {
    const std::uint64_t low = std::min(bracket.holds, bracket.fails);
    const std::uint64_t high = std::max(bracket.holds, bracket.fails);
    if (high - low <= 1) return bracket;
    const std::uint64_t middle = low + (high - low) / 2;
    (holds(middle) ? bracket.holds : bracket.fails) = middle;
  }
}

}  // namespace noisefloor
