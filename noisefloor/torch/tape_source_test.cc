#include "noisefloor/torch/tape_source.h"

#include <torch/torch.h>

#include <cmath>
#include <numeric>

#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/lanes_source.h"
#include "noisefloor/torch/convolution.h"
#include "noisefloor/torch/linear.h"
#include "noisefloor/torch/tensor_memory.h"
#include "tests/support/tape_pieces.h"

namespace noisefloor {
namespace {

using testing::small_network;
using testing::source_of;

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
  torch::nn::Sequential net = small_network();
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
  torch::nn::Sequential net = small_network();
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

// As many examples at once as the limit allows, and no more memory for more examples.
TEST(TapeSource, MemoryStaysTheSameWhateverTheBatch) {
  const Dataset data = images(2000);
  const ClipRule rule = ClipRule::create(FlatClip{ClipNorm::of(0.9)}).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  torch::nn::Sequential net = small_network();
  std::vector<float> expected;
  std::size_t before = 0;
  for (const std::int64_t limit : {1LL, 20'000LL, 100'000LL, 1LL << 30}) {
    TapeSource::Options options;
    options.memory_limit = limit;
    const auto source = TapeSource::create(
                            *net, [net](const torch::Tensor& x) mutable { return net->forward(x); }, data, options)
                            .value();
    const std::size_t at_once = source->micro_batch(&rule);
    EXPECT_GE(at_once, before) << limit;
    before = at_once;
    if (limit == 1) {
      EXPECT_EQ(at_once, 1U) << "one is taken at least";
    }
    if (limit == 1LL << 30) {
      EXPECT_EQ(at_once, 64U);
    }
    const std::vector<float> at = source->weights();
    std::vector<std::int64_t> peaks;
    std::vector<float> sum;
    for (const std::size_t batch : {64U, 640U, 2000U}) {
      std::vector<std::uint64_t> rows(batch);
      std::iota(rows.begin(), rows.end(), 0);
      sum.assign(at.size(), 0.0F);
      const TensorMemory memory;
      ASSERT_TRUE(source->add(at, rows, &rule, random, sum));
      peaks.push_back(memory.peak());
    }
    EXPECT_GT(peaks[0], 0);
    EXPECT_EQ(peaks[1], peaks[0]) << limit;
    EXPECT_EQ(peaks[2], peaks[0]) << limit;
    if (at_once > 1) {
      EXPECT_LE(peaks[0], limit);
    }
    if (expected.empty()) expected = sum;
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], expected[i], 1e-2) << limit;
  }
  EXPECT_GT(before, 1U);
}

