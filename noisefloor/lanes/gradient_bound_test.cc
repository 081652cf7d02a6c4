// Gradients of whole networks against the oracle in double precision, to its bound on what rounding does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "noisefloor/lanes/program.h"
#include "noisefloor/lanes/worker.h"
#include "tests/support/gradient_oracle.h"

namespace noisefloor::lanes {
namespace {

using testing::GradientOracle;

// A fixed, uneven sequence of numbers in (-1, 1).
float scrambled(std::size_t i) {
  std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ULL;
  return static_cast<float>(static_cast<double>(x >> 11) / 4503599627370496.0 - 1.0);
}

struct Network {
  std::string name;
  Shape input;
  std::vector<Layer> layers;
};

std::vector<Network> networks() {
  const Activate relu{};
  const Activate tanh{Activation::kTanh};
  return {
      {"relu_and_pooling",
       {1, 20, 20},
       {Conv2d{6, 5, 5, 1, 2}, relu, Pool{}, Conv2d{8, 5, 5}, relu, Pool{}, Flatten{}, Linear{20}, relu, Linear{10}}},
      {"tanh_and_overlapping_pooling",
       {1, 28, 28},
       {Conv2d{16, 8, 8, 2, 2}, tanh, Pool{Pooling::kMax, 2, 1}, Conv2d{32, 4, 4, 2}, tanh, Pool{Pooling::kMax, 2, 1},
        Flatten{}, Linear{32}, tanh, Linear{10}}},
      {"layer_norm",
       {40, 1, 1},
       {Linear{128}, Normalize{1, true}, relu, Linear{64}, Normalize{1, true}, tanh, Linear{2}}}};
}

struct Case {
  Network network;
  InstructionSet set;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const InstructionSet set : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (!is_supported(set)) continue;
    for (const Network& network : networks()) all.push_back({network, set});
  }
  return all;
}

// A network with one example after another.
class Trial {
 public:
  Trial(const Network& network, InstructionSet set)
      : network_(network),
        program_(Program::create(network.input, network.layers, Loss::kCrossEntropy, 1, set).value()),
        packed_(program_),
        worker_(program_),
        oracle_(network.input, network.layers),
        parameters_(program_.parameters()) {
    for (const Operation& operation : program_.operations()) {
      if (!operation.group) continue;
      const std::size_t units = program_.tensors()[operation.out].shape.channels;
      const bool norm = std::holds_alternative<Normalize>(operation.layer);
      const float size = norm ? 0.5F : 1.0F / std::sqrt(static_cast<float>(operation.weight_count / units));
      for (std::size_t i = 0; i < operation.weight_count + operation.bias_count; ++i) {
        const bool scale = norm && i < operation.weight_count;
        parameters_[operation.weights + i] = (scale ? 1.0F : 0.0F) + size * scrambled(operation.weights + i);
      }
    }
    packed_.pack(program_, parameters_);
  }

  void take(std::size_t number) {
    features_.clear();
    for (std::size_t i = 0; i < network_.input.size(); ++i) {
      features_.push_back(2 * scrambled(100000 + number * network_.input.size() + i));
    }
    label_ = static_cast<std::int32_t>(number % program_.outputs());
  }

  [[nodiscard]] GradientOracle::Gradient exact() const { return oracle_.at(parameters_, features_.data(), label_); }

  [[nodiscard]] std::vector<float> found() {
    const float* example = features_.data();
    worker_.add(
        packed_, parameters_, Block{{&example, 1}, {&label_, 1}, {}},
        [](std::span<const float>, std::span<float> factors) { std::fill(factors.begin(), factors.end(), 1.0F); },
        [](std::span<std::uint32_t>) {}, {});
    std::vector<float> gradient(parameters_.size());
    worker_.drain(gradient);
    return gradient;
  }

  Network network_;
  Program program_;
  PackedWeights packed_;
  Worker worker_;
  GradientOracle oracle_;
  std::vector<float> parameters_;
  std::vector<float> features_;
  std::int32_t label_ = 0;
};

class GradientBoundTest : public ::testing::TestWithParam<Case> {};

TEST_P(GradientBoundTest, HoldsForEveryExampleWithoutNearTies) {
  Trial trial(GetParam().network, GetParam().set);
  std::size_t compared = 0;
  for (std::size_t number = 0; number < 24; ++number) {
    trial.take(number);
    const GradientOracle::Gradient exact = trial.exact();
    if (exact.near_ties > 0) continue;
    ++compared;
    EXPECT_LE(exact.largest_share(trial.found(), 1, false), 1.0) << "example " << number;
  }
  EXPECT_GE(compared, 12U) << "examples without near-ties";
}

// A bound that lets wrong gradients pass is worth nothing.
TEST_P(GradientBoundTest, RefusesAGradientThatIsWrongByOnePartInTenThousand) {
  Trial trial(GetParam().network, GetParam().set);
  trial.take(0);
  const GradientOracle::Gradient exact = trial.exact();
  std::vector<float> found = trial.found();
  const auto largest =
      std::max_element(found.begin(), found.end(), [](float a, float b) { return std::abs(a) < std::abs(b); });
  *largest *= 1.0001F;
  EXPECT_GT(exact.largest_share(found, 1, false), 1.0);
  *largest = std::nanf("");
  EXPECT_GT(exact.largest_share(found, 1, false), 1.0);
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const char* const sets[] = {"portable", "avx2", "avx512"};
  return info.param.network.name + "_" + sets[static_cast<std::size_t>(info.param.set)];
}

INSTANTIATE_TEST_SUITE_P(Networks, GradientBoundTest, ::testing::ValuesIn(cases()), name_of);

// Two windows hold the same products in another order: which sum is larger is decided by rounding alone.
TEST(GradientOracleTest, CountsMaximaThatRoundingDecides) {
  const GradientOracle pooled({1, 2, 4}, {Conv2d{1, 1, 3}, Activate{Activation::kTanh}, Pool{}, Flatten{}, Linear{2}});
  const std::vector<float> parameters{0.3F, 0.1F, 0.3F, 0.05F, 0.2F, -0.7F, 0.0F, 0.0F};
  const std::vector<float> tied{0.9F, 0.5F, 0.1F, -3.0F, 0.1F, 0.5F, 0.9F, -3.0F};
  std::vector<float> apart = tied;
  apart[4] = 0.2F;
  EXPECT_EQ(pooled.at(parameters, tied.data(), 0).near_ties, 1U);
  EXPECT_EQ(pooled.at(parameters, apart.data(), 0).near_ties, 0U);
}

TEST(GradientOracleTest, CountsReluInputsNearZero) {
  const GradientOracle oracle({2, 1, 1}, {Linear{1}, Activate{}, Linear{2}});
  const std::vector<float> parameters{1.0F, -1.0F, 0.0F, 0.4F, -0.4F, 0.0F, 0.0F};
  const std::vector<float> tied{0.7F, 0.7F};
  const std::vector<float> apart{0.7F, 0.6999F};
  EXPECT_EQ(oracle.at(parameters, tied.data(), 0).near_ties, 1U);
  EXPECT_EQ(oracle.at(parameters, apart.data(), 0).near_ties, 0U);
}

}  // namespace
}  // namespace noisefloor::lanes
