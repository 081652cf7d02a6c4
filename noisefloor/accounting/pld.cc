#include "noisefloor/accounting/pld.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "noisefloor/accounting/composition.h"
#include "noisefloor/accounting/event_parts.h"
#include "noisefloor/accounting/parts_composition.h"
#include "noisefloor/accounting/rdp.h"
#include "noisefloor/accounting/shuffle.h"
#include "noisefloor/accounting/tree_bounds.h"
#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Result<ShuffledReports> shuffled_reports(const ShuffledEvent& e) {
  if (const auto* response = std::get_if<RandomizedResponseEvent>(&e.event.kind())) {
    return ShuffledReports::of_randomized_response(response->epsilon, response->categories, e.reports,
                                                   Adjacency::kReplaceOne);
  }
  NF_TRY(const RenyiBound pure, renyi_bound(e.event, Adjacency::kReplaceOne, kInfinity));
  if (pure.delta > 0 || !std::isfinite(pure.divergence)) {
    return invalid_argument(
        "amplification by shuffling is known for local randomizers that are pure epsilon-DP: use randomized response, "
        "or "
        "account for the reports without shuffling");
  }
  NF_TRY(const Epsilon local, Epsilon::make(std::max(pure.divergence, 1e-300)));
  return ShuffledReports::of_any_randomizer(local, e.reports, Adjacency::kReplaceOne);
}

// One adjacency's parts with what has no law, each of them with its own bound of ε for a share of δ.
class Extras {
 public:
  static Result<Extras> of(const Parts& parts, Adjacency adjacency) {
    Extras extras(parts, adjacency);
    for (const auto& [event, count] : parts.shuffled) {
      NF_TRY(ShuffledReports reports, shuffled_reports(event));
      extras.shuffled_.emplace_back(std::move(reports), count);
    }
    if (!parts.renyi.empty()) {
      NF_TRY(const RenyiBound at_two, renyi_bound(ComposedEvent{parts.renyi}, adjacency, 2));
      extras.spent_ = at_two.delta;
    }
    return extras;
  }

  [[nodiscard]] std::size_t size() const { return (parts_.renyi.empty() ? 0U : 1U) + shuffled_.size(); }

  // δ where one shuffled event is all there is.
  [[nodiscard]] std::optional<double> shuffled_delta(PrivacyLoss epsilon) const {
    if (size() != 1 || shuffled_.size() != 1 || shuffled_[0].second != 1 || parts_.kinds() > 0) return std::nullopt;
    return shuffled_[0].first.delta_at(epsilon);
  }

  // An upper bound of ε for all of the parts; by Rényi divergences where composition finds none.
  [[nodiscard]] Result<double> epsilon(double delta, std::span<const double> splits,
                                       NeighbourDirection which = NeighbourDirection::kBoth) const {
    NF_TRY(const double composed, composed_epsilon(delta, splits, which));
    if (std::isfinite(composed)) return composed;
    const Result<Delta> whole = Delta::make(delta);
    if (!whole.has_value()) return kInfinity;
    const Result<RenyiEpsilon> found = renyi_epsilon(ComposedEvent{parts_.events}, adjacency_, whole.value());
    return found.has_value() ? found.value().epsilon : kInfinity;
  }

 private:
  Extras(const Parts& parts, Adjacency adjacency) : parts_(parts), adjacency_(adjacency) {}

