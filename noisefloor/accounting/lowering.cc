#include "noisefloor/accounting/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/accounting/binomial.h"
#include "noisefloor/accounting/factorization_sensitivity.h"
#include "noisefloor/accounting/rdp.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/event/event_fields.h"
#include "noisefloor/event/tree_nodes.h"

namespace noisefloor::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Groups up to this size are numbers that doubles hold.
constexpr std::uint64_t kLargestGroup = std::uint64_t{1} << 53;

bool has_new_kinds(const DpEvent& event) {
  return contains<TreeRestartsEvent, MatrixFactorizationEvent, SampledFactorizationEvent, GaussianMixtureEvent,
                  BallsInBinsEvent, TruncatedPoissonSampledEvent, SampledWithReplacementEvent, GroupEvent>(event);
}

LoweredEvent exactly(const DpEvent& event) { return {event, event}; }

double next_down(double value) { return std::nextafter(value, -kInfinity); }
double times_down(double a, double b) { return -times_up(-a, b); }

// Noise of σ = z Δ₂ where a unit moves the answer by a number of Δ₂ from `factor`: the multiplier from above and below.
struct Noise {
  NoiseMultiplier above;
  NoiseMultiplier below;
};
Result<Noise> noise_for(NoiseMultiplier z, Interval factor) {
  const double least = std::fma(divided_up(z.value(), factor.upper), factor.upper, -z.value()) > 0
                           ? next_down(divided_up(z.value(), factor.upper))
                           : divided_up(z.value(), factor.upper);
  const double most = divided_up(z.value(), factor.lower);
  const Result<NoiseMultiplier> above = NoiseMultiplier::make(least);
  const Result<NoiseMultiplier> below = NoiseMultiplier::make(most);
  if (!above.has_value() || least < 1e-300) {
    return invalid_argument(
        fmt::format("noise multiplier {} is too small for what one unit can contribute, {:.6g} times the bound of one "
                    "contribution: use more noise",
                    z.value(), factor.upper));
  }
  return Noise{above.value(), below.has_value() ? below.value() : NoiseMultiplier::of(1e300)};
}
Result<LoweredEvent> gaussian_for(NoiseMultiplier z, Interval factor) {
  NF_TRY(const Noise noise, noise_for(z, factor));
  return LoweredEvent{GaussianEvent{noise.above}, GaussianEvent{noise.below}};
}

// 2 · factor: under replace-one what a unit contributed goes, and what another contributes comes.
Interval moved(Interval factor, Adjacency adjacency) {
  return adjacency == Adjacency::kAddRemove ? factor : Interval{2 * factor.lower, 2 * factor.upper};
}

// --- Streams ---------------------------------------------------------------------------------------------------------

// How many nodes change, at most. A unit leaves the trees that it was in and enters others; each change of a tree takes
// one of its participations, before or after.
Result<Steps> nodes_of(const TreeRestartsEvent& e, Adjacency adjacency) {
  std::vector<std::uint64_t> changes;
  for (const Steps steps : e.steps) {
    const std::uint64_t one = tree_nodes(steps, Adjacency::kAddRemove);
    changes.push_back(one);
    // A unit that stays in the tree and moves within it changes fewer than twice as many.
    if (adjacency == Adjacency::kReplaceOne) changes.push_back(tree_nodes(steps, Adjacency::kReplaceOne) - one);
  }
  std::sort(changes.begin(), changes.end(), std::greater<>());
  const std::uint64_t participations = e.participations.value();
  const std::uint64_t taken = adjacency == Adjacency::kAddRemove ? participations
                              : participations > changes.size()  ? changes.size()
                                                                 : 2 * participations;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < changes.size() && i < taken; ++i) sum += changes[i];
  return Steps::make(sum);
}

Result<LoweredEvent> lower(const TreeRestartsEvent& e, Adjacency adjacency) {
  NF_TRY(const Steps nodes, nodes_of(e, adjacency));
  return exactly(SelfComposedEvent{nodes, GaussianEvent{e.noise_multiplier}});
}

