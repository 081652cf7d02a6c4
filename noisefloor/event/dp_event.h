// DpEvent: what was done to private data, as an immutable tree.
//
// An event holds the parameters that are necessary and sufficient for accounting, and nothing else. Mechanisms emit
// events and never compute their own ε; accountants read events and never see data. The vocabulary is append-only: a
// kind is never given another meaning, and an event that a reader does not know is refused, never counted as zero.
//
// Units:          lattice events (discrete Gaussian, discrete Laplace, Skellam) are stated in grid steps; the others
//                 by a noise multiplier, i.e. the noise scale divided by the sensitivity.
// Neighbours:     a sensitivity belongs to one neighbouring relation. A DpStatement says which one, and whose data it
//                 protects; only statements that agree on both can be composed.
// Thread safety:  immutable; copies share the tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

class DpEvent;

// --- Noise -----------------------------------------------------------------------------------------------------------

// N(0, σ²) on every coordinate; noise_multiplier = σ / Δ₂.
struct GaussianEvent {
  NoiseMultiplier noise_multiplier;
  friend bool operator==(const GaussianEvent&, const GaussianEvent&) = default;
};

// Laplace(b) on every coordinate; noise_multiplier = b / Δ₁.
struct LaplaceEvent {
  NoiseMultiplier noise_multiplier;
  friend bool operator==(const LaplaceEvent&, const LaplaceEvent&) = default;
};

// The sum of `summands` independent discrete Gaussians on ℤ (P(x) ∝ exp(−x²/2σ²)) on each of `dimension` integer
// coordinates; sigma is that of one summand. The integer answers of neighbours differ by at most l1 and l2.
struct DiscreteGaussianEvent {
  NoiseScale sigma;
  Contributors summands;
  L1Sensitivity l1_sensitivity;
  L2Sensitivity l2_sensitivity;
  Dimension dimension;
  friend bool operator==(const DiscreteGaussianEvent&, const DiscreteGaussianEvent&) = default;
};

// Discrete Laplace on ℤ (P(x) ∝ exp(−|x|/scale)) on every integer coordinate; neighbours differ by at most l1.
struct DiscreteLaplaceEvent {
  NoiseScale scale;
  L1Sensitivity l1_sensitivity;
  friend bool operator==(const DiscreteLaplaceEvent&, const DiscreteLaplaceEvent&) = default;
};

// Skellam noise (difference of two Poisson counts) on each of `dimension` integer coordinates. `variance` is the
// variance of the noise in the released sum, over all contributors that can be relied on.
struct SkellamEvent {
  NoiseVariance variance;
  L1Sensitivity l1_sensitivity;
  L2Sensitivity l2_sensitivity;
  Dimension dimension;
  friend bool operator==(const SkellamEvent&, const SkellamEvent&) = default;
};

// --- Selection -------------------------------------------------------------------------------------------------------

// k-ary randomized response: the truth with odds e^ε against each other category.
struct RandomizedResponseEvent {
  Epsilon epsilon;
  Categories categories;
  friend bool operator==(const RandomizedResponseEvent&, const RandomizedResponseEvent&) = default;
};

// Exponential mechanism: ε-DP and ε-bounded range.
struct ExponentialEvent {
  Epsilon epsilon;
  friend bool operator==(const ExponentialEvent&, const ExponentialEvent&) = default;
};

// Permute-and-flip: ε-DP.
struct PermuteAndFlipEvent {
  Epsilon epsilon;
  friend bool operator==(const PermuteAndFlipEvent&, const PermuteAndFlipEvent&) = default;
};

// --- Bounds that come from elsewhere ---------------------------------------------------------------------------------

// Known to be (ε, δ)-DP, and nothing more.
struct EpsilonDeltaEvent {
  PrivacyLoss epsilon;
  Delta delta;
  friend bool operator==(const EpsilonDeltaEvent&, const EpsilonDeltaEvent&) = default;
};

// Known to be ρ-zCDP, except with probability delta (0 for plain zCDP).
struct ZcdpEvent {
  Rho rho;
  Delta delta;
  friend bool operator==(const ZcdpEvent&, const ZcdpEvent&) = default;
};

// Touches no private data.
struct ZeroCostEvent {
  friend bool operator==(const ZeroCostEvent&, const ZeroCostEvent&) = default;
};

// No guarantee at all: its ε is infinite.
struct NonPrivateEvent {
  std::string reason;
  friend bool operator==(const NonPrivateEvent&, const NonPrivateEvent&) = default;
};

// Binary-tree aggregation over a stream of `steps` values, Gaussian noise of σ = noise_multiplier · Δ₂ at each node;
// one unit contributes to at most one step. It changes at most tree_nodes(steps, adjacency) nodes (tree_nodes.h): under
// replace-one it may move to another step. Δ₂ bounds what a unit contributes, and how two contributions differ.
struct TreeAggregationEvent {
  NoiseMultiplier noise_multiplier;
  Steps steps;
  friend bool operator==(const TreeAggregationEvent&, const TreeAggregationEvent&) = default;
};

// --- Combinations ----------------------------------------------------------------------------------------------------