  // The laws get a share of δ and each of the others an equal part of the rest. +∞ where this way gives none.
  [[nodiscard]] Result<double> composed_epsilon(double delta, std::span<const double> splits,
                                                NeighbourDirection which) const {
    // If the continuous law is (ε₀, δ₀)-DP, the one on the grid has δ = e^grid (δ₀ + e^ε₀ tail), for which 1e-9 is
    // kept.
    const bool grid = parts_.grid_delta > 0;
    const double available =
        (delta * (grid ? 1 - 1e-9 : 1) - parts_.extra_delta - spent_) * (1 - 0x1p-48) * std::exp(-parts_.grid_epsilon);
    const bool whole = parts_.extra_delta == 0 && !grid && size() == 0;
    if (!whole && !(available > 0)) return kInfinity;
    double best = kInfinity;
    for (double split : splits) {
      if (size() == 0) split = 1;
      if (!parts_.has_laws()) split = 0;
      double sum = parts_.extra_epsilon;
      if (parts_.has_laws()) {
        const Result<Delta> part = Delta::make(whole ? delta : split * available);
        if (!part.has_value() || part.value().value() <= 0) continue;
        NF_TRY(const double laws,
               epsilon_above(parts_, part.value(), which, size() > 0 || which != NeighbourDirection::kBoth));
        sum += laws;
        if (grid && !(std::exp(laws + parts_.grid_epsilon) * parts_.grid_delta <= 0.9e-9 * delta)) continue;
      }
      if (size() > 0) sum += others((1 - split) * available / static_cast<double>(size()));
      best = std::min(best, sum * (1 + 0x1p-48));
      if (size() == 0 || !parts_.has_laws()) break;
    }
    return best;
  }

  // The sum of the ε of all without a law, each for `share` of δ besides what they spend in any case.
  [[nodiscard]] double others(double share) const {
    double sum = 0;
    if (!(share > 0)) return kInfinity;
    if (!parts_.renyi.empty()) {
      const Result<Delta> with_spent = Delta::make(share + spent_);
      if (!with_spent.has_value()) return kInfinity;
      const Result<RenyiEpsilon> found = renyi_epsilon(ComposedEvent{parts_.renyi}, adjacency_, with_spent.value());
      if (!found.has_value()) return kInfinity;
      sum += found.value().epsilon;
    }
    for (const auto& [reports, count] : shuffled_) {
      // (ε, δ) of one, then the best composition of equal ones.
      const Result<Delta> each = Delta::make(share / 2 / count);
      const Result<Delta> all = Delta::make(share);
      const Result<Steps> steps = Steps::make(static_cast<std::uint64_t>(count));
      if (!each.has_value() || !all.has_value() || !steps.has_value()) return kInfinity;
      if (count == 1) {
        sum += reports.epsilon_at(all.value()).value();
        continue;
      }
      const ApproxDp one{reports.epsilon_at(each.value()), each.value()};
      const Result<Interval> found = optimal_composition_epsilon(one, steps.value(), all.value());
      if (found.has_value()) {
        sum += found.value().upper;
      } else {
        sum += count * one.epsilon.value();  // their δ add up to half of the share
      }
    }
    return sum;
  }

  const Parts& parts_;
  Adjacency adjacency_;
  double spent_ = 0;  // the δ of the parts with Rényi curves
  std::vector<std::pair<ShuffledReports, double>> shuffled_;
};

constexpr std::array<double, 3> kSplits = {0.5, 0.9, 0.1};
constexpr std::array<double, 1> kHalves = {0.5};

// All that upper bounds are made of.
struct Bounds {
  const DpEvent& event;
  Adjacency adjacency;
  const Decomposition& tree;
  Extras extras;
  std::optional<Extras> replaced;  // as add-remove

  static Result<Bounds> of(const DpEvent& event, Adjacency adjacency, const Decomposition& tree) {
    NF_TRY(Extras extras, Extras::of(tree.parts, adjacency));
    Bounds bounds{event, adjacency, tree, std::move(extras), std::nullopt};
    if (!tree.replaced.is_empty()) {
      NF_TRY(Extras replaced, Extras::of(tree.replaced, Adjacency::kAddRemove));
      bounds.replaced.emplace(std::move(replaced));
    }
    return bounds;
  }

  // Rényi divergences know of replaced records in a sample only what they do to each other, and not that they are there
  // or not; for those trees they are not used.
  [[nodiscard]] bool has_renyi() const { return !replaced.has_value(); }

  // Without Rényi divergences for the whole tree.
  [[nodiscard]] Result<double> epsilon(double delta, std::span<const double> splits) const {
    if (!replaced.has_value()) return extras.epsilon(delta, splits);
    const bool both = !tree.parts.is_empty();
    double best = kInfinity;
    for (double split : splits) {
      double sum = 0;
      if (both) {
        NF_TRY(const double found, extras.epsilon((1 - split) * delta, kHalves));
        sum += found;
      }
      NF_TRY(const double found, replaced_epsilon(both ? split * delta * (1 - 0x1p-50) : delta, splits));
      best = std::min(best, (sum + found) * (1 + 0x1p-48));
      if (!both) break;
    }
    return best;
  }

