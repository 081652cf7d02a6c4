// Embeddings with a gradient for each example, in the place of torch::nn::Embedding: same options, parameters and
// names.
//
// Indices are (batch, …). Options that tie examples together are refused where a tape is active: scale_grad_by_freq
// counts tokens over the batch, max_norm changes the weight by what the batch looks up.
#pragma once

#include <torch/nn/modules/embedding.h>

#include <cstdint>
#include <optional>
#include <string>

#include "noisefloor/torch/private_layer.h"

namespace noisefloor {

// Rows of `weight`, recorded where a tape is active. The row padding_idx gets no gradient.
[[nodiscard]] torch::Tensor private_embedding(const torch::Tensor& indices, const torch::Tensor& weight,
                                              std::optional<std::int64_t> padding_idx);

namespace nn {

class EmbeddingImpl : public PrivateModule<EmbeddingImpl> {
 public:
  EmbeddingImpl(std::int64_t num_embeddings, std::int64_t embedding_dim)
      : EmbeddingImpl(torch::nn::EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(const torch::nn::EmbeddingOptions& options_);

  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  torch::Tensor forward(const torch::Tensor& indices);
  [[nodiscard]] std::optional<std::string> objection() const override;

  torch::nn::EmbeddingOptions options;
  torch::Tensor weight;

 protected:
  void bind() override;
};
TORCH_MODULE(Embedding);

}  // namespace nn
}  // namespace noisefloor
