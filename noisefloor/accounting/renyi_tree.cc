#include "noisefloor/accounting/renyi_tree.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

#include "noisefloor/accounting/renyi_arithmetic.h"
#include "noisefloor/accounting/renyi_mechanisms.h"
#include "noisefloor/accounting/renyi_samples.h"
#include "noisefloor/accounting/repeat_and_select.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/event/tree_nodes.h"

namespace noisefloor::internal {

std::optional<double> gaussian_precision(const DpEvent& event, Adjacency adjacency) {
  const auto of = [](NoiseMultiplier z) {
    const double precision = divided_up(divided_up(1, z.value()), z.value());
    return precision > 1e-280 ? precision : up(precision);  // remainders near underflow are not seen
  };
  return std::visit(
      [&](const auto& kind) -> std::optional<double> {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, GaussianEvent>) {
          return of(kind.noise_multiplier);
        } else if constexpr (std::is_same_v<Kind, TreeAggregationEvent>) {
          return times_up(static_cast<double>(tree_nodes(kind.steps, adjacency)), of(kind.noise_multiplier));
        } else if constexpr (std::is_same_v<Kind, ZeroCostEvent>) {
          return 0.0;
        } else if constexpr (std::is_same_v<Kind, SelfComposedEvent>) {
          const std::optional<double> one = gaussian_precision(kind.event, adjacency);
          if (!one.has_value() || *one == 0) return one;
          return times_up(to_double_up(kind.count.value()), *one);
        } else if constexpr (std::is_same_v<Kind, ComposedEvent>) {
          double sum = 0;
          for (const DpEvent& part : kind.events) {
            const std::optional<double> one = gaussian_precision(part, adjacency);
            if (!one.has_value()) return std::nullopt;
            if (*one > 0) sum = sum > 0 ? next_up(sum + *one) : *one;
          }
          return sum;
        } else {
          return std::nullopt;
        }
      },
      event.kind());
}

double fraction_of(const FixedSizeSampledEvent& event) {
  if (event.sample_size.value() >= event.population.value()) return 1;
  const double below = static_cast<double>(event.population.value());
  return std::min(1.0, up(to_double_up(event.sample_size.value()) / below));
}

namespace {

// Whole answers differ by a whole number.
double whole_shift_epsilon(const DiscreteLaplaceEvent& event) {
  const double shift = std::floor(event.l1_sensitivity.value());
  return shift < 1 ? 0 : divided_up(shift, event.scale.value());
}

}  // namespace

double pure_epsilon(const DpEvent& event, Adjacency adjacency) {
  return std::visit(
      [&](const auto& kind) -> double {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, LaplaceEvent>) {
          return divided_up(1, kind.noise_multiplier.value());
        } else if constexpr (std::is_same_v<Kind, DiscreteLaplaceEvent>) {
          return whole_shift_epsilon(kind);
        } else if constexpr (std::is_same_v<Kind, RandomizedResponseEvent> || std::is_same_v<Kind, ExponentialEvent> ||
                             std::is_same_v<Kind, PermuteAndFlipEvent> || std::is_same_v<Kind, EpsilonDeltaEvent>) {
          return kind.epsilon.value();
        } else if constexpr (std::is_same_v<Kind, ZcdpEvent>) {
          return kind.rho.value() == 0 ? 0 : kInfinity;
        } else if constexpr (std::is_same_v<Kind, ZeroCostEvent>) {
          return 0;
        } else if constexpr (std::is_same_v<Kind, PoissonSampledEvent>) {
          // Within a sample a record is there or not; replacing one is removing and adding.
          const double inner = pure_epsilon(kind.event, Adjacency::kAddRemove);
          if (inner == 0 || inner == kInfinity) return inner;
          const double once = std::min(inner, up(up(log_mixed_exp(kind.sampling_rate.value(), inner))));
          return adjacency == Adjacency::kAddRemove ? once : times_up(2, once);
        } else if constexpr (std::is_same_v<Kind, FixedSizeSampledEvent>) {
          const double inner = pure_epsilon(kind.event, adjacency);
          if (inner == 0 || inner == kInfinity) return inner;
          return std::min(inner, up(up(log_mixed_exp(fraction_of(kind), inner))));
        } else if constexpr (std::is_same_v<Kind, ShuffledEvent>) {
          return pure_epsilon(kind.event, adjacency);
        } else if constexpr (std::is_same_v<Kind, RepeatAndSelectEvent>) {
          const double inner = pure_epsilon(kind.event, adjacency);
          return inner == 0 || inner == kInfinity ? inner : times_up(next_up(2 + kind.eta.value()), inner);
        } else if constexpr (std::is_same_v<Kind, PoissonRepeatAndSelectEvent>) {
          return pure_epsilon(kind.event, adjacency) == 0 ? 0 : kInfinity;
        } else if constexpr (std::is_same_v<Kind, SelfComposedEvent>) {
          const double inner = pure_epsilon(kind.event, adjacency);
          return inner == 0 ? 0 : times_up(to_double_up(kind.count.value()), inner);
        } else if constexpr (std::is_same_v<Kind, ComposedEvent>) {
          double sum = 0;
          for (const DpEvent& part : kind.events) {
            const double one = pure_epsilon(part, adjacency);
            if (one > 0) sum = sum > 0 ? next_up(sum + one) : one;
          }
          return sum;
        } else {
          return kInfinity;
        }
      },
      event.kind());
}

