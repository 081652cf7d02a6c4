#include "noisefloor/accounting/pld.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "noisefloor/accounting/composition.h"
#include "noisefloor/accounting/contour.h"
#include "noisefloor/accounting/gaussian_dp.h"
#include "noisefloor/accounting/gaussian_transform.h"
#include "noisefloor/accounting/lattice.h"
#include "noisefloor/accounting/loss_law.h"
#include "noisefloor/accounting/rdp.h"
#include "noisefloor/accounting/shuffle.h"
#include "noisefloor/accounting/subsampled_gaussian.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using LawPtr = std::shared_ptr<const LossLaw>;

// A law that dominates a mechanism and one that it dominates, for both directions. The same where the pair is known.
struct LawPair {
  LawPtr above;
  LawPtr below;
};
struct Leaf {
  LawPair remove;
  LawPair add;
};

Leaf symmetric(std::unique_ptr<LossLaw> law) {
  const LawPtr shared = std::move(law);
  return {{shared, shared}, {shared, shared}};
}

// What a tree of events comes to. Equal parts are counted together.
struct Parts {
  double mu_squared = 0;                                        // of all Gaussians, from above
  double mu_squared_below = 0;                                  // and from below: they differ for discrete Gaussians
  std::map<std::pair<double, double>, double> sampled;          // (rate, multiplier) of sampled Gaussians → count
  std::map<std::pair<double, double>, double> epsilon_delta;    // (ε, δ) → count
  std::map<std::vector<double>, std::pair<Leaf, double>> laws;  // by what they are → count
  std::vector<DpEvent> renyi;                                   // parts that have a Rényi curve only
  std::vector<std::pair<ShuffledEvent, double>> shuffled;       // → count
  double extra_epsilon = 0;                                     // to be added to upper bounds
  double extra_delta = 0;
  bool non_private = false;
  bool bounded_range = false;  // Rényi divergences may do better than the laws

  [[nodiscard]] double steps() const {
    double sum = mu_squared > 0 ? 1 : 0;
    for (const auto& [key, count] : sampled) sum += count;
    for (const auto& [key, count] : epsilon_delta) sum += count;
    for (const auto& [key, leaf] : laws) sum += leaf.second;
    return sum;
  }
  [[nodiscard]] std::size_t kinds() const {
    return (mu_squared > 0 ? 1 : 0) + sampled.size() + epsilon_delta.size() + laws.size();
  }
};

// A tree under replace-one has its Poisson samples set apart: those are accounted for as remove and add.
struct Decomposition {
  Parts parts;
  Parts replaced;
};

// The discrete Gaussian is within (κ, tail) of a rounded continuous one, point by point, for a tail of 2^-60 e^-100 in all:
// docs/proofs/gaussian_on_a_grid.md.
struct Closeness {
  double epsilon;
  double delta;
};
Closeness closeness(double sigma, double dimension, double count) {
  const double l = std::log(0x1p60 * count) + 100;
  const double radius = sigma * (std::sqrt(dimension) + std::sqrt(2 * l)) + std::sqrt(dimension) / 2;
  const double ratio = radius / (sigma * sigma);
  return {(dimension / (24 * sigma * sigma) + ratio * ratio / 24) * (1 + 1e-9), std::exp(-l)};
}

class Reader {
 public:
  explicit Reader(Adjacency adjacency) : adjacency_(adjacency) {}

  [[nodiscard]] Result<Decomposition> read(const DpEvent& event) {
    NF_TRY_VOID(visit(event, 1));
    return Decomposition{std::move(parts_), std::move(replaced_)};
  }

 private:
  Result<void> visit(const DpEvent& event, double count) {
    return std::visit([&](const auto& kind) { return add(kind, event, count); }, event.kind());
  }

  void add_gaussian(double mu_squared) {
    parts_.mu_squared += mu_squared;
    parts_.mu_squared_below += mu_squared;
  }

