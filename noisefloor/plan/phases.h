// Training in phases, by the adaptive calculator: if the model is not good enough, training continues with less noise
// and other samples.
//
// Guarantee:     the rounds of all phases together are (ε, δ)-DP for add-remove neighbours, by Theorem B.4, as if all
//                of them had had the noise of the last one, which is the least. You may choose the noise and the
//                gradients of a next phase after looking at the model, as long as ε and δ were fixed before.
// Implements:    van Dijk et al. 2024, appendix E.1. The paper tries sizes from 1 upwards. After earlier phases, small
//                samples mean more rounds and a larger θ, so that 1 may not fit where a larger size does: this code
//                finds the largest size that fits. GammaMode::kPaper follows the paper.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/plan/closed_form.h"

namespace noisefloor {

struct Phase {
  NoiseMultiplier noise;
  ClipNorm clip;
  std::uint64_t size;    // s_j
  std::uint64_t rounds;  // T_j; K_j is their product
};

struct PhaseQuestion {
  Rows rows;
  Delta delta;
  Epsilon target;
  std::vector<Phase> before = {};
  double epochs;                              // K_j/N
  std::optional<NoiseMultiplier> noise = {};  // less than in the phase before; none: from ε, for a first phase only
  ClipNorm clip;
};

struct PlannedPhase {
  Phase phase;
  ClosedFormPlan all;  // all phases together: its ε is the least that the theorem gives
};

// The next phase with the largest samples that fit, hence the fewest rounds. kInvalidArgument, with the nearest value
// that would fit, if no size fits or the noise is not less than before: then the client does not take part.
[[nodiscard]] Result<PlannedPhase> next_phase(const PhaseQuestion& question, GammaMode mode = GammaMode::kRoot);

}  // namespace noisefloor