// Noise is that of one step, however many micro-batches it has. 10^6 draws: 1 % is 7 standard errors (α = 1e-11); noise
// for each of the 10 micro-batches would be 10 times the variance.
TEST(TapeSource, NoiseIsAddedOnceToVirtualBatches) {
  Dataset data;
  data.rows = 40;
  data.shape = {1000};
  data.classes = 200;
  data.features.resize(40 * 1000);  // zeros: the gradient is 0
  data.labels.resize(40);
  torch::nn::Sequential net(nn::Linear(torch::nn::LinearOptions(1000, 200).bias(false)));
  const auto source = source_of(net, data, 4);
  DpSgd::Options options;
  options.noise = NoiseMultiplier::of(1.3);
  options.clip = ClipRule::create(FlatClip{ClipNorm::of(0.7)}).value();
  options.learning_rate = {.initial = 1.0};
  DpSgd sgd = DpSgd::create(options, BatchSampler::poisson(Rows::of(40), Rows::of(40), Adjacency::kAddRemove).value(),
                            *source, std::vector<float>(source->parameters()))
                  .value();
  ReplayRandom random = ReplayRandom::create(2).value();
  double squares = 0;
  for (int step = 0; step < 5; ++step) {
    const std::vector<float> before = sgd.parameters();
    ASSERT_TRUE(sgd.step(random));
    for (std::size_t i = 0; i < before.size(); ++i)
      squares += std::pow((static_cast<double>(before[i]) - static_cast<double>(sgd.parameters()[i])) * 40, 2);
  }
  EXPECT_NEAR(squares / (5.0 * 200'000) / std::pow(1.3 * 0.7, 2), 1, 0.01);
}

// The gradient of an example is the mean over its copies, clipped once.
TEST(TapeSource, CopiesAreMadeAndAveraged) {
  const Dataset data = images(5);
  torch::nn::Sequential net = small_network();
  const Augmentation how{.copies = 3, .shift = 1, .mirror = true};
  TapeSource::Options options;
  options.augmentation = how;
  const auto forward = [net](const torch::Tensor& x) mutable { return net->forward(x); };
  const auto source = TapeSource::create(*net, forward, data, options).value();
  const std::vector<float> at = source->weights();
  const std::vector<std::uint64_t> rows{3, 1};
  const ClipRule rule = ClipRule::create(FlatClip{ClipNorm::of(0.5)}).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<float> sum(at.size());
  const std::size_t within = source->add(at, rows, &rule, random, sum).value();
  // The same bits, copy by copy: an image of its own each.
  ReplayRandom again = ReplayRandom::create(1).value();
  (void)again.next_u64();
  std::vector<float> expected(at.size());
  std::size_t short_ones = 0;
  for (const std::uint64_t row : rows) {
    std::vector<float> mean(at.size());
    for (int copy = 0; copy < 3; ++copy) {
      Dataset one = data.take({&row, 1}).value();
      std::vector<float> changed(64);
      augment(one.features, {1, 8, 8}, how, again.next_u32(), changed);
      one.features = changed;
      const auto plain = TapeSource::create(*net, forward, one, {}).value();
      ReplayRandom unused = ReplayRandom::create(9).value();
      std::vector<float> gradient(at.size());
      ASSERT_TRUE(plain->add(at, std::vector<std::uint64_t>{0}, nullptr, unused, gradient));
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] / 3;
    }
    double norm = 0;
    for (const float x : mean) norm += static_cast<double>(x) * static_cast<double>(x);
    norm = std::sqrt(norm);
    short_ones += norm <= 0.5 ? 1 : 0;
    for (std::size_t i = 0; i < mean.size(); ++i)
      expected[i] += mean[i] * static_cast<float>(std::min(1.0, 0.5 / norm));
  }
  EXPECT_EQ(within, short_ones);
  for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_NEAR(sum[i], expected[i], 1e-4);
  Dataset vectors = data;
  vectors.shape = {64};
  const auto refused = TapeSource::create(*net, forward, vectors, options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("images"), std::string::npos);
}

TEST(TapeSource, RefusesCodeThatMixesExamples) {
  const Dataset data = images(5);
  torch::nn::Sequential net = small_network();
  const auto refusal = [&](const TapeSource::Forward& forward) {
    const auto made = TapeSource::create(*net, forward, data, {});
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(refusal([net](const torch::Tensor& x) mutable { return net->forward(x * 2); }), "");
  EXPECT_NE(refusal([net](const torch::Tensor& x) mutable {
              return net->forward(x - x.mean(0, true));
            }).find("depends on the others"),
            std::string::npos);
  EXPECT_NE(refusal([net](const torch::Tensor& x) mutable {
              return net->forward(x).sum(0, true);
            }).find("first dimension must be the examples"),
            std::string::npos);
  // A module of one's own that remembers.
  const torch::Tensor memory = net->register_buffer("memory", torch::zeros({1}));
  EXPECT_NE(refusal([net, memory](const torch::Tensor& x) mutable {
              memory.add_(x.detach().sum());
              return net->forward(x);
            }).find("the buffer memory changes"),
            std::string::npos);
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
  torch::nn::Sequential net = small_network();
  const auto source =
      TapeSource::create(*net, [](const torch::Tensor&) -> torch::Tensor { throw std::runtime_error("987"); }, data, {})
          .value();
  const auto rehearsed = source->rehearse();
  ASSERT_FALSE(rehearsed);
  EXPECT_EQ(rehearsed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(source_of(net, data, 4)->rehearse());
  ReplayRandom random = ReplayRandom::create(1).value();
  std::vector<float> sum(source->parameters());
  const auto failed = source->add(source->weights(), std::vector<std::uint64_t>{0}, nullptr, random, sum);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInternal);
  EXPECT_EQ(failed.error().message.find("987"), std::string::npos);
}

// The same rule as that of lanes: a null record adds nothing, to rows and to people.
TEST(TapeSource, AddsNothingForNullRecords) {
  torch::nn::Sequential net = small_network();
  for (const bool by_person : {false, true}) {
    Dataset data = images(13);
    if (by_person) {
      data.rows_per_person = 4;
      for (std::uint32_t row = 0; row < 13; ++row) data.people.push_back(row / 3);
    }
    data.nulls.resize(13);
    std::vector<std::uint64_t> kept;
    for (std::size_t row = 0; row < 13; ++row) {
      data.nulls[row] = row == 1 || (row >= 3 && row < 6) ? 1 : 0;
      if (data.nulls[row] == 0) kept.push_back(row);
      if (data.nulls[row] != 0) std::fill_n(data.features.begin() + static_cast<long>(row) * 64, 64, -3.0F);
    }
    const Dataset rest = data.take(kept).value();
    const auto sum_of = [&](const Dataset& of) {
      const auto source = source_of(net, of, 5);
      const ClipRule rule = ClipRule::create(FlatClip{ClipNorm::of(0.9)}).value();
      std::vector<std::uint64_t> all(source->examples());
      std::iota(all.begin(), all.end(), 0);
      ReplayRandom random = ReplayRandom::create(1).value();
      std::vector<float> sum(source->parameters());
      EXPECT_TRUE(source->add(source->weights(), all, &rule, random, sum).has_value());
      return sum;
    };
    const std::vector<float> odd = sum_of(data);
    const std::vector<float> expected = sum_of(rest);
    for (std::size_t i = 0; i < odd.size(); ++i) ASSERT_NEAR(odd[i], expected[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace noisefloor