  template <class Make>
  void add_law(std::vector<double> key, double count, Make&& make) {
    auto [place, fresh] = parts_.laws.try_emplace(std::move(key));
    if (fresh) place->second.first = make();
    place->second.second += count;
  }

  Result<void> add_renyi(const DpEvent& event, double count) {
    NF_TRY(const Steps steps, Steps::make(static_cast<std::uint64_t>(count)));
    parts_.renyi.emplace_back(SelfComposedEvent{steps, event});
    return success();
  }

  Result<void> add(const GaussianEvent& e, const DpEvent& /*event*/, double count) {
    add_gaussian(count / (e.noise_multiplier.value() * e.noise_multiplier.value()));
    return success();
  }
  Result<void> add(const TreeAggregationEvent& e, const DpEvent& /*event*/, double count) {
    const double nodes = static_cast<double>(std::bit_width(e.steps.value()));
    add_gaussian(count * nodes / (e.noise_multiplier.value() * e.noise_multiplier.value()));
    return success();
  }
  Result<void> add(const LaplaceEvent& e, const DpEvent& /*event*/, double count) {
    const double epsilon = 1 / e.noise_multiplier.value();
    add_law({1, epsilon}, count, [&] { return symmetric(laplace_law(epsilon)); });
    return success();
  }
  Result<void> add(const DiscreteGaussianEvent& e, const DpEvent& event, double count) {
    if (e.summands.value() > 1) return add_renyi(event, count);
    const double sigma = e.sigma.value();
    const bool scalar = e.dimension.value() == 1;
    const double shift = std::floor(std::min(e.l1_sensitivity.value(), e.l2_sensitivity.value()));
    if (shift < 1) return success();  // whole numbers that differ by less than 1 are equal
    if (scalar && sigma <= 0x1p12 && shift <= 0x1p14) {
      add_law({2, sigma, shift}, count, [&] { return symmetric(discrete_gaussian_law(sigma, shift)); });
      return success();
    }
    if (sigma < 64) return add_renyi(event, count);
    const double l2 = scalar ? shift : e.l2_sensitivity.value();
    const Closeness close = closeness(sigma, static_cast<double>(e.dimension.value()), count);
    parts_.mu_squared += count * (l2 / sigma) * (l2 / sigma);
    // Adding N(0, 16) makes it N(0, σ² + 16) up to e^-315 a coordinate: what that reveals, the discrete one does too.
    parts_.mu_squared_below += count * shift * shift / (sigma * sigma + 16) * (1 - 1e-12);
    parts_.extra_epsilon += count * close.epsilon;
    parts_.extra_delta += count * close.delta;
    return success();
  }
  Result<void> add(const DiscreteLaplaceEvent& e, const DpEvent& /*event*/, double count) {
    const double shift = std::floor(e.l1_sensitivity.value());
    const double scale = e.scale.value();
    if (shift < 1) return success();
    add_law({3, scale, shift}, count, [&] { return symmetric(discrete_laplace_law(scale, shift)); });
    return success();
  }
  Result<void> add(const SkellamEvent& /*e*/, const DpEvent& event, double count) { return add_renyi(event, count); }
  Result<void> add(const ZcdpEvent& /*e*/, const DpEvent& event, double count) { return add_renyi(event, count); }
  Result<void> add(const RepeatAndSelectEvent& e, const DpEvent& event, double count) {
    return add_selection(e.event, event, count);
  }
  Result<void> add(const PoissonRepeatAndSelectEvent& e, const DpEvent& event, double count) {
    return add_selection(e.event, event, count);
  }
  Result<void> add_selection(const DpEvent& inner, const DpEvent& event, double count) {
    if (!contains_non_private(inner)) return add_renyi(event, count);
    parts_.non_private = true;
    return success();
  }

