// Tests one worker against made-up others that fail, lie or replay. Real processes are in torch/c10d_group_test.cc.
#include "noisefloor/sgd/worker_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "noisefloor/sgd/dp_sgd.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

// The test decides what all others together add.
class MadeUpGroup final : public WorkerGroup {
 public:
  using Others = std::function<Result<void>(std::span<float>)>;
  MadeUpGroup(std::size_t rank, std::size_t size, Others others)
      : rank_(rank), size_(size), others_(std::move(others)) {}
  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] Result<void> sum(std::span<float> numbers) override {
    ++calls;
    sent.assign(numbers.begin(), numbers.end());
    return others_(numbers);
  }

  int calls = 0;
  std::vector<float> sent;

 private:
  std::size_t rank_;
  std::size_t size_;
  Others others_;
};

Result<void> silent(std::span<float> /*numbers*/) { return success(); }

class NoGradient final : public GradientSource {
 public:
  explicit NoGradient(std::size_t parameters) : parameters_(parameters) {}
  [[nodiscard]] std::size_t examples() const override { return 100; }
  [[nodiscard]] std::size_t parameters() const override { return parameters_; }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> /*at*/, std::span<const std::uint64_t> rows,
                                        const ClipRule* /*rule*/, BitStream& /*stream*/,
                                        std::span<float> /*sum*/) override {
    drawn.insert(drawn.end(), rows.begin(), rows.end());
    return rows.size();
  }
  std::vector<std::uint64_t> drawn;

 private:
  std::size_t parameters_;
};

DpSgd::Options options(double noise) {
  DpSgd::Options result;
  result.noise = NoiseMultiplier::make(noise).value();
  result.clip = ClipRule::create(FlatClip{ClipNorm::of(1.0)}).value();
  return result;
}

BatchSampler poisson() { return BatchSampler::poisson(Rows::of(100), Rows::of(10), Adjacency::kAddRemove).value(); }

// The numbers that a worker sends already have its share of the noise. √(2/n) = 0.45 % is the standard error for 10^5
// draws: 2.5 % is 5.6 of them (α = 2e-8); a share of 1/size in scale, or the whole, is off by a factor of 3.
TEST(WorkerGroup, ReceivesSumsWithTheirShareOfTheNoise) {
  constexpr std::size_t kMany = 100'000;
  NoGradient source(kMany);
  MadeUpGroup group(0, 3, silent);
  DpSgd sgd = DpSgd::create(options(2), poisson(), source, std::vector<float>(kMany), &group).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  ASSERT_TRUE(sgd.step(random));
  double squares = 0;
  for (std::size_t i = 0; i < kMany; ++i)
    squares += static_cast<double>(group.sent[i]) * static_cast<double>(group.sent[i]);
  EXPECT_NEAR(squares / kMany, 4.0 / 3, 0.025 * 4.0 / 3);
}

TEST(WorkerGroup, LetsEachWorkerDrawFromItsPartOfTheRows) {
  NoGradient source(1);
  MadeUpGroup group(0, 3, silent);
  DpSgd sgd = DpSgd::create(options(1), poisson(), source, {0}, &group).value();
  ReplayRandom random = ReplayRandom::create(2).value();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(sgd.step(random));
  ASSERT_FALSE(source.drawn.empty());
  EXPECT_LT(*std::max_element(source.drawn.begin(), source.drawn.end()), 34U) << "of 100 rows, 34 are the first's";
  EXPECT_EQ(sgd.sampler().rows().value(), 100U);
  SecureRandom secure = SecureRandom::create().value();
  DpSgd fresh = DpSgd::create(options(1), poisson(), source, {0}, &group).value();
  ASSERT_TRUE(fresh.step(secure));
  EXPECT_EQ(fresh.event_of_step(), poisson().event(NoiseMultiplier::of(1.0))) << "that of all together";
}

// The rest of the step is not taken, whatever numbers the failed exchange left.
TEST(WorkerGroup, ChangesNothingIfAnExchangeFails) {
  NoGradient source(3);
  bool fails = false;
  MadeUpGroup group(0, 2, [&](std::span<float> numbers) -> Result<void> {
    if (!fails) return success();
    for (float& x : numbers) x = 1e6F;
    return Error{ErrorCode::kProtocol, "gone"};
  });
  DpSgd::Options adaptive = options(1);
  adaptive.adaptive = AdaptiveClip{.count_noise_share = 0.2};
  adaptive.averaging = 0.9;
  adaptive.optimizer.momentum = 0.9;
  DpSgd sgd = DpSgd::create(adaptive, poisson(), source, {1, 2, 3}, &group).value();
  SecureRandom random = SecureRandom::create().value();
  ASSERT_TRUE(sgd.step(random));
  const std::vector<float> before = sgd.parameters();
  const std::vector<float> averaged = sgd.result();
  const double norm = sgd.clip_norm();
  fails = true;
  const auto failed = sgd.step(random);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kProtocol);
  EXPECT_EQ(sgd.parameters(), before);
  EXPECT_EQ(sgd.result(), averaged);
  EXPECT_EQ(sgd.clip_norm(), norm);
  EXPECT_EQ(sgd.steps(), 1U);
}

