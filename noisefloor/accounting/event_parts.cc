#include "noisefloor/accounting/event_parts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "noisefloor/accounting/sampled_leaves.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/event/tree_nodes.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Discrete Gaussian laws leave out what is more than 36 standard deviations away: less than e^-640 each.
constexpr double kDiscreteTail = 1e-275;

Leaf symmetric(std::unique_ptr<LossLaw> law, double pure) {
  const LawPtr shared = std::move(law);
  return {{shared, shared}, {shared, shared}, pure};
}

// ln(1 − q + q e^ε).
double amplified(double q, double epsilon) {
  return epsilon > 700 ? std::max(0.0, epsilon + std::log(q)) : std::log1p(q * std::expm1(epsilon));
}

// The discrete Gaussian is within (κ, tail) of a rounded continuous one, point by point, for a tail of 2^-60 e^-100 in
// all: docs/proofs/gaussian_on_a_grid.md.
struct Closeness {
  double epsilon;
  double delta;
};
Closeness closeness(double sigma, double dimension, double count) {
  const double l = std::log(0x1p60 * count) + 100;
  const double radius = sigma * (std::sqrt(dimension) + std::sqrt(2 * l)) + std::sqrt(dimension) / 2;
  const double ratio = radius / sigma / sigma;
  return {(dimension / 24 / sigma / sigma + ratio * ratio / 24) * (1 + 1e-9) + 1e-300, std::exp(-l)};
}

class Reader {
 public:
  explicit Reader(Adjacency adjacency) : adjacency_(adjacency) {}

  // Requires an event without non-private parts.
  [[nodiscard]] Result<Decomposition> read(const DpEvent& event) {
    NF_TRY_VOID(visit(event, 1));
    if (parts_.too_many || replaced_.too_many) {
      return invalid_argument(
          "more than 2^53 repetitions of an event; accounting takes up to 2^53. Account for fewer, or state a bound of "
          "them as one (epsilon, delta) event");
    }
    return Decomposition{std::move(parts_), std::move(replaced_)};
  }

 private:
  Result<void> visit(const DpEvent& event, double count) {
    return std::visit(
        [&](const auto& kind) -> Result<void> {
          using Kind = std::decay_t<decltype(kind)>;
          constexpr bool is_combination =
              std::is_same_v<Kind, SelfComposedEvent> || std::is_same_v<Kind, ComposedEvent> ||
              std::is_same_v<Kind, PoissonSampledEvent> || std::is_same_v<Kind, FixedSizeSampledEvent> ||
              std::is_same_v<Kind, BallsInBinsEvent>;
          if constexpr (!is_combination) NF_TRY_VOID(keep(parts_, event, count));
          return add(kind, event, count);
        },
        event.kind());
  }

  static Result<void> keep(Parts& target, const DpEvent& event, double count) {
    NF_TRY(const Steps steps, Steps::make(static_cast<std::uint64_t>(count)));
    target.events.emplace_back(SelfComposedEvent{steps, event});
    return success();
  }

  // Squares that underflow are lifted from above and nothing from below.
  void add_gaussian(long double mu, double count) {
    parts_.mu_squared += count * std::max(mu * mu, 1e-280L);
    if (mu * mu >= 1e-280L) parts_.mu_squared_below += count * mu * mu;
    parts_.count_up(parts_.gaussians, count);
  }

  // What `count` discrete Gaussians differ by from continuous ones.
  void add_grid(double count, double epsilon, double delta) {
    parts_.extra_epsilon += count * epsilon * (1 + 1e-12);
    parts_.grid_epsilon += count * epsilon * (1 + 1e-12);
    parts_.grid_delta += count * delta * (1 + 1e-12);
  }

  template <class Make>
  void add_law(std::vector<double> key, double count, Make&& make) {
    auto [place, fresh] = parts_.laws.try_emplace(std::move(key));
    if (fresh) place->second.first = make();
    parts_.count_up(place->second.second, count);
  }

