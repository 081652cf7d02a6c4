#include "noisefloor/accounting/pld.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
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
#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Above this loss a law's Q falls out of the range of doubles, and with it what the engines say from below.
constexpr double kLargestLoss = 600;
constexpr double kMostSteps = 0x1p53;
// Discrete Gaussian laws leave out what is more than 36 standard deviations away: less than e^-640 each.
constexpr double kDiscreteTail = 1e-275;

using LawPtr = std::shared_ptr<const LossLaw>;

// A law that dominates a mechanism and one that it dominates, for both directions. The same where the pair is known.
// Nothing above: its whole ε is in Parts::extra_epsilon.
struct LawPair {
  LawPtr above;
  LawPtr below;
};
struct Leaf {
  LawPair remove;
  LawPair add;
  double pure = kInfinity;  // the least ε for δ = 0, but for rounding
};

Leaf symmetric(std::unique_ptr<LossLaw> law, double pure) {
  const LawPtr shared = std::move(law);
  return {{shared, shared}, {shared, shared}, pure};
}

// ln(1 − q + q e^ε).
double amplified(double q, double epsilon) {
  return epsilon > 700 ? std::max(0.0, epsilon + std::log(q)) : std::log1p(q * std::expm1(epsilon));
}

// What a tree of events comes to. Equal parts are counted together.
struct Parts {
  long double mu_squared = 0;                                   // of all Gaussians, from above
  long double mu_squared_below = 0;                             // and from below: they differ for discrete Gaussians
  double gaussians = 0;                                         // how many they are
  std::map<std::pair<double, double>, double> sampled;          // (rate, multiplier) of sampled Gaussians → count
  std::map<std::pair<double, double>, double> sampled_below;    // the same from below
  std::map<std::pair<double, double>, double> epsilon_delta;    // (ε, δ) → count
  std::map<std::vector<double>, std::pair<Leaf, double>> laws;  // by what they are → count
  std::vector<DpEvent> renyi;                                   // parts that have a Rényi curve only
  std::vector<std::pair<ShuffledEvent, double>> shuffled;       // → count
  std::vector<DpEvent> events;                                  // all of it once more, for Rényi divergences
  double extra_epsilon = 0;                                     // to be added to upper bounds
  double extra_delta = 0;
  double grid_epsilon = 0;  // the part of extra_epsilon by which discrete Gaussians differ from continuous ones
  double grid_delta = 0;    // and what they differ by otherwise: it enters δ times e^ε (gaussian_on_a_grid.md, (6))
  bool bounded_range = false;  // Rényi divergences may do better than the laws
  bool too_many = false;       // more repetitions than are counted exactly

  void count_up(double& sum, double count) {
    if (static_cast<long double>(sum) + static_cast<long double>(count) > static_cast<long double>(kMostSteps)) {
      too_many = true;
    }
    sum += count;
  }
  // Is there anything but extra_epsilon and extras to be composed from above?
  [[nodiscard]] bool has_laws() const {
    return mu_squared > 0 || !sampled.empty() || !epsilon_delta.empty() ||
           std::any_of(laws.begin(), laws.end(), [](const auto& one) { return one.second.first.remove.above; });
  }
  [[nodiscard]] std::size_t kinds() const {
    return (mu_squared > 0 ? 1 : 0) + sampled.size() + epsilon_delta.size() + laws.size();
  }
  [[nodiscard]] bool is_empty() const { return kinds() == 0 && renyi.empty() && shuffled.empty(); }
  [[nodiscard]] bool has_laws_only() const { return renyi.empty() && shuffled.empty(); }
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
  const double ratio = radius / sigma / sigma;
  return {(dimension / 24 / sigma / sigma + ratio * ratio / 24) * (1 + 1e-9) + 1e-300, std::exp(-l)};
}

