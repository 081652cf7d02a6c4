#include "noisefloor/torch/recurrent.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/per_example_oracle.h"

namespace noisefloor {
namespace {

using testing::check_layer;
using testing::wavy_loss;

torch::nn::LSTMOptions lstm(std::int64_t input, std::int64_t hidden) {
  return torch::nn::LSTMOptions(input, hidden).batch_first(true);
}
torch::nn::GRUOptions gru(std::int64_t input, std::int64_t hidden) {
  return torch::nn::GRUOptions(input, hidden).batch_first(true);
}

// The oracle is torch's own kernel, so that the steps are checked along with the gradients.
template <class Layer>
void check(Layer layer, const torch::Tensor& rows) {
  check_layer(*layer, rows, [&](const torch::Tensor& x) { return wavy_loss(std::get<0>(layer->forward(x))); });
}

TEST(Recurrent, Lstm) {
  torch::manual_seed(1);
  check(nn::LSTM(lstm(3, 4)), torch::randn({3, 5, 3}));
  check(nn::LSTM(lstm(3, 4).bias(false)), torch::randn({3, 2, 3}));
}

TEST(Recurrent, Gru) {
  torch::manual_seed(2);
  check(nn::GRU(gru(3, 4)), torch::randn({3, 5, 3}));
  check(nn::GRU(gru(3, 4).bias(false)), torch::randn({3, 2, 3}));
}

TEST(Recurrent, LayersAndDirections) {
  torch::manual_seed(3);
  check(nn::LSTM(lstm(3, 2).num_layers(2).bidirectional(true)), torch::randn({3, 4, 3}));
  check(nn::GRU(gru(3, 2).num_layers(2).bidirectional(true)), torch::randn({3, 4, 3}));
}

TEST(Recurrent, LastStatesAndGivenOnes) {
  torch::manual_seed(4);
  nn::LSTM layer(lstm(3, 4).num_layers(2));
  check_layer(*layer, torch::randn({3, 5, 3}), [&](const torch::Tensor& x) {
    const torch::Tensor h = torch::full({2, x.size(0), 4}, 0.3, x.options().requires_grad(false));
    const auto state = std::get<1>(layer->forward(x, std::make_tuple(h, h * 2)));
    return wavy_loss(torch::cat({std::get<0>(state), std::get<1>(state)}, 2).transpose(0, 1));
  });
}

TEST(Recurrent, TimeFirst) {
  torch::manual_seed(5);
  nn::GRU layer(torch::nn::GRUOptions(3, 4));
  check_layer(*layer, torch::randn({3, 5, 3}), [&](const torch::Tensor& x) {
    return wavy_loss(std::get<0>(layer->forward(x.transpose(0, 1))).transpose(0, 1));
  });
}

TEST(Recurrent, HasTorchsNamesAndValues) {
  const auto options = lstm(3, 4).num_layers(2).bidirectional(true);
  nn::LSTM layer(options);
  torch::nn::LSTM plain(options);
  EXPECT_EQ(layer->named_parameters().keys(), plain->named_parameters().keys());
  const auto copy = std::dynamic_pointer_cast<nn::LSTMImpl>(layer->clone());
  ASSERT_NE(copy, nullptr);
  const torch::Tensor rows = torch::randn({2, 3, 3});
  EXPECT_TRUE(torch::equal(std::get<0>(copy->forward(rows)), std::get<0>(layer->forward(rows))));
}

}  // namespace
}  // namespace noisefloor