  // A mechanism that is `pure`-DP, of a kind that loses less with a smaller ε. `make(ε)` is its leaf. Beyond the range
  // of doubles the ε are added up; there they are hardly less in composition.
  template <class Make>
  void add_pure(std::vector<double> key, double pure, double count, Make&& make) {
    if (pure <= kLargestLoss) return add_law(std::move(key), count, [&] { return make(pure); });
    parts_.extra_epsilon = next_up(add_up(parts_.extra_epsilon, times_up(count, pure)));
    key.insert(key.begin(), -1);
    add_law(std::move(key), count, [&] {
      const Leaf capped = make(kLargestLoss);
      return Leaf{{nullptr, capped.remove.below}, {nullptr, capped.add.below}, pure};
    });
  }

  static Result<void> add_renyi(Parts& target, const DpEvent& event, double count) {
    NF_TRY(const Steps steps, Steps::make(static_cast<std::uint64_t>(count)));
    target.renyi.emplace_back(SelfComposedEvent{steps, event});
    return success();
  }

  Result<void> add(const GaussianEvent& e, const DpEvent& /*event*/, double count) {
    add_gaussian(1 / static_cast<long double>(e.noise_multiplier.value()), count);
    return success();
  }
  Result<void> add(const TreeAggregationEvent& e, const DpEvent& /*event*/, double count) {
    const auto nodes = static_cast<double>(tree_nodes(e.steps, adjacency_));
    add_gaussian(1 / static_cast<long double>(e.noise_multiplier.value()), count * nodes);
    return success();
  }
  Result<void> add(const LaplaceEvent& e, const DpEvent& /*event*/, double count) {
    const double epsilon = divided_up(1, e.noise_multiplier.value());
    add_pure({1, epsilon}, epsilon, count, [](double one) { return symmetric(laplace_law(one), one); });
    return success();
  }
  Result<void> add(const DiscreteGaussianEvent& e, const DpEvent& event, double count) {
    // A sum is as good as one with its variance, up to a gap that is nothing for all but little noise.
    const auto summands = static_cast<double>(e.summands.value());
    const double gap = gap_of_summed_gaussians(e.sigma.value(), summands);
    if (!(gap <= 1e-8)) return add_renyi(parts_, event, count);
    const double sigma = summands > 1 ? e.sigma.value() * std::sqrt(summands) : e.sigma.value();
    const bool scalar = e.dimension.value() == 1;
    const double shift = std::floor(std::min(e.l1_sensitivity.value(), e.l2_sensitivity.value()));
    if (shift < 1) return success();  // whole numbers that differ by less than 1 are equal
    if (scalar && sigma <= 0x1p12 && shift <= 0x1p14) {
      // Beyond 20 standard deviations too much of Q is lost.
      if (shift > 20 * sigma) return add_renyi(parts_, event, count);
      add_law({2, e.sigma.value(), shift, summands}, count,
              [&] { return symmetric(discrete_gaussian_law(e.sigma.value(), shift, summands), kInfinity); });
      parts_.extra_delta += count * kDiscreteTail;
      return success();
    }
    // The facts about continuous noise below are good to e^-300 and more, which the gap must not spoil.
    if (sigma < 64 || !(gap <= 1e-200)) return add_renyi(parts_, event, count);
    const double l2 = scalar ? shift : e.l2_sensitivity.value();
    const Closeness close = closeness(sigma, static_cast<double>(e.dimension.value()), count);
    const long double mu = static_cast<long double>(l2) / static_cast<long double>(sigma);
    parts_.mu_squared += count * std::max(mu * mu, 1e-280L);
    // Adding N(0, 16) makes it N(0, σ² + 16) up to e^-315 a coordinate: what that reveals, the discrete one does too.
    const long double ratio = static_cast<long double>(shift) / static_cast<long double>(sigma);
    if (ratio > 1e-140L) parts_.mu_squared_below += count * ratio * ratio / (1 + 16.0L / sigma / sigma) * (1 - 1e-12L);
    parts_.count_up(parts_.gaussians, count);
    add_grid(count, close.epsilon, close.delta);
    return success();
  }
  Result<void> add(const DiscreteLaplaceEvent& e, const DpEvent& /*event*/, double count) {
    const double shift = std::floor(e.l1_sensitivity.value());
    const double scale = e.scale.value();
    if (shift < 1) return success();
    const double pure = divided_up(shift, scale);
    // A larger scale is more noise of the same kind.
    add_pure({3, scale, shift}, pure, count,
             [&](double one) { return symmetric(discrete_laplace_law(one < pure ? shift / one : scale, shift), one); });
    return success();
  }
  Result<void> add(const SkellamEvent& e, const DpEvent& event, double count) {
    const double variance = e.variance.value();
    const double shift = std::floor(std::min(e.l1_sensitivity.value(), e.l2_sensitivity.value()));
    if (shift < 1) return success();  // whole numbers that differ by less than 1 are equal
    const bool in_range = variance >= 0x1p-10 && variance <= 0x1p18 && shift <= 0x1p14;
    // As for discrete Gaussians. Of several coordinates the worst shift is not known.
    if (e.dimension.value() != 1 || !in_range || shift > 20 * std::sqrt(variance)) {
      return add_renyi(parts_, event, count);
    }
    add_law({10, variance, shift}, count, [&] { return symmetric(skellam_law(variance, shift), kInfinity); });
    parts_.extra_delta += count * kDiscreteTail;
    return success();
  }
  Result<void> add(const ZcdpEvent& /*e*/, const DpEvent& event, double count) {
    return add_renyi(parts_, event, count);
  }
  Result<void> add(const RepeatAndSelectEvent& /*e*/, const DpEvent& event, double count) {
    return add_renyi(parts_, event, count);
  }
  Result<void> add(const PoissonRepeatAndSelectEvent& /*e*/, const DpEvent& event, double count) {
    return add_renyi(parts_, event, count);
  }

