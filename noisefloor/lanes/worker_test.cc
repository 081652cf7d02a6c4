// Every layer against a plain forward pass in double precision whose gradients are finite differences.
#include "noisefloor/lanes/worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "noisefloor/lanes/program.h"

namespace noisefloor::lanes {
namespace {

// A fixed, uneven sequence of numbers in (-1, 1).
float scrambled(std::size_t i) {
  std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9ULL;
  return static_cast<float>(static_cast<double>(x >> 11) / 4503599627370496.0 - 1.0);
}

std::uint32_t word(std::size_t i) { return static_cast<std::uint32_t>((scrambled(i + 77) + 1.0F) * 2147483000.0F); }

struct Network {
  std::string name;
  Shape input;
  std::vector<Layer> layers;
  Loss loss = Loss::kCrossEntropy;
  std::size_t copies = 1;
};

// Features of one copy of one example.
struct Features {
  Shape shape;
  std::vector<double> at;
  double& operator()(std::size_t c, std::size_t y, std::size_t x) {
    return at[(c * shape.height + y) * shape.width + x];
  }
};

class Reference {
 public:
  Reference(const Network& network, std::size_t lanes) : network_(network), lanes_(lanes) {}

  // The outputs for one copy of the example in `lane`.
  std::vector<double> outputs(const std::vector<double>& parameters, const float* example, std::size_t copy,
                              std::size_t lane, bool training) const {
    Features now{network_.input, {}};
    const std::size_t size = network_.input.size();
    now.at.assign(example + copy * size, example + (copy + 1) * size);
    const double* next = parameters.data();
    for (const Layer& layer : network_.layers)
      now = std::visit([&](const auto& l) { return apply(l, now, next, copy, lane, training); }, layer);
    return now.at;
  }

  double loss(const std::vector<double>& parameters, const float* example, std::int32_t label, const float* target,
              std::size_t lane) const {
    double total = 0;
    for (std::size_t copy = 0; copy < network_.copies; ++copy) {
      const std::vector<double> out = outputs(parameters, example, copy, lane, true);
      if (network_.loss == Loss::kCrossEntropy) {
        double sum = 0;
        for (const double o : out) sum += std::exp(o);
        total += std::log(sum) - out[static_cast<std::size_t>(label)];
      } else if (network_.loss == Loss::kBinary) {
        total += std::log1p(std::exp(label == 1 ? -out[0] : out[0]));
      } else {
        for (std::size_t o = 0; o < out.size(); ++o) total += 0.5 * (out[o] - target[o]) * (out[o] - target[o]);
      }
    }
    return total / static_cast<double>(network_.copies);
  }

  std::vector<double> gradient(std::vector<double> parameters, const float* example, std::int32_t label,
                               const float* target, std::size_t lane) const {
    constexpr double kStep = 1e-5;
    std::vector<double> result;
    for (double& p : parameters) {
      const double kept = p;
      p = kept + kStep;
      const double above = loss(parameters, example, label, target, lane);
      p = kept - kStep;
      const double below = loss(parameters, example, label, target, lane);
      p = kept;
      result.push_back((above - below) / (2 * kStep));
    }
    return result;
  }