Result<LoweredEvent> lower(const MatrixFactorizationEvent& e, Adjacency adjacency) {
  return gaussian_for(e.noise_multiplier, moved(factorization_sensitivity(e), adjacency));
}

// A unit of the first group has its turn at the steps 0, g, 2g, …; its columns do not overlap, and only the last of
// them may be cut off. Within a sample a record is there or not, also under replace-one.
Result<LoweredEvent> lower(const SampledFactorizationEvent& e, Adjacency /*adjacency*/) {
  const std::uint64_t n = e.steps.value();
  const std::uint64_t turns = (n - 1) / e.groups.value() + 1;
  const std::uint64_t rows = n - (turns - 1) * e.groups.value();
  const auto sampled = [&](std::uint64_t height, bool above) -> Result<DpEvent> {
    NF_TRY(const Noise noise, noise_for(e.noise_multiplier, column_norm(e.coefficients, height)));
    return DpEvent(PoissonSampledEvent{e.sampling_rate, GaussianEvent{above ? noise.above : noise.below}});
  };
  const auto all = [&](bool above) -> Result<DpEvent> {
    NF_TRY(const DpEvent whole, sampled(n, above));
    if (rows >= e.coefficients.size()) return DpEvent(SelfComposedEvent{Steps::make(turns).value(), whole});
    NF_TRY(DpEvent last, sampled(rows, above));
    if (turns == 1) return last;
    return DpEvent(ComposedEvent{{SelfComposedEvent{Steps::make(turns - 1).value(), whole}, std::move(last)}});
  };
  NF_TRY(DpEvent above, all(true));
  NF_TRY(DpEvent below, all(false));
  return LoweredEvent{std::move(above), std::move(below)};
}

// --- Groups ----------------------------------------------------------------------------------------------------------

Error no_group_bound(const DpEvent& event, std::uint64_t size, std::string_view reason) {
  return invalid_argument(
      fmt::format("no bound is known for groups of {} units of {}: {}", size, kind_name(event), reason));
}

// Each of `size` steps from one data set to the next changes the odds by e^ε at most.
Result<LoweredEvent> pure_group(const DpEvent& event, std::uint64_t size, Adjacency adjacency) {
  const Result<RenyiBound> pure = renyi_bound(event, adjacency, kInfinity);
  if (!pure.has_value()) return pure.error();
  if (pure.value().delta > 0 || !std::isfinite(pure.value().divergence)) {
    return no_group_bound(event, size, "state the event for the larger units themselves, with their sensitivity");
  }
  NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(times_up(static_cast<double>(size), pure.value().divergence)));
  return LoweredEvent{EpsilonDeltaEvent{epsilon, Delta::of(0)}, event};
}

// How many of `size` rows take part, with probabilities that are moved to larger numbers, or to smaller ones.
GaussianMixtureEvent sampled_rows(NoiseMultiplier z, SamplingRate rate, std::uint64_t size, bool above) {
  const long double q = rate.value();
  const BinomialLaw law{size, q, 1 - q};
  // Outside of the window there is less than e^-400 on each side.
  const CountWindow window = window_of(law, -400);
  GaussianMixtureEvent mixture{z, {}, {}};
  double left = 1;
  const auto add = [&](std::uint64_t count, double p) {
    const double taken = std::min(left, p);
    mixture.sensitivities.push_back(static_cast<double>(count));
    mixture.probabilities.push_back(taken);
    left = std::max(0.0, left - taken);
  };
  if (above && window.last < size) add(size, 1e-170);
  for (std::uint64_t count = window.last; count > std::max<std::uint64_t>(window.first, 1) - 1; --count) {
    const LogProbability p = log_probability(law, count);
    const long double error = 2 * p.error + 0x1p-36L;  // and what sums of probabilities are off
    add(count, static_cast<double>(std::exp(p.value) * (above ? 1 + error : 1 - error)));
  }
  // What is left over: the smaller numbers.
  add(above ? window.first - (window.first > 0 ? 1 : 0) : 0, 1);
  return mixture;
}