namespace {

// δ of n mechanisms in a row: 1 − (1−δ)^n.
double repeated_delta(double delta, double count) {
  if (delta == 0) return 0;
  return std::min({1.0, up(count * delta), up(-std::expm1(count * std::log1p(-delta)))});
}

// The best of K runs. The inner curve is asked for at hundreds of orders, so that selections are not nested. A run that
// fails (its δ) fails for the whole: E[K] δ at most.
template <class Event>
Result<RenyiBound> repeat_and_select(const Event& event, Adjacency adjacency, double order, TreePlace place) {
  if (contains<RepeatAndSelectEvent, PoissonRepeatAndSelectEvent>(event.event)) {
    return invalid_argument(
        "repeat-and-select within repeat-and-select is not accounted for: choose once among all runs");
  }
  NF_TRY(const RenyiBound here, tree_bound(event.event, adjacency, order, place));
  if (here.divergence == 0 && here.delta == 0) return here;
  const RenyiCurve inner = [&](double at) {
    const Result<RenyiBound> one = tree_bound(event.event, adjacency, at, place);
    return one.has_value() ? one.value().divergence : kInfinity;
  };
  double divergence = kInfinity;
  double runs = 0;
  if constexpr (std::is_same_v<Event, RepeatAndSelectEvent>) {
    NF_TRY(const TruncatedNegativeBinomial law,
           TruncatedNegativeBinomial::create(event.eta.value(), event.gamma.value()));
    runs = static_cast<double>(std::exp(law.log_mean())) * (1 + 1e-12);
    if (order < kInfinity) {
      NF_TRY(divergence, repeat_and_select_rdp(inner, law, order));
    }
    divergence = std::min(divergence, pure_epsilon(event, adjacency));
  } else {
    runs = event.mean.value();
    if (order < kInfinity) {
      NF_TRY(divergence, repeat_and_select_rdp_poisson(inner, event.mean.value(), order));
    }
  }
  return RenyiBound{divergence, std::min(1.0, times_up(runs, here.delta))};
}

}  // namespace

Result<std::span<const double>> WholeOrders::up_to(int n, const DpEvent& event, Adjacency adjacency, int depth) {
  // No event is a part of itself, so what is asked for below adds other entries, and they leave this one where it is.
  std::vector<double>& divergences = known_[{&event.kind(), adjacency, depth}];
  if (divergences.empty()) divergences = {0, 0};
  while (divergences.size() <= static_cast<std::size_t>(n)) {
    const auto order = static_cast<double>(divergences.size());
    NF_TRY(const RenyiBound at, tree_bound(event, adjacency, order, {*this, depth}));
    divergences.push_back(at.divergence);
  }
  return std::span<const double>(divergences);
}

