#include "noisefloor/accounting/membership.h"

#include <algorithm>
#include <cmath>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/tradeoff.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {
namespace {

constexpr double kRoundedUp = 1 + 1e-12;

// From (ε, δ) alone: found ≤ e^ε α + δ, and misses ≥ e^−ε (1 − δ − α).
double found_at(double alpha, double epsilon, double delta) {
  return std::min({1.0, std::exp(epsilon) * alpha + delta, 1 - std::exp(-epsilon) * (1 - delta - alpha)});
}

}  // namespace

Result<MembershipBounds> membership_bounds(const DpEvent& event, Adjacency adjacency, Delta delta,
                                           std::span<const double> false_alarms) {
  if (contains<NonPrivateEvent>(event)) {
    return invalid_argument("an event that is not private bounds nothing: everything can be told apart");
  }
  NF_TRY(const Interval epsilon, pld_epsilon(event, adjacency, delta));
  const double e = std::exp(epsilon.upper);
  MembershipBounds bounds{std::isfinite(e) ? (e - 1 + 2 * delta.value()) / (e + 1) : 1.0, {}};
  const auto total = pld_delta(event, adjacency, PrivacyLoss::of(0));
  if (total.has_value()) bounds.advantage = std::min(bounds.advantage, total.value().upper);
  bounds.advantage = std::min(1.0, bounds.advantage * kRoundedUp);
  for (const double alpha : false_alarms) {
    bounds.tests.push_back({alpha, found_at(alpha, epsilon.upper, delta.value())});
  }
  // Where no curve is known, (ε, δ) still holds.
  const auto curve = tradeoff_curve(event, adjacency, false_alarms);
  for (std::size_t i = 0; i < bounds.tests.size(); ++i) {
    MembershipTest& test = bounds.tests[i];
    if (curve.has_value()) test.found = std::min(test.found, 1 - curve.value()[i].beta_lower);
    test.found = std::min({1.0, test.found, test.false_alarms + bounds.advantage}) * kRoundedUp;
    test.found = std::clamp(test.found, 0.0, 1.0);
  }
  return bounds;
}

double belief_after(double prior, double epsilon) {
  // Odds times e^ε, without overflow.
  return prior / (prior + (1 - prior) * std::exp(-epsilon));
}

}  // namespace noisefloor