class Grouping {
 public:
  Grouping(std::uint64_t size, Adjacency adjacency)
      : size_(size), k_(static_cast<double>(size)), adjacency_(adjacency) {}

  Result<LoweredEvent> of(const DpEvent& event) const {
    return std::visit([&](const auto& kind) { return with(kind, event); }, event.kind());
  }

 private:
  using Lowered = Result<LoweredEvent>;

  // Contributions of all units of a group may point in one direction.
  Lowered with(const GaussianEvent& e, const DpEvent& /*event*/) const {
    return gaussian_for(e.noise_multiplier, {k_, k_});
  }
  Lowered with(const LaplaceEvent& e, const DpEvent& /*event*/) const {
    NF_TRY(const Noise noise, noise_for(e.noise_multiplier, {k_, k_}));
    return LoweredEvent{LaplaceEvent{noise.above}, LaplaceEvent{noise.below}};
  }
  Lowered with(const TreeAggregationEvent& e, const DpEvent& /*event*/) const {
    NF_TRY(const Noise noise, noise_for(e.noise_multiplier, {k_, k_}));
    return LoweredEvent{TreeAggregationEvent{noise.above, e.steps}, TreeAggregationEvent{noise.below, e.steps}};
  }
  Lowered with(const TreeRestartsEvent& e, const DpEvent& event) const { return streams(e, event); }
  Lowered with(const MatrixFactorizationEvent& e, const DpEvent& event) const { return streams(e, event); }
  template <class Stream>
  Lowered streams(const Stream& e, const DpEvent& event) const {
    NF_TRY_VOID(check_fields(event));
    NF_TRY(const Noise noise, noise_for(e.noise_multiplier, {k_, k_}));
    Stream above = e;
    Stream below = e;
    above.noise_multiplier = noise.above;
    below.noise_multiplier = noise.below;
    NF_TRY(LoweredEvent first, lower(above, adjacency_));
    NF_TRY(LoweredEvent second, lower(below, adjacency_));
    return LoweredEvent{std::move(first.above), std::move(second.below)};
  }

  // Whole answers differ by whole numbers: by k times what the answers of one unit differ.
  template <class Lattice>
  Lowered on_lattice(const Lattice& e) const {
    const double whole = std::floor(e.l1_sensitivity.value());
    if (whole < 1) return exactly(ZeroCostEvent{});
    Lattice above = e;
    Lattice below = e;
    if constexpr (requires { e.l2_sensitivity; }) {
      const bool scalar = e.dimension.value() == 1;
      const double shift = std::floor(std::min(e.l1_sensitivity.value(), e.l2_sensitivity.value()));
      if (shift < 1) return exactly(ZeroCostEvent{});
      NF_TRY(above.l1_sensitivity, L1Sensitivity::make(times_up(k_, scalar ? shift : whole)));
      NF_TRY(above.l2_sensitivity, L2Sensitivity::make(times_up(k_, scalar ? shift : e.l2_sensitivity.value())));
      NF_TRY(below.l1_sensitivity, L1Sensitivity::make(times_down(k_, shift)));
      NF_TRY(below.l2_sensitivity, L2Sensitivity::make(times_down(k_, shift)));
    } else {
      NF_TRY(above.l1_sensitivity, L1Sensitivity::make(times_up(k_, whole)));
      NF_TRY(below.l1_sensitivity, L1Sensitivity::make(times_down(k_, whole)));
    }
    return LoweredEvent{above, below};
  }
  Lowered with(const DiscreteGaussianEvent& e, const DpEvent& /*event*/) const { return on_lattice(e); }
  Lowered with(const DiscreteLaplaceEvent& e, const DpEvent& /*event*/) const { return on_lattice(e); }
  Lowered with(const SkellamEvent& e, const DpEvent& /*event*/) const { return on_lattice(e); }

