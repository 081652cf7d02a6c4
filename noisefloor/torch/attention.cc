#include "noisefloor/torch/attention.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "noisefloor/torch/linear_rows.h"

namespace noisefloor::nn {
namespace {

torch::Tensor masked(const torch::Tensor& scores, const torch::Tensor& mask) {
  if (!mask.defined()) return scores;
  if (mask.scalar_type() != torch::kBool) return scores + mask;
  return scores.masked_fill(mask, -std::numeric_limits<double>::infinity());
}

}  // namespace

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& options_) : options(options_) {
  TORCH_CHECK(options.num_heads() > 0 && options.embed_dim() % options.num_heads() == 0,
              "num_heads must divide embed_dim");
  MultiheadAttentionImpl::reset();
}

void MultiheadAttentionImpl::reset() {
  torch::nn::MultiheadAttentionOptions plain(options.embed_dim(), options.num_heads());
  const torch::nn::MultiheadAttentionImpl initial(plain.bias(options.bias()));
  register_parameter("in_proj_weight", initial.in_proj_weight);
  register_parameter("in_proj_bias", initial.in_proj_bias, options.bias());
  out_proj = register_module(
      "out_proj", Linear(torch::nn::LinearOptions(options.embed_dim(), options.embed_dim()).bias(options.bias())));
  out_proj->share_parameters(*initial.out_proj);
  MultiheadAttentionImpl::bind();
}

void MultiheadAttentionImpl::bind() {
  in_proj_weight = parameters_["in_proj_weight"];
  in_proj_bias = parameters_["in_proj_bias"];
}

void MultiheadAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << "noisefloor::nn::MultiheadAttention(embed_dim=" << options.embed_dim()
         << ", num_heads=" << options.num_heads() << std::boolalpha << ", causal=" << options.causal() << ")";
}

torch::Tensor MultiheadAttentionImpl::by_head(const torch::Tensor& projected) const {
  const std::int64_t width = options.embed_dim() / options.num_heads();
  const std::int64_t parts = projected.size(2) / options.embed_dim();
  return projected.reshape({projected.size(0), projected.size(1), parts, options.num_heads(), width})
      .permute({2, 0, 3, 1, 4});
}

torch::Tensor MultiheadAttentionImpl::mixed(const torch::Tensor& queries, const torch::Tensor& keys,
                                            const torch::Tensor& values, const torch::Tensor& mask,
                                            const torch::Tensor& key_padding_mask) {
  const double scale = 1 / std::sqrt(static_cast<double>(queries.size(3)));
  torch::Tensor scores = masked((queries * scale).matmul(keys.transpose(-2, -1)), mask);
  if (key_padding_mask.defined()) scores = masked(scores, key_padding_mask.unsqueeze(1).unsqueeze(2));
  const torch::Tensor weights = torch::dropout(scores.softmax(-1), options.dropout(), is_training());
  return out_proj->forward(
      weights.matmul(values).transpose(1, 2).reshape({queries.size(0), queries.size(2), options.embed_dim()}));
}

torch::Tensor MultiheadAttentionImpl::forward(const torch::Tensor& input, const torch::Tensor& mask,
                                              const torch::Tensor& key_padding_mask) {
  const torch::Tensor projected = by_head(private_linear(input, in_proj_weight, in_proj_bias));
  torch::Tensor all_masks = mask;
  if (options.causal()) {
    const torch::Tensor none = torch::zeros({input.size(1), input.size(1)}, input.options().requires_grad(false));
    const torch::Tensor later = masked(none, torch::ones_like(none, torch::kBool).triu(1));
    all_masks = mask.defined() ? masked(later, mask) : later;
  }
  return mixed(projected[0], projected[1], projected[2], all_masks, key_padding_mask);
}

torch::Tensor MultiheadAttentionImpl::attend(const torch::Tensor& input, const torch::Tensor& memory,
                                             const torch::Tensor& mask, const torch::Tensor& key_padding_mask) {
  const std::int64_t width = options.embed_dim();
  const torch::Tensor queries = by_head(private_linear_rows(input, in_proj_weight, in_proj_bias, 0, width));
  const torch::Tensor others = by_head(private_linear_rows(memory, in_proj_weight, in_proj_bias, width, 2 * width));
  return mixed(queries[0], others[0], others[1], mask, key_padding_mask);
}

}  // namespace noisefloor::nn
