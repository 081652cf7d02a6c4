#include "noisefloor/torch/attention.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/normalization.h"
#include "noisefloor/torch/residual.h"
#include "tests/support/per_example_oracle.h"

namespace noisefloor {
namespace {

using testing::check_layer;
using testing::wavy_loss;

TEST(Attention, AgreesWithTheOracle) {
  torch::manual_seed(1);
  for (const bool causal : {false, true}) {
    nn::MultiheadAttention layer(nn::MultiheadAttentionOptions(6, 2).causal(causal));
    check_layer(*layer, torch::randn({3, 4, 6}), [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); });
  }
}

// Queries and keys use different rows of one parameter, whose norm is that of both together.
TEST(Attention, AttendsToAMemory) {
  torch::manual_seed(4);
  nn::MultiheadAttention layer(6, 2);
  check_layer(*layer, torch::randn({3, 5, 6}),
              [&](const torch::Tensor& x) { return wavy_loss(layer->attend(x.slice(1, 0, 2), x.slice(1, 2))); });
  const torch::Tensor rows = torch::randn({2, 4, 6});
  EXPECT_TRUE(torch::allclose(layer->attend(rows, rows), layer->forward(rows), 1e-5, 1e-6));
}

TEST(Attention, ComputesWhatTorchComputes) {
  torch::manual_seed(2);
  nn::MultiheadAttention layer(6, 3);
  torch::nn::MultiheadAttention plain(6, 3);
  EXPECT_EQ(layer->named_parameters().keys(), plain->named_parameters().keys());
  plain->in_proj_weight = layer->in_proj_weight;
  plain->in_proj_bias = layer->in_proj_bias;
  plain->out_proj->weight = layer->out_proj->weight;
  plain->out_proj->bias = layer->out_proj->bias;
  const torch::Tensor rows = torch::randn({2, 4, 6});
  const torch::Tensor mask = torch::ones({4, 4}, torch::kBool).triu(1);
  const torch::Tensor padding = torch::tensor({{0, 0, 0, 1}, {0, 0, 0, 0}}).to(torch::kBool);
  // torch's C++ adds every mask, whatever its type.
  const torch::Tensor added = torch::zeros({4, 4}).masked_fill(mask, -std::numeric_limits<double>::infinity());
  const torch::Tensor time_first = rows.transpose(0, 1);
  const torch::Tensor expected =
      std::get<0>(plain->forward(time_first, time_first, time_first, padding, true, added)).transpose(0, 1);
  EXPECT_TRUE(torch::allclose(layer->forward(rows, mask, padding), expected, 1e-5, 1e-6));
  nn::MultiheadAttention causal(nn::MultiheadAttentionOptions(6, 3).causal(true));
  causal->share_parameters(*layer);
  causal->out_proj->share_parameters(*layer->out_proj);
  EXPECT_TRUE(torch::allclose(causal->forward(rows, {}, padding), expected, 1e-5, 1e-6));
}

TEST(Attention, InATransformerBlock) {
  torch::manual_seed(3);
  torch::nn::Sequential model(
      nn::Residual(torch::nn::Sequential(nn::LayerNorm(std::vector<std::int64_t>{6}), nn::MultiheadAttention(6, 2))),
      nn::Residual(torch::nn::Sequential(nn::LayerNorm(std::vector<std::int64_t>{6}), nn::Linear(6, 8),
                                         torch::nn::GELU(), nn::Linear(8, 6))));
  EXPECT_EQ(Tape(*model).groups().size(), 6);
  check_layer(*model, torch::randn({3, 4, 6}), [&](const torch::Tensor& x) { return wavy_loss(model->forward(x)); });
}

}  // namespace
}  // namespace noisefloor