struct PoissonSampledEvent;          // each record takes part with the same probability, independently
struct FixedSizeSampledEvent;        // a uniform subset of fixed size, without replacement
struct ShuffledEvent;                // reports of local randomizers, stripped of their origin
struct RepeatAndSelectEvent;         // the best of a random number of runs, truncated negative binomial
struct PoissonRepeatAndSelectEvent;  // the best of a Poisson number of runs
struct SelfComposedEvent;            // one event, many times
struct ComposedEvent;                // several events

using DpEventVariant =
    std::variant<GaussianEvent, LaplaceEvent, DiscreteGaussianEvent, DiscreteLaplaceEvent, SkellamEvent,
                 RandomizedResponseEvent, ExponentialEvent, PermuteAndFlipEvent, EpsilonDeltaEvent, ZcdpEvent,
                 ZeroCostEvent, NonPrivateEvent, TreeAggregationEvent, PoissonSampledEvent, FixedSizeSampledEvent,
                 ShuffledEvent, SelfComposedEvent, ComposedEvent, RepeatAndSelectEvent, PoissonRepeatAndSelectEvent>;

template <class Kind, class Variant>
inline constexpr bool is_alternative_of = false;
template <class Kind, class... Kinds>
inline constexpr bool is_alternative_of<Kind, std::variant<Kinds...>> = (std::is_same_v<Kind, Kinds> || ...);

template <class Kind>
concept DpEventKind = is_alternative_of<Kind, DpEventVariant>;

class DpEvent {
 public:
  template <DpEventKind Kind>
  DpEvent(Kind kind);  // NOLINT(google-explicit-constructor): an event of any kind is an event

  [[nodiscard]] const DpEventVariant& kind() const;

  // Deep comparison.
  friend bool operator==(const DpEvent& a, const DpEvent& b);

 private:
  std::shared_ptr<const DpEventVariant> node_;
};

// A sampled record is present or absent, whatever the neighbours are: noise multipliers inside are relative to how far
// one record's presence moves the answer (the clip norm), also under replace-one.
struct PoissonSampledEvent {
  SamplingRate sampling_rate;
  DpEvent event;
  friend bool operator==(const PoissonSampledEvent&, const PoissonSampledEvent&) = default;
};

// 1 ≤ sample_size ≤ population.
struct FixedSizeSampledEvent {
  Rows sample_size;
  Rows population;
  DpEvent event;
  friend bool operator==(const FixedSizeSampledEvent&, const FixedSizeSampledEvent&) = default;
};

// `reports` users each run the local randomizer `event` once; the reports are released in random order.
struct ShuffledEvent {
  Rows reports;
  DpEvent event;
  friend bool operator==(const ShuffledEvent&, const ShuffledEvent&) = default;
};

// `event` is run K times, where K is drawn from the truncated negative binomial law with parameters η and γ (η = 1:
// geometric), kept secret, and independent of the data; only the best result is released, by a fixed order.
// Hyper-parameter tuning is such an event.
struct RepeatAndSelectEvent {
  RunShape eta;
  RunGamma gamma;
  DpEvent event;
  friend bool operator==(const RepeatAndSelectEvent&, const RepeatAndSelectEvent&) = default;
};

// The same with a Poisson number of runs.
struct PoissonRepeatAndSelectEvent {
  MeanRuns mean;
  DpEvent event;
  friend bool operator==(const PoissonRepeatAndSelectEvent&, const PoissonRepeatAndSelectEvent&) = default;
};

struct SelfComposedEvent {
  Steps count;
  DpEvent event;
  friend bool operator==(const SelfComposedEvent&, const SelfComposedEvent&) = default;
};

// An empty list costs nothing.
struct ComposedEvent {
  std::vector<DpEvent> events;
  friend bool operator==(const ComposedEvent&, const ComposedEvent&) = default;
};

template <DpEventKind Kind>
DpEvent::DpEvent(Kind kind) : node_(std::make_shared<const DpEventVariant>(std::move(kind))) {}

inline const DpEventVariant& DpEvent::kind() const { return *node_; }

// An event with the promise it belongs to: who is protected, against which change.
struct DpStatement {
  Adjacency adjacency;
  PrivacyUnit unit;
  DpEvent event;
  friend bool operator==(const DpStatement&, const DpStatement&) = default;
};

// The statement for doing all of `parts`. Refused unless all agree on adjacency and unit; needs at least one part.
[[nodiscard]] Result<DpStatement> compose(const std::vector<DpStatement>& parts);

// Whether the event or any part of it is of one of these kinds: contains<NonPrivateEvent>(event).
template <class... Kinds>
[[nodiscard]] bool contains(const DpEvent& event) {
  return std::visit(
      [](const auto& kind) {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr ((std::is_same_v<Kind, Kinds> || ...)) {
          return true;
        } else if constexpr (std::is_same_v<Kind, ComposedEvent>) {
          return std::any_of(kind.events.begin(), kind.events.end(), contains<Kinds...>);
        } else if constexpr (requires { kind.event; }) {
          return contains<Kinds...>(kind.event);
        } else {
          return false;
        }
      },
      event.kind());
}

// The stable name of an event's kind, as JSON has it: "gaussian", "poisson_sampled", …
[[nodiscard]] std::string_view kind_name(const DpEvent& event);

}  // namespace noisefloor
