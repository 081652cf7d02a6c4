#include "noisefloor/train/tape_source.h"

#include <torch/torch.h>

#include <cmath>
#include <numeric>

#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/lanes_source.h"
#include "noisefloor/train/convolution.h"
#include "noisefloor/train/linear.h"

namespace noisefloor {
namespace {

Dataset images(std::size_t rows) {
  Dataset data;
  data.rows = rows;
  data.shape = {1, 8, 8};
  data.classes = 3;
  for (std::size_t i = 0; i < rows * 64; ++i)
    data.features.push_back(static_cast<float>(std::sin(static_cast<double>(i) * 12.9898)));
  for (std::size_t i = 0; i < rows; ++i) data.labels.push_back(static_cast<std::int32_t>(i % 3));
  return data;
}

torch::nn::Sequential model() {
  torch::manual_seed(1);
  return torch::nn::Sequential(nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3).stride(2).padding(1)), torch::nn::Tanh(),
                               torch::nn::Flatten(), nn::Linear(64, 3));
}

std::unique_ptr<TapeSource> source_of(torch::nn::Sequential& net, const Dataset& data, std::size_t micro_batch) {
  TapeSource::Options options;
  options.micro_batch = micro_batch;
  return TapeSource::create(
             *net, [net](const torch::Tensor& x) mutable { return net->forward(x); }, data, options)
      .value();
}

// Two engines that share no code but the rule of clipping give the same sums, whatever the micro-batches.
TEST(TapeSource, AgreesWithLanes) {
  const Dataset data = images(37);
  const lanes::Program program =
      lanes::Program::create(
          {1, 8, 8},
          {lanes::Conv2d{4, 3, 3, 2, 1}, lanes::Activate{lanes::Activation::kTanh}, lanes::Flatten{}, lanes::Linear{3}},
          lanes::Loss::kCrossEntropy)
          .value();
  const auto lanes_source = LanesSource::create(program, data, 2).value();
  torch::nn::Sequential net = model();
  std::vector<std::uint64_t> rows(data.rows);
  std::iota(rows.begin(), rows.end(), 0);
  ReplayRandom random = ReplayRandom::create(1).value();
  for (const std::size_t micro_batch : {1U, 10U, 37U, 64U}) {
    const auto tape_source = source_of(net, data, micro_batch);
    ASSERT_EQ(tape_source->parameters(), lanes_source->parameters());
    ASSERT_EQ(tape_source->groups(), lanes_source->groups());
    const std::vector<float> at = tape_source->weights();
    for (const ClipRule::Kind& kind :
         {ClipRule::Kind(FlatClip{ClipNorm::of(0.9)}), ClipRule::Kind(AutomaticClip{ClipNorm::of(1.0), 0.01}),
          ClipRule::Kind(GroupClip{{ClipNorm::of(0.5), ClipNorm::of(0.4)}})}) {
      const ClipRule rule = ClipRule::create(kind).value();
      std::vector<float> expected(at.size());
      std::vector<float> sum(at.size());
      const std::size_t within = lanes_source->add(at, rows, &rule, random, expected).value();
      EXPECT_EQ(tape_source->add(at, rows, &rule, random, sum).value(), within);
      for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], expected[i], 1e-4) << i;
    }
    std::vector<float> nothing(at.size());
    ASSERT_TRUE(tape_source->add(at, {}, nullptr, random, nothing));
    EXPECT_EQ(nothing, std::vector<float>(at.size(), 0.0F));
  }
}

TEST(TapeSource, TrainsWithDpSgd) {
  const Dataset data = images(60);
  torch::nn::Sequential net = model();
  const auto source = source_of(net, data, 16);
  DpSgd::Options options;
  options.noise = NoiseMultiplier::of(0.5);
  options.clip = ClipRule::create(FlatClip{ClipNorm::of(1.0)}).value();
  DpSgd sgd = DpSgd::create(options, BatchSampler::poisson(Rows::of(60), Rows::of(30), Adjacency::kAddRemove).value(),
                            *source, source->weights())
                  .value();
  ReplayRandom random = ReplayRandom::create(2).value();
  const std::vector<float> before = source->weights();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(sgd.step(random));
  source->set_weights(sgd.result());
  EXPECT_EQ(source->weights(), sgd.result());
  EXPECT_NE(source->weights(), before);
  for (const torch::Tensor& parameter : net->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST(TapeSource, RefusesWhatCannotBeTrainedPrivately) {
  const Dataset data = images(5);
  torch::nn::Sequential mixing(nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3)), torch::nn::BatchNorm2d(4));
  const auto refused = TapeSource::create(*mixing, [](const torch::Tensor& x) { return x; }, data, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("BatchNorm2d"), std::string::npos) << refused.error().message;
}

// What a model throws may quote data: it is not passed on.
TEST(TapeSource, FailuresInsideDoNotQuoteData) {
  const Dataset data = images(5);
  torch::nn::Sequential net = model();
  const auto source =
      TapeSource::create(*net, [](const torch::Tensor&) -> torch::Tensor { throw std::runtime_error("987"); }, data, {})
          .value();
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<float> sum(source->parameters());
  const auto failed = source->add(source->weights(), std::vector<std::uint64_t>{0}, nullptr, random, sum);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  EXPECT_EQ(failed.error().message.find("987"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
