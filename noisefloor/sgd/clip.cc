#include "noisefloor/sgd/clip.h"

#include <fmt/core.h>

#include <cmath>

#include "noisefloor/base/check.h"
#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

double factor_for(const FlatClip& clip, double norm) {
  return norm > clip.norm.value() ? clip.norm.value() / norm : 1.0;
}
double factor_for(const AutomaticClip& clip, double norm) { return clip.norm.value() / (norm + clip.gamma); }

// The factor for a norm whose square is known to a float's precision; 0 if the norm is not finite.
template <class Clip>
float safe_factor(const Clip& clip, double squared_norm) {
  if (!std::isfinite(squared_norm) || squared_norm < 0) return 0.0F;
  return static_cast<float>(factor_for(clip, std::sqrt(squared_norm) * (1 + kNormMargin)));
}

}  // namespace

Result<ClipRule> ClipRule::create(Kind kind) {
  double squared = 0;
  if (const auto* groups = std::get_if<GroupClip>(&kind)) {
    if (groups->norms.empty())
      return invalid_argument("clipping by layer needs a clip norm for each layer; none was given");
    for (const ClipNorm norm : groups->norms) squared = add_up(squared, times_up(norm.value(), norm.value()));
    NF_TRY(const L2Sensitivity sensitivity, L2Sensitivity::make(sqrt_up(squared)));
    return ClipRule(std::move(kind), sensitivity);
  }
  if (const auto* automatic = std::get_if<AutomaticClip>(&kind)) {
    if (!(automatic->gamma > 0) || !std::isfinite(automatic->gamma)) {
      return invalid_argument(
          fmt::format("gamma of automatic clipping must be a finite number above 0; {} was given", automatic->gamma));
    }
    NF_TRY(const L2Sensitivity sensitivity, L2Sensitivity::make(automatic->norm.value()));
    return ClipRule(std::move(kind), sensitivity);
  }
  NF_TRY(const L2Sensitivity sensitivity, L2Sensitivity::make(std::get<FlatClip>(kind).norm.value()));
  return ClipRule(std::move(kind), sensitivity);
}

template <class Number>
std::size_t ClipRule::fill(std::span<const Number> squared_norms, std::size_t groups, std::size_t counted,
                           std::span<Number> factors) const {
  NF_CHECK(groups > 0 && squared_norms.size() % groups == 0 && factors.size() == squared_norms.size(),
           "one norm and one factor for each group and example");
  const std::size_t examples = squared_norms.size() / groups;
  std::size_t within = 0;
  for (std::size_t e = 0; e < examples; ++e) {
    double total = 0;
    for (std::size_t g = 0; g < groups; ++g) total += static_cast<double>(squared_norms[g * examples + e]);
    bool small = true;
    if (const auto* by_group = std::get_if<GroupClip>(&kind_)) {
      NF_CHECK(by_group->norms.size() == groups, "a clip norm for each layer");
      for (std::size_t g = 0; g < groups; ++g) {
        const auto squared = static_cast<double>(squared_norms[g * examples + e]);
        // If one group is not finite, the whole example gets factor 0.
        factors[g * examples + e] =
            std::isfinite(total) ? safe_factor(FlatClip{by_group->norms[g]}, squared) : Number{0};
        small = small && squared <= by_group->norms[g].value() * by_group->norms[g].value();
      }
    } else {
      const auto* flat = std::get_if<FlatClip>(&kind_);
      const Number factor =
          flat != nullptr ? safe_factor(*flat, total) : safe_factor(std::get<AutomaticClip>(kind_), total);
      for (std::size_t g = 0; g < groups; ++g) factors[g * examples + e] = factor;
      const double norm = flat != nullptr ? flat->norm.value() : std::get<AutomaticClip>(kind_).norm.value();
      small = total <= norm * norm;
    }
    if (e < counted && small) ++within;
  }
  return within;
}

std::size_t ClipRule::factors(std::span<const float> squared_norms, std::size_t groups, std::size_t counted,
                              std::span<float> factors) const {
  return fill(squared_norms, groups, counted, factors);
}

std::size_t ClipRule::factors(std::span<const double> squared_norms, std::size_t groups, std::size_t counted,
                              std::span<double> factors) const {
  return fill(squared_norms, groups, counted, factors);
}

}  // namespace noisefloor