TEST(WorkerGroup, MarksAllReplayedIfOneWorkerReplays) {
  NoGradient source(1);
  bool replays = false;
  MadeUpGroup group(0, 2, [&](std::span<float> numbers) -> Result<void> {
    if (replays) numbers.back() += 1;
    return success();
  });
  DpSgd sgd = DpSgd::create(options(1), poisson(), source, {0}, &group).value();
  SecureRandom random = SecureRandom::create().value();
  ASSERT_TRUE(sgd.step(random));
  EXPECT_FALSE(sgd.replayed());
  replays = true;
  ASSERT_TRUE(sgd.step(random));
  replays = false;
  ASSERT_TRUE(sgd.step(random));
  EXPECT_TRUE(contains<NonPrivateEvent>(sgd.event_of_step())) << "for good";
}

// A worker with less noise than the others is found before anything is drawn.
TEST(WorkerGroup, RefusesWorkersThatDoNotAgree) {
  NoGradient source(1);
  std::vector<std::vector<float>> stated;
  MadeUpGroup first(0, 2, [&](std::span<float> numbers) -> Result<void> {
    stated.emplace_back(numbers.begin(), numbers.end());
    return success();
  });
  ASSERT_TRUE(DpSgd::create(options(1), poisson(), source, {0}, &first));
  const auto second = [&](const DpSgd::Options& changed, const BatchSampler& sampler) {
    std::size_t call = 0;
    MadeUpGroup group(1, 2, [&](std::span<float> numbers) -> Result<void> {
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += stated[call][i];
      ++call;
      return success();
    });
    const auto made = DpSgd::create(changed, sampler, source, {0}, &group);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(second(options(1), poisson()), "");
  const std::string refused = "the workers do not agree on the training";
  EXPECT_EQ(second(options(0.999), poisson()).find(refused), 0U);
  EXPECT_EQ(second(options(1), BatchSampler::poisson(Rows::of(100), Rows::of(11), Adjacency::kAddRemove).value())
                .find(refused),
            0U);
  DpSgd::Options other = options(1);
  other.clip = ClipRule::create(FlatClip{ClipNorm::of(0.5)}).value();
  EXPECT_EQ(second(other, poisson()).find(refused), 0U);
  other = options(1);
  other.learning_rate.initial = 0.2;
  EXPECT_EQ(second(other, poisson()).find(refused), 0U);
}

TEST(WorkerGroup, RefusesWorkersThatContinueFromDifferentStates) {
  NoGradient source(2);
  float disagreeing = 0;
  MadeUpGroup group(0, 2, [&](std::span<float> numbers) -> Result<void> {
    if (numbers.size() == 1) numbers[0] += disagreeing;
    return success();
  });
  DpSgd sgd = DpSgd::create(options(1), poisson(), source, {1, 2}, &group).value();
  DpSgd::State state = sgd.state();
  state.parameters = {3, 4};
  disagreeing = 1;
  testing::expect_invalid(sgd.restore(state).error(), "the state to go on from");
  EXPECT_EQ(sgd.parameters(), (std::vector<float>{1, 2}));
  disagreeing = 0;
  ASSERT_TRUE(sgd.restore(state));
  EXPECT_EQ(sgd.parameters(), (std::vector<float>{3, 4}));
}

TEST(WorkerGroup, StartsAllFromTheWeightsOfTheFirst) {
  NoGradient source(2);
  int call = 0;
  MadeUpGroup group(1, 2, [&](std::span<float> numbers) -> Result<void> {
    if (++call == 3) {
      EXPECT_EQ(std::vector<float>(numbers.begin(), numbers.end()), (std::vector<float>{0, 0})) << "ours do not count";
      numbers[0] += 5;
      numbers[1] += 6;
    } else if (call == 2) {
      numbers[0] = 0;
    }
    return success();
  });
  const DpSgd sgd = DpSgd::create(options(1), poisson(), source, {1, 2}, &group).value();
  EXPECT_EQ(sgd.parameters(), (std::vector<float>{5, 6}));
}

TEST(WorkerGroup, RefusesFixedSizesForSeveralWorkers) {
  NoGradient source(1);
  MadeUpGroup group(0, 2, silent);
  const BatchSampler fixed = BatchSampler::fixed_size(Rows::of(100), Rows::of(10), Adjacency::kReplaceOne).value();
  testing::expect_invalid(DpSgd::create(options(1), fixed, source, {0}, &group).error(), "uniform subset");
  MadeUpGroup alone(0, 1, silent);
  EXPECT_TRUE(DpSgd::create(options(1), fixed, source, {0}, &alone));
}

TEST(WorkerGroup, RefusesDiscreteNoiseForSeveralWorkers) {
  NoGradient source(1);
  DpSgd::Options discrete = options(1);
  discrete.discrete = true;
  MadeUpGroup group(0, 2, silent);
  testing::expect_invalid(DpSgd::create(discrete, poisson(), source, {0}, &group).error(), "discrete noise");
  MadeUpGroup alone(0, 1, silent);
  EXPECT_TRUE(DpSgd::create(discrete, poisson(), source, {0}, &alone));
}

TEST(WorkerGroup, DescendsAsWithoutAGroupIfItHasOneMember) {
  NoGradient source(1000);
  MadeUpGroup group(0, 1, silent);
  DpSgd alone = DpSgd::create(options(1.1), poisson(), source, std::vector<float>(1000)).value();
  DpSgd grouped = DpSgd::create(options(1.1), poisson(), source, std::vector<float>(1000), &group).value();
  ReplayRandom one = ReplayRandom::create(5).value();
  ReplayRandom other = ReplayRandom::create(5).value();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(alone.step(one));
    ASSERT_TRUE(grouped.step(other));
  }
  EXPECT_EQ(alone.parameters(), grouped.parameters());
}

}  // namespace
}  // namespace noisefloor