  Result<void> add(const RandomizedResponseEvent& e, const DpEvent& /*event*/, double count) {
    const double epsilon = e.epsilon.value();
    const double others = static_cast<double>(e.categories.value()) - 2;
    if (others == 0) return add(EpsilonDeltaEvent{PrivacyLoss::make(epsilon).value(), Delta::of(0)}, count);
    add_pure({4, epsilon, others}, epsilon, count, [&](double one) {
      const double odds = std::exp(-one);
      const double truth = 1 / (1 + (others + 1) * odds);
      return symmetric(
          finite_law({{truth, truth * odds}, {truth * odds, truth}, {others * truth * odds, others * truth * odds}}),
          one);
    });
    return success();
  }
  Result<void> add(const ExponentialEvent& e, const DpEvent& /*event*/, double count) {
    // From below: two candidates whose odds move from e^{−ε/2} to e^{ε/2}. With many candidates a ratio comes near e^ε.
    add_pure({5, e.epsilon.value()}, e.epsilon.value(), count, [](double one) {
      const LawPtr above = bounded_range_law(one);
      const LawPtr below = epsilon_delta_law(one / 2, 0);
      return Leaf{{above, below}, {above, below}, one};
    });
    parts_.bounded_range = true;
    return success();
  }
  Result<void> add(const PermuteAndFlipEvent& e, const DpEvent& /*event*/, double count) {
    // From above: ε-DP. From below: two equal candidates, of which one gains and the other loses.
    add_pure({6, e.epsilon.value()}, e.epsilon.value(), count, [](double one) {
      const LawPtr above = epsilon_delta_law(one, 0);
      const double rare = std::exp(-one) / 2;
      const LawPtr gain = finite_law({{0.5, rare}, {0.5, 1 - rare}});
      const LawPtr loss = finite_law({{rare, 0.5}, {1 - rare, 0.5}});
      return Leaf{{above, gain}, {above, loss}, one};
    });
    return success();
  }
  Result<void> add(const EpsilonDeltaEvent& e, const DpEvent& /*event*/, double count) { return add(e, count); }
  Result<void> add(const EpsilonDeltaEvent& e, double count) {
    if (e.epsilon.value() == 0 && e.delta.value() == 0) return success();
    parts_.count_up(parts_.epsilon_delta[{e.epsilon.value(), e.delta.value()}], count);
    return success();
  }
  static Result<void> add(const ZeroCostEvent& /*e*/, const DpEvent& /*event*/, double /*count*/) { return success(); }
  static Result<void> add(const NonPrivateEvent& /*e*/, const DpEvent& /*event*/, double /*count*/) {
    return internal_error("a non-private event was to be composed");
  }
  Result<void> add(const SelfComposedEvent& e, const DpEvent& /*event*/, double count) {
    // Exact up to 2^64, which is enough to tell.
    const long double times = static_cast<long double>(count) * static_cast<long double>(e.count.value());
    if (times <= static_cast<long double>(kMostSteps)) return visit(e.event, static_cast<double>(times));
    // Whether there is anything to count.
    NF_TRY(const Decomposition inner, Reader(adjacency_).read(e.event));
    if (!inner.parts.is_empty() || !inner.replaced.is_empty()) parts_.too_many = true;
    return success();
  }
  Result<void> add(const ComposedEvent& e, const DpEvent& /*event*/, double count) {
    for (const DpEvent& part : e.events) NF_TRY_VOID(visit(part, count));
    return success();
  }
  // Kinds whose laws are made elsewhere, and kinds that are lowered before they come here.
  template <class Kind>
  Result<void> add(const Kind& /*e*/, const DpEvent& event, double count) {
    NF_TRY(KeyedLeaf one, internal::sampled_leaf(event, adjacency_));
    add_law(std::move(one.key), count, [&] { return std::move(one.leaf); });
    parts_.extra_delta += count * one.extra_delta;
    return success();
  }
  // A replaced unit is one that is removed and one that is added, each with a bin of its own.
  Result<void> add(const BallsInBinsEvent& /*e*/, const DpEvent& event, double count) {
    Parts& target = adjacency_ == Adjacency::kAddRemove ? parts_ : replaced_;
    NF_TRY_VOID(keep(target, event, count));
    NF_TRY(KeyedLeaf one, internal::sampled_leaf(event, Adjacency::kAddRemove));
    auto [place, fresh] = target.laws.try_emplace(std::move(one.key));
    if (fresh) place->second.first = std::move(one.leaf);
    target.count_up(place->second.second, count);
    return success();
  }
  Result<void> add(const PoissonSampledEvent& e, const DpEvent& event, double count);
  Result<void> add(const FixedSizeSampledEvent& e, const DpEvent& event, double count);
  Result<void> add(const ShuffledEvent& e, const DpEvent& event, double count);

