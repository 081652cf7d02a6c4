#include "noisefloor/torch/embedding.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "noisefloor/torch/linear.h"
#include "tests/support/per_example_oracle.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::check_layer;
using testing::wavy_loss;

const torch::Tensor& tokens() {  // with repetitions, within an example and between examples
  static const torch::Tensor result = torch::tensor({{1, 1, 2, 0}, {3, 3, 3, 3}, {0, 4, 1, 2}}, torch::kLong);
  return result;
}

TEST(Embedding, AgreesWithTheOracle) {
  torch::manual_seed(1);
  nn::Embedding layer(5, 3);
  const auto losses = [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); };
  check_layer(*layer, tokens(), losses);
  check_layer(*layer, tokens().select(1, 0), losses);
  check_layer(*layer, tokens().reshape({3, 2, 2}), losses);
}

TEST(Embedding, PaddingHasNoGradient) {
  torch::manual_seed(2);
  for (const std::int64_t padding : {0, -2}) {
    nn::Embedding layer(torch::nn::EmbeddingOptions(5, 3).padding_idx(padding));
    check_layer(*layer, tokens(), [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); });
  }
}

// The weight of the embedding is that of the output layer too: norms are of the sum of both uses.
struct TiedImpl : torch::nn::Module {
  TiedImpl() { register_module("embedding", embedding); }
  torch::Tensor forward(const torch::Tensor& x) {
    return private_linear(embedding->forward(x).tanh(), embedding->weight, {});
  }
  nn::Embedding embedding{5, 3};
};

TEST(Embedding, TiedToTheOutput) {
  torch::manual_seed(3);
  TiedImpl model;
  check_layer(model, tokens(), [&](const torch::Tensor& x) { return wavy_loss(model.forward(x)); });
}

TEST(Embedding, RefusesOptionsThatTieExamplesTogether) {
  for (const auto& options :
       {torch::nn::EmbeddingOptions(5, 3).max_norm(1.0), torch::nn::EmbeddingOptions(5, 3).scale_grad_by_freq(true)}) {
    nn::Embedding layer(options);
    EXPECT_TRUE(layer->objection().has_value());
    Tape tape(*layer);
    const Tape::Recording recording(tape);
    wavy_loss(layer->forward(tokens())).sum().backward();
    testing::expect_invalid(tape.squared_norms().error(), "leave it unset");
  }
}

}  // namespace
}  // namespace noisefloor
