#include "noisefloor/torch/convolution.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/per_example_oracle.h"

namespace noisefloor {
namespace {

using testing::check_layer;
using testing::wavy_loss;
using Options1 = torch::nn::Conv1dOptions;
using Options2 = torch::nn::Conv2dOptions;

// Private and plain layer, with the same parameters, have the same output; and the gradients are the oracle's.
template <class Private, class Plain, class Options>
void check_convolution(const Options& options, const torch::Tensor& rows) {
  Private layer(options);
  Plain plain(options);
  plain->weight = layer->weight;
  plain->bias = layer->bias;
  EXPECT_TRUE(torch::allclose(layer->forward(rows), plain->forward(rows), 1e-5, 1e-6));
  check_layer(*layer, rows, [&](const torch::Tensor& x) { return wavy_loss(layer->forward(x)); });
}

void check_1d(const Options1& options, const torch::Tensor& rows) {
  check_convolution<nn::Conv1d, torch::nn::Conv1d>(options, rows);
}

void check_2d(const Options2& options, const torch::Tensor& rows) {
  check_convolution<nn::Conv2d, torch::nn::Conv2d>(options, rows);
}

TEST(Convolution, AgreesWithTheOracle) {
  torch::manual_seed(1);
  check_1d(Options1(3, 4, 3), torch::randn({3, 3, 8}));
  check_2d(Options2(3, 4, 3), torch::randn({3, 3, 6, 5}));
}

TEST(Convolution, StridePaddingDilation) {
  torch::manual_seed(2);
  check_1d(Options1(2, 3, 3).stride(2).padding(2).dilation(2), torch::randn({3, 2, 9}));
  check_2d(Options2(2, 3, {3, 2}).stride({2, 1}).padding({1, 2}).dilation({1, 2}), torch::randn({3, 2, 7, 6}));
  check_2d(Options2(2, 3, 3).bias(false), torch::randn({3, 2, 3, 3}));
}

TEST(Convolution, Groups) {
  torch::manual_seed(3);
  check_1d(Options1(4, 6, 2).groups(2), torch::randn({3, 4, 6}));
  check_2d(Options2(4, 4, 3).groups(4).padding(1), torch::randn({3, 4, 4, 4}));
  check_2d(Options2(4, 8, 1).groups(2), torch::randn({3, 4, 3, 3}));
}

TEST(Convolution, PaddingOfOtherKinds) {
  torch::manual_seed(4);
  check_1d(Options1(2, 3, 4).padding(torch::kSame), torch::randn({3, 2, 7}));
  check_2d(Options2(2, 3, {3, 4}).padding(torch::kSame), torch::randn({3, 2, 5, 6}));
  check_2d(Options2(2, 3, 3).padding(torch::kValid), torch::randn({3, 2, 5, 5}));
  check_2d(Options2(2, 3, 3).padding({1, 2}).padding_mode(torch::kCircular), torch::randn({3, 2, 5, 5}));
  check_2d(Options2(2, 3, 3).padding({2, 1}).padding_mode(torch::kReflect), torch::randn({3, 2, 5, 5}));
}

TEST(Convolution, InsideANetworkAndUsedTwice) {
  torch::manual_seed(5);
  nn::Conv2d shared(Options2(2, 2, 3).padding(1));
  torch::nn::Sequential model(shared, torch::nn::ReLU(), torch::nn::MaxPool2d(2), shared, torch::nn::Tanh(),
                              nn::Conv2d(2, 3, 2), torch::nn::Flatten());
  check_layer(*model, torch::randn({6, 2, 6, 6}), [&](const torch::Tensor& x) { return wavy_loss(model->forward(x)); });
}

}  // namespace
}  // namespace noisefloor
