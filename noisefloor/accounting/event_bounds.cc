// The bounds of pld.h: an event is lowered to a tree above it and one below it, and each is asked for its side.
#include <algorithm>
#include <functional>
#include <limits>

#include "noisefloor/accounting/lowering.h"
#include "noisefloor/accounting/parts_composition.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/tree_bounds.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Bounds = std::function<Result<Interval>(const DpEvent&)>;

// `most` is what holds of everything: an infinite ε, or a δ of 1.
Result<Interval> bounds_of(const DpEvent& event, Adjacency adjacency, double most, const Bounds& bounds) {
  if (contains<NonPrivateEvent>(event)) return Interval{most, most};
  NF_TRY(const internal::LoweredEvent trees, internal::lowered(event, adjacency));
  const Result<Interval> above = bounds(trees.above);
  const bool has_laws =
      contains<GaussianMixtureEvent, BallsInBinsEvent, TruncatedPoissonSampledEvent, SampledWithReplacementEvent>(
          trees.above);
  if (trees.is_exact() && !has_laws) return above;
  Interval found{0, most};
  if (above.has_value()) found.upper = above.value().upper;
  if (trees.is_exact()) {
    if (above.has_value()) found.lower = above.value().lower;
  } else if (const Result<Interval> below = bounds(trees.below); below.has_value()) {
    found.lower = below.value().lower;
  }
  if (has_laws && !(found.upper < most && found.upper - found.lower <= 1e-4 * found.upper)) {
    // Plainer events may be known better, or at all.
    const Result<DpEvent> plain = internal::dominating_event(event, adjacency);
    if (plain.has_value()) {
      const Result<Interval> other = bounds(plain.value());
      if (other.has_value()) found.upper = std::min(found.upper, other.value().upper);
    }
  }
  if (!(found.upper < most) && !above.has_value()) return above.error();
  return Interval{std::min(found.lower, found.upper), found.upper};
}

}  // namespace

Result<Interval> pld_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta) {
  return bounds_of(event, adjacency, kInfinity,
                   [&](const DpEvent& tree) { return internal::tree_epsilon(tree, adjacency, delta); });
}

Result<Interval> pld_delta(const DpEvent& event, Adjacency adjacency, PrivacyLoss epsilon) {
  return bounds_of(event, adjacency, 1,
                   [&](const DpEvent& tree) { return internal::tree_delta(tree, adjacency, epsilon); });
}

}  // namespace noisefloor
