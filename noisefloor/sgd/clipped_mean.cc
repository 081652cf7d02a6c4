#include "noisefloor/sgd/clipped_mean.h"

#include <array>

#include "noisefloor/base/check.h"

namespace noisefloor::internal {
namespace {

// Adds in several sums side by side, which need not wait for each other.
double sum_of_squares(std::span<const float> values) {
  std::array<double, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= values.size(); i += sums.size()) {
    for (std::size_t s = 0; s < sums.size(); ++s) {
      sums[s] += static_cast<double>(values[i + s]) * static_cast<double>(values[i + s]);
    }
  }
  for (; i < values.size(); ++i) sums[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

struct Scales {
  std::vector<float> of_group;  // factors for the total, one for each group
  bool within = false;
};

Scales scales_for(std::span<const float> total, std::size_t rows, const ParameterGroups& groups, const ClipRule* rule) {
  NF_CHECK(rows > 0, "a person with a row");
  const auto count = static_cast<double>(rows);
  std::vector<double> factors(groups.groups, 1.0);
  Scales scales;
  if (rule != nullptr) {
    std::vector<double> squares(groups.groups, 0.0);
    for (const ParameterStretch& stretch : groups.stretches) {
      squares[stretch.group] += sum_of_squares(total.subspan(stretch.first, stretch.count)) / (count * count);
    }
    scales.within = rule->factors(squares, groups.groups, 1, factors) == 1;
  }
  for (const double factor : factors) scales.of_group.push_back(static_cast<float>(factor / count));
  return scales;
}

}  // namespace

bool add_clipped_mean(std::span<const float> total, std::size_t rows, const ParameterGroups& groups,
                      const ClipRule* rule, std::span<float> sum) {
  const Scales scales = scales_for(total, rows, groups, rule);
  for (const ParameterStretch& stretch : groups.stretches) {
    const float scale = scales.of_group[stretch.group];
    if (scale == 0.0F) continue;  // a product with 0 would keep NaN
    for (std::size_t i = stretch.first; i < stretch.first + stretch.count; ++i) sum[i] += scale * total[i];
  }
  return scales.within;
}

void add_clipped_mean(std::span<float> total, std::size_t rows, const ParameterGroups& groups, const ClipRule& rule,
                      const GradientGrid& grid, std::span<std::int64_t> sum) {
  const Scales scales = scales_for(total, rows, groups, &rule);
  for (const ParameterStretch& stretch : groups.stretches) {
    const float scale = scales.of_group[stretch.group];
    for (float& x : total.subspan(stretch.first, stretch.count)) x = scale == 0.0F ? 0.0F : scale * x;
  }
  grid.add_rounded(total, sum);
}

}  // namespace noisefloor::internal