  // Each unit gives a report of its own.
  Lowered with(const RandomizedResponseEvent& e, const DpEvent& /*event*/) const {
    return exactly(SelfComposedEvent{Steps::make(size_).value(), e});
  }
  template <class Selection>
  Lowered larger_epsilon(const Selection& e) const {
    NF_TRY(const Epsilon above, Epsilon::make(times_up(k_, e.epsilon.value())));
    NF_TRY(const Epsilon below, Epsilon::make(times_down(k_, e.epsilon.value())));
    return LoweredEvent{Selection{above}, Selection{below}};
  }
  Lowered with(const ExponentialEvent& e, const DpEvent& /*event*/) const { return larger_epsilon(e); }
  Lowered with(const PermuteAndFlipEvent& e, const DpEvent& /*event*/) const { return larger_epsilon(e); }

  // (kε, δ Σ e^{iε}). From below: δ reveals everything, and what is left is a count with discrete Laplace noise.
  Lowered with(const EpsilonDeltaEvent& e, const DpEvent& event) const {
    const double epsilon = e.epsilon.value();
    NF_TRY(const PrivacyLoss above, PrivacyLoss::make(times_up(k_, epsilon)));
    double delta = 0;
    if (e.delta.value() > 0) {
      const double terms = epsilon == 0 ? k_ : std::expm1(above.value() * (1 + 1e-12)) / std::expm1(epsilon);
      delta = e.delta.value() * terms * (1 + 1e-12);
      if (!(delta < 1)) {
        return no_group_bound(event, size_,
                              "its delta grows to 1 or above for so many units; use a smaller delta or epsilon");
      }
    }
    std::vector<DpEvent> below;
    if (e.delta.value() > 0) below.push_back(EpsilonDeltaEvent{PrivacyLoss::of(0), e.delta});
    const Result<NoiseScale> scale = NoiseScale::make(epsilon > 0 ? divided_up(1, epsilon) : kInfinity);
    if (scale.has_value()) below.push_back(DiscreteLaplaceEvent{scale.value(), L1Sensitivity::make(k_).value()});
    NF_TRY(const Delta grown, Delta::make(delta));
    return LoweredEvent{EpsilonDeltaEvent{above, grown}, ComposedEvent{std::move(below)}};
  }
  // Rényi divergences of order α along k steps: k² ρ α.
  Lowered with(const ZcdpEvent& e, const DpEvent& event) const {
    if (e.delta.value() > 0)
      return no_group_bound(event, size_, "its delta does not carry over; state zCDP without one");
    NF_TRY(const Rho rho, Rho::make(times_up(times_up(k_, k_), e.rho.value())));
    return exactly(ZcdpEvent{rho, Delta::of(0)});
  }
  Lowered with(const ZeroCostEvent& /*e*/, const DpEvent& event) const { return exactly(event); }
  Lowered with(const NonPrivateEvent& /*e*/, const DpEvent& event) const { return exactly(event); }

  Lowered with(const SelfComposedEvent& e, const DpEvent& /*event*/) const {
    NF_TRY(LoweredEvent inner, of(e.event));
    return LoweredEvent{SelfComposedEvent{e.count, std::move(inner.above)},
                        SelfComposedEvent{e.count, std::move(inner.below)}};
  }
  Lowered with(const ComposedEvent& e, const DpEvent& /*event*/) const {
    ComposedEvent above;
    ComposedEvent below;
    for (const DpEvent& part : e.events) {
      NF_TRY(LoweredEvent one, of(part));
      above.events.push_back(std::move(one.above));
      below.events.push_back(std::move(one.below));
    }
    return LoweredEvent{std::move(above), std::move(below)};
  }
  Lowered with(const GroupEvent& e, const DpEvent& event) const {
    if (e.size.value() > kLargestGroup / size_) return no_group_bound(event, size_, "groups of groups are too large");
    return grouped(e.event, size_ * e.size.value(), adjacency_);
  }