  Result<void> add(const RandomizedResponseEvent& e, const DpEvent& /*event*/, double count) {
    const double epsilon = e.epsilon.value();
    const double others = static_cast<double>(e.categories.value()) - 2;
    if (others == 0) return add(EpsilonDeltaEvent{PrivacyLoss::make(epsilon).value(), Delta::of(0)}, count);
    add_law({4, epsilon, others}, count, [&] {
      const double odds = std::exp(-epsilon);
      const double truth = 1 / (1 + (others + 1) * odds);
      return symmetric(
          finite_law({{truth, truth * odds}, {truth * odds, truth}, {others * truth * odds, others * truth * odds}}));
    });
    return success();
  }
  Result<void> add(const ExponentialEvent& e, const DpEvent& /*event*/, double count) {
    // From above: ε-DP. From below: two candidates whose odds move from e^{−ε/2} to e^{ε/2}.
    const double epsilon = e.epsilon.value();
    add_law({5, epsilon}, count, [&] {
      const LawPtr above = epsilon_delta_law(epsilon, 0);
      const LawPtr below = epsilon_delta_law(epsilon / 2, 0);
      return Leaf{{above, below}, {above, below}};
    });
    parts_.bounded_range = true;
    return success();
  }
  Result<void> add(const PermuteAndFlipEvent& e, const DpEvent& /*event*/, double count) {
    // From above: ε-DP. From below: two equal candidates, of which one gains and the other loses.
    const double epsilon = e.epsilon.value();
    add_law({6, epsilon}, count, [&] {
      const LawPtr above = epsilon_delta_law(epsilon, 0);
      const double rare = std::exp(-epsilon) / 2;
      const LawPtr one = finite_law({{0.5, rare}, {0.5, 1 - rare}});
      const LawPtr other = finite_law({{rare, 0.5}, {1 - rare, 0.5}});
      return Leaf{{above, one}, {above, other}};
    });
    return success();
  }
  Result<void> add(const EpsilonDeltaEvent& e, const DpEvent& /*event*/, double count) { return add(e, count); }
  Result<void> add(const EpsilonDeltaEvent& e, double count) {
    parts_.epsilon_delta[{e.epsilon.value(), e.delta.value()}] += count;
    return success();
  }
  Result<void> add(const ZeroCostEvent& /*e*/, const DpEvent& /*event*/, double /*count*/) { return success(); }
  Result<void> add(const NonPrivateEvent& /*e*/, const DpEvent& /*event*/, double /*count*/) {
    parts_.non_private = true;
    return success();
  }
  Result<void> add(const SelfComposedEvent& e, const DpEvent& /*event*/, double count) {
    const double times = count * static_cast<double>(e.count.value());
    if (times > 0x1p53) {
      return invalid_argument(fmt::format("{:.3g} repetitions of an event; accounting takes up to 2^53", times));
    }
    return visit(e.event, times);
  }
  Result<void> add(const ComposedEvent& e, const DpEvent& /*event*/, double count) {
    for (const DpEvent& part : e.events) NF_TRY_VOID(visit(part, count));
    return success();
  }
  Result<void> add(const PoissonSampledEvent& e, const DpEvent& event, double count);
  Result<void> add(const FixedSizeSampledEvent& e, const DpEvent& event, double count);
  Result<void> add(const ShuffledEvent& e, const DpEvent& event, double count);

  // The one law that `inner` comes to, if it does.
  [[nodiscard]] Result<Decomposition> read_inner(const DpEvent& inner, Adjacency adjacency) const {
    return Reader(adjacency).read(inner);
  }

  Adjacency adjacency_;
  Parts parts_;
  Parts replaced_;
};

// The law of a tree that is one mechanism, once.
std::optional<std::pair<std::vector<double>, Leaf>> single_leaf(const Parts& parts) {
  if (parts.kinds() != 1 || parts.steps() != 1 || !parts.renyi.empty() || !parts.shuffled.empty() ||
      parts.extra_epsilon > 0) {
    return std::nullopt;
  }
  if (parts.mu_squared > 0) {
    return std::pair{std::vector<double>{0, parts.mu_squared}, symmetric(gaussian_law(std::sqrt(parts.mu_squared)))};
  }
  if (!parts.epsilon_delta.empty()) {
    const auto [epsilon, delta] = parts.epsilon_delta.begin()->first;
    return std::pair{std::vector<double>{7, epsilon, delta}, symmetric(epsilon_delta_law(epsilon, delta))};
  }
  if (!parts.laws.empty()) {
    const auto& [key, leaf] = *parts.laws.begin();
    return std::pair{key, leaf.first};
  }
  return std::nullopt;
}

