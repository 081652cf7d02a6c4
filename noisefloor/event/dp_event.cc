#include "noisefloor/event/dp_event.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "noisefloor/base/overloaded.h"

namespace noisefloor {

bool operator==(const DpEvent& a, const DpEvent& b) { return a.node_ == b.node_ || *a.node_ == *b.node_; }

Result<DpStatement> compose(const std::vector<DpStatement>& parts) {
  if (parts.empty()) return invalid_argument("a composition needs at least one statement");
  const DpStatement& first = parts.front();
  std::vector<DpEvent> events;
  events.reserve(parts.size());
  for (const DpStatement& part : parts) {
    if (part.adjacency != first.adjacency || part.unit != first.unit) {
      return invalid_argument(
          fmt::format("statements about different neighbours do not compose: {} of one {} beside {} of one {}; state "
                      "all for the same",
                      name_of(first.adjacency), name_of(first.unit), name_of(part.adjacency), name_of(part.unit)));
    }
    events.push_back(part.event);
  }
  if (events.size() == 1) return first;
  return DpStatement{first.adjacency, first.unit, ComposedEvent{std::move(events)}};
}

std::string_view kind_name(const DpEvent& event) {
  return std::visit(Overloaded{
                        [](const GaussianEvent&) { return "gaussian"; },
                        [](const LaplaceEvent&) { return "laplace"; },
                        [](const DiscreteGaussianEvent&) { return "discrete_gaussian"; },
                        [](const DiscreteLaplaceEvent&) { return "discrete_laplace"; },
                        [](const SkellamEvent&) { return "skellam"; },
                        [](const RandomizedResponseEvent&) { return "randomized_response"; },
                        [](const ExponentialEvent&) { return "exponential"; },
                        [](const PermuteAndFlipEvent&) { return "permute_and_flip"; },
                        [](const EpsilonDeltaEvent&) { return "epsilon_delta"; },
                        [](const ZcdpEvent&) { return "zcdp"; },
                        [](const ZeroCostEvent&) { return "zero_cost"; },
                        [](const NonPrivateEvent&) { return "non_private"; },
                        [](const TreeAggregationEvent&) { return "tree_aggregation"; },
                        [](const PoissonSampledEvent&) { return "poisson_sampled"; },
                        [](const FixedSizeSampledEvent&) { return "fixed_size_sampled"; },
                        [](const ShuffledEvent&) { return "shuffled"; },
                        [](const SelfComposedEvent&) { return "self_composed"; },
                        [](const ComposedEvent&) { return "composed"; },
                        [](const RepeatAndSelectEvent&) { return "repeat_and_select"; },
                        [](const PoissonRepeatAndSelectEvent&) { return "repeat_and_select_poisson"; },
                        [](const TreeRestartsEvent&) { return "tree_restarts"; },
                        [](const MatrixFactorizationEvent&) { return "matrix_factorization"; },
                        [](const SampledFactorizationEvent&) { return "sampled_matrix_factorization"; },
                        [](const GaussianMixtureEvent&) { return "gaussian_mixture"; },
                        [](const BallsInBinsEvent&) { return "balls_in_bins"; },
                        [](const TruncatedPoissonSampledEvent&) { return "truncated_poisson_sampled"; },
                        [](const SampledWithReplacementEvent&) { return "sampled_with_replacement"; },
                        [](const GroupEvent&) { return "group"; },
                    },
                    event.kind());
}

}  // namespace noisefloor