  void add_sampled_gaussian(double q, const Parts& inner, double count);
  void add_sampled_gaussian(Sample above, Sample below, double count);
  static void merge(Parts& target, const Parts& other);

  Adjacency adjacency_;
  Parts parts_;
  Parts replaced_;
};

// One discrete Gaussian that is close to a continuous one. In a sample it stays as close (gaussian_on_a_grid.md,
// Samples).
bool is_gaussian_on_grid(const Parts& parts) {
  return parts.grid_delta > 0 && parts.gaussians == 1 && parts.kinds() == 1 && parts.has_laws_only();
}

// The law of a tree that is one mechanism, once.
std::optional<std::pair<std::vector<double>, Leaf>> single_leaf(const Parts& parts) {
  if (parts.kinds() != 1 || !parts.has_laws_only() || parts.extra_epsilon > 0) return std::nullopt;
  if (parts.mu_squared > 0) {
    const auto mu = static_cast<double>(std::sqrt(parts.mu_squared));
    return std::pair{std::vector<double>{0, mu}, symmetric(gaussian_law(mu), kInfinity)};
  }
  if (!parts.epsilon_delta.empty()) {
    const auto& [key, count] = *parts.epsilon_delta.begin();
    if (count != 1 || key.first > kLargestLoss) return std::nullopt;
    return std::pair{std::vector<double>{7, key.first, key.second},
                     symmetric(epsilon_delta_law(key.first, key.second), key.second > 0 ? kInfinity : key.first)};
  }
  if (!parts.laws.empty() && parts.laws.begin()->second.second == 1) {
    const auto& [key, leaf] = *parts.laws.begin();
    return std::pair{key, leaf.first};
  }
  return std::nullopt;
}

