#include "noisefloor/model/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace noisefloor {
namespace {

lanes::Program network() {
  return lanes::Program::create(
             {1, 8, 8},
             {lanes::Conv2d{3, 5, 5}, lanes::Normalize{3}, lanes::Activate{}, lanes::Flatten{}, lanes::Linear{10}},
             lanes::Loss::kCrossEntropy)
      .value();
}

TEST(Weights, BeginAsTorchDoes) {
  ReplayRandom random = ReplayRandom::create(1).value();
  const std::vector<NamedTensor> tensors = name_weights(network(), initial_weights(network(), random));
  ASSERT_EQ(tensors.size(), 6U);
  EXPECT_EQ(tensors[0].name, "0.weight");
  EXPECT_EQ(tensors[0].shape, (std::vector<std::size_t>{3, 1, 5, 5}));
  EXPECT_EQ(tensors[1].name, "0.bias");
  EXPECT_EQ(tensors[2].name, "1.weight");
  EXPECT_EQ(tensors[2].values, std::vector<float>(3, 1.0F));
  EXPECT_EQ(tensors[3].values, std::vector<float>(3, 0.0F));
  EXPECT_EQ(tensors[4].name, "4.weight");
  EXPECT_EQ(tensors[4].shape, (std::vector<std::size_t>{10, 48}));
  const auto largest = [](const NamedTensor& tensor) {
    float most = 0;
    for (const float x : tensor.values) most = std::max(most, std::abs(x));
    return most;
  };
  EXPECT_LE(largest(tensors[0]), 0.2F);  // 1/√25
  EXPECT_GT(largest(tensors[0]), 0.15F);
  EXPECT_LE(largest(tensors[4]), 1 / std::sqrt(48.0F));
  EXPECT_GT(largest(tensors[4]), 0.9F / std::sqrt(48.0F));
}

TEST(Weights, RoundTripThroughNames) {
  ReplayRandom random = ReplayRandom::create(1).value();
  const std::vector<float> weights = initial_weights(network(), random);
  const TensorFile file{name_weights(network(), weights), {}};
  EXPECT_EQ(take_weights(network(), file).value(), weights);
}

TEST(Weights, AreRefusedIfTheyBelongToAnotherModel) {
  ReplayRandom random = ReplayRandom::create(1).value();
  const TensorFile good{name_weights(network(), initial_weights(network(), random)), {}};
  const auto refused = [&](const TensorFile& file) { return take_weights(network(), file).error().message; };
  TensorFile missing = good;
  missing.tensors.pop_back();
  EXPECT_NE(refused(missing).find("no tensor 4.bias"), std::string::npos);
  TensorFile more = good;
  more.tensors.push_back({"5.weight", {1}, {0}});
  EXPECT_NE(refused(more).find("5.weight"), std::string::npos);
  TensorFile other = good;
  other.tensors[0].shape = {3, 1, 25, 1};
  EXPECT_NE(refused(other).find("3 x 1 x 25 x 1; the model's is 3 x 1 x 5 x 5"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