Result<RenyiBound> tree_bound(const DpEvent& event, Adjacency adjacency, double order, TreePlace place) {
  const auto pure = [](double divergence) { return RenyiBound{divergence, 0}; };
  return std::visit(
      [&](const auto& kind) -> Result<RenyiBound> {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, GaussianEvent> || std::is_same_v<Kind, TreeAggregationEvent>) {
          return pure(up(order / 2 * *gaussian_precision(event, adjacency)));
        } else if constexpr (std::is_same_v<Kind, LaplaceEvent>) {
          return pure(laplace_divergence(divided_up(1, kind.noise_multiplier.value()), order));
        } else if constexpr (std::is_same_v<Kind, DiscreteLaplaceEvent>) {
          const double epsilon = whole_shift_epsilon(kind);
          return pure(epsilon == 0 ? 0 : discrete_laplace_divergence(1 / kind.scale.value(), epsilon, order));
        } else if constexpr (std::is_same_v<Kind, DiscreteGaussianEvent>) {
          return pure(discrete_gaussian_divergence(kind, order));
        } else if constexpr (std::is_same_v<Kind, SkellamEvent>) {
          return pure(skellam_divergence(kind, order));
        } else if constexpr (std::is_same_v<Kind, RandomizedResponseEvent>) {
          return pure(randomized_response_divergence(kind.epsilon.value(), kind.categories.value(), order));
        } else if constexpr (std::is_same_v<Kind, ExponentialEvent>) {
          return pure(bounded_range_divergence(kind.epsilon.value(), order));
        } else if constexpr (std::is_same_v<Kind, PermuteAndFlipEvent>) {
          return pure(pure_divergence(1, kind.epsilon.value(), order));
        } else if constexpr (std::is_same_v<Kind, EpsilonDeltaEvent>) {
          return RenyiBound{pure_divergence(1, kind.epsilon.value(), order), kind.delta.value()};
        } else if constexpr (std::is_same_v<Kind, ZcdpEvent>) {
          return RenyiBound{times_up(order, kind.rho.value()), kind.delta.value()};
        } else if constexpr (std::is_same_v<Kind, ZeroCostEvent>) {
          return pure(0);
        } else if constexpr (std::is_same_v<Kind, NonPrivateEvent>) {
          return pure(kInfinity);
        } else if constexpr (std::is_same_v<Kind, PoissonSampledEvent>) {
          return poisson_sampled(kind, adjacency, order, place);
        } else if constexpr (std::is_same_v<Kind, FixedSizeSampledEvent>) {
          return fixed_size_sampled(kind, adjacency, order, place);
        } else if constexpr (std::is_same_v<Kind, ShuffledEvent>) {
          // Shuffling is post-processing, and one unit has one report.
          return tree_bound(kind.event, adjacency, order, place);
        } else if constexpr (std::is_same_v<Kind, RepeatAndSelectEvent> ||
                             std::is_same_v<Kind, PoissonRepeatAndSelectEvent>) {
          return repeat_and_select(kind, adjacency, order, place);
        } else if constexpr (std::is_same_v<Kind, SelfComposedEvent>) {
          NF_TRY(const RenyiBound one, tree_bound(kind.event, adjacency, order, place));
          const double count = to_double_up(kind.count.value());
          return RenyiBound{one.divergence == 0 ? 0 : times_up(count, one.divergence),
                            repeated_delta(one.delta, count)};
        } else if constexpr (std::is_same_v<Kind, TreeRestartsEvent> ||
                             std::is_same_v<Kind, MatrixFactorizationEvent> ||
                             std::is_same_v<Kind, SampledFactorizationEvent> ||
                             std::is_same_v<Kind, GaussianMixtureEvent> || std::is_same_v<Kind, BallsInBinsEvent> ||
                             std::is_same_v<Kind, TruncatedPoissonSampledEvent> ||
                             std::is_same_v<Kind, SampledWithReplacementEvent> || std::is_same_v<Kind, GroupEvent>) {
          return internal_error("an event was to be lowered before its Rényi divergence is asked for");  // lowering.h
        } else {
          static_assert(std::is_same_v<Kind, ComposedEvent>, "an event kind without a Rényi bound");
          RenyiBound sum{0, 0};
          for (const DpEvent& part : kind.events) {
            NF_TRY(const RenyiBound one, tree_bound(part, adjacency, order, place));
            if (one.divergence > 0) {
              sum.divergence = sum.divergence > 0 ? next_up(sum.divergence + one.divergence) : one.divergence;
            }
            if (one.delta > 0) {
              const double both = up(sum.delta + one.delta - sum.delta * one.delta);
              sum.delta = sum.delta > 0 ? std::min(1.0, both) : one.delta;
            }
          }
          return sum;
        }
      },
      event.kind());
}

}  // namespace noisefloor::internal