// Whether a Poisson sample is part of it.
bool contains_poisson_sample(const DpEvent& event) {
  return std::visit(
      [](const auto& kind) {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, PoissonSampledEvent>) {
          return true;
        } else if constexpr (std::is_same_v<Kind, ComposedEvent>) {
          return std::any_of(kind.events.begin(), kind.events.end(), contains_poisson_sample);
        } else if constexpr (requires { kind.event; }) {
          return contains_poisson_sample(kind.event);
        } else {
          return false;
        }
      },
      event.kind());
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
              std::is_same_v<Kind, PoissonSampledEvent> || std::is_same_v<Kind, FixedSizeSampledEvent>;
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

  template <class Make>
  void add_law(std::vector<double> key, double count, Make&& make) {
    auto [place, fresh] = parts_.laws.try_emplace(std::move(key));
    if (fresh) place->second.first = make();
    parts_.count_up(place->second.second, count);
  }

  // A mechanism that is `pure`-DP, of a kind that loses less with a smaller ε. `make(ε)` is its leaf. Beyond the range of
  // doubles the ε are added up; there they are hardly less in composition.
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

  Result<void> add_renyi(Parts& target, const DpEvent& event, double count) {
    NF_TRY(const Steps steps, Steps::make(static_cast<std::uint64_t>(count)));
    target.renyi.emplace_back(SelfComposedEvent{steps, event});
    return success();
  }

  Result<void> add(const GaussianEvent& e, const DpEvent& /*event*/, double count) {
    add_gaussian(1 / static_cast<long double>(e.noise_multiplier.value()), count);
    return success();
  }
  Result<void> add(const TreeAggregationEvent& e, const DpEvent& /*event*/, double count) {
    const double nodes = static_cast<double>(std::bit_width(e.steps.value()));
    add_gaussian(1 / static_cast<long double>(e.noise_multiplier.value()), count * nodes);
    return success();
  }
  Result<void> add(const LaplaceEvent& e, const DpEvent& /*event*/, double count) {
    const double epsilon = divided_up(1, e.noise_multiplier.value());
    add_pure({1, epsilon}, epsilon, count, [](double one) { return symmetric(laplace_law(one), one); });
    return success();
  }
  Result<void> add(const DiscreteGaussianEvent& e, const DpEvent& event, double count) {
    if (e.summands.value() > 1) return add_renyi(parts_, event, count);
    const double sigma = e.sigma.value();
    const bool scalar = e.dimension.value() == 1;
    const double shift = std::floor(std::min(e.l1_sensitivity.value(), e.l2_sensitivity.value()));
    if (shift < 1) return success();  // whole numbers that differ by less than 1 are equal
    if (scalar && sigma <= 0x1p12 && shift <= 0x1p14) {
      // Beyond 20 standard deviations too much of Q is lost.
      if (shift > 20 * sigma) return add_renyi(parts_, event, count);
      add_law({2, sigma, shift}, count, [&] { return symmetric(discrete_gaussian_law(sigma, shift), kInfinity); });
      parts_.extra_delta += count * kDiscreteTail;
      return success();
    }
    if (sigma < 64) return add_renyi(parts_, event, count);
    const double l2 = scalar ? shift : e.l2_sensitivity.value();
    const Closeness close = closeness(sigma, static_cast<double>(e.dimension.value()), count);
    const long double mu = static_cast<long double>(l2) / static_cast<long double>(sigma);
    parts_.mu_squared += count * std::max(mu * mu, 1e-280L);
    // Adding N(0, 16) makes it N(0, σ² + 16) up to e^-315 a coordinate: what that reveals, the discrete one does too.
    const long double ratio = static_cast<long double>(shift) / static_cast<long double>(sigma);
    if (ratio > 1e-140L) parts_.mu_squared_below += count * ratio * ratio / (1 + 16.0L / sigma / sigma) * (1 - 1e-12L);
    parts_.count_up(parts_.gaussians, count);
    parts_.extra_epsilon += count * close.epsilon;
    parts_.grid_epsilon += count * close.epsilon * (1 + 1e-12);
    parts_.grid_delta += count * close.delta * (1 + 1e-12);
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
  Result<void> add(const SkellamEvent& /*e*/, const DpEvent& event, double count) {
    return add_renyi(parts_, event, count);
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
  Result<void> add(const ZeroCostEvent& /*e*/, const DpEvent& /*event*/, double /*count*/) { return success(); }
  Result<void> add(const NonPrivateEvent& /*e*/, const DpEvent& /*event*/, double /*count*/) {
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
  Result<void> add(const PoissonSampledEvent& e, const DpEvent& event, double count);
  Result<void> add(const FixedSizeSampledEvent& e, const DpEvent& event, double count);
  Result<void> add(const ShuffledEvent& e, const DpEvent& event, double count);

  static void add_sampled_gaussian(Parts& target, double q, const Parts& inner, double count);
  static void merge(Parts& target, const Parts& other);

  Adjacency adjacency_;
  Parts parts_;
  Parts replaced_;
};

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

void Reader::add_sampled_gaussian(Parts& target, double q, const Parts& inner, double count) {
  const long double z = 1 / std::sqrt(inner.mu_squared);
  const auto nearest = static_cast<double>(z);
  // One Gaussian has its own multiplier back; what several come to is rounded to both sides.
  const bool exact = inner.gaussians == 1 && inner.mu_squared == inner.mu_squared_below;
  const double above = exact ? nearest : std::nextafter(nearest, 0.0);
  target.count_up(target.sampled[{q, above}], count);
  if (inner.mu_squared_below > 0) target.sampled_below[{q, exact ? nearest : next_up(nearest)}] += count;
}

void Reader::merge(Parts& target, const Parts& other) {
  target.mu_squared += other.mu_squared;
  target.mu_squared_below += other.mu_squared_below;
  target.count_up(target.gaussians, other.gaussians);
  for (const auto& [key, count] : other.sampled) target.count_up(target.sampled[key], count);
  for (const auto& [key, count] : other.sampled_below) target.sampled_below[key] += count;
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
  // Within a sample a record is there or not, whatever the neighbours are.
  const bool add_remove = adjacency_ == Adjacency::kAddRemove;
  Parts& target = add_remove ? parts_ : replaced_;
  if (q == 1) {
    if (add_remove) return visit(e.event, count);
    Reader all(Adjacency::kAddRemove);
    NF_TRY_VOID(all.visit(e.event, count));
    merge(replaced_, all.parts_);
    return success();
  }
  NF_TRY(const Decomposition inner, Reader(Adjacency::kAddRemove).read(e.event));
  if (inner.parts.is_empty()) return success();
  NF_TRY_VOID(keep(target, event, count));
  if (inner.parts.kinds() == 1 && inner.parts.has_laws_only() && inner.parts.sampled.size() == 1 &&
      inner.parts.sampled == inner.parts.sampled_below && inner.parts.sampled.begin()->second == 1) {
    // A sample of a sample. The product of the rates is rounded to both sides.
    const auto [rate, z] = inner.parts.sampled.begin()->first;
    const double product = times_up(q, rate);
    target.count_up(target.sampled[{product, z}], count);
    const double below = std::fma(q, rate, -product) < 0 ? std::nextafter(product, 0.0) : product;
    if (below > 0) target.sampled_below[{below, z}] += count;
    return success();
  }
  const auto leaf = single_leaf(inner.parts);
  if (!leaf) return add_renyi(target, event, count);
  if (inner.parts.mu_squared > 0) {
    add_sampled_gaussian(target, q, inner.parts, count);
    return success();
  }
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
  if (!inner.replaced.is_empty()) {
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
  if (contains_poisson_sample(e.event)) {
    return invalid_argument(
        "no valid bound is known for shuffled reports that sample by Poisson: let every user report, or account for "
        "the "
        "reports without shuffling");
  }
  parts_.shuffled.emplace_back(e, count);
  return success();
}

// --- Composition -----------------------------------------------------------------------------------------------------

Interval intersect(Interval a, Interval b) { return {std::max(a.lower, b.lower), std::min(a.upper, b.upper)}; }

bool is_narrow(Interval epsilon) {
  return std::isfinite(epsilon.upper) && epsilon.upper - epsilon.lower <= std::max(1e-6 * epsilon.upper, 1e-12);
}

constexpr double kContourOperations = 2e7;
constexpr double kMostContourSteps = 1e13;
constexpr double kRelativeWidth = 1e-6;
constexpr std::size_t kMostLaws = 24;  // on a lattice
constexpr double kWidestWindow = 600;
constexpr int kFineBits = 16;
constexpr int kMediumBits = 14;
constexpr int kCoarseBits = 12;
// δ(ε) ≥ P(L > ε + kGap) (1 − e^−kGap).
constexpr double kGap = 20;
const double kGapShare = -std::expm1(-kGap);

// The probability of losses above x, from below. Its errors hold also where Q is out of range.
double tail_below(const LossLaw& law, double x) {
  const Masses m = law.masses(x, kInfinity);
  return std::max(0.0, m.p - m.p_error + law.infinite_mass() * (1 - 0x1p-50));
}

// Whether Q of the losses above x is a normal number, or there are none.
bool is_in_range(const LossLaw& law, double x) {
  const Masses m = law.masses(x, kInfinity);
  return m.q >= 1e-306 || m.p + m.p_error == 0;
}

// ε of one mechanism, once. From below, what is told by Q counts only where Q is in the range of doubles.
Interval one_epsilon(const LossLaw& law, double log_delta) {
  Interval found = single_epsilon(law, log_delta);
  if (!(found.lower <= found.upper)) return {0, kInfinity};
  if (is_in_range(law, found.lower)) return found;
  const double needed = std::exp(log_delta) / kGapShare * (1 + 1e-12);
  double low = 0;
  double high = std::min(found.lower, 1e12);
  if (tail_below(law, high) >= needed) return {std::max(0.0, high - kGap), found.upper};
  if (tail_below(law, low) < needed) return {0, found.upper};
  for (int i = 0; i < 60; ++i) {
    const double middle = low + (high - low) / 2;
    (tail_below(law, middle) >= needed ? low : high) = middle;
  }
  return {std::max(0.0, low - kGap), found.upper};
}

Interval one_delta(const LossLaw& law, double epsilon) {
  Interval found = single_delta(law, epsilon);
  if (!(found.lower <= found.upper)) return {0, 1};
  if (!is_in_range(law, epsilon)) {
    found.lower = std::min(found.upper, tail_below(law, epsilon + kGap) * kGapShare * (1 - 1e-12));
  }
  return found;
}

// Mean from below and variance from above of a bounded loss under P.
struct Moments {
  double mean;
  double variance;
};

std::optional<Moments> moments_below(const LossLaw& law) {
  if (law.infinite_mass() > 0) return std::nullopt;
  const Interval range = law.range(1e-300, 1e-300);
  const Masses above = law.masses(range.upper, kInfinity);
  const Masses below = law.masses(-kInfinity, range.lower - 1e-12 * std::fabs(range.lower));
  if (above.p + above.p_error > 0 || below.p + below.p_error > 0 || !(range.upper - range.lower <= 4 * kLargestLoss)) {
    return std::nullopt;
  }
  // The divergence of P from Q is at least Σ p ln(p/q) over any cells (data processing), and the errors of p and q move it
  // by no more than to the least of p ln(p/q) within them. Squares are at most those of the cells' ends.
  constexpr int cells = 2048;
  const double lowest = range.lower - 1e-12 * std::fabs(range.lower);
  const double h = (range.upper - lowest) / cells;
  double mean = 0;
  double squares = 0;
  double size = 0;
  for (int i = 0; i < cells; ++i) {
    const double from = i == 0 ? -kInfinity : lowest + h * i;
    const double to = i == cells - 1 ? kInfinity : lowest + h * (i + 1);
    const Masses m = law.masses(from, to);
    const double p_low = std::max(0.0, m.p - m.p_error);
    const double p_high = m.p + m.p_error;
    const double q = m.q + m.q_error;
    const auto term = [&](double p) { return p > 0 && q > 0 ? p * (std::log(p) - std::log(q)) : 0; };
    double least = std::min(term(p_low), term(p_high));
    if (p_low * 2.7 < q && q < p_high * 2.8) least = std::min(least, -q / 2.7);
    mean += least;
    size += std::fabs(least);
    const double end = std::max(std::fabs(lowest + h * i), std::fabs(lowest + h * (i + 1)));
    squares += p_high * end * end;
  }
  return Moments{mean - 1e-12 * size, squares * (1 + 1e-12)};
}

// The window that lattice.h would choose for δ, or for the δ of an ε that is given: about. Its exponentials overflow at 709.
struct EstimatedWindow {
  double width;
  double log_delta;
};
EstimatedWindow estimated_window(std::span<const RepeatedLaw> laws, double log_delta, std::optional<double> given) {
  constexpr int cells = 128;
  constexpr std::size_t orders = 53;
  constexpr EstimatedWindow unknown{kInfinity, 0};
  double steps = 0;
  for (const RepeatedLaw& one : laws) steps += one.count;
  const double cut = 1e-9 / steps;
  std::vector<Interval> ranges;
  double longest = 0;
  for (const RepeatedLaw& one : laws) {
    ranges.push_back(one.law->range(std::max(1e-300, cut), std::max(1e-300, cut * std::exp(log_delta))));
    longest = std::max(longest, ranges.back().upper - ranges.back().lower);
  }
  if (longest == 0) longest = std::fabs(ranges.front().upper);  // one atom
  if (!(longest > 0 && longest < kInfinity)) return unknown;
  std::array<double, orders> log_moment{};
  std::array<double, orders> c{};
  for (std::size_t k = 0; k < orders; ++k) c[k] = std::exp2(0.5 * (static_cast<double>(k) - 24)) / longest;
  for (std::size_t l = 0; l < laws.size(); ++l) {
    const double h = (ranges[l].upper - ranges[l].lower) / cells;
    std::array<double, cells> p{};
    for (int i = 0; i < cells; ++i) {
      const double from = i == 0 ? -kInfinity : ranges[l].lower + h * i;
      p[static_cast<std::size_t>(i)] = laws[l].law->masses(from, ranges[l].lower + h * (i + 1)).p;
    }
    for (std::size_t k = 0; k < orders; ++k) {
      double sum = 0;
      for (int i = 0; i < cells; ++i) {
        const double mass = p[static_cast<std::size_t>(i)];
        if (mass > 0) sum += mass * std::exp(c[k] * h * (i + 1 - cells));
      }
      log_moment[k] += laws[l].count * (std::log(sum) + c[k] * ranges[l].upper);
    }
  }
  double epsilon = kInfinity;
  for (std::size_t k = 0; k < orders; ++k) {
    if (!std::isfinite(log_moment[k])) continue;
    epsilon = std::min(epsilon, (log_moment[k] - log_delta) / c[k]);
  }
  epsilon = std::max(0.0, 0.95 * epsilon);
  if (given) {
    epsilon = *given;
    log_delta = -0.1;
    for (std::size_t k = 0; k < orders; ++k) {
      if (std::isfinite(log_moment[k])) log_delta = std::min(log_delta, log_moment[k] - c[k] * epsilon);
    }
    log_delta = std::max(log_delta, -600.0);
  }
  const double log_small = log_delta - 16;
  double window = kInfinity;
  for (std::size_t i = 0; i < orders; ++i) {
    const double cancelled = log_moment[i] - c[i] * epsilon - log_delta;
    if (!(cancelled <= 16)) continue;
    for (std::size_t j = i + 1; j < orders; ++j) {
      const double above = (log_moment[j] - c[j] * epsilon - log_small) / (c[j] - c[i]);
      if (!std::isfinite(above)) continue;
      window = std::min(window, std::max(-log_small / c[i], above) * (1 + 0.02 * std::max(0.0, cancelled)));
    }
  }
  return {std::max(1.6 * window, longest / 32), log_delta};
}

// The composition of the parts in one direction, with the laws from above or from below.
class Composition {
 public:
  // `max_bits` of a lattice: fewer where the bounds are wide for other reasons.
  Composition(const Parts& parts, bool remove, bool above, int max_bits)
      : parts_(parts),
        max_bits_(max_bits),
        mu_squared_(static_cast<double>(above ? parts.mu_squared : parts.mu_squared_below)) {
    // Sums of μ² are right to 2^-52 or so, which the errors of laws and transforms allow for.
    if (mu_squared_ > 0) {
      transforms_.push_back(std::make_unique<GaussianTransform>(mu_squared_));
      losses_.push_back({transforms_.back().get(), 1});
      add(gaussian_law(std::sqrt(mu_squared_)), 1);
    }
    for (const auto& [key, count] : above ? parts.sampled : parts.sampled_below) {
      const auto rate = SamplingRate::make(key.first).value();
      const auto multiplier = NoiseMultiplier::make(key.second).value();
      const Direction direction = remove ? Direction::kRemove : Direction::kAdd;
      transforms_.push_back(std::make_unique<SubsampledGaussianTransform>(rate, multiplier, direction));
      losses_.push_back({transforms_.back().get(), count});
      add(sampled_law(gaussian_law(1 / key.second), key.first, remove), count);
    }
    for (const auto& [key, count] : parts.epsilon_delta) {
      if (above && key.first > kLargestLoss) in_range_ = false;
      add(epsilon_delta_law(above ? key.first : std::min(key.first, kLargestLoss), key.second), count);
    }
    for (const auto& [key, leaf] : parts.laws) {
      const LawPair& pair = remove ? leaf.first.remove : leaf.first.add;
      if (const LawPtr& law = above ? pair.above : pair.below) add(law, leaf.second);
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
      if (found.has_value()) return found.value();
    }
    if (infinite_mass() > delta.value()) return Interval{kInfinity, kInfinity};
    if (!in_range_) return Interval{0, kInfinity};
    if (laws_.size() == 1 && laws_[0].count == 1) return one_epsilon(*laws_[0].law, log_delta);
    const double simple = simple_epsilon_below(delta.value());
    const auto checked = [&](Interval found) {
      // An engine that contradicts the simple bound, or itself, is out of its depth.
      return found.lower <= found.upper && found.upper >= simple ? found : Interval{0, kInfinity};
    };
    Interval found{simple, kInfinity};
    if (suits_contour()) {
      const bool fewer = has_too_many_steps();
      const auto integral = ContourIntegral::for_delta(fewer ? fewer_losses() : losses_, log_delta, kContourOperations);
      if (integral) {
        Interval other = integral->epsilon(log_delta);
        if (fewer && other.lower <= other.upper) other.upper = kInfinity;
        found = intersect(found, checked(other));
      }
      if (is_narrow(found)) return found;
    }
    if (const auto fit = lattice_fit(log_delta, std::nullopt)) {
      Interval other = checked(lattice_epsilon(laws_, log_delta, kRelativeWidth, fit->bits));
      if (!fit->from_below) other.lower = 0;
      if (other.lower <= found.upper && found.lower <= other.upper) found = intersect(found, other);
    }
    return found;
  }

  [[nodiscard]] Result<Interval> delta(PrivacyLoss epsilon) const {
    if (laws_.empty()) return Interval{0, 0};
    if (only_gaussians()) {
      NF_TRY(const GaussianDp low, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 - 1e-13)));
      NF_TRY(const GaussianDp high, GaussianDp::of_mu(std::sqrt(mu_squared_) * (1 + 1e-13)));
      return Interval{low.delta_at(epsilon).lower, high.delta_at(epsilon).upper};
    }
    if (const auto part = only_equal_bounds()) {
      const Result<Interval> found = optimal_composition_delta(part->first, part->second, epsilon);
      if (found.has_value()) return found.value();
    }
    const double infinite = infinite_mass() * (1 - 1e-12);
    if (!in_range_) return Interval{infinite, 1};
    if (laws_.size() == 1 && laws_[0].count == 1) return one_delta(*laws_[0].law, epsilon.value());
    const double simple = std::max(infinite, simple_delta_below(epsilon.value()));
    Interval found{simple, 1};
    const auto narrow_down = [&](Interval other) {
      if (other.lower <= other.upper && other.upper >= found.lower && other.lower <= found.upper) {
        found = intersect(found, other);
      }
    };
    if (suits_contour() && !has_too_many_steps()) {
      const auto integral = ContourIntegral::for_epsilon(losses_, epsilon.value(), kContourOperations);
      if (integral) {
        const Interval logs = integral->log_delta(epsilon.value());
        narrow_down({std::exp(logs.lower) * (1 - 1e-12), std::min(1.0, std::exp(logs.upper) * (1 + 1e-12))});
      }
      if (found.upper - found.lower <= 1e-4 * found.upper) return found;
    }
    if (const auto fit = lattice_fit(-23, epsilon.value())) {
      Interval other = lattice_delta(laws_, epsilon.value(), kRelativeWidth, fit->bits);
      if (!fit->from_below) other.lower = 0;
      narrow_down(other);
    }
    return found;
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

  // 1 − Π (1 − mass), from below.
  [[nodiscard]] double infinite_mass() const {
    double log_finite = 0;
    for (const RepeatedLaw& one : laws_) log_finite += one.count * std::log1p(-std::min(1.0, one.law->infinite_mass()));
    return -std::expm1(log_finite) * (1 - 1e-12);
  }

  // The sum's mean less its deviation (Cantelli): losses above mean − λ have the probability λ²/(variance + λ²) at least.
  [[nodiscard]] std::optional<Moments> sum_below() const {
    Moments sum{0, 0};
    for (const RepeatedLaw& one : laws_) {
      const auto moments = moments_below(*one.law);
      if (!moments) return std::nullopt;
      sum.mean += one.count * moments->mean * (1 - 0x1p-40);
      sum.variance += one.count * moments->variance * (1 + 0x1p-40);
    }
    return sum;
  }
  // ε is at least that of one step, and about the mean.
  [[nodiscard]] double simple_epsilon_below(double delta) const {
    double best = 0;
    if (laws_.size() <= kMostLaws) {
      for (const RepeatedLaw& one : laws_) best = std::max(best, one_epsilon(*one.law, std::log(delta)).lower);
    }
    const bool many = std::any_of(laws_.begin(), laws_.end(), [](const RepeatedLaw& one) { return one.count > 1; });
    if (!many && laws_.size() < 8) return best;
    if (const auto sum = sum_below()) {
      const double gap = std::log(2 / (1 - delta));
      const double share = 2 * delta / (1 + delta);
      const double lambda = std::sqrt(sum->variance * share / (1 - share));
      best = std::max(best, (sum->mean - gap - lambda) * (1 - 1e-12));
    }
    return best;
  }
  [[nodiscard]] double simple_delta_below(double epsilon) const {
    double best = 0;
    if (laws_.size() <= kMostLaws) {
      for (const RepeatedLaw& one : laws_) best = std::max(best, one_delta(*one.law, epsilon).lower);
    }
    const auto sum = sum_below();
    if (!sum) return best;
    for (double gap : {1.0, 5.0, 20.0}) {
      const double lambda = sum->mean - epsilon - gap;
      if (lambda <= 0) continue;
      best = std::max(best, -std::expm1(-gap) * lambda * lambda / (sum->variance + lambda * lambda) * (1 - 1e-12));
    }
    return best;
  }

  // How finely the lattice may be refined, and whether its lower bounds count; nothing where it would be out of its depth
  // or take long.
  struct Fit {
    int bits;
    bool from_below;
  };
  [[nodiscard]] std::optional<Fit> lattice_fit(double log_delta, std::optional<double> epsilon) const {
    const std::size_t n = laws_.size();
    if (n > kMostLaws) return std::nullopt;
    const EstimatedWindow window = estimated_window(laws_, log_delta, epsilon);
    if (!(window.width < kWidestWindow)) return std::nullopt;
    double largest = 0;
    for (const RepeatedLaw& one : laws_) {
      largest = std::max(largest, one.law->range(1e-20, std::max(1e-300, 1e-20 * std::exp(window.log_delta))).upper);
    }
    if (!(largest <= kLargestLoss)) return std::nullopt;
    return Fit{std::min(max_bits_, n <= 4 ? 16 : n <= 16 ? 14 : 12), largest - window.log_delta <= kLargestLoss + 50};
  }
  // The integral takes long to find out that it is not for these.
  [[nodiscard]] bool suits_contour() const {
    return has_transforms() && std::all_of(parts_.sampled.begin(), parts_.sampled.end(),
                                           [](const auto& one) { return one.first.second >= 0.15; });
  }
  // Fewer steps than there are lose less.
  [[nodiscard]] bool has_too_many_steps() const {
    return std::any_of(losses_.begin(), losses_.end(), [](const auto& one) { return one.count > kMostContourSteps; });
  }
  [[nodiscard]] std::vector<RepeatedLoss> fewer_losses() const {
    std::vector<RepeatedLoss> fewer = losses_;
    for (RepeatedLoss& one : fewer) one.count = std::min(one.count, kMostContourSteps);
    return fewer;
  }

  const Parts& parts_;
  int max_bits_;
  double mu_squared_;
  bool in_range_ = true;
  std::vector<LawPtr> owned_;
  std::vector<RepeatedLaw> laws_;
  std::vector<std::unique_ptr<LossTransform>> transforms_;
  std::vector<RepeatedLoss> losses_;
};

bool is_alike_above(const Parts& parts) {
  return parts.sampled.empty() && std::all_of(parts.laws.begin(), parts.laws.end(), [](const auto& one) {
           return one.second.first.remove.above == one.second.first.add.above;
         });
}

// Bounds over both directions: what is above from the laws above, what is below from those below.
template <class Solve>
Result<Interval> both_directions(const Parts& parts, Solve&& solve) {
  const bool known = parts.mu_squared == parts.mu_squared_below && parts.sampled == parts.sampled_below &&
                     std::all_of(parts.epsilon_delta.begin(), parts.epsilon_delta.end(),
                                 [](const auto& one) { return one.first.first <= kLargestLoss; }) &&
                     std::all_of(parts.laws.begin(), parts.laws.end(), [](const auto& one) {
                       const Leaf& leaf = one.second.first;
                       return leaf.remove.above == leaf.remove.below && leaf.add.above == leaf.add.below;
                     });
  const bool alike_above = is_alike_above(parts);
  const bool alike_below =
      parts.sampled_below.empty() && std::all_of(parts.laws.begin(), parts.laws.end(), [](const auto& one) {
        return one.second.first.remove.below == one.second.first.add.below;
      });
  Interval result{0, 0};
  for (bool remove : {true, false}) {
    if (remove || !alike_above) {
      NF_TRY(const Interval found, solve(Composition(parts, remove, true, known ? kFineBits : kMediumBits)));
      result.upper = std::max(result.upper, found.upper);
      if (known) result.lower = std::max(result.lower, found.lower);
    }
    if (!known && (remove || !alike_below)) {
      NF_TRY(const Interval found, solve(Composition(parts, remove, false, kMediumBits)));
      result.lower = std::max(result.lower, found.lower);
    }
  }
  return result;
}

// Groups of parts of one kind that differ in their parameters only, as many times the worst of them from above and the best
// from below.
Parts merged(const Parts& parts) {
  constexpr std::size_t groups = 8;
  Parts result = parts;
  const auto group_of = [](std::size_t i, std::size_t size) { return i * groups / size; };
  if (parts.sampled.size() > groups && parts.sampled == parts.sampled_below) {
    // By multiplier.
    std::vector<std::tuple<double, double, double>> all;
    for (const auto& [key, count] : parts.sampled) all.emplace_back(key.second, key.first, count);
    std::sort(all.begin(), all.end());
    result.sampled.clear();
    result.sampled_below.clear();
    for (std::size_t i = 0; i < all.size();) {
      auto [least, rate, count] = all[i];
      double most = least;
      double rate_below = rate;
      std::size_t next = i + 1;
      for (; next < all.size() && group_of(next, all.size()) == group_of(i, all.size()); ++next) {
        most = std::get<0>(all[next]);
        rate = std::max(rate, std::get<1>(all[next]));
        rate_below = std::min(rate_below, std::get<1>(all[next]));
        count += std::get<2>(all[next]);
      }
      result.sampled[{rate, least}] += count;
      result.sampled_below[{rate_below, most}] += count;
      i = next;
    }
  }
  for (double kind : {1.0, 5.0, 6.0}) {
    // Keys are {kind, ε}, by growing ε, and a larger ε dominates.
    std::vector<std::pair<std::vector<double>, std::pair<Leaf, double>>> all;
    for (const auto& one : parts.laws) {
      if (one.first.size() == 2 && one.first[0] == kind) all.push_back(one);
    }
    if (all.size() <= groups) continue;
    for (const auto& one : all) result.laws.erase(one.first);
    for (std::size_t i = 0; i < all.size();) {
      std::size_t last = i;
      double count = 0;
      for (; last < all.size() && group_of(last, all.size()) == group_of(i, all.size()); ++last) {
        count += all[last].second.second;
      }
      const Leaf& best = all[i].second.first;
      const Leaf& worst = all[last - 1].second.first;
      result.laws[all[i].first] = {Leaf{{worst.remove.above, best.remove.below}, {worst.add.above, best.add.below}},
                                   count};
      i = last;
    }
  }
  return result;
}

Result<Interval> epsilon_of(const Parts& parts, Delta delta) {
  const auto solve = [&](const Composition& composition) { return composition.epsilon(delta); };
  NF_TRY(const Interval found, both_directions(parts, solve));
  if (parts.kinds() <= kMostLaws || is_narrow(found)) return found;
  NF_TRY(const Interval other, both_directions(merged(parts), solve));
  return intersect(found, other);
}

enum class Neighbours : std::uint8_t { kRemoved, kAdded, kBoth };

// From above only, in the directions that are asked for.
Result<double> epsilon_above(const Parts& parts, Delta delta, Neighbours which, bool coarse) {
  const bool alike = is_alike_above(parts);
  const auto solve = [&](const Parts& some) -> Result<double> {
    double upper = 0;
    for (bool remove : {true, false}) {
      if (which != Neighbours::kBoth && (which == Neighbours::kRemoved) != remove) continue;
      if (which == Neighbours::kBoth && !remove && alike) continue;
      NF_TRY(const Interval found, Composition(some, remove, true, coarse ? kCoarseBits : kFineBits).epsilon(delta));
      upper = std::max(upper, found.upper);
    }
    return upper;
  };
  NF_TRY(const double found, solve(parts));
  if (parts.kinds() <= kMostLaws || std::isfinite(found)) return found;
  return solve(merged(parts));
}

Result<Interval> delta_of(const Parts& parts, PrivacyLoss epsilon) {
  const auto solve = [&](const Composition& composition) { return composition.delta(epsilon); };
  NF_TRY(const Interval found, both_directions(parts, solve));
  if (parts.kinds() <= kMostLaws || found.upper - found.lower <= 1e-5 * found.upper) return found;
  NF_TRY(const Interval other, both_directions(merged(parts), solve));
  return intersect(found, other);
}

// --- Upper bounds of what has no law of its own ----------------------------------------------------------------------

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
                                       Neighbours which = Neighbours::kBoth) const {
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
  [[nodiscard]] Result<double> composed_epsilon(double delta, std::span<const double> splits, Neighbours which) const {
    // If the continuous law is (ε₀, δ₀)-DP, the one on the grid has δ = e^grid (δ₀ + e^ε₀ tail), for which 1e-9 is kept.
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
        NF_TRY(const double laws, epsilon_above(parts_, part.value(), which, size() > 0 || which != Neighbours::kBoth));
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
  // Replacing a sampled record is removing one and adding another: if removing is (ε₁, δ₁)-DP and adding (ε₂, δ₂)-DP, then
  // replacing is (ε₁ + ε₂, δ₁ + e^{ε₁} δ₂)-DP.
  [[nodiscard]] Result<double> replaced_epsilon(double delta, std::span<const double> splits) const {
    double best = kInfinity;
    for (double share : splits) {
      NF_TRY(const double first, replaced->epsilon(share * delta, kHalves, Neighbours::kRemoved));
      const double rest = (1 - share) * delta * std::exp(-first) * (1 - 1e-12);
      if (!(rest > 0)) continue;
      NF_TRY(const double second, replaced->epsilon(rest, kHalves, Neighbours::kAdded));
      best = std::min(best, first + second);
    }
    return best;
  }
};

// A lower bound for replaced records: they pull in opposite directions, or one of them does not pull at all.
Result<double> replaced_epsilon_below(const Parts& parts, Delta delta) {
  double best = 0;
  if (parts.kinds() > 0) {
    NF_TRY(const Interval added, epsilon_of(parts, delta));
    best = added.lower;
  }
  std::vector<LawPtr> owned;
  std::vector<RepeatedLaw> laws;
  for (const auto& [key, count] : parts.sampled_below) {
    if (key.second < 0.05 || count > 1e9) continue;
    owned.push_back(opposite_samples_law(key.first, key.second));
    laws.push_back({owned.back().get(), count});
  }
  const double log_delta = std::log(delta.value());
  if (!laws.empty() && laws.size() <= 16 && estimated_window(laws, log_delta, std::nullopt).width < kWidestWindow) {
    const Interval found = lattice_epsilon(laws, log_delta, 1e-5, 14);
    if (found.lower <= found.upper) best = std::max(best, found.lower);
  }
  return best;
}

Error no_finite_epsilon(double delta) {
  return invalid_argument(fmt::format(
      "no finite epsilon at delta {}: these events fail with a larger probability, or their losses are too large for a "
      "number. Ask for a larger delta, or use more noise",
      delta));
}

// ε of pure DP: the sum of all ε, which the worst mechanisms reach.
Result<Interval> pure_epsilon(const DpEvent& event, Adjacency adjacency, const Decomposition& tree) {
  const auto sum_of = [](const Parts& parts) {
    double sum = 0;
    for (const auto& [key, leaf] : parts.laws) sum += leaf.second * leaf.first.pure;
    for (const auto& [key, count] : parts.epsilon_delta) sum += count * (key.second > 0 ? kInfinity : key.first);
    return parts.mu_squared > 0 || !parts.sampled.empty() ? kInfinity : sum;
  };
  const double laws = sum_of(tree.parts);
  const double samples = sum_of(tree.replaced);
  double upper = kInfinity;
  if (tree.parts.has_laws_only() && tree.replaced.has_laws_only()) upper = (laws + 2 * samples) * (1 + 1e-12);
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
    const bool grid = tree.parts.mu_squared != tree.parts.mu_squared_below;
    const Result<Delta> more = Delta::make(grid ? delta.value() + kGridSlack : delta.value());
    NF_TRY(const Interval laws, epsilon_of(tree.parts, more.has_value() ? more.value() : delta));
    best = laws.lower;
  }
  if (!tree.replaced.is_empty()) {
    NF_TRY(const double below, replaced_epsilon_below(tree.replaced, delta));
    best = std::max(best, below);
  }
  return best;
}

Result<void> check_noise(const Parts& parts) {
  if (parts.mu_squared < 1e200L) return success();
  return invalid_argument("the noise is too small for a finite epsilon: the losses exceed all numbers. Use more noise");
}

}  // namespace

