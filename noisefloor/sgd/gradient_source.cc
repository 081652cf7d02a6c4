#include "noisefloor/sgd/gradient_source.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace noisefloor {

Result<void> GradientSource::add_on_grid(std::span<const float> at, std::span<const std::uint64_t> rows,
                                         const ClipRule& rule, const GradientGrid& grid, BitStream& stream,
                                         std::span<std::int64_t> sum) {
  std::vector<float> gradient(sum.size());
  std::vector<double> steps(sum.size());
  for (const std::uint64_t row : rows) {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    NF_TRY([[maybe_unused]] const std::size_t within, add(at, {&row, 1}, &rule, stream, gradient));
    double squares = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      steps[i] = std::nearbyint(static_cast<double>(gradient[i]) / grid.step());
      squares += steps[i] * steps[i];
    }
    if (!(squares <= grid.bound() * grid.bound())) continue;
    for (std::size_t i = 0; i < gradient.size(); ++i) sum[i] += static_cast<std::int64_t>(steps[i]);
  }
  return success();
}

}  // namespace noisefloor