void Reader::add_sampled_gaussian(double q, const Parts& inner, double count) {
  if (q == 1) {
    // Replaced records are twice as far from each other as from none.
    parts_.mu_squared += 4 * count * inner.mu_squared;
    parts_.mu_squared_below += 4 * count * inner.mu_squared_below;
    parts_.count_up(parts_.gaussians, count * inner.gaussians);
    return;
  }
  const auto nearest = static_cast<double>(1 / std::sqrt(inner.mu_squared));
  // One Gaussian has its own multiplier back; what several come to is rounded to both sides.
  const bool exact = inner.gaussians == 1 && inner.mu_squared == inner.mu_squared_below;
  const double lower = exact ? nearest : std::nextafter(nearest, 0.0);
  if (exact) return add_sampled_gaussian({q, lower}, {q, lower}, count);
  const bool known = inner.mu_squared_below > 0;
  const double higher = known ? next_up(static_cast<double>(1 / std::sqrt(inner.mu_squared_below))) : 0;
  add_sampled_gaussian({q, lower}, {known ? q : 0, higher}, count);
}

// A rate of 0 below: nothing is known from below.
void Reader::add_sampled_gaussian(Sample above, Sample below, double count) {
  const bool add_remove = adjacency_ == Adjacency::kAddRemove;
  parts_.count_up((add_remove ? parts_.sampled : parts_.replaced_samples)[above], count);
  if (below.first > 0) (add_remove ? parts_.sampled_below : parts_.replaced_samples_below)[below] += count;
}

void Reader::merge(Parts& target, const Parts& other) {
  target.mu_squared += other.mu_squared;
  target.mu_squared_below += other.mu_squared_below;
  target.count_up(target.gaussians, other.gaussians);
  for (const auto& [key, count] : other.sampled) target.count_up(target.sampled[key], count);
  for (const auto& [key, count] : other.sampled_below) target.sampled_below[key] += count;
  for (const auto& [key, count] : other.replaced_samples) target.count_up(target.replaced_samples[key], count);
  for (const auto& [key, count] : other.replaced_samples_below) target.replaced_samples_below[key] += count;
  for (const auto& [key, count] : other.epsilon_delta) target.count_up(target.epsilon_delta[key], count);
  for (const auto& [key, leaf] : other.laws) {
    auto [place, fresh] = target.laws.try_emplace(key);
    if (fresh) place->second.first = leaf.first;
    target.count_up(place->second.second, leaf.second);
  }
  target.renyi.insert(target.renyi.end(), other.renyi.begin(), other.renyi.end());
  target.events.insert(target.events.end(), other.events.begin(), other.events.end());
  target.shuffled.insert(target.shuffled.end(), other.shuffled.begin(), other.shuffled.end());
  target.extra_epsilon += other.extra_epsilon;
  target.extra_delta += other.extra_delta;
  target.grid_epsilon += other.grid_epsilon;
  target.grid_delta += other.grid_delta;
  target.bounded_range = target.bounded_range || other.bounded_range;
  target.too_many = target.too_many || other.too_many;
}

Result<void> Reader::add(const PoissonSampledEvent& e, const DpEvent& event, double count) {
  const double q = e.sampling_rate.value();
  const bool add_remove = adjacency_ == Adjacency::kAddRemove;
  if (q == 1 && add_remove) return visit(e.event, count);
  // Within a sample a record is there or not, whatever the neighbours are.
  NF_TRY(Decomposition inner, Reader(Adjacency::kAddRemove).read(e.event));
  if (inner.parts.is_empty()) return success();
  const auto leaf = single_leaf(inner.parts);
  if ((leaf && inner.parts.mu_squared > 0) || is_gaussian_on_grid(inner.parts)) {
    NF_TRY_VOID(keep(parts_, event, count));
    add_sampled_gaussian(q, inner.parts, count);
    add_grid(count, inner.parts.grid_epsilon, inner.parts.grid_delta);
    return success();
  }
  if (inner.parts.kinds() == 1 && inner.parts.has_laws_only() && inner.parts.sampled.size() == 1 &&
      inner.parts.sampled == inner.parts.sampled_below && inner.parts.sampled.begin()->second == 1) {
    // A sample of a sample. The product of the rates is rounded to both sides.
    NF_TRY_VOID(keep(parts_, event, count));
    const auto [rate, z] = inner.parts.sampled.begin()->first;
    const double product = times_up(q, rate);
    const double below = std::fma(q, rate, -product) < 0 ? std::nextafter(product, 0.0) : product;
    add_sampled_gaussian({product, z}, {below, z}, count);
    return success();
  }
  Parts& target = add_remove ? parts_ : replaced_;
  if (q == 1) {
    Reader all(Adjacency::kAddRemove);
    NF_TRY_VOID(all.visit(e.event, count));
    merge(replaced_, all.parts_);
    return success();
  }
  NF_TRY_VOID(keep(target, event, count));
  if (!leaf) return add_renyi(target, event, count);
  std::vector<double> key = {8, q};
  key.insert(key.end(), leaf->first.begin(), leaf->first.end());
  auto [place, fresh] = target.laws.try_emplace(std::move(key));
  if (fresh) {
    const LawPair& pair = leaf->second.remove;
    const bool known = pair.above == pair.below;
    const auto sample = [&](bool remove) {
      const LawPtr above = sampled_law(pair.above, q, remove);
      return LawPair{above, known ? above : LawPtr(sampled_law(pair.below, q, remove))};
    };
    place->second.first = Leaf{sample(true), sample(false), amplified(q, leaf->second.pure)};
  }
  target.count_up(place->second.second, count);
  target.extra_delta += count * inner.parts.extra_delta;
  return success();
}

