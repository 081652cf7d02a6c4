// The utility graph of Proactive DP: how much accuracy remains when Gaussian noise is added to a trained model, by clip
// norm C and noise multiplier σ. It tells which (C, σ) are hopeless before anything is trained privately.
//
// Implements:    van Dijk et al. 2024, section 3.3 and D.2: accuracy(w* + N(0, C²σ²I)) / accuracy(w*), several draws
//                each.
// Not covered:   w* must be trained on public or proxy data, or privately: a graph of a model that saw private data
//                without noise would itself be a release without a guarantee. `test` is taken as public.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

struct UtilityPoint {
  NoiseMultiplier noise;
  double lowest;  // lowest ratio over the draws
  double mean;
  double highest;
};

struct UtilityCurve {
  ClipNorm clip;
  double accuracy;                   // accuracy of w*
  std::vector<UtilityPoint> points;  // in order of growing noise
};

// Requires: noise in growing order; draws ≥ 1. kInvalidArgument if the model does not predict classes, or has accuracy
// 0 without noise.
[[nodiscard]] Result<UtilityCurve> utility_curve(TrainableModel& model, std::span<const float> weights, ClipNorm clip,
                                                 std::span<const NoiseMultiplier> noise, std::size_t draws,
                                                 const Dataset& test, BitStream& stream);

struct UtilityChoice {
  ClipNorm clip;
  NoiseMultiplier noise;
};

// The largest σ of any curve up to which the mean stays at 1 − allowed_loss or above, interpolated linearly between
// points, among curves whose w* has an accuracy of at least `least_accuracy`. Nothing if the first points are already
// below it.
[[nodiscard]] std::optional<UtilityChoice> recommended(std::span<const UtilityCurve> curves, double allowed_loss,
                                                       double least_accuracy = 0);

}  // namespace noisefloor