bool is_empty(const Parts& parts) {
  return parts.kinds() == 0 && parts.renyi.empty() && parts.shuffled.empty() && !parts.non_private;
}

Result<void> Reader::add(const PoissonSampledEvent& e, const DpEvent& event, double count) {
  const double q = e.sampling_rate.value();
  if (q == 1) return visit(e.event, count);
  // Within a sample a record is there or not, whatever the neighbours are.
  NF_TRY(const Decomposition inner, read_inner(e.event, Adjacency::kAddRemove));
  if (is_empty(inner.parts)) return success();
  Parts& target = adjacency_ == Adjacency::kAddRemove ? parts_ : replaced_;
  if (inner.parts.non_private) {
    target.non_private = true;
    return success();
  }
  const auto leaf = single_leaf(inner.parts);
  if (!leaf) return add_renyi(event, count);
  if (inner.parts.mu_squared > 0) {
    target.sampled[{q, 1 / std::sqrt(inner.parts.mu_squared)}] += count;
    return success();
  }
  std::vector<double> key = {8, q};
  key.insert(key.end(), leaf->first.begin(), leaf->first.end());
  auto [place, fresh] = target.laws.try_emplace(std::move(key));
  if (fresh) {
    const Leaf& l = leaf->second;
    place->second.first = Leaf{{sampled_law(l.remove.above, q, true), sampled_law(l.remove.below, q, true)},
                               {sampled_law(l.remove.above, q, false), sampled_law(l.remove.below, q, false)}};
  }
  place->second.second += count;
  return success();
}

Result<void> Reader::add(const FixedSizeSampledEvent& e, const DpEvent& event, double count) {
  if (adjacency_ == Adjacency::kAddRemove) {
    return invalid_argument(
        "no valid bound is known for samples of fixed size under add-remove, where the number of rows is private: use "
        "replace-one, or Poisson sampling");
  }
  if (e.sample_size == e.population) return visit(e.event, count);
  NF_TRY(const Decomposition inner, read_inner(e.event, adjacency_));
  if (is_empty(inner.parts) && is_empty(inner.replaced)) return success();
  if (inner.parts.non_private) {
    parts_.non_private = true;
    return success();
  }
  const auto leaf = is_empty(inner.replaced) ? single_leaf(inner.parts) : std::nullopt;
  // The theorem is used for pairs that are alike in both directions.
  if (!leaf || leaf->second.remove.above != leaf->second.add.below) return add_renyi(event, count);
  const double q = static_cast<double>(e.sample_size.value()) / static_cast<double>(e.population.value());
  std::vector<double> key = {9, q};
  key.insert(key.end(), leaf->first.begin(), leaf->first.end());
  add_law(std::move(key), count, [&] { return symmetric(fixed_size_law(leaf->second.remove.above, q)); });
  return success();
}

Result<void> Reader::add(const ShuffledEvent& e, const DpEvent& event, double count) {
  if (contains_non_private(e.event)) {
    parts_.non_private = true;
    return success();
  }
  if (adjacency_ == Adjacency::kAddRemove) return add_renyi(event, count);
  parts_.shuffled.emplace_back(e, count);
  return success();
}

// --- Composition -----------------------------------------------------------------------------------------------------

Interval intersect(Interval a, Interval b) { return {std::max(a.lower, b.lower), std::min(a.upper, b.upper)}; }

bool is_narrow(Interval epsilon) {
  return std::isfinite(epsilon.upper) && epsilon.upper - epsilon.lower <= std::max(1e-6 * epsilon.upper, 1e-9);
}