  // Every row of the group takes part by its own coin.
  Lowered with(const PoissonSampledEvent& e, const DpEvent& event) const {
    NF_TRY(const LoweredEvent inner, lowered(e.event, Adjacency::kAddRemove));
    const auto* above = std::get_if<GaussianEvent>(&inner.above.kind());
    const auto* below = std::get_if<GaussianEvent>(&inner.below.kind());
    if (above == nullptr || below == nullptr || size_ > kMaxTrials) return pure_group(event, size_, adjacency_);
    if (e.sampling_rate.value() == 1) {
      return LoweredEvent{GaussianMixtureEvent{above->noise_multiplier, {k_}, {1}},
                          GaussianMixtureEvent{below->noise_multiplier, {k_}, {1}}};
    }
    LoweredEvent found{sampled_rows(above->noise_multiplier, e.sampling_rate, size_, true),
                       sampled_rows(below->noise_multiplier, e.sampling_rate, size_, false)};
    if (!check_fields(found.above).has_value()) {
      return no_group_bound(event, size_, "the number of sampled rows varies too much; use smaller groups");
    }
    return found;
  }
  // All others: by their pure ε.
  Lowered with(const FixedSizeSampledEvent& /*e*/, const DpEvent& event) const { return pure(event); }
  Lowered with(const ShuffledEvent& /*e*/, const DpEvent& event) const { return pure(event); }
  Lowered with(const RepeatAndSelectEvent& /*e*/, const DpEvent& event) const { return pure(event); }
  Lowered with(const PoissonRepeatAndSelectEvent& /*e*/, const DpEvent& event) const { return pure(event); }
  Lowered with(const TruncatedPoissonSampledEvent& /*e*/, const DpEvent& event) const { return pure(event); }
  Lowered with(const SampledWithReplacementEvent& /*e*/, const DpEvent& event) const { return pure(event); }
  [[nodiscard]] Lowered pure(const DpEvent& event) const {
    if (has_new_kinds(event)) {
      return no_group_bound(event, size_, "state the event for the larger units themselves, with their sensitivity");
    }
    return pure_group(event, size_, adjacency_);
  }
  Lowered with(const SampledFactorizationEvent& /*e*/, const DpEvent& event) const {
    return no_group_bound(event, size_, "units of one group may have their turns at steps that overlap");
  }
  Lowered with(const GaussianMixtureEvent& /*e*/, const DpEvent& event) const {
    return no_group_bound(event, size_, "state how likely each number of the larger unit's rows is");
  }
  Lowered with(const BallsInBinsEvent& /*e*/, const DpEvent& event) const {
    return no_group_bound(event, size_, "units of one group are thrown into different bins");
  }

  std::uint64_t size_;
  double k_;
  Adjacency adjacency_;
};

Result<LoweredEvent> lower(const GroupEvent& e, Adjacency adjacency) {
  return grouped(e.event, e.size.value(), adjacency);
}

// --- Samples ---------------------------------------------------------------------------------------------------------