Result<Interval> pld_epsilon(const DpEvent& event, Adjacency adjacency, Delta delta) {
  if (contains_non_private(event)) return Interval{kInfinity, kInfinity};
  NF_TRY(const Decomposition tree, Reader(adjacency).read(event));
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

Result<Interval> pld_delta(const DpEvent& event, Adjacency adjacency, PrivacyLoss epsilon) {
  if (contains_non_private(event)) return Interval{1, 1};
  NF_TRY(const Decomposition tree, Reader(adjacency).read(event));
  if (tree.parts.is_empty() && tree.replaced.is_empty()) return Interval{0, 0};
  NF_TRY_VOID(check_noise(tree.parts));
  NF_TRY_VOID(check_noise(tree.replaced));
  NF_TRY(const Bounds bounds, Bounds::of(event, adjacency, tree));
  Interval found{0, 1};
  for (const Parts* parts : {&tree.parts, &tree.replaced}) {
    if (parts->kinds() == 0) continue;
    NF_TRY(const Interval laws, delta_of(*parts, epsilon));
    const bool grid = parts->mu_squared != parts->mu_squared_below;
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
    double low = std::max(-700.0, std::log(std::max(found.lower, 1e-300)));
    double high = std::log(found.upper);
    for (int i = 0; i < 10 && high - low > 0.05; ++i) {
      const double middle = low + (high - low) / 2;
      NF_TRY(const double at, bounds.epsilon(std::exp(middle), kHalves));
      (at <= epsilon.value() ? high : low) = middle;
    }
    found.upper = std::min(found.upper, std::exp(high) * (1 + 1e-12));
  }
  return Interval{std::clamp(found.lower, 0.0, found.upper), found.upper};
}

}  // namespace noisefloor