constexpr double kContourOperations = 5e6;
constexpr int kLatticeBits = 16;
constexpr double kRelativeWidth = 1e-6;

// The composition of the parts in one direction, with the laws from above or from below.
class Composition {
 public:
  Composition(const Parts& parts, bool remove, bool above)
      : parts_(parts), mu_squared_(above ? parts.mu_squared : parts.mu_squared_below) {
    if (mu_squared_ > 0) {
      transforms_.push_back(std::make_unique<GaussianTransform>(mu_squared_));
      losses_.push_back({transforms_.back().get(), 1});
      add(gaussian_law(std::sqrt(mu_squared_)), 1);
    }
    for (const auto& [key, count] : parts.sampled) {
      const auto rate = SamplingRate::make(key.first).value();
      const auto multiplier = NoiseMultiplier::make(key.second).value();
      const Direction direction = remove ? Direction::kRemove : Direction::kAdd;
      transforms_.push_back(std::make_unique<SubsampledGaussianTransform>(rate, multiplier, direction));
      losses_.push_back({transforms_.back().get(), count});
      add(sampled_law(gaussian_law(1 / key.second), key.first, remove), count);
    }
    for (const auto& [key, count] : parts.epsilon_delta) add(epsilon_delta_law(key.first, key.second), count);
    for (const auto& [key, leaf] : parts.laws) {
      const LawPair& pair = remove ? leaf.first.remove : leaf.first.add;
      add(above ? pair.above : pair.below, leaf.second);
    }
  }

  [[nodiscard]] Result<Interval> epsilon(Delta delta) const {
    const double log_delta = std::log(delta.value());
    if (laws_.empty()) return Interval{0, 0};
    if (only_gaussians()) {
      // μ² was added up with roundings.
      NF_TRY(const GaussianDp low, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 - 1e-13)));
      NF_TRY(const GaussianDp high, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 + 1e-13)));
      NF_TRY(const Interval lower, low.epsilon_at(delta));
      NF_TRY(const Interval upper, high.epsilon_at(delta));
      return Interval{lower.lower, upper.upper};
    }
    if (const auto part = only_equal_bounds()) {
      const Result<Interval> found = optimal_composition_epsilon(part->first, part->second, delta);
      return found.has_value() ? found.value() : Interval{kInfinity, kInfinity};
    }
    if (laws_.size() == 1 && laws_[0].count == 1) return single_epsilon(*laws_[0].law, log_delta);
    Interval found{0, kInfinity};
    if (has_transforms()) {
      const auto integral = ContourIntegral::for_delta(losses_, log_delta, kContourOperations);
      if (integral) found = integral->epsilon(log_delta);
      if (is_narrow(found)) return found;
    }
    return intersect(found, lattice_epsilon(laws_, log_delta, kRelativeWidth, kLatticeBits));
  }

  [[nodiscard]] Result<Interval> delta(PrivacyLoss epsilon) const {
    if (laws_.empty()) return Interval{0, 0};
    if (only_gaussians()) {
      NF_TRY(const GaussianDp low, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 - 1e-13)));
      NF_TRY(const GaussianDp high, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 + 1e-13)));
      return Interval{low.delta_at(epsilon).lower, high.delta_at(epsilon).upper};
    }
    if (const auto part = only_equal_bounds()) return optimal_composition_delta(part->first, part->second, epsilon);
    if (laws_.size() == 1 && laws_[0].count == 1) return single_delta(*laws_[0].law, epsilon.value());
    Interval found{0, 1};
    if (has_transforms()) {
      const auto integral = ContourIntegral::for_epsilon(losses_, epsilon.value(), kContourOperations);
      if (integral) {
        const Interval logs = integral->log_delta(epsilon.value());
        found = {std::exp(logs.lower) * (1 - 1e-12), std::min(1.0, std::exp(logs.upper) * (1 + 1e-12))};
      }
      if (found.upper - found.lower <= 1e-5 * found.upper) return found;
    }
    return intersect(found, lattice_delta(laws_, epsilon.value(), kRelativeWidth, kLatticeBits));
  }

 private:
  void add(LawPtr law, double count) {
    owned_.push_back(std::move(law));
    laws_.push_back({owned_.back().get(), count});
  }

  [[nodiscard]] bool has_transforms() const { return losses_.size() == laws_.size(); }
  [[nodiscard]] bool only_gaussians() const { return mu_squared_ > 0 && laws_.size() == 1; }
  [[nodiscard]] std::optional<std::pair<ApproxDp, Steps>> only_equal_bounds() const {
    if (parts_.epsilon_delta.size() != 1 || laws_.size() != 1) return std::nullopt;
    const auto& [key, count] = *parts_.epsilon_delta.begin();
    if (count > 0x1p40) return std::nullopt;
    return std::pair{ApproxDp{PrivacyLoss::make(key.first).value(), Delta::make(key.second).value()},
                     Steps::make(static_cast<std::uint64_t>(count)).value()};
  }

  const Parts& parts_;
  double mu_squared_;
  std::vector<LawPtr> owned_;
  std::vector<RepeatedLaw> laws_;
  std::vector<std::unique_ptr<LossTransform>> transforms_;
  std::vector<RepeatedLoss> losses_;
};