 private:
  // Replacing a sampled record is removing one and adding another: if removing is (ε₁, δ₁)-DP and adding (ε₂, δ₂)-DP,
  // then replacing is (ε₁ + ε₂, δ₁ + e^{ε₁} δ₂)-DP.
  [[nodiscard]] Result<double> replaced_epsilon(double delta, std::span<const double> splits) const {
    double best = kInfinity;
    for (double share : splits) {
      NF_TRY(const double first, replaced->epsilon(share * delta, kHalves, NeighbourDirection::kRemoved));
      const double rest = (1 - share) * delta * std::exp(-first) * (1 - 1e-12);
      if (!(rest > 0)) continue;
      NF_TRY(const double second, replaced->epsilon(rest, kHalves, NeighbourDirection::kAdded));
      best = std::min(best, first + second);
    }
    return best;
  }
};

// One exponential mechanism and nothing else, but for failures: for every ε there is a mechanism that reaches the δ of
// the dominating pair (loss_law.cc). Of compositions that is not known, as one mechanism would have to do so for all ε.
void know_one_choice(Decomposition& tree) {
  Parts& parts = tree.parts;
  const auto failures = static_cast<std::size_t>(std::count_if(parts.epsilon_delta.begin(), parts.epsilon_delta.end(),
                                                               [](const auto& one) { return one.first.first == 0; }));
  if (parts.kinds() != 1 + failures || parts.laws.size() != 1 || !parts.has_laws_only() || !tree.replaced.is_empty())
    return;
  auto& [key, leaf] = *parts.laws.begin();
  if (key.size() != 2 || key[0] != 5 || leaf.second != 1 || leaf.first.remove.above == nullptr) return;
  leaf.first.remove.below = leaf.first.remove.above;
  leaf.first.add.below = leaf.first.add.above;
}

// Several exponential mechanisms, from below: each with two groups of candidates, whose odds move by e^ε. How large the
// groups are is free, and decides what the likelier loss t is; t is best near where the loss of all of them is
// `epsilon`.
void choose_groups(Parts& parts, double epsilon) {
  double sum = 0;
  for (const auto& [key, leaf] : parts.laws) {
    if (key.size() == 2 && key[0] == 5) sum += leaf.second * key[1];
  }
  // Rounded, so that the order of parts does not matter.
  const double share = std::min(0.999, std::round(512 * (1 + epsilon / sum)) / 1024);
  for (auto& [key, leaf] : parts.laws) {
    if (key.size() != 2 || key[0] != 5) continue;
    const double e = std::min(key[1], kLargestLoss);
    const double t = share * e;
    const double whole = -std::expm1(-e);
    const double gaining = -std::expm1(t - e) / whole;
    const double losing = std::exp(-e) * std::expm1(t) / whole;
    const LawPtr below = finite_law({{gaining, gaining * std::exp(-t)}, {losing, losing * std::exp(e - t)}});
    leaf.first.remove.below = below;
    leaf.first.add.below = below;
  }
}

Error no_finite_epsilon(double delta) {
  return invalid_argument(fmt::format(
      "no finite epsilon at delta {}: these events fail with a larger probability, or their losses are too large for a "
      "number. Ask for a larger delta, or use more noise",
      delta));
}

// The sum of the ε of all laws for δ = 0.
double pure_sum(const Parts& parts) {
  double sum = 0;
  for (const auto& [key, leaf] : parts.laws) sum += leaf.second * leaf.first.pure;
  for (const auto& [key, count] : parts.epsilon_delta) sum += count * (key.second > 0 ? kInfinity : key.first);
  return parts.mu_squared > 0 || !parts.sampled.empty() || !parts.replaced_samples.empty() ? kInfinity : sum;
}

