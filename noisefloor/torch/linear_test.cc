#include "noisefloor/torch/linear.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/per_example_oracle.h"

namespace noisefloor {
namespace {

using testing::check_layer;
using testing::wavy_loss;

TEST(Linear, AgreesWithTheOracle) {
  torch::manual_seed(1);
  nn::Linear layer(7, 5);
  check_layer(*layer, torch::randn({6, 7}), [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); });
}

TEST(Linear, TakesSequences) {
  torch::manual_seed(2);
  nn::Linear layer(7, 5);
  check_layer(*layer, torch::randn({6, 4, 7}), [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); });
  check_layer(*layer, torch::randn({3, 2, 3, 7}), [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); });
}

TEST(Linear, WithoutBiasAndWithOneOfTheTwoFrozen) {
  torch::manual_seed(3);
  nn::Linear bare(torch::nn::LinearOptions(3, 4).bias(false));
  check_layer(*bare, torch::randn({3, 3}), [&](const torch::Tensor& x) { return wavy_loss(bare->forward(x)); });
  nn::Linear layer(3, 4);
  const auto losses = [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); };
  layer->weight.set_requires_grad(false);
  EXPECT_EQ(Tape(*layer).parameters().size(), 1);
  check_layer(*layer, torch::randn({3, 3}), losses);
  layer->weight.set_requires_grad(true);
  layer->bias.set_requires_grad(false);
  EXPECT_EQ(Tape(*layer).parameters().size(), 1);
  check_layer(*layer, torch::randn({3, 3}), losses);
}

TEST(Linear, StandsInsideSequential) {
  torch::manual_seed(4);
  torch::nn::Sequential model(nn::Linear(5, 6), torch::nn::ReLU(torch::nn::ReLUOptions(true)), nn::Linear(6, 4),
                              torch::nn::Tanh(), nn::Linear(4, 3));
  EXPECT_EQ(Tape(*model).groups(), (std::vector<std::string>{"0", "2", "4"}));
  check_layer(*model, torch::randn({6, 5}), [&](const torch::Tensor& x) { return wavy_loss(model->forward(x)); });
}

// The same module twice, and a frozen one between.
TEST(Linear, UsedTwiceHasTheNormOfTheSum) {
  torch::manual_seed(5);
  nn::Linear layer(4, 4);
  nn::Linear frozen(4, 4);
  for (torch::Tensor parameter : frozen->parameters()) parameter.set_requires_grad(false);
  check_layer(*layer, torch::randn({6, 2, 4}), [&](const torch::Tensor& x) {
    frozen->to(x.scalar_type());
    return wavy_loss(layer->forward(frozen->forward(layer->forward(x).tanh())));
  });
}

TEST(Linear, TiedWeightsHaveTheNormOfTheSum) {
  torch::manual_seed(6);
  nn::Linear first(4, 4);
  nn::Linear second(4, 4);
  second->weight = first->weight;
  torch::nn::Sequential model(first, torch::nn::Tanh(), second);
  second->parameters();  // its own weight is registered still, but not used
  struct Both : torch::nn::Module {
    Both(nn::Linear a, nn::Linear b) {
      register_module("a", a);
      register_parameter("b_bias", b->bias);
    }
  } both(first, second);
  check_layer(both, torch::randn({3, 4}),
              [&](const torch::Tensor& x) { return wavy_loss(second->forward(first->forward(x).tanh())); });
}

TEST(Linear, KeepsItsTypeAndStateWhenCloned) {
  nn::Linear layer(3, 2);
  const auto copy = std::dynamic_pointer_cast<nn::LinearImpl>(layer->clone());
  ASSERT_NE(copy, nullptr);
  EXPECT_TRUE(torch::equal(copy->weight, layer->weight));
  EXPECT_FALSE(copy->weight.is_same(layer->weight));
  torch::nn::Linear plain(3, 2);
  EXPECT_EQ(plain->named_parameters().keys(), layer->named_parameters().keys());
}

}  // namespace
}  // namespace noisefloor
