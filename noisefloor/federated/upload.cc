#include "noisefloor/federated/upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/check.h"

namespace noisefloor::federated {

Result<UploadLayout> UploadLayout::create(const UploadOptions& options) {
  if (options.parameters == 0) return invalid_argument("a model needs at least one parameter");
  if (options.max_weight == 0) return invalid_argument("the largest weight must be at least 1");
  if (options.max_local_steps == 0) return invalid_argument("the largest number of local steps must be at least 1");
  if (options.denominator) {
    if (options.weighting != Weighting::kEqual) {
      return invalid_argument("a fixed denominator goes with equal weights: leave one of them out");
    }
    if (!(*options.denominator > 0 && std::isfinite(*options.denominator))) {
      return invalid_argument(fmt::format("the denominator must be above 0, and is {}", *options.denominator));
    }
  }
  if (options.strategy == StrategyKind::kScaffold && !(options.total_weight > 0)) {
    return invalid_argument("scaffold needs the weight of all sites together: state total_weight");
  }
  return UploadLayout(options);
}

std::size_t UploadLayout::lanes() const { return options_.parameters + (has_weight() ? 1 : 0) + (has_steps() ? 1 : 0); }

std::vector<float> UploadLayout::lanes_of(std::span<const float> delta, std::uint32_t weight,
                                          std::uint32_t local_steps) const {
  NF_CHECK(delta.size() == options_.parameters, "an update of the model's size");
  const double p = has_weight() ? static_cast<double>(std::min(weight, options_.max_weight)) / options_.max_weight : 1;
  const double tau = std::clamp(local_steps, 1U, options_.max_local_steps);
  std::vector<float> lanes;
  lanes.reserve(this->lanes());
  const double scale = has_steps() ? p / tau : p;
  for (const float value : delta) lanes.push_back(static_cast<float>(scale * static_cast<double>(value)));
  if (has_weight()) lanes.push_back(static_cast<float>(p));
  if (has_steps()) lanes.push_back(static_cast<float>(p * tau));
  return lanes;
}

Result<UploadLayout::Mean> UploadLayout::mean_of(std::span<const double> sum, std::uint32_t sites) const {
  NF_CHECK(sum.size() == lanes(), "a sum of this layout");
  const double weight = has_weight() ? sum[options_.parameters] : static_cast<double>(sites);
  const double denominator = options_.denominator.value_or(weight);
  if (!(denominator > 0)) return Error{ErrorCode::kProtocol, "no site had any weight in this round"};
  Mean mean;
  for (std::size_t k = 0; k < options_.parameters; ++k) mean.update.push_back(sum[k] / denominator);
  if (has_steps()) mean.steps = std::max(sum[options_.parameters + (has_weight() ? 1 : 0)] / denominator, 1e-9);
  if (options_.strategy == StrategyKind::kScaffold) {
    const double total = has_weight() ? options_.total_weight / options_.max_weight : options_.total_weight;
    mean.share = std::clamp(weight / total, 0.0, 1.0);
  }
  return mean;
}

}  // namespace noisefloor::federated
