#include "noisefloor/plan/utility_graph.h"

#include <algorithm>

#include "noisefloor/random/gaussian_vector.h"

namespace noisefloor {

Result<UtilityCurve> utility_curve(TrainableModel& model, std::span<const float> weights, ClipNorm clip,
                                   std::span<const NoiseMultiplier> noise, std::size_t draws, const Dataset& test,
                                   BitStream& stream) {
  const std::optional<double> accuracy = model.quality(weights, test).accuracy;
  if (!accuracy) return invalid_argument("a utility graph shows accuracy: use a model that predicts classes");
  if (*accuracy <= 0) return invalid_argument("the model has no accuracy even without noise: train it longer first");
  UtilityCurve curve{clip, *accuracy, {}};
  std::vector<float> noisy;
  for (const NoiseMultiplier one : noise) {
    UtilityPoint point{one, 1e300, 0, 0};
    for (std::size_t i = 0; i < draws; ++i) {
      noisy.assign(weights.begin(), weights.end());
      add_gaussian(stream, noisy, static_cast<float>(clip.value() * one.value()));
      const double ratio = *model.quality(noisy, test).accuracy / *accuracy;
      point.lowest = std::min(point.lowest, ratio);
      point.highest = std::max(point.highest, ratio);
      point.mean += ratio / static_cast<double>(draws);
    }
    curve.points.push_back(point);
  }
  return curve;
}

namespace {

// The largest σ that this curve tolerates, or 0.
double tolerated(const UtilityCurve& curve, double least) {
  double found = 0;
  const UtilityPoint* before = nullptr;
  for (const UtilityPoint& point : curve.points) {
    if (point.mean < least) {
      if (before == nullptr) return 0;
      const double share = (before->mean - least) / (before->mean - point.mean);
      return before->noise.value() + share * (point.noise.value() - before->noise.value());
    }
    found = point.noise.value();
    before = &point;
  }
  return found;
}

}  // namespace

std::optional<UtilityChoice> recommended(std::span<const UtilityCurve> curves, double allowed_loss,
                                         double least_accuracy) {
  std::optional<UtilityChoice> best;
  for (const UtilityCurve& curve : curves) {
    if (curve.accuracy < least_accuracy) continue;
    const auto noise = NoiseMultiplier::make(tolerated(curve, 1 - allowed_loss));
    if (noise.has_value() && (!best || noise.value() > best->noise)) best = UtilityChoice{curve.clip, noise.value()};
  }
  return best;
}

}  // namespace noisefloor