 private:
  Features apply(const Linear& l, Features& in, const double*& next, std::size_t, std::size_t, bool) const {
    Features out{{l.outputs, 1, 1}, std::vector<double>(l.outputs)};
    for (std::size_t o = 0; o < l.outputs; ++o) {
      for (const double a : in.at) out.at[o] += *next++ * a;
    }
    if (l.bias) {
      for (double& o : out.at) o += *next++;
    }
    return out;
  }
  Features apply(const Conv2d& l, Features& in, const double*& next, std::size_t, std::size_t, bool) const {
    const Shape shape{l.outputs, (in.shape.height + 2 * l.padding - l.kernel_height) / l.stride + 1,
                      (in.shape.width + 2 * l.padding - l.kernel_width) / l.stride + 1};
    Features out{shape, std::vector<double>(shape.size())};
    const double* bias = next + l.outputs * in.shape.channels * l.kernel_height * l.kernel_width;
    for (std::size_t o = 0; o < l.outputs; ++o) {
      for (std::size_t c = 0; c < in.shape.channels; ++c) {
        for (std::size_t ky = 0; ky < l.kernel_height; ++ky) {
          for (std::size_t kx = 0; kx < l.kernel_width; ++kx) {
            const double weight = *next++;
            for (std::size_t y = 0; y < shape.height; ++y) {
              for (std::size_t x = 0; x < shape.width; ++x) {
                const std::size_t iy = y * l.stride + ky;
                const std::size_t ix = x * l.stride + kx;
                if (iy < l.padding || ix < l.padding || iy - l.padding >= in.shape.height ||
                    ix - l.padding >= in.shape.width) {
                  continue;
                }
                out(o, y, x) += weight * in(c, iy - l.padding, ix - l.padding);
              }
            }
          }
        }
      }
      for (std::size_t p = 0; l.bias && p < shape.height * shape.width; ++p)
        out.at[o * shape.height * shape.width + p] += bias[o];
    }
    if (l.bias) next += l.outputs;
    return out;
  }
  Features apply(const Pool& l, Features& in, const double*&, std::size_t, std::size_t, bool) const {
    const Shape shape{in.shape.channels, (in.shape.height - l.kernel) / l.stride + 1,
                      (in.shape.width - l.kernel) / l.stride + 1};
    Features out{shape, std::vector<double>(shape.size())};
    for (std::size_t c = 0; c < shape.channels; ++c) {
      for (std::size_t y = 0; y < shape.height; ++y) {
        for (std::size_t x = 0; x < shape.width; ++x) {
          double most = -1e300;
          double sum = 0;
          for (std::size_t ky = 0; ky < l.kernel; ++ky) {
            for (std::size_t kx = 0; kx < l.kernel; ++kx) {
              const double value = in(c, y * l.stride + ky, x * l.stride + kx);
              most = std::max(most, value);
              sum += value;
            }
          }
          out(c, y, x) = l.kind == Pooling::kMax ? most : sum / static_cast<double>(l.kernel * l.kernel);
        }
      }
    }
    return out;
  }
  Features apply(const Activate& l, Features& in, const double*&, std::size_t, std::size_t, bool) const {
    for (double& v : in.at) {
      v = l.function == Activation::kRelu   ? std::max(v, 0.0)
          : l.function == Activation::kTanh ? std::tanh(v)
                                            : 1 / (1 + std::exp(-v));
    }
    return in;
  }
  Features apply(const Normalize& l, Features& in, const double*& next, std::size_t, std::size_t, bool) const {
    const std::size_t size = in.shape.size();
    const std::size_t group = size / l.groups;
    const std::size_t area = in.shape.height * in.shape.width;
    const std::size_t count = l.per_feature ? size : in.shape.channels;
    for (std::size_t g = 0; g < l.groups; ++g) {
      double mean = 0;
      double variance = 0;
      for (std::size_t i = 0; i < group; ++i) mean += in.at[g * group + i] / static_cast<double>(group);
      for (std::size_t i = 0; i < group; ++i)
        variance += std::pow(in.at[g * group + i] - mean, 2) / static_cast<double>(group);
      for (std::size_t i = g * group; i < (g + 1) * group; ++i) {
        in.at[i] = (in.at[i] - mean) / std::sqrt(variance + static_cast<double>(l.epsilon));
        const std::size_t parameter = l.per_feature ? i : i / area;
        if (l.affine) in.at[i] = in.at[i] * next[parameter] + next[count + parameter];
      }
    }
    if (l.affine) next += 2 * count;
    return in;
  }
  Features apply(const Dropout& l, Features& in, const double*&, std::size_t copy, std::size_t lane,
                 bool training) const {
    const std::size_t area = in.shape.height * in.shape.width;
    for (std::size_t i = 0; training && i < in.at.size(); ++i) {
      const std::size_t draw = (((i / area) * network_.copies + copy) * area + i % area) * lanes_ + lane;
      const bool dropped = word(draw) < static_cast<std::uint32_t>(static_cast<double>(l.rate) * 4294967296.0);
      in.at[i] = dropped ? 0 : in.at[i] / (1.0 - static_cast<double>(l.rate));
    }
    return in;
  }
  Features apply(const Flatten&, Features& in, const double*&, std::size_t, std::size_t, bool) const {
    in.shape = {in.shape.size(), 1, 1};
    return in;
  }

