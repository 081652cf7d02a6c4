// Low-rank adaptation of a linear layer (Hu et al. 2022): x · (W + α/r · B·A)ᵀ + b, where W and b are frozen, and A (r
// × in) and B (out × r) are trained. B starts from 0, so that training starts from the layer as it was.
//
// W and b are frozen by the construction; tune_only may choose otherwise.
#pragma once

#include <cstdint>

#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/private_layer.h"

namespace noisefloor::nn {

struct LoraOptions {
  LoraOptions(std::int64_t in_features, std::int64_t out_features, std::int64_t rank)
      : in_features_(in_features), out_features_(out_features), rank_(rank), alpha_(static_cast<double>(rank)) {}
  TORCH_ARG(std::int64_t, in_features);
  TORCH_ARG(std::int64_t, out_features);
  TORCH_ARG(std::int64_t, rank);
  TORCH_ARG(double, alpha);
  TORCH_ARG(bool, bias) = true;
};

class LoraLinearImpl : public PrivateModule<LoraLinearImpl> {
 public:
  explicit LoraLinearImpl(const LoraOptions& options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  torch::Tensor forward(const torch::Tensor& input);

  // W + α/r · B·A: the weight of a plain layer that does the same.
  [[nodiscard]] torch::Tensor merged_weight() const;

  LoraOptions options;
  torch::Tensor weight;
  torch::Tensor bias;
  torch::Tensor lora_a;
  torch::Tensor lora_b;

 protected:
  void bind() override;

 private:
  [[nodiscard]] double scale() const { return options.alpha() / static_cast<double>(options.rank()); }
};
TORCH_MODULE(LoraLinear);

// The layer with an adapter of this rank. It shares weight and bias, which are frozen by this.
[[nodiscard]] LoraLinear adapted(const Linear& layer, std::int64_t rank, double alpha);

}  // namespace noisefloor::nn
