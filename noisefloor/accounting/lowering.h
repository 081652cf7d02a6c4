// Events of richer kinds as trees of plainer ones, so that accountants need to know few kinds.
//
//   matrix_factorization           one Gaussian
//   sampled_matrix_factorization   Poisson samples of Gaussians, one for each time that the unit's group has its turn
//   tree_restarts                  as many Gaussians as nodes can change
//   group                          the same kinds with larger sensitivities, or bounds of group privacy
//
// `gaussian_mixture`, `truncated_poisson_sampled`, `sampled_with_replacement` and `balls_in_bins` have laws of their
// own (sampled_leaves.h), and plainer events that dominate them: for balls in bins, a bin that is known.
//
// Guarantee:     for every unit and every pair of neighbours the event loses no more than the tree `above`, and for
//                some pair of neighbours no less than the tree `below`: for every order of divergence and after every
//                composition. docs/proofs/streams_and_samples.md.
// Refused:       what no bound is known for, and fields that contradict each other (event_fields.h).
// Thread safety: pure functions.
//
// Internal to accounting/.
#pragma once

#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor::internal {

struct LoweredEvent {
  DpEvent above;
  DpEvent below;

  [[nodiscard]] bool is_exact() const { return above == below; }
};

// Trees without the first four kinds. An event that has none of the eight is returned as it is.
[[nodiscard]] Result<LoweredEvent> lowered(const DpEvent& event, Adjacency adjacency);

// A tree that dominates the event and has none of the eight kinds.
[[nodiscard]] Result<DpEvent> dominating_event(const DpEvent& event, Adjacency adjacency);

// `event` for units that have up to `size` of its own units.
[[nodiscard]] Result<LoweredEvent> grouped(const DpEvent& event, std::uint64_t size, Adjacency adjacency);

// P(X ≥ max_batch) for the number X of sampled records among population − 1.
[[nodiscard]] Interval chance_of_a_full_batch(const TruncatedPoissonSampledEvent& event);

}  // namespace noisefloor::internal
