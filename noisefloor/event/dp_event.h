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

// One tree aggregation after another: tree i over steps[i] values. One unit contributes to at most one step of a tree
// and to at most `participations` steps in all; Δ₂ is that of TreeAggregationEvent.
struct TreeRestartsEvent {
  NoiseMultiplier noise_multiplier;
  std::vector<Steps> steps;
  Steps participations;
  friend bool operator==(const TreeRestartsEvent&, const TreeRestartsEvent&) = default;
};

// Matrix factorisation over a stream of `steps` values x: C x + N(0, σ²), and all that is made of it, where C is lower
// triangular and Toeplitz with the first column `coefficients` (then zeros): x + C^-1 N(0, σ²) is DP-FTRL with
// correlated noise. σ = noise_multiplier · Δ₂, and Δ₂ bounds what a unit contributes to one step. A unit contributes to
// at most `participations` steps, any two of them at least `min_separation` apart.
struct MatrixFactorizationEvent {
  NoiseMultiplier noise_multiplier;
  std::vector<double> coefficients;
  Steps steps;
  Steps min_separation;
  Steps participations;
  friend bool operator==(const MatrixFactorizationEvent&, const MatrixFactorizationEvent&) = default;
};

// The same with sampled batches, for at most `groups` coefficients: units are divided into `groups` groups in a way
// that is fixed and does not depend on data; at step i each unit of the group i mod groups takes part with the
// probability sampling_rate, independently, and no other unit does.
struct SampledFactorizationEvent {
  NoiseMultiplier noise_multiplier;
  std::vector<double> coefficients;
  Steps steps;
  Steps groups;
  SamplingRate sampling_rate;
  friend bool operator==(const SampledFactorizationEvent&, const SampledFactorizationEvent&) = default;
};

// One Gaussian answer to which a unit contributes a vector of norm at most sensitivities[i] · Δ₂ with the probability
// probabilities[i], in secret; σ = noise_multiplier · Δ₂. The probabilities add up to 1 within 1e-9, and are divided by
// their sum.
struct GaussianMixtureEvent {
  NoiseMultiplier noise_multiplier;
  std::vector<double> sensitivities;
  std::vector<double> probabilities;
  friend bool operator==(const GaussianMixtureEvent&, const GaussianMixtureEvent&) = default;
};

// Each unit is thrown into one of `bins` batches, uniformly and independently, and stays in it. Each of `epochs` epochs
// releases the noisy sum of every batch. σ = noise_multiplier · Δ₂, and Δ₂ bounds what a unit contributes to one sum.
struct BallsInBinsEvent {
  NoiseMultiplier noise_multiplier;
  Steps bins;
  Steps epochs;
  friend bool operator==(const BallsInBinsEvent&, const BallsInBinsEvent&) = default;
};

// --- Combinations ----------------------------------------------------------------------------------------------------

struct PoissonSampledEvent;           // each record takes part with the same probability, independently
struct FixedSizeSampledEvent;         // a uniform subset of fixed size, without replacement
struct TruncatedPoissonSampledEvent;  // Poisson batches that are cut down to a largest size
struct SampledWithReplacementEvent;   // uniform draws, of which several may be of one record
struct ShuffledEvent;                 // reports of local randomizers, stripped of their origin
struct RepeatAndSelectEvent;          // the best of a random number of runs, truncated negative binomial
struct PoissonRepeatAndSelectEvent;   // the best of a Poisson number of runs
struct GroupEvent;                    // an event that was stated for smaller units
struct SelfComposedEvent;             // one event, many times
struct ComposedEvent;                 // several events

using DpEventVariant =
    std::variant<GaussianEvent, LaplaceEvent, DiscreteGaussianEvent, DiscreteLaplaceEvent, SkellamEvent,
                 RandomizedResponseEvent, ExponentialEvent, PermuteAndFlipEvent, EpsilonDeltaEvent, ZcdpEvent,
                 ZeroCostEvent, NonPrivateEvent, TreeAggregationEvent, PoissonSampledEvent, FixedSizeSampledEvent,
                 ShuffledEvent, SelfComposedEvent, ComposedEvent, RepeatAndSelectEvent, PoissonRepeatAndSelectEvent,
                 TreeRestartsEvent, MatrixFactorizationEvent, SampledFactorizationEvent, GaussianMixtureEvent,
                 BallsInBinsEvent, TruncatedPoissonSampledEvent, SampledWithReplacementEvent, GroupEvent>;

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

// A Poisson sample; where it holds more than `max_batch` records, a uniform subset of that size. No data set has more
// than `population` records. Noise multipliers inside are relative to how far one record's presence moves the answer.
// 1 ≤ max_batch ≤ population.
struct TruncatedPoissonSampledEvent {
  SamplingRate sampling_rate;
  Rows max_batch;
  Rows population;
  DpEvent event;
  friend bool operator==(const TruncatedPoissonSampledEvent&, const TruncatedPoissonSampledEvent&) = default;
};

// `sample_size` independent uniform draws from `population` records, then `event` on what was drawn. Noise multipliers
// inside are relative to how far exchanging one record moves the answer.
struct SampledWithReplacementEvent {
  Rows sample_size;
  Rows population;
  DpEvent event;
  friend bool operator==(const SampledWithReplacementEvent&, const SampledWithReplacementEvent&) = default;
};

// `event` is stated for smaller units, of which one unit of the statement has at most `size`: rows of one person.
struct GroupEvent {
  Rows size;
  DpEvent event;
  friend bool operator==(const GroupEvent&, const GroupEvent&) = default;
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