// An ε that is enough without any δ, hence with every δ; +∞ if none is known.
double pure_epsilon_above(const Decomposition& tree) {
  if (!tree.parts.has_laws_only() || !tree.replaced.has_laws_only()) return kInfinity;
  return (pure_sum(tree.parts) + 2 * pure_sum(tree.replaced)) * (1 + 1e-12);
}

// ε of pure DP: the sum of all ε, which the worst mechanisms reach.
Result<Interval> pure_epsilon(const DpEvent& event, Adjacency adjacency, const Decomposition& tree) {
  const double laws = pure_sum(tree.parts);
  const double samples = pure_sum(tree.replaced);
  double upper = pure_epsilon_above(tree);
  if (tree.replaced.is_empty()) {
    const Result<RenyiEpsilon> renyi = renyi_epsilon(event, adjacency, Delta::of(0));
    if (renyi.has_value()) upper = std::min(upper, renyi.value().epsilon);
  }
  if (!std::isfinite(upper)) {
    return invalid_argument(
        "no finite epsilon at delta 0: some of these events have unbounded losses (as Gaussian noise has) or a delta "
        "of "
        "their own. Ask for a delta above 0");
  }
  const double lower = std::max(std::isfinite(laws) ? laws : 0, std::isfinite(samples) ? samples : 0);
  return Interval{std::min(lower * (1 - 1e-12), upper), upper};
}

// How far what mu_squared_below says is off, in δ: e^-315 for each coordinate and each repetition.
constexpr double kGridSlack = 1e-130;

Result<double> epsilon_below(const Decomposition& tree, Delta delta) {
  double best = 0;
  if (tree.parts.kinds() > 0) {
    const bool grid = tree.parts.grid_delta > 0;
    const Result<Delta> more = Delta::make(grid ? delta.value() + kGridSlack : delta.value());
    NF_TRY(const Interval laws, epsilon_of(tree.parts, more.has_value() ? more.value() : delta));
    best = laws.lower;
  }
  if (tree.replaced.kinds() > 0) {
    // One of the records may be as good as none.
    NF_TRY(const Interval laws, epsilon_of(tree.replaced, delta));
    best = std::max(best, laws.lower);
  }
  return best;
}

Result<void> check_noise(const Parts& parts) {
  if (parts.mu_squared < 1e200L) return success();
  return invalid_argument("the noise is too small for a finite epsilon: the losses exceed all numbers. Use more noise");
}

}  // namespace

namespace internal {

Result<Interval> tree_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta) {
  if (contains<NonPrivateEvent>(event)) return Interval{kInfinity, kInfinity};
  NF_TRY(Decomposition tree, read_parts(event, adjacency));
  know_one_choice(tree);
  if (tree.parts.is_empty() && tree.replaced.is_empty()) return Interval{0, 0};
  if (delta.value() == 0) return pure_epsilon(event, adjacency, tree);
  NF_TRY_VOID(check_noise(tree.parts));
  NF_TRY_VOID(check_noise(tree.replaced));
  NF_TRY(const Bounds bounds, Bounds::of(event, adjacency, tree));
  Interval found{0, kInfinity};
  const bool laws_are_all = tree.parts.has_laws_only() && tree.replaced.is_empty() && tree.parts.extra_epsilon == 0 &&
                            tree.parts.extra_delta == 0 && tree.parts.grid_delta == 0;
  if (laws_are_all) {
    NF_TRY(found, epsilon_of(tree.parts, delta));
  } else {
    NF_TRY(found.upper, bounds.epsilon(delta.value(), kSplits));
    NF_TRY(found.lower, epsilon_below(tree, delta));
  }
  if (bounds.has_renyi() && (!laws_are_all || tree.parts.bounded_range || !is_narrow(found))) {
    const Result<RenyiEpsilon> renyi = renyi_epsilon(event, adjacency, delta);
    if (renyi.has_value()) found.upper = std::min(found.upper, renyi.value().epsilon);
  }
  found.upper = std::min(found.upper, pure_epsilon_above(tree));
  if (tree.parts.bounded_range && std::isfinite(found.upper) && !is_narrow(found)) {
    for (const double about : {found.upper, 0.9 * found.upper}) {
      Decomposition other = tree;
      choose_groups(other.parts, about);
      NF_TRY(const double lower, epsilon_below(other, delta));
      found.lower = std::max(found.lower, lower);
    }
  }
  if (!std::isfinite(found.upper)) {
    if (!tree.replaced.is_empty()) {
      return invalid_argument(fmt::format(
          "no epsilon is known at delta {} for replaced records of Poisson samples: removing one is too costly to be "
          "followed by adding another. Use more noise, a lower sampling rate or a larger delta, or account for "
          "add-remove",
          delta.value()));
    }
    return no_finite_epsilon(delta.value());
  }
  return Interval{std::min(found.lower, found.upper), found.upper};
}