// Data sets of one record are never cut down: from below, a truncated sample is a Poisson sample.
Result<LoweredEvent> lower(const TruncatedPoissonSampledEvent& e, Adjacency adjacency) {
  NF_TRY(const LoweredEvent inner, lowered(e.event, Adjacency::kAddRemove));
  DpEvent below = PoissonSampledEvent{e.sampling_rate, inner.below};
  if (e.sampling_rate.value() == 1 && e.max_batch < e.population) {
    // A uniform subset. The record stands in the place of another one.
    NF_TRY(LoweredEvent exchanged, grouped(inner.above, 2, Adjacency::kAddRemove));
    return LoweredEvent{std::move(exchanged.above), std::move(below)};
  }
  if (chance_of_a_full_batch(e).upper == 0) {
    return LoweredEvent{PoissonSampledEvent{e.sampling_rate, inner.above}, std::move(below)};
  }
  if (contains<PoissonSampledEvent, FixedSizeSampledEvent, ShuffledEvent>(inner.above)) {
    return invalid_argument(
        "no valid bound is known for samples within truncated samples: use one kind of sample only");
  }
  TruncatedPoissonSampledEvent above = e;
  above.event = inner.above;
  // Under replace-one the law is that of Gaussian noise; other noise is accounted for as below.
  if (adjacency == Adjacency::kReplaceOne && !std::holds_alternative<GaussianEvent>(inner.above.kind())) {
    NF_TRY(DpEvent plain, dominating_event(above, adjacency));
    return LoweredEvent{std::move(plain), std::move(below)};
  }
  return LoweredEvent{std::move(above), std::move(below)};
}

// In the plain vocabulary: with the probability τ of a full batch everything is given up.
Result<DpEvent> plain(const TruncatedPoissonSampledEvent& e, Adjacency /*adjacency*/) {
  const DpEvent sample = PoissonSampledEvent{e.sampling_rate, e.event};
  const double full = chance_of_a_full_batch(e).upper;
  if (full == 0) return sample;
  const Result<Delta> delta = Delta::make(full);
  if (!delta.has_value()) {
    return invalid_argument("almost every batch is cut down; no Renyi bound is known for that. Use larger batches");
  }
  return DpEvent(ComposedEvent{{sample, EpsilonDeltaEvent{PrivacyLoss::of(0), delta.value()}}});
}

// Each contribution may be as large as the largest.
Result<DpEvent> plain(const GaussianMixtureEvent& e, Adjacency /*adjacency*/) {
  double largest = 0;
  double present = 0;
  double sum = 0;
  for (std::size_t i = 0; i < e.sensitivities.size(); ++i) {
    sum += e.probabilities[i];
    if (e.sensitivities[i] == 0 || e.probabilities[i] == 0) continue;
    present += e.probabilities[i];
    largest = std::max(largest, e.sensitivities[i]);
  }
  if (present == 0) return DpEvent(ZeroCostEvent{});
  NF_TRY(const LoweredEvent noise, gaussian_for(e.noise_multiplier, {largest, largest}));
  NF_TRY(const SamplingRate rate, SamplingRate::make(std::min(1.0, present / sum * (1 + 1e-11))));
  return DpEvent(PoissonSampledEvent{rate, noise.above});
}

// As if the bin were known: its sum is released once in each epoch.
Result<LoweredEvent> with_known_bin(const BallsInBinsEvent& e, Adjacency adjacency) {
  const double root = std::sqrt(static_cast<double>(e.epochs.value()));
  const double slack = e.epochs.value() == 1 ? 0 : 0x1p-50;
  return gaussian_for(e.noise_multiplier, moved({root * (1 - slack), root * (1 + slack)}, adjacency));
}
Result<DpEvent> plain(const BallsInBinsEvent& e, Adjacency adjacency) {
  NF_TRY(LoweredEvent found, with_known_bin(e, adjacency));
  return std::move(found.above);
}

Result<DpEvent> plain(const SampledWithReplacementEvent& e, Adjacency adjacency) {
  if (e.population.value() == 1) {
    NF_TRY(LoweredEvent found, grouped(e.event, e.sample_size.value(), adjacency));
    return std::move(found.above);
  }
  return invalid_argument(
      "no Renyi bound is known for samples with replacement: use the certified accountant, or samples without "
      "replacement");
}

Result<LoweredEvent> lower(const GaussianMixtureEvent& e, Adjacency /*adjacency*/) {
  for (std::size_t i = 0; i < e.sensitivities.size(); ++i) {
    if (e.sensitivities[i] > 0 && e.probabilities[i] > 0) return exactly(e);
  }
  return exactly(ZeroCostEvent{});
}

