#include "noisefloor/sgd/gradient_source.h"

#include <algorithm>
#include <vector>

namespace noisefloor {

Result<void> GradientSource::add_on_grid(std::span<const float> at, std::span<const std::uint64_t> examples,
                                         const ClipRule& rule, const GradientGrid& grid, BitStream& stream,
                                         std::span<std::int64_t> sum) {
  std::vector<float> gradient(sum.size());
  for (const std::uint64_t example : examples) {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    NF_TRY([[maybe_unused]] const std::size_t within, add(at, {&example, 1}, &rule, stream, gradient));
    grid.add_rounded(gradient, sum);
  }
  return success();
}

}  // namespace noisefloor
