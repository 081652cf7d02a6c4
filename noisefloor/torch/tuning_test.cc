#include "noisefloor/torch/tuning.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/lora.h"
#include "tests/support/per_example_oracle.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::check_layer;
using testing::wavy_loss;
using Names = std::vector<std::string>;

Names trainable(const torch::nn::Module& module) {
  const Tape tape(module);
  Names result;
  for (const TapeParameter& parameter : tape.parameters()) result.push_back(parameter.name);
  return result;
}

TEST(Lora, AgreesWithTheOracle) {
  torch::manual_seed(1);
  nn::LoraLinear layer(nn::LoraOptions(5, 4, 2).alpha(3));
  EXPECT_EQ(trainable(*layer), (Names{"lora_a", "lora_b"}));
  torch::nn::init::normal_(layer->lora_b);
  check_layer(*layer, torch::randn({3, 2, 5}), [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); });
}

TEST(Lora, StartsFromTheLayerAndMergesBackIntoIt) {
  torch::manual_seed(2);
  nn::Linear base(5, 4);
  nn::LoraLinear layer = nn::adapted(base, 2, 8);
  const torch::Tensor rows = torch::randn({3, 5});
  EXPECT_TRUE(torch::equal(layer->forward(rows), base->forward(rows)));
  EXPECT_TRUE(layer->weight.is_same(base->weight));
  EXPECT_FALSE(base->weight.requires_grad());
  torch::nn::init::normal_(layer->lora_b);
  const torch::Tensor merged = torch::nn::functional::linear(rows, layer->merged_weight(), layer->bias);
  EXPECT_TRUE(torch::allclose(layer->forward(rows), merged, 1e-4, 1e-5));
}

torch::nn::Sequential three_layers() {
  return torch::nn::Sequential(nn::Linear(4, 4), torch::nn::Tanh(), nn::LoraLinear(nn::LoraOptions(4, 4, 2)),
                               torch::nn::Tanh(), nn::Linear(4, 2));
}

TEST(Tuning, ChoosesWhatItNames) {
  torch::manual_seed(3);
  torch::nn::Sequential model = three_layers();
  EXPECT_EQ(tune_only(*model, TuneBiases{}).value(), (Names{"0.bias", "2.bias", "4.bias"}));
  EXPECT_EQ(trainable(*model), (Names{"0.bias", "2.bias", "4.bias"}));
  EXPECT_EQ(tune_only(*model, TuneLora{}).value(), (Names{"2.lora_a", "2.lora_b"}));
  EXPECT_EQ(trainable(*model), (Names{"2.lora_a", "2.lora_b"}));
  EXPECT_EQ(tune_only(*model, TuneNames{{"4", "0.bias"}}).value(), (Names{"0.bias", "4.weight", "4.bias"}));
  EXPECT_EQ(trainable(*model), (Names{"0.bias", "4.weight", "4.bias"}));
  check_layer(*model, torch::randn({3, 4}), [&](const torch::Tensor& x) { return wavy_loss(model->forward(x)); });
}

TEST(Tuning, RefusesUnknownNamesAndChangesNothing) {
  torch::nn::Sequential model(nn::Linear(torch::nn::LinearOptions(4, 4).bias(false)));
  testing::expect_invalid(tune_only(*model, TuneBiases{}).error(), "no parameter");
  testing::expect_invalid(tune_only(*model, TuneNames{{"0", "1"}}).error(), "1 is neither");
  testing::expect_invalid(tune_only(*model, TuneNames{{"0.w"}}).error(), "0.w is neither");
  EXPECT_EQ(trainable(*model), (Names{"0.weight"}));
}

}  // namespace
}  // namespace noisefloor