Result<LoweredEvent> lower(const BallsInBinsEvent& e, Adjacency adjacency) {
  if (e.bins.value() == 1) return with_known_bin(e, adjacency);
  return exactly(e);
}

Result<LoweredEvent> lower(const SampledWithReplacementEvent& e, Adjacency adjacency) {
  if (adjacency == Adjacency::kAddRemove) {
    return invalid_argument(
        "no valid bound is known for samples with replacement under add-remove, where the number of rows is private: "
        "use replace-one, or Poisson sampling");
  }
  if (e.population.value() == 1) return grouped(e.event, e.sample_size.value(), adjacency);
  return exactly(e);
}

// --- Trees -----------------------------------------------------------------------------------------------------------

Result<LoweredEvent> walk(const DpEvent& event, Adjacency adjacency);

// A combination with what is inside lowered.
template <class Combination>
Result<LoweredEvent> around(const Combination& e, Adjacency inside) {
  NF_TRY(LoweredEvent inner, walk(e.event, inside));
  Combination above = e;
  Combination below = e;
  above.event = std::move(inner.above);
  below.event = std::move(inner.below);
  return LoweredEvent{std::move(above), std::move(below)};
}

Result<LoweredEvent> around_all(const ComposedEvent& e, Adjacency adjacency) {
  ComposedEvent above;
  ComposedEvent below;
  for (const DpEvent& part : e.events) {
    NF_TRY(LoweredEvent one, walk(part, adjacency));
    above.events.push_back(std::move(one.above));
    below.events.push_back(std::move(one.below));
  }
  return LoweredEvent{std::move(above), std::move(below)};
}

// Samples that are drawn within samples, and choices among runs, know the older kinds only.
Result<void> expect_no_laws(const DpEvent& inside, std::string_view where) {
  if (!contains<GaussianMixtureEvent, BallsInBinsEvent, TruncatedPoissonSampledEvent, SampledWithReplacementEvent,
                SampledFactorizationEvent>(inside)) {
    return success();
  }
  return invalid_argument(fmt::format(
      "no valid bound is known for sampled streams and mixtures within {}: use one kind of sample only", where));
}

Result<LoweredEvent> walk(const DpEvent& event, Adjacency adjacency) {
  if (!has_new_kinds(event)) return exactly(event);
  NF_TRY_VOID(check_fields(event));
  return std::visit(
      [&](const auto& kind) -> Result<LoweredEvent> {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, ComposedEvent>) {
          return around_all(kind, adjacency);
        } else if constexpr (std::is_same_v<Kind, SelfComposedEvent>) {
          return around(kind, adjacency);
        } else if constexpr (std::is_same_v<Kind, PoissonSampledEvent>) {
          NF_TRY_VOID(expect_no_laws(kind.event, "Poisson samples"));
          return around(kind, Adjacency::kAddRemove);
        } else if constexpr (std::is_same_v<Kind, FixedSizeSampledEvent>) {
          NF_TRY_VOID(expect_no_laws(kind.event, "samples of fixed size"));
          return around(kind, adjacency);
        } else if constexpr (std::is_same_v<Kind, ShuffledEvent>) {
          NF_TRY_VOID(expect_no_laws(kind.event, "shuffled reports"));
          return around(kind, adjacency);
        } else if constexpr (std::is_same_v<Kind, RepeatAndSelectEvent> ||
                             std::is_same_v<Kind, PoissonRepeatAndSelectEvent>) {
          NF_TRY_VOID(expect_no_laws(kind.event, "the best of many runs"));
          return around(kind, adjacency);
        } else if constexpr (requires { lower(kind, adjacency); }) {
          return lower(kind, adjacency);
        } else {
          return exactly(event);
        }
      },
      event.kind());
}