Result<void> Reader::add(const FixedSizeSampledEvent& e, const DpEvent& event, double count) {
  if (adjacency_ == Adjacency::kAddRemove) {
    return invalid_argument(
        "no valid bound is known for samples of fixed size under add-remove, where the number of rows is private: use "
        "replace-one, or Poisson sampling");
  }
  if (e.sample_size == e.population) return visit(e.event, count);
  NF_TRY(const Decomposition inner, Reader(adjacency_).read(e.event));
  if (inner.parts.is_empty() && inner.replaced.is_empty()) return success();
  if (contains<PoissonSampledEvent>(e.event)) {
    return invalid_argument(
        "no valid bound is known for Poisson samples within a sample of fixed size: use one kind of sample only");
  }
  NF_TRY_VOID(keep(parts_, event, count));
  const auto leaf = single_leaf(inner.parts);
  // The theorem is used for pairs that are alike in both directions and known.
  if (!leaf || leaf->second.remove.above != leaf->second.add.below) return add_renyi(parts_, event, count);
  const double q = static_cast<double>(e.sample_size.value()) / static_cast<double>(e.population.value());
  std::vector<double> key = {9, q};
  key.insert(key.end(), leaf->first.begin(), leaf->first.end());
  add_law(std::move(key), count, [&] {
    // From below: the other record is as good as none, and every step has the same of the two sampled pairs.
    const LawPtr& one = leaf->second.remove.above;
    const LawPtr above = fixed_size_law(one, q);
    return Leaf{
        {above, sampled_law(one, q, true)}, {above, sampled_law(one, q, false)}, amplified(q, leaf->second.pure)};
  });
  parts_.extra_delta += count * inner.parts.extra_delta;
  return success();
}

Result<void> Reader::add(const ShuffledEvent& e, const DpEvent& event, double count) {
  if (adjacency_ == Adjacency::kAddRemove) return add_renyi(parts_, event, count);
  if (contains<PoissonSampledEvent>(e.event)) {
    return invalid_argument(
        "no valid bound is known for shuffled reports that sample by Poisson: let every user report, or account for "
        "the "
        "reports without shuffling");
  }
  parts_.shuffled.emplace_back(e, count);
  return success();
}

}  // namespace

std::optional<KeyedLeaf> leaf_of(const DpEvent& event, Adjacency adjacency) {
  const Result<Decomposition> read = read_parts(event, adjacency);
  if (!read.has_value() || !read.value().replaced.is_empty()) return std::nullopt;
  auto leaf = single_leaf(read.value().parts);
  if (!leaf) return std::nullopt;
  return KeyedLeaf{std::move(leaf->first), std::move(leaf->second), read.value().parts.extra_delta};
}

Result<Decomposition> read_parts(const DpEvent& event, Adjacency adjacency) { return Reader(adjacency).read(event); }

}  // namespace noisefloor
