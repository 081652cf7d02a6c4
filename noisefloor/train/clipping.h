// How much of an example's gradient is kept: factors from squared norms.
//
// Guarantee:     with ĝ_e the gradient whose squared norm was given, the norm of factor · ĝ_e is at most the clip norm,
//                even if the squared norm is too small by a part in 2^22, the factor is rounded to float, and so is each
//                product. (What is promised costs a part in 2^20 of the clip norm: kClipMargin.) The sum over the batch
//                is a sum of floats and rounds as those do.
//                A norm that is NaN or infinite, and a factor below the smallest normal float, give the factor 0.
// Sensitivity:   of the sum Σ factor_e ĝ_e, in L2, to one example's presence:
//                  flat and automatic   C
//                  by layer             √(Σ C_l²), which is total_clip_norm
// Implements:    flat: Abadi et al. 2016; by layer: McMahan et al. 2018; automatic: Bu et al. 2023.
// Thread safety: pure functions.
#pragma once

#include <torch/types.h>

#include <span>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

// Norms are taken to be larger by this part of themselves.
inline constexpr double kClipMargin = 0x1p-20;

// In all three, `squared_norms` is [groups, examples], in double precision (Tape::squared_norms). The factors are in
// double precision too.

// min(1, C/‖g‖), with the norm over all groups: [1, examples].
[[nodiscard]] torch::Tensor flat_factors(const torch::Tensor& squared_norms, ClipNorm clip);

// min(1, C_l/‖g_l‖) for each group by itself: [groups, examples]. One clip norm a group.
[[nodiscard]] Result<torch::Tensor> layer_factors(const torch::Tensor& squared_norms, std::span<const ClipNorm> clips);

// C/(‖g‖ + stability), with the norm over all groups: [1, examples]. Requires a finite stability above 0.
[[nodiscard]] Result<torch::Tensor> automatic_factors(const torch::Tensor& squared_norms, ClipNorm clip,
                                                      double stability);

// √(Σ C_l²), rounded up: what bounds an example's whole gradient when each group has its own clip norm.
[[nodiscard]] Result<ClipNorm> total_clip_norm(std::span<const ClipNorm> clips);

// For each of `groups` groups the same clip norm, such that together they make `total`: total/√groups, rounded down.
[[nodiscard]] Result<std::vector<ClipNorm>> even_clip_norms(ClipNorm total, std::size_t groups);

}  // namespace noisefloor
