#include "noisefloor/torch/factors.h"

#include <torch/torch.h>

#include <span>

namespace noisefloor {

TapeFactors factors_of(const ClipRule& rule, const torch::Tensor& squared_norms) {
  const torch::Tensor norms = squared_norms.to(torch::kCPU, torch::kFloat64).contiguous();
  const auto groups = static_cast<std::size_t>(norms.size(0));
  const auto examples = static_cast<std::size_t>(norms.size(1));
  torch::Tensor factors = torch::zeros_like(norms);
  const std::size_t count = groups * examples;
  TapeFactors result{factors, 0};
  if (count == 0) return result;
  result.within = rule.factors(std::span<const double>(norms.data_ptr<double>(), count), groups, examples,
                               std::span<double>(factors.data_ptr<double>(), count));
  result.factors = factors.to(squared_norms.device());
  return result;
}

}  // namespace noisefloor
