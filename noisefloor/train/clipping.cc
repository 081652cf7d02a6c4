#include "noisefloor/train/clipping.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

void check_norms(const torch::Tensor& squared_norms) {
  NF_CHECK(squared_norms.dim() == 2, "squared norms are [groups, examples]");
  NF_CHECK(squared_norms.scalar_type() == torch::kDouble, "squared norms are in double precision");
}

// The norms with the margin on top.
torch::Tensor padded_norms(const torch::Tensor& squared_norms) { return squared_norms.sqrt() * (1 + kClipMargin); }

// What may be kept of gradients of these norms; nothing, if a norm is no number.
torch::Tensor admitted(const torch::Tensor& factors, const torch::Tensor& norms) {
  const auto smallest = static_cast<double>(std::numeric_limits<float>::min());
  return torch::where(torch::isfinite(norms).logical_and(factors >= smallest), factors, torch::zeros_like(factors));
}

torch::Tensor clamp_factors(const torch::Tensor& norms, const torch::Tensor& clips) {
  return admitted((clips / norms).clamp_max(1), norms);
}

}  // namespace

torch::Tensor flat_factors(const torch::Tensor& squared_norms, ClipNorm clip) {
  check_norms(squared_norms);
  const torch::Tensor norms = padded_norms(squared_norms.sum(0, true));
  return clamp_factors(norms, torch::full({1, 1}, clip.value(), norms.options()));
}

Result<torch::Tensor> layer_factors(const torch::Tensor& squared_norms, std::span<const ClipNorm> clips) {
  check_norms(squared_norms);
  const auto groups = static_cast<std::size_t>(squared_norms.size(0));
  if (clips.size() != groups)
    return invalid_argument(fmt::format("{} clip norms for {} layers: give one a layer", clips.size(), groups));
  std::vector<double> values;
  for (const ClipNorm& clip : clips) values.push_back(clip.value());
  const torch::Tensor norms = padded_norms(squared_norms);
  return clamp_factors(norms, torch::tensor(values, torch::kDouble).to(norms.device()).unsqueeze(1));
}

Result<torch::Tensor> automatic_factors(const torch::Tensor& squared_norms, ClipNorm clip, double stability) {
  check_norms(squared_norms);
  if (!(stability > 0) || !std::isfinite(stability))
    return invalid_argument(fmt::format("stability {} must be a finite number above 0", stability));
  const torch::Tensor norms = padded_norms(squared_norms.sum(0, true));
  return admitted(clip.value() / (norms + stability), norms);
}

Result<ClipNorm> total_clip_norm(std::span<const ClipNorm> clips) {
  double sum = 0;
  for (const ClipNorm& clip : clips) sum = add_up(sum, times_up(clip.value(), clip.value()));
  return ClipNorm::make(sqrt_up(sum));
}

Result<std::vector<ClipNorm>> even_clip_norms(ClipNorm total, std::size_t groups) {
  if (groups == 0) return invalid_argument("0 layers have no clip norms: train at least one parameter");
  double each = total.value() / std::sqrt(static_cast<double>(groups));
  const auto too_large = [&](double clip) {
    double sum = 0;
    for (std::size_t i = 0; i < groups; ++i) sum = add_up(sum, times_up(clip, clip));
    return sqrt_up(sum) > total.value();
  };
  while (each > 0 && too_large(each)) each *= 1 - 0x1p-50;
  NF_TRY(const ClipNorm clip, ClipNorm::make(each));
  return std::vector<ClipNorm>(groups, clip);
}

}  // namespace noisefloor
