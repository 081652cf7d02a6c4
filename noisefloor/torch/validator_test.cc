#include "noisefloor/torch/validator.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "noisefloor/torch/convolution.h"
#include "noisefloor/torch/embedding.h"
#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/make_private.h"
#include "noisefloor/torch/residual.h"
#include "tests/support/per_example_oracle.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::check_layer;
using testing::wavy_loss;

std::vector<std::string> paths(const std::vector<Obstacle>& obstacles) {
  std::vector<std::string> result;
  for (const Obstacle& obstacle : obstacles) result.push_back(obstacle.path);
  return result;
}

torch::nn::Sequential convolutional() {
  const auto tracking = torch::nn::InstanceNorm2dOptions(4).affine(true).track_running_stats(true);
  return torch::nn::Sequential(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3).padding(1)), torch::nn::BatchNorm2d(4), torch::nn::ReLU(),
      nn::Residual(torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 4, 3).padding(1).bias(false)),
                                         torch::nn::InstanceNorm2d(tracking))),
      torch::nn::Flatten(), torch::nn::Linear(4 * 4 * 4, 3));
}

TEST(Validator, NamesWhatMixesExamplesAndWhatHasNoRule) {
  const torch::nn::Sequential model = convolutional();
  const auto found = find_obstacles(*model);
  EXPECT_EQ(paths(found), (std::vector<std::string>{"0", "1", "3.inner.0", "3.inner.1", "5"}));
  EXPECT_EQ(found[0].type, "torch::nn::Conv2d");
  EXPECT_NE(found[0].remedy.find("noisefloor::nn::Conv2d"), std::string::npos);
  EXPECT_NE(found[1].reason.find("mixes"), std::string::npos);
  EXPECT_NE(found[3].reason.find("running statistics"), std::string::npos);
  testing::expect_invalid(validate(*model).error(), "1 (torch::nn::BatchNorm2d) mixes the examples of a batch");
}

// Frozen parameters need no rule, but a batch norm still mixes examples.
TEST(Validator, FrozenLayersMayBePlain) {
  torch::nn::Sequential model(torch::nn::Linear(3, 3), torch::nn::BatchNorm1d(3), nn::Linear(3, 2));
  for (const auto& name : {"0.weight", "0.bias", "1.weight", "1.bias"})
    model->named_parameters()[name].set_requires_grad(false);
  EXPECT_EQ(paths(find_obstacles(*model)), (std::vector<std::string>{"1"}));
}

struct WithRawParameter : torch::nn::Module {
  WithRawParameter() {
    scale = register_parameter("scale", torch::ones({3}));
    register_module("fc", fc);
  }
  torch::Tensor forward(const torch::Tensor& x) { return fc->forward(x) * scale; }
  torch::Tensor scale;
  torch::nn::Linear fc{3, 3};
};

TEST(Validator, NamesParametersOfCustomModules) {
  const WithRawParameter module;
  const auto found = find_obstacles(module);
  EXPECT_EQ(paths(found), (std::vector<std::string>{"", "fc"}));
  EXPECT_NE(found[0].reason.find("scale"), std::string::npos);
  EXPECT_NE(describe(found[0]).find("the module itself"), std::string::npos);
}

TEST(Validator, NamesOptionsThatBreakPrivacy) {
  const torch::nn::Sequential model(nn::Embedding(torch::nn::EmbeddingOptions(5, 3).max_norm(1.0)));
  testing::expect_invalid(validate(*model).error(), "max_norm");
}

TEST(Validator, HasNothingAgainstPrivateLayers) {
  const torch::nn::Sequential model(nn::Conv2d(1, 2, 3), torch::nn::ReLU(), torch::nn::Dropout(), torch::nn::Flatten(),
                                    nn::Residual(torch::nn::Sequential(nn::Linear(8, 8))));
  EXPECT_TRUE(find_obstacles(*model).empty());
  EXPECT_TRUE(validate(*model).has_value());
}