  Network network_;
  std::size_t lanes_;
};

std::vector<Network> networks() {
  const Activate tanh{Activation::kTanh};
  const Activate sigmoid{Activation::kSigmoid};
  const Activate relu{};
  return {
      {"linear", {5, 1, 1}, {Linear{3}}},
      {"without_bias", {5, 1, 1}, {Linear{15, false}, tanh, Linear{2, false}}},
      {"binary", {4, 1, 1}, {Linear{13}, sigmoid, Linear{1}}, Loss::kBinary},
      {"regression", {4, 1, 1}, {Linear{7}, relu, Linear{2}}, Loss::kSquared},
      {"activation_first", {4, 1, 1}, {sigmoid, Linear{3}}},
      {"layer_norm", {6, 1, 1}, {Linear{9}, Normalize{1, true}, relu, Linear{3}}},
      {"norm_first", {6, 1, 1}, {Normalize{2, true}, Linear{3}}},
      {"dropout", {6, 1, 1}, {Dropout{0.25F}, Linear{9}, tanh, Dropout{0.5F}, Linear{3}}},
      {"lenet",
       {1, 12, 12},
       {Conv2d{6, 5, 5, 1, 2}, relu, Pool{}, Conv2d{5, 3, 3}, tanh, Pool{}, Flatten{}, Linear{10}, relu, Linear{4}}},
      {"strided",
       {2, 11, 9},
       {Conv2d{3, 4, 4, 2, 1}, tanh, Pool{Pooling::kMax, 2, 1}, Conv2d{4, 3, 2, 2, 1}, sigmoid, Flatten{}, Linear{3}}},
      {"wide_stride",
       {1, 9, 9},
       {Conv2d{2, 3, 3, 1, 0}, tanh, Conv2d{3, 2, 2, 3, 1, false}, tanh, Flatten{}, Linear{3}}},
      {"average",
       {2, 8, 8},
       {Conv2d{7, 3, 3, 1, 1}, tanh, Pool{Pooling::kAverage, 3, 2}, Conv2d{8, 3, 3, 1, 1}, Flatten{}, Linear{3}}},
      {"group_norm",
       {2, 6, 6},
       {Conv2d{4, 3, 3, 1, 1}, Normalize{2}, relu, Conv2d{4, 3, 3, 1, 1}, Normalize{1, false, false}, tanh, Flatten{},
        Linear{3}}},
      {"sigmoid_before_padding",
       {1, 6, 6},
       {Conv2d{2, 3, 3, 1, 1}, sigmoid, Dropout{0.3F}, Conv2d{2, 3, 3, 1, 2}, Flatten{}, Linear{3}}},
      {"copies",
       {1, 8, 8},
       {Conv2d{3, 3, 3, 1, 1}, Normalize{3}, tanh, Pool{}, Dropout{0.2F}, Flatten{}, Linear{6}, Normalize{2, true},
        tanh, Linear{3}},
       Loss::kCrossEntropy,
       3},
      {"copies_binary", {4, 1, 1}, {Linear{5}, tanh, Linear{1}}, Loss::kBinary, 2},
  };
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

class LanesTest : public testing::TestWithParam<Case> {
 protected:
  LanesTest()
      : network_(GetParam().network),
        program_(
            Program::create(network_.input, network_.layers, network_.loss, network_.copies, GetParam().set).value()),
        packed_(program_),
        worker_(program_) {
    for (std::size_t i = 0; i < program_.parameters(); ++i) parameters_.push_back(0.6F * scrambled(i));
    packed_.pack(program_, parameters_);
    const std::size_t each = network_.input.size() * network_.copies;
    for (std::size_t i = 0; i < program_.lanes() * each; ++i) features_.push_back(scrambled(i + 5000));
    for (std::size_t i = 0; i < program_.lanes() * program_.outputs(); ++i) goals_.push_back(scrambled(i + 9000));
    for (std::size_t e = 0; e < program_.lanes(); ++e) {
      examples_.push_back(features_.data() + e * each);
      targets_.push_back(goals_.data() + e * program_.outputs());
      labels_.push_back(static_cast<std::int32_t>(e % std::max<std::size_t>(2, program_.outputs())));
    }
  }

  [[nodiscard]] Block block(std::size_t count) const {
    Block block{{examples_.data(), count}, {}, {}};
    if (network_.loss == Loss::kSquared) {
      block.targets = {targets_.data(), count};
    } else {
      block.labels = {labels_.data(), count};
    }
    return block;
  }

  static void fill_words(std::span<std::uint32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = word(i);
  }

  void add(std::size_t count, const Weigh& weigh, std::span<float> losses = {}) {
    worker_.add(packed_, parameters_, block(count), weigh, fill_words, losses);
  }

  void add_on_grid(std::size_t count, const Weigh& weigh, const StepGrid& grid, std::span<std::int64_t> sums) {
    worker_.add_on_grid(packed_, parameters_, block(count), weigh, fill_words, grid, sums);
  }

  std::vector<float> drain() {
    std::vector<float> gradient(program_.parameters());
    worker_.drain(gradient);
    return gradient;
  }

  // Factor 1 for one example, 0 for all others.
  [[nodiscard]] Weigh only(std::size_t example) const {
    return [=, lanes = program_.lanes()](std::span<const float>, std::span<float> factors) {
      for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = i % lanes == example ? 1.0F : 0.0F;
    };
  }

  [[nodiscard]] std::vector<double> exact(std::size_t example) const {
    return Reference(network_, program_.lanes())
        .gradient({parameters_.begin(), parameters_.end()}, examples_[example], labels_[example], targets_[example],
                  example);
  }

  Network network_;
  Program program_;
  PackedWeights packed_;
  Worker worker_;
  std::vector<float> parameters_;
  std::vector<float> features_;
  std::vector<float> goals_;
  std::vector<const float*> examples_;
  std::vector<const float*> targets_;
  std::vector<std::int32_t> labels_;
};

void expect_close(const std::vector<float>& actual, const std::vector<double>& exact) {
  ASSERT_EQ(actual.size(), exact.size());
  double scale = 0;
  for (const double x : exact) scale = std::max(scale, std::abs(x));
  for (std::size_t i = 0; i < exact.size(); ++i)
    ASSERT_NEAR(actual[i], exact[i], 1e-5 * scale + 1e-8) << "parameter " << i;
}

TEST_P(LanesTest, GradientOfEveryExampleByItself) {
  for (const std::size_t example : {std::size_t{0}, program_.lanes() - 1}) {
    add(program_.lanes(), only(example));
    expect_close(drain(), exact(example));
  }
}

TEST_P(LanesTest, NormsOfEveryGroup) {
  std::vector<float> norms;
  add(program_.lanes() - 1,
      [&](std::span<const float> squared, std::span<float>) { norms.assign(squared.begin(), squared.end()); });
  const std::vector<double> gradient = exact(1);
  for (const Operation& operation : program_.operations()) {
    if (!operation.group) continue;
    double squared = 0;
    for (std::size_t i = 0; i < operation.weight_count + operation.bias_count; ++i) {
      squared += gradient[operation.weights + i] * gradient[operation.weights + i];
    }
    EXPECT_NEAR(norms[*operation.group * program_.lanes() + 1], squared, 1e-5 * squared + 1e-12);
  }
}

TEST_P(LanesTest, SumsOverBlocksOfAnySizeWithFactors) {
  const std::size_t most = program_.lanes();
  std::vector<double> sum(program_.parameters());
  for (const std::size_t count : {most, std::size_t{1}, most - 1}) {
    add(count, [&](std::span<const float>, std::span<float> factors) {
      for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 0.5F + static_cast<float>(i % most);
    });
  }
  for (std::size_t e = 0; e < most; ++e) {
    const std::vector<double> gradient = exact(e);
    const double times = 1.0 + (e == 0 ? 1.0 : 0.0) + (e < most - 1 ? 1.0 : 0.0);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += times * (0.5 + static_cast<double>(e)) * gradient[i];
  }
  expect_close(drain(), sum);
  EXPECT_EQ(drain(), std::vector<float>(program_.parameters(), 0.0F)) << "drained";
}

TEST_P(LanesTest, WithoutNormsTheSumIsTheSame) {
  add(program_.lanes() - 1, nullptr);
  const std::vector<float> plain = drain();
  add(program_.lanes() - 1,
      [](std::span<const float>, std::span<float> factors) { std::fill(factors.begin(), factors.end(), 1.0F); });
  const std::vector<float> weighed = drain();
  expect_close(plain, {weighed.begin(), weighed.end()});
}

// One example must not be heard in what another one yields, whatever it holds.
TEST_P(LanesTest, ExamplesDoNotTouchEachOther) {
  add(program_.lanes(), only(1));
  const std::vector<float> before = drain();
  const std::size_t each = network_.input.size() * network_.copies;
  for (std::size_t i = 0; i < each; ++i) features_[i] = i % 2 == 0 ? std::numeric_limits<float>::infinity() : 1e30F;
  for (std::size_t i = 2 * each; i < 3 * each; ++i) features_[i] = std::numeric_limits<float>::quiet_NaN();
  add(program_.lanes(), only(1));
  EXPECT_EQ(drain(), before);
}

// Each example is rounded by itself, and the sum is exact: in one block or in blocks of one, in any lane.
TEST_P(LanesTest, SumsOnAGridAreThoseOfSingleExamples) {
  // Copies are added up in another order, which may round to the step beside it.
  const auto expect_equal = [&](const std::vector<std::int64_t>& found, const std::vector<std::int64_t>& wanted) {
    const std::int64_t tolerance = network_.copies > 1 ? static_cast<std::int64_t>(program_.lanes()) : 0;
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_LE(std::abs(found[i] - wanted[i]), tolerance) << i;
  };
  const std::size_t most = program_.lanes();
  const StepGrid grid{.step = 0x1p-20, .bound = 0x1p40};
  const double margin = network_.copies > 1 ? 1e-5 : 1e-9;
  const Weigh weigh = [&](std::span<const float>, std::span<float> factors) {
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 0.25F + static_cast<float>(i % most) / 8;
  };
  std::vector<std::int64_t> expected(program_.parameters());
  double largest = 0;
  for (std::size_t e = 0; e < most; ++e) {
    add(most, [&](std::span<const float> norms, std::span<float> factors) {
      weigh(norms, factors);
      for (std::size_t i = 0; i < factors.size(); ++i) {
        if (i % most != e) factors[i] = 0.0F;
      }
    });
    const std::vector<float> one = drain();
    double squares = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      const double steps = std::nearbyint(static_cast<double>(one[i]) / grid.step);
      expected[i] += static_cast<std::int64_t>(steps);
      squares += steps * steps;
    }
    largest = std::max(largest, squares);
  }
  std::vector<std::int64_t> sums(program_.parameters());
  add_on_grid(most, weigh, grid, sums);
  expect_equal(sums, expected);
  // Whoever is too long is left out, and nobody else.
  std::vector<std::int64_t> shorter(program_.parameters());
  add_on_grid(most, weigh, {grid.step, std::sqrt(largest) * (1 - margin)}, shorter);
  EXPECT_NE(shorter, sums);
  std::vector<std::int64_t> all(program_.parameters());
  add_on_grid(most, weigh, {grid.step, std::sqrt(largest) * (1 + margin)}, all);
  EXPECT_EQ(all, sums);
  // Even one whose gradient is no number.
  std::vector<std::int64_t> others(program_.parameters());
  features_[0] = std::numeric_limits<float>::quiet_NaN();
  add_on_grid(most, only(1), grid, others);
  add(most, only(1));
  const std::vector<float> one = drain();
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double wanted = std::nearbyint(static_cast<double>(one[i]) / grid.step);
    ASSERT_LE(std::abs(static_cast<double>(others[i]) - wanted), network_.copies > 1 ? 1 : 0);
  }
}

TEST_P(LanesTest, LossesAndPredictions) {
  const Reference reference(network_, program_.lanes());
  const std::vector<double> parameters(parameters_.begin(), parameters_.end());
  const std::size_t count = program_.lanes() - 1;
  std::vector<float> losses(count);
  add(count, nullptr, losses);
  std::vector<float> outputs(count * program_.outputs());
  worker_.predict(packed_, parameters_, {examples_.data(), count}, outputs);
  for (std::size_t e = 0; e < count; ++e) {
    const double loss = reference.loss(parameters, examples_[e], labels_[e], targets_[e], e);
    EXPECT_NEAR(losses[e], loss, 1e-5 * (1 + loss));
    for (std::size_t o = 0; o < program_.outputs(); ++o) {
      double mean = 0;
      for (std::size_t copy = 0; copy < network_.copies; ++copy) {
        mean += reference.outputs(parameters, examples_[e], copy, e, false)[o] / static_cast<double>(network_.copies);
      }
      EXPECT_NEAR(outputs[e * program_.outputs() + o], mean, 1e-5 * (1 + std::abs(mean)));
    }
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const char* const sets[] = {"portable", "avx2", "avx512"};
  return info.param.network.name + "_" + sets[static_cast<std::size_t>(info.param.set)];
}

INSTANTIATE_TEST_SUITE_P(Networks, LanesTest, testing::ValuesIn(cases()), name_of);

TEST(LanesProgramTest, LayersThatDoNotFitAreNamed) {
  const auto refusal = [](Shape input, const std::vector<Layer>& layers, Loss loss = Loss::kCrossEntropy) {
    const auto program = Program::create(input, layers, loss);
    return program ? std::string() : program.error().message;
  };
  EXPECT_EQ(refusal({1, 4, 4}, {Linear{3}}),
            "layer 1 (linear) needs a plain vector; it gets 1 x 4 x 4: put a flatten layer before it");
  EXPECT_EQ(refusal({1, 4, 4}, {Activate{}, Conv2d{2, 5, 5}}),
            "layer 2 makes 2 x 0 x 0 of 1 x 4 x 4: allowed are 1 to 16777216 features");
  EXPECT_EQ(refusal({1, 4, 4}, {Conv2d{2, 3, 3, 0}}),
            "layer 1 makes 2 x 0 x 0 of 1 x 4 x 4: allowed are 1 to 16777216 features");
  EXPECT_EQ(refusal({4, 1, 1}, {Normalize{3}}), "layer 1 (normalize): 3 groups do not divide 4 channels");
  EXPECT_EQ(refusal({4, 1, 1}, {Dropout{1.0F}}), "layer 1 (dropout): a rate of 1 was given; allowed are 0 to below 1");
  EXPECT_EQ(refusal({4, 1, 1}, {Linear{2}}, Loss::kBinary), "a binary loss needs one output; the network has 2");
  EXPECT_EQ(refusal({0, 1, 1}, {Linear{2}}), "a network's input has 1 to 16777216 features; 0 x 1 x 1 was given");
  EXPECT_EQ(refusal({1, 4, 4}, {Conv2d{2, 3, 3, 1, 3}}),
            "layer 1 (conv2d): a padding of 3 is not below the kernel, 3 x 3");
  constexpr std::size_t kHuge = std::size_t{1} << 40;
  EXPECT_NE(refusal({kHuge, kHuge, kHuge}, {Flatten{}}), "");
  EXPECT_NE(refusal({4, 1, 1}, {Linear{kHuge}}), "");
  EXPECT_EQ(refusal({100000, 1, 1}, {Linear{100000}}),
            "layer 1 makes the network too large for vector lanes: the limit is 16777216 parameters");
  EXPECT_NE(refusal({1, 4, 4}, {Conv2d{kHuge, kHuge, kHuge, 1, kHuge - 1}}), "");
  EXPECT_NE(refusal({1, 4, 4}, {Conv2d{1, 4096, 4096, 1, 4095}, Conv2d{1, 4096, 4096, 1, 4095}}), "");
  EXPECT_EQ(refusal({4, 1, 1}, {Linear{0}}),
            "layer 1 makes 0 x 1 x 1 of 4 x 1 x 1: allowed are 1 to 16777216 features");
}

}  // namespace
}  // namespace noisefloor::lanes
