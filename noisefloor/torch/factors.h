// The factors of sgd/clip.h for norms that a tape gives.
//
// Internal to torch/.
#pragma once

#include <torch/types.h>

#include <cstddef>

#include "noisefloor/sgd/clip.h"

namespace noisefloor {

struct TapeFactors {
  torch::Tensor factors;   // [groups, examples], as Tape::weighted_gradients takes them
  std::size_t within = 0;  // examples whose norm is within the rule's bound
};

// `squared_norms` is [groups, examples], in double precision (Tape::squared_norms).
// Requires: as many groups as a GroupClip has (checked).
[[nodiscard]] TapeFactors factors_of(const ClipRule& rule, const torch::Tensor& squared_norms);

}  // namespace noisefloor