TEST(MakePrivate, ReplacesAndSharesParameters) {
  torch::manual_seed(1);
  torch::nn::Sequential plain = convolutional();
  PrivateModel made = make_private(plain);
  EXPECT_TRUE(made.left.empty());
  ASSERT_EQ(made.replaced.size(), 5);
  EXPECT_EQ(made.replaced[1].path, "1");
  EXPECT_EQ(made.replaced[1].to, "noisefloor::nn::GroupNormImpl");
  EXPECT_EQ(made.replaced[2].path, "3.inner.0");
  const auto before = plain->named_parameters();
  const auto after = made.model->named_parameters();
  EXPECT_EQ(before.keys(), after.keys());
  for (const auto& item : before) EXPECT_TRUE(item.value().is_same(after[item.key()])) << item.key();
  check_layer(*made.model, torch::randn({3, 1, 4, 4}),
              [&](const torch::Tensor& x) { return wavy_loss(made.model->forward(x)); });
}

// Where no example is mixed with others, the model is the same function as before.
TEST(MakePrivate, KeepsTheFunction) {
  torch::manual_seed(2);
  torch::nn::Sequential plain(
      torch::nn::Embedding(torch::nn::EmbeddingOptions(7, 4).padding_idx(0)),
      torch::nn::LayerNorm(torch::nn::LayerNormOptions({4})),
      torch::nn::Conv1d(torch::nn::Conv1dOptions(5, 4, 3).padding(1).padding_mode(torch::kCircular)),
      torch::nn::GroupNorm(2, 4), torch::nn::InstanceNorm1d(torch::nn::InstanceNorm1dOptions(4).affine(true)),
      torch::nn::Linear(4, 3));
  PrivateModel made = make_private(plain);
  EXPECT_EQ(made.replaced.size(), 6);
  EXPECT_TRUE(made.left.empty());
  const torch::Tensor tokens = torch::tensor({{0, 1, 2, 3, 3}, {4, 5, 6, 0, 0}});
  EXPECT_TRUE(torch::allclose(made.model->forward(tokens), plain->forward(tokens), 1e-4, 1e-5));
}

TEST(MakePrivate, Recurrent) {
  torch::nn::Sequential plain(torch::nn::LSTM(torch::nn::LSTMOptions(3, 4).batch_first(true)));
  PrivateModel made = make_private(plain);
  EXPECT_TRUE(made.left.empty());
  using Output = std::tuple<torch::Tensor, std::tuple<torch::Tensor, torch::Tensor>>;
  const torch::Tensor rows = torch::randn({2, 5, 3});
  EXPECT_TRUE(torch::allclose(std::get<0>(made.model->forward<Output>(rows)), std::get<0>(plain->forward<Output>(rows)),
                              1e-5, 1e-6));
}

TEST(MakePrivate, KeepsPrivateLayersAndNamesWhatItCannotReplace) {
  nn::Linear mine(3, 3);
  torch::nn::Sequential plain(mine, std::make_shared<WithRawParameter>(),
                              nn::Residual(torch::nn::Sequential(torch::nn::Linear(3, 3))));
  const PrivateModel made = make_private(plain);
  EXPECT_EQ(paths(made.left), (std::vector<std::string>{"1", "1.fc"}));
  ASSERT_EQ(made.replaced.size(), 1);
  EXPECT_EQ(made.replaced[0].path, "2.inner.0");
  EXPECT_EQ(made.model->ptr(0), mine.ptr());
}

TEST(MakePrivate, ChoosesGroups) {
  EXPECT_EQ(groups_for(64), 32);
  EXPECT_EQ(groups_for(48), 24);
  EXPECT_EQ(groups_for(6), 3);
  EXPECT_EQ(groups_for(7), 1);
  EXPECT_EQ(groups_for(1), 1);
  EXPECT_EQ(groups_for(2), 1);
  EXPECT_EQ(groups_for(1000), 25);
}

}  // namespace
}  // namespace noisefloor
