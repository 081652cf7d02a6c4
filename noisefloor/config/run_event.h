// Turns a run's keys into the event that says what the run does to the data.
//
// Guarantee:     the event is at least as costly as the run, if the run does what its keys say. If the keys do not say
//                enough, or no valid bound is known, there is no event, and the error gives the reason.
// Conventions:   noise_multiplier is σ divided by clip_norm, for every sampler (event/dp_sgd_event.h). In a federated
//                dp-sgd run each client adds this noise itself, and a record is at one client. Rates, rows and batches
//                count what the budget's unit protects.
// Thread safety: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/config/pipeline.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/event/dp_sgd_event.h"

namespace noisefloor {

// How often the run looks at the data, as far as the keys say.
struct Schedule {
  std::optional<Rows> population;  // rows, people or clients that batches are drawn from
  std::optional<SamplingRate> rate;
  std::optional<Steps> steps;

  [[nodiscard]] bool known() const { return rate && steps; }
};

[[nodiscard]] Schedule schedule_of(const Pipeline& pipeline, const Run& run);

// Whether the run is dp-aggregation of clients' updates, round by round: it protects whole clients.
[[nodiscard]] bool aggregates_updates(const Run& run);
// Whether the run adds noise to clipped sums again and again: dp-sgd, or dp-aggregation of clients' updates.
[[nodiscard]] bool is_iterative(const Run& run);
// Whether anything in the run is private: a technique that adds noise, or a stated ε.
[[nodiscard]] bool has_dp(const Run& run);
[[nodiscard]] bool adds_gaussian_noise(const Run& run);
// Returns target_epsilon, or else epsilon.
[[nodiscard]] const Located<Epsilon>& stated_epsilon(const Run& run);
// The δ of a run: its own, or else the budget's divided equally among all runs.
[[nodiscard]] std::optional<Delta> delta_of(const Pipeline& pipeline, const Run& run);

using EventByNoise = std::function<DpEvent(NoiseMultiplier)>;

// The event of one trial of an iterative run, by its noise multiplier. Empty if the schedule does not say enough.
[[nodiscard]] EventByNoise event_by_noise(const Pipeline& pipeline, const Run& run);

struct RunEvent {
  DpEvent once;                          // one trial
  DpEvent all;                           // all trials, and bounds that were bought
  std::optional<NoiseMultiplier> noise;  // stated, or calibrated to the target
  bool calibrated = false;
};

[[nodiscard]] Result<RunEvent> event_of(const Pipeline& pipeline, const Run& run);

// Adds to one trial what surrounds it: tuning, and bounds that were bought.
[[nodiscard]] DpEvent with_surroundings(const Run& run, const DpEvent& once);

}  // namespace noisefloor
