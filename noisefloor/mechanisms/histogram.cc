#include "noisefloor/mechanisms/histogram.h"

#include "noisefloor/mechanisms/dimension.h"

namespace noisefloor {

Result<HistogramMechanism> HistogramMechanism::create(Neighbours neighbours, Dimension bins, Epsilon epsilon,
                                                      Delta delta, std::uint64_t bins_per_row) {
  if (bins_per_row == 0) return invalid_argument("a row falls into at least one bin; got 0 bins per row");
  NF_TRY(const Sensitivity sensitivity, histogram_sensitivity(neighbours, bins_per_row));
  if (delta.value() == 0) {
    NF_TRY(GeometricMechanism geometric, GeometricMechanism::create(sensitivity, epsilon));
    return HistogramMechanism(bins, std::move(geometric));
  }
  NF_TRY(GaussianMechanism gaussian, GaussianMechanism::create(sensitivity, epsilon, delta, bins));
  return HistogramMechanism(bins, std::move(gaussian));
}

const DpStatement& HistogramMechanism::statement() const {
  return std::visit([](const auto& noise) -> const DpStatement& { return noise.statement(); }, noise_);
}

double HistogramMechanism::noise_scale() const {
  if (const auto* geometric = std::get_if<GeometricMechanism>(&noise_)) return geometric->scale();
  return std::get<GaussianMechanism>(noise_).sigma();
}

double HistogramMechanism::error_bound(Confidence confidence) const {
  if (const auto* geometric = std::get_if<GeometricMechanism>(&noise_)) {
    return static_cast<double>(geometric->error_bound(confidence));
  }
  return std::get<GaussianMechanism>(noise_).error_bound(confidence) + 0.5;  // the noised count is rounded
}

Result<void> HistogramMechanism::check_bins(std::size_t got) const { return check_answer_size(bins_, got); }

}  // namespace noisefloor
