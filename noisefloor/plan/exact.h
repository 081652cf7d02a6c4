// The exact answers to Proactive DP's questions: the least noise, the largest samples, the fewest rounds for (ε, δ),
// with the certified accountant in place of the theorems.
//
// Guarantee:     every plan's certified upper ε is at most the target. Sizes are the largest whole ones, noise is
//                within 1e-7 of the least.
// Requires:      ε grows with the sample size at a fixed number of gradients, which holds except for rounding. Every
//                returned plan is checked, so that the guarantee does not rest on this.
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
  double epochs;  // K/N: all gradients, in epochs
  Target target;
  Draw draw = Draw::kPoisson;
  std::vector<DpEvent> before = {};  // earlier uses of the same data, which ε covers as well
  double growth = 0;                 // sizes grow with this power of the round
};

struct ExactPlan {
  NoiseMultiplier noise;
  SampleSizes sizes;
  DpEvent event;     // for this plan alone
  Interval epsilon;  // certified, including everything before
};

// The largest samples, hence the fewest rounds, with this noise. kInvalidArgument, with the least noise that would
// suffice, if one row a round is too many.
[[nodiscard]] Result<ExactPlan> exact_for_noise(const ExactQuestion& question, NoiseMultiplier noise);
// The least noise with samples of this (largest) size, or with these sizes.
[[nodiscard]] Result<ExactPlan> exact_for_size(const ExactQuestion& question, Rows size);
[[nodiscard]] Result<ExactPlan> exact_for_sizes(const ExactQuestion& question, const SampleSizes& sizes);
// Checks a plan that leaves nothing free. kInvalidArgument if it costs more than the target, with its cost and the
// least noise that would suffice.
[[nodiscard]] Result<ExactPlan> exact_as_given(const ExactQuestion& question, NoiseMultiplier noise,
                                               const SampleSizes& sizes);
// The least noise with this number of rounds.
[[nodiscard]] Result<ExactPlan> exact_for_rounds(const ExactQuestion& question, Steps rounds);
// The most rounds with this noise and samples of this size; ignores the question's epochs and growth.
[[nodiscard]] Result<ExactPlan> exact_for_noise_and_size(const ExactQuestion& question, NoiseMultiplier noise,
                                                         Rows size);

// The whole trade-off: the least noise for about `points` sizes from 1 row to all, evenly spaced in ratio.
[[nodiscard]] Result<std::vector<ExactPlan>> exact_trade_off(const ExactQuestion& question, std::size_t points);

}  // namespace noisefloor