// Bounds over both directions: what is above from the laws above, what is below from those below.
template <class Solve>
Result<Interval> both_directions(const Parts& parts, Solve&& solve) {
  const bool known = parts.mu_squared == parts.mu_squared_below &&
                     std::all_of(parts.laws.begin(), parts.laws.end(), [](const auto& one) {
                       const Leaf& leaf = one.second.first;
                       return leaf.remove.above == leaf.remove.below && leaf.add.above == leaf.add.below;
                     });
  const bool alike = parts.sampled.empty() && std::all_of(parts.laws.begin(), parts.laws.end(), [](const auto& one) {
                       const Leaf& leaf = one.second.first;
                       return leaf.remove.above == leaf.add.above && leaf.remove.below == leaf.add.below;
                     });
  Interval result{0, 0};
  for (bool remove : {true, false}) {
    if (!remove && alike) break;
    NF_TRY(Interval found, solve(Composition(parts, remove, true)));
    if (!known) {
      NF_TRY(const Interval below, solve(Composition(parts, remove, false)));
      found.lower = below.lower;
    }
    result = {std::max(result.lower, found.lower), std::max(result.upper, found.upper)};
  }
  return result;
}

Result<Interval> epsilon_of(const Parts& parts, Delta delta) {
  return both_directions(parts, [&](const Composition& composition) { return composition.epsilon(delta); });
}

Result<Interval> delta_of(const Parts& parts, PrivacyLoss epsilon) {
  return both_directions(parts, [&](const Composition& composition) { return composition.delta(epsilon); });
}

// --- Upper bounds of what has no law of its own ----------------------------------------------------------------------

// Replacing a sampled record is removing one and adding another: if removing is (ε₁, δ₁)-DP and adding (ε₂, δ₂)-DP, then
// replacing is (ε₁ + ε₂, δ₁ + e^{ε₁} δ₂)-DP.
Result<double> replaced_epsilon(const Parts& parts, Delta delta) {
  double best = kInfinity;
  for (double share : {0.5, 0.9, 0.1}) {
    NF_TRY(const Delta first, Delta::make(share * delta.value()));
    NF_TRY(const Interval remove, Composition(parts, true, true).epsilon(first));
    const Result<Delta> second = Delta::make((1 - share) * delta.value() * std::exp(-remove.upper) * (1 - 1e-12));
    if (!second.has_value() || second.value().value() <= 0) continue;
    NF_TRY(const Interval add, Composition(parts, false, true).epsilon(second.value()));
    best = std::min(best, (remove.upper + add.upper) * (1 + 0x1p-50));
  }
  return best;
}