Result<Interval> tree_delta(const DpEvent& event, Adjacency adjacency, PrivacyLoss epsilon) {
  if (contains<NonPrivateEvent>(event)) return Interval{1, 1};
  NF_TRY(Decomposition tree, read_parts(event, adjacency));
  know_one_choice(tree);
  if (tree.parts.is_empty() && tree.replaced.is_empty()) return Interval{0, 0};
  NF_TRY_VOID(check_noise(tree.parts));
  NF_TRY_VOID(check_noise(tree.replaced));
  NF_TRY(const Bounds bounds, Bounds::of(event, adjacency, tree));
  if (epsilon.value() >= pure_epsilon_above(tree)) return Interval{0, 0};
  Interval found{0, 1};
  for (const Parts* parts : {&tree.parts, &tree.replaced}) {
    if (parts->kinds() == 0) continue;
    NF_TRY(const Interval laws, delta_of(*parts, epsilon));
    const bool grid = parts->grid_delta > 0;
    found.lower = std::max(found.lower, laws.lower - (grid ? kGridSlack : 0));
    if (parts == &tree.parts && parts->has_laws_only() && parts->extra_epsilon == 0 && tree.replaced.is_empty()) {
      found.upper = std::min(1.0, (laws.upper + parts->extra_delta) * (1 + (parts->extra_delta > 0 ? 0x1p-50 : 0)));
    }
  }
  const Parts& parts = tree.parts;
  const bool alone = parts.has_laws_only() && tree.replaced.is_empty();
  if (alone && parts.extra_epsilon > 0 && epsilon.value() >= parts.extra_epsilon) {
    const double less = (epsilon.value() - parts.extra_epsilon) * (1 - 0x1p-50);
    NF_TRY(const Interval laws, delta_of(parts, PrivacyLoss::make(less).value()));
    // The laws that have no law above are in extra_epsilon.
    const double on_grid = std::exp(parts.grid_epsilon) * (laws.upper + std::exp(less) * parts.grid_delta);
    found.upper = std::min(1.0, (on_grid + parts.extra_delta) * (1 + 0x1p-48));
  }
  const bool narrow = found.upper - found.lower <= 1e-5 * found.upper;
  if (bounds.has_renyi() && (!alone || parts.extra_epsilon > 0 || parts.bounded_range || !narrow)) {
    const Result<double> renyi = renyi_delta(event, adjacency, epsilon.value());
    if (renyi.has_value()) found.upper = std::min(found.upper, renyi.value());
  }
  if (const auto shuffled = bounds.extras.shuffled_delta(epsilon); shuffled && tree.replaced.is_empty()) {
    found.upper = std::min(found.upper, *shuffled);
  } else if (!alone && found.upper > 0) {
    // The smallest δ whose ε is at most this one, by bisection in ln δ.
    const double high = std::log(found.upper);
    const double low = std::min(high, std::max(-700.0, std::log(std::max(found.lower, 1e-300))));
    const auto is_enough = [&](double log_delta) -> Result<bool> {
      NF_TRY(const double at, bounds.epsilon(std::exp(log_delta), kHalves));
      return at <= epsilon.value();
    };
    NF_TRY(const Bracket least,
           try_bisect({.holds = high, .fails = low}, {.halvings = 10, .absolute = 0.05}, is_enough));
    found.upper = std::min(found.upper, std::exp(least.holds) * (1 + 1e-12));
  }
  return Interval{std::clamp(found.lower, 0.0, found.upper), found.upper};
}

}  // namespace internal
}  // namespace noisefloor
