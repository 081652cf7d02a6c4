// Attention with a gradient for each example, in the place of torch::nn::MultiheadAttention: same parameters and names.
//
// Input and output are (batch, time, features), and keys and values are as wide as queries. The projections are private
// linear layers; what is between them has no parameters and is left to autograd.
#pragma once

#include <torch/nn/modules/activation.h>

#include <cstdint>

#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/private_layer.h"

namespace noisefloor::nn {

struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(std::int64_t embed_dim, std::int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads) {}
  TORCH_ARG(std::int64_t, embed_dim);
  TORCH_ARG(std::int64_t, num_heads);
  TORCH_ARG(double, dropout) = 0;  // of attention weights
  TORCH_ARG(bool, bias) = true;
  TORCH_ARG(bool, causal) = false;  // a position sees itself and what is before it
};

class MultiheadAttentionImpl : public PrivateModule<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(std::int64_t embed_dim, std::int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  // Throws c10::Error unless num_heads divides embed_dim.
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  // Attention to the input itself. `mask` is (time, time) or (batch, 1 or heads, time, time): what is true is not
  // looked at, numbers are added. `key_padding_mask` is (batch, time): positions that nothing looks at are true. Either
  // may be undefined.
  torch::Tensor forward(const torch::Tensor& input, const torch::Tensor& mask = {},
                        const torch::Tensor& key_padding_mask = {});

  // Attention to a memory (batch, other time, features). Masks as above, with the memory's time last; causal does not
  // apply.
  torch::Tensor attend(const torch::Tensor& input, const torch::Tensor& memory, const torch::Tensor& mask = {},
                       const torch::Tensor& key_padding_mask = {});

  MultiheadAttentionOptions options;
  torch::Tensor in_proj_weight;  // (3 · embed_dim, embed_dim): queries, keys, values
  torch::Tensor in_proj_bias;
  Linear out_proj = nullptr;

 protected:
  void bind() override;

  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(torch::Tensor())}, {2, torch::nn::AnyValue(torch::Tensor())})

 private:
  // (batch, time, n · features) → (n, batch, heads, time, features of a head).
  [[nodiscard]] torch::Tensor by_head(const torch::Tensor& projected) const;
  torch::Tensor mixed(const torch::Tensor& queries, const torch::Tensor& keys, const torch::Tensor& values,
                      const torch::Tensor& mask, const torch::Tensor& key_padding_mask);
};
TORCH_MODULE(MultiheadAttention);

}  // namespace noisefloor::nn