// A lower bound for the same: the records pull in opposite directions.
Result<double> replaced_epsilon_below(const Parts& parts, Delta delta) {
  std::vector<LawPtr> owned;
  std::vector<RepeatedLaw> laws;
  for (const auto& [key, count] : parts.sampled) {
    owned.push_back(opposite_samples_law(key.first, key.second));
    laws.push_back({owned.back().get(), count});
  }
  if (laws.empty()) return 0.0;
  return lattice_epsilon(laws, std::log(delta.value()), kRelativeWidth, kLatticeBits).lower;
}

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

// The parts of a tree that have no law, each with its own bound of ε for a share of δ.
class Extras {
 public:
  static Result<Extras> of(const Decomposition& tree, Adjacency adjacency) {
    Extras extras(tree, adjacency);
    for (const auto& [event, count] : tree.parts.shuffled) {
      NF_TRY(ShuffledReports reports, shuffled_reports(event));
      extras.shuffled_.emplace_back(std::move(reports), count);
    }
    return extras;
  }

  [[nodiscard]] std::size_t size() const {
    const std::size_t others = tree_.parts.renyi.empty() ? 0 : 1;
    return others + (is_empty(tree_.replaced) ? 0U : 1U) + shuffled_.size();
  }

  // The sum of their ε, if each may spend `share` of δ.
  [[nodiscard]] Result<double> epsilon(Delta share) const {
    double sum = 0;
    if (!tree_.parts.renyi.empty()) {
      NF_TRY(const RenyiEpsilon found, renyi_epsilon(ComposedEvent{tree_.parts.renyi}, adjacency_, share));
      sum += found.epsilon;
    }
    if (!is_empty(tree_.replaced)) {
      NF_TRY(const double found, replaced_epsilon(tree_.replaced, share));
      sum += found;
    }
    for (const auto& [reports, count] : shuffled_) {
      // (ε, δ) of one, then the best composition of equal ones.
      NF_TRY(const Delta each, Delta::make(share.value() / 2 / count));
      const ApproxDp one{reports.epsilon_at(each), each};
      NF_TRY(const Steps steps, Steps::make(static_cast<std::uint64_t>(count)));
      NF_TRY(const Interval found, optimal_composition_epsilon(one, steps, share));
      sum += found.upper;
    }
    return sum * (1 + 0x1p-48);
  }

 private:
  Extras(const Decomposition& tree, Adjacency adjacency) : tree_(tree), adjacency_(adjacency) {}

  const Decomposition& tree_;
  Adjacency adjacency_;
  std::vector<std::pair<ShuffledReports, double>> shuffled_;
};

// Upper bound of ε: the laws with one share of δ and the extras with the others, or Rényi divergences for everything.
Result<Interval> with_extras(const DpEvent& event, const Decomposition& tree, Adjacency adjacency, Delta delta,
                             const Extras& extras) {
  const double available = delta.value() - tree.parts.extra_delta;
  Interval result{0, kInfinity};
  const auto shares = static_cast<double>(extras.size());
  std::vector<double> splits = {1.0};
  if (extras.size() > 0 && tree.parts.kinds() > 0) splits = {0.5, 0.9, 0.1};
  if (tree.parts.kinds() == 0) splits = {0.0};
  for (double split : splits) {
    double upper = tree.parts.extra_epsilon;
    if (split > 0) {
      const Result<Delta> part = Delta::make(split * available * (1 - 0x1p-50));
      if (!part.has_value() || part.value().value() <= 0) continue;
      NF_TRY(const Interval laws, epsilon_of(tree.parts, part.value()));
      upper += laws.upper;
      if (split == splits.front())
        result.lower = laws.lower;  // raised below for a smaller δ: lower bounds need all of it
    }
    if (split < 1) {
      const Result<Delta> part = Delta::make((1 - split) * available / shares * (1 - 0x1p-50));
      if (!part.has_value() || part.value().value() <= 0) continue;
      const Result<double> rest = extras.epsilon(part.value());
      if (!rest.has_value()) continue;
      upper += rest.value();
    }
    result.upper = std::min(result.upper, upper * (1 + 0x1p-50));
  }
  // From below: the laws alone, with all of δ.
  if (tree.parts.kinds() > 0 && splits.size() > 1) {
    NF_TRY(const Interval laws, epsilon_of(tree.parts, delta));
    result.lower = laws.lower;
  }
  if (!is_empty(tree.replaced)) {
    NF_TRY(const double below, replaced_epsilon_below(tree.replaced, delta));
    result.lower = std::max(result.lower, below);
  }
  if (extras.size() > 0 || tree.parts.bounded_range || !std::isfinite(result.upper) || !is_narrow(result)) {
    const Result<RenyiEpsilon> renyi = renyi_epsilon(event, adjacency, delta);
    if (renyi.has_value()) result.upper = std::min(result.upper, renyi.value().epsilon);
  }
  return result;
}

}  // namespace

