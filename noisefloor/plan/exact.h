// The exact answers to Proactive DP's questions: the least noise, the largest samples, the fewest rounds for (ε, δ), with
// the certified accountant in the place of the theorems.
//
// Guarantee:     every plan's certified upper ε is at most the target. Sizes are the largest whole ones, noise is within 1e-7
//                of the least.
// Requires:      ε grows with the sample size at a fixed number of gradients, as it does but for rounding; what is returned
//                is checked, so that the guarantee does not rest on it.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"
#include "noisefloor/plan/sample_sizes.h"

namespace noisefloor {

struct ExactQuestion {
  Rows rows;
  double epochs;  // K/N: gradients in all, in epochs
  Target target;
  Draw draw = Draw::kPoisson;
  std::vector<DpEvent> before = {};  // what was done with the same data, which ε is for as well
  double growth = 0;                 // sizes grow with this power of the round
};

struct ExactPlan {
  NoiseMultiplier noise;
  SampleSizes sizes;
  DpEvent event;     // of this plan alone
  Interval epsilon;  // certified, with all that was before
};

// The largest samples, hence the fewest rounds, with this noise. kInvalidArgument if one row a round is too many, with the
// least noise that would do.
[[nodiscard]] Result<ExactPlan> exact_for_noise(const ExactQuestion& question, NoiseMultiplier noise);
// The least noise with samples of this (largest) size, or with these sizes.
[[nodiscard]] Result<ExactPlan> exact_for_size(const ExactQuestion& question, Rows size);
[[nodiscard]] Result<ExactPlan> exact_for_sizes(const ExactQuestion& question, const SampleSizes& sizes);
// With nothing free. kInvalidArgument if that costs more than the target, with what it costs and the least noise that would
// do.
[[nodiscard]] Result<ExactPlan> exact_as_given(const ExactQuestion& question, NoiseMultiplier noise,
                                               const SampleSizes& sizes);
// The least noise with so many rounds.
[[nodiscard]] Result<ExactPlan> exact_for_rounds(const ExactQuestion& question, Steps rounds);
// The most rounds with this noise and samples of this size: the question's epochs and growth are not looked at.
[[nodiscard]] Result<ExactPlan> exact_for_noise_and_size(const ExactQuestion& question, NoiseMultiplier noise,
                                                         Rows size);

// The whole trade-off: the least noise for sizes from 1 row to all, about `points` of them, evenly in ratio.
[[nodiscard]] Result<std::vector<ExactPlan>> exact_trade_off(const ExactQuestion& question, std::size_t points);

}  // namespace noisefloor