// What is left after walk() of the kinds with laws, in the plain vocabulary.
Result<DpEvent> without_laws(const DpEvent& event, Adjacency adjacency) {
  if (!has_new_kinds(event)) return event;
  return std::visit(
      [&](const auto& kind) -> Result<DpEvent> {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, ComposedEvent>) {
          ComposedEvent all;
          for (const DpEvent& part : kind.events) {
            NF_TRY(DpEvent one, without_laws(part, adjacency));
            all.events.push_back(std::move(one));
          }
          return DpEvent(std::move(all));
        } else if constexpr (std::is_same_v<Kind, SelfComposedEvent>) {
          NF_TRY(DpEvent one, without_laws(kind.event, adjacency));
          return DpEvent(SelfComposedEvent{kind.count, std::move(one)});
        } else if constexpr (requires { plain(kind, adjacency); }) {
          return plain(kind, adjacency);
        } else {
          return internal_error(fmt::format("an event of kind {} was to be lowered", kind_name(event)));
        }
      },
      event.kind());
}

}  // namespace

Result<LoweredEvent> lowered(const DpEvent& event, Adjacency adjacency) { return walk(event, adjacency); }

Result<DpEvent> dominating_event(const DpEvent& event, Adjacency adjacency) {
  if (!has_new_kinds(event)) return event;
  // Truncated samples of other noise come back here under replace-one.
  if (const auto* e = std::get_if<TruncatedPoissonSampledEvent>(&event.kind());
      e != nullptr && !has_new_kinds(e->event)) {
    NF_TRY_VOID(check_fields(event));
    return plain(*e, adjacency);
  }
  NF_TRY(const LoweredEvent found, walk(event, adjacency));
  return without_laws(found.above, adjacency);
}

Result<LoweredEvent> grouped(const DpEvent& event, std::uint64_t size, Adjacency adjacency) {
  if (size == 1) return walk(event, adjacency);
  if (size > kLargestGroup) return no_group_bound(event, size, "groups of up to 2^53 units are accounted for");
  return Grouping(size, adjacency).of(event);
}

Interval chance_of_a_full_batch(const TruncatedPoissonSampledEvent& event) {
  const std::uint64_t others = event.population.value() - 1;
  const std::uint64_t batch = event.max_batch.value();
  if (others < batch) return {0, 0};
  const long double q = event.sampling_rate.value();
  if (q == 1) return {1, 1};
  if (others > kMaxTrials) return {0, 1};
  const BinomialLaw law{others, q, 1 - q};
  // Beyond the most likely number terms fall faster and faster: the rest after one is at most a geometric series.
  const std::uint64_t from = std::max(batch, law.mode() + 1);
  long double sum = 0;
  long double error = 0;
  const auto add = [&](std::uint64_t x) {
    const LogProbability p = log_probability(law, x);
    const long double value = std::exp(p.value);
    sum += value;
    error += value * (2 * p.error + 0x1p-50L);
    return value;
  };
  constexpr std::uint64_t most_terms = 200'000;
  if (batch <= law.mode()) {
    // At least about one half. The terms below are summed instead, if they are few.
    if (batch > most_terms) return {0, 1};
    for (std::uint64_t x = 0; x < batch; ++x) add(x);
    return {static_cast<double>(std::max(0.0L, 1 - sum - error)) * (1 - 1e-15),
            std::min(1.0, static_cast<double>(1 - sum + error) * (1 + 1e-15))};
  }
  std::uint64_t x = from;
  long double last = 0;
  for (; x <= others && x - from < most_terms; ++x) {
    last = add(x);
    if (last < sum * 1e-20L) break;
  }
  long double rest = 0;
  if (x < others && last > 0) {
    const long double ratio = law.ratio_after(std::min(x, others - 1));
    rest = ratio < 1 ? last * ratio / (1 - ratio) : 1;
  }
  const double upper = static_cast<double>((sum + error + rest) * (1 + 0x1p-40L)) + 1e-300;
  return {static_cast<double>((sum - error) * (1 - 0x1p-40L)), std::min(1.0, upper)};
}

}  // namespace noisefloor::internal