Result<Interval> pld_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta) {
  NF_TRY(const Decomposition tree, Reader(adjacency).read(event));
  if (tree.parts.non_private || tree.replaced.non_private) return Interval{kInfinity, kInfinity};
  if (is_empty(tree.parts) && is_empty(tree.replaced)) return Interval{0, 0};
  if (delta.value() == 0) {
    NF_TRY(const RenyiEpsilon pure, renyi_epsilon(event, adjacency, delta));
    return Interval{0, pure.epsilon};
  }
  NF_TRY(const Extras extras, Extras::of(tree, adjacency));
  NF_TRY(const Interval found, with_extras(event, tree, adjacency, delta, extras));
  if (!std::isfinite(found.upper)) {
    return invalid_argument(fmt::format(
        "no finite epsilon at delta {}: these events fail with a larger probability. Ask for a larger delta",
        delta.value()));
  }
  return Interval{std::min(found.lower, found.upper), found.upper};
}

Result<Interval> pld_delta(const DpEvent& event, Adjacency adjacency, PrivacyLoss epsilon) {
  NF_TRY(const Decomposition tree, Reader(adjacency).read(event));
  if (tree.parts.non_private || tree.replaced.non_private) return Interval{1, 1};
  if (is_empty(tree.parts) && is_empty(tree.replaced)) return Interval{0, 0};
  NF_TRY(const Extras extras, Extras::of(tree, adjacency));
  Interval result{0, 1};
  if (tree.parts.kinds() > 0) {
    NF_TRY(const Interval laws, delta_of(tree.parts, epsilon));
    result.lower = laws.lower;
    if (extras.size() == 0 && tree.parts.extra_epsilon == 0) result = laws;
  }
  if (tree.parts.extra_epsilon > 0) {
    result.lower = std::max(0.0, result.lower - 1e-130);
    const double less = epsilon.value() - tree.parts.extra_epsilon;
    if (less >= 0 && extras.size() == 0) {
      NF_TRY(const Interval from_above, delta_of(tree.parts, PrivacyLoss::make(less).value()));
      result.upper = std::min(1.0, (from_above.upper + tree.parts.extra_delta) * (1 + 0x1p-50));
    }
  }
  if (extras.size() > 0 || tree.parts.bounded_range) {
    const Result<double> renyi = renyi_delta(event, adjacency, epsilon.value());
    if (renyi.has_value()) result.upper = std::min(result.upper, renyi.value());
    // The smallest δ whose ε is at most this one, by bisection in ln δ.
    double low = -700;
    double high = std::log(result.upper);
    for (int i = 0; i < 12 && high - low > 0.01; ++i) {
      const double middle = low + (high - low) / 2;
      const Result<Delta> trial = Delta::make(std::exp(middle));
      if (!trial.has_value()) break;
      const Result<Interval> at = with_extras(event, tree, adjacency, trial.value(), extras);
      (at.has_value() && at.value().upper <= epsilon.value() ? high : low) = middle;
    }
    result.upper = std::min(result.upper, std::exp(high) * (1 + 1e-12));
  }
  return Interval{std::min(result.lower, result.upper), result.upper};
}

}  // namespace noisefloor
