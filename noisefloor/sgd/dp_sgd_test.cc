// Measures the noise on what is released, and compares it with the event.
#include "noisefloor/sgd/dp_sgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

// Examples whose gradient is the same, known vector.
class FixedGradient final : public GradientSource {
 public:
  FixedGradient(std::size_t examples, std::size_t parameters, float value)
      : examples_(examples), parameters_(parameters), value_(value) {}

  [[nodiscard]] std::size_t examples() const override { return examples_; }
  [[nodiscard]] std::size_t parameters() const override { return parameters_; }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float>, std::span<const std::uint64_t> rows,
                                        const ClipRule* rule, BitStream&, std::span<float> sum) override {
    drawn.push_back(rows.size());
    const std::vector<float> squared(rows.size(), value_ * value_ * static_cast<float>(parameters_));
    std::vector<float> factors(rows.size(), 1.0F);
    std::size_t within = 0;
    if (rule != nullptr) within = rule->factors(squared, 1, rows.size(), factors);
    for (const float factor : factors) {
      for (float& x : sum) x += factor * value_;
    }
    return within;
  }

  std::vector<std::size_t> drawn;

 private:
  std::size_t examples_;
  std::size_t parameters_;
  float value_;
};

BatchSampler poisson(std::uint64_t rows, std::uint64_t batch) {
  return BatchSampler::poisson(Rows::make(rows).value(), Rows::make(batch).value(), Adjacency::kAddRemove).value();
}

ClipRule flat(double norm) { return ClipRule::create(FlatClip{ClipNorm::make(norm).value()}).value(); }

DpSgd::Options options(double noise, double clip) {
  DpSgd::Options result;
  result.noise = NoiseMultiplier::make(noise).value();
  result.clip = flat(clip);
  result.learning_rate = {.initial = 1.0};
  return result;
}

// Mean and variance of the coordinates of one step's update, times the expected batch.
struct Measured {
  double mean;
  double variance;
};
Measured measure(DpSgd& sgd, ReplayRandom& random, int steps) {
  double sum = 0;
  double squares = 0;
  double count = 0;
  const auto batch = static_cast<double>(sgd.sampler().expected_batch().value());
  for (int s = 0; s < steps; ++s) {
    const std::vector<float> before = sgd.parameters();
    EXPECT_TRUE(sgd.step(random));
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double update = (static_cast<double>(before[i]) - static_cast<double>(sgd.parameters()[i])) * batch;
      sum += update;
      squares += update * update;
      ++count;
    }
  }
  return {sum / count, squares / count - sum / count * (sum / count)};
}

constexpr std::size_t kMany = 200'000;

// The variance of a Gaussian from n draws has a relative standard error of √(2/n). With 10^6 draws, 1 % is 7 standard
// errors (α = 1e-11), and a scale that is wrong by 1 % (2 % in variance) is found.
TEST(DpSgd, AddsNoiseWithTheVarianceOfTheEvent) {
  FixedGradient source(100, kMany, 0);
  DpSgd sgd = DpSgd::create(options(1.3, 0.7), poisson(100, 10), source, std::vector<float>(kMany)).value();
  ReplayRandom random = ReplayRandom::create(3).value();
  const Measured measured = measure(sgd, random, 5);
  EXPECT_NEAR(measured.variance / std::pow(1.3 * 0.7, 2), 1, 0.01);
  EXPECT_NEAR(measured.mean, 0, 4.9 * 1.3 * 0.7 / std::sqrt(5.0 * kMany));
}

TEST(DpSgd, AddsNoiseOnceWhateverTheSizeOfTheBatch) {
  for (const std::uint64_t batch : {1U, 50U, 100U}) {
    FixedGradient source(100, kMany, 1e-6F);
    DpSgd sgd = DpSgd::create(options(1.0, 1.0), poisson(100, batch), source, std::vector<float>(kMany)).value();
    ReplayRandom random = ReplayRandom::create(4).value();
    EXPECT_NEAR(measure(sgd, random, 5).variance, 1, 0.01) << batch;
  }
}

TEST(DpSgd, AddsNoiseToEmptyBatchesToo) {
  FixedGradient source(10, kMany, 0);
  DpSgd sgd = DpSgd::create(options(2.0, 1.0), poisson(10, 1), source, std::vector<float>(kMany)).value();
  ReplayRandom random = ReplayRandom::create(5).value();
  bool empty = false;
  for (int step = 0; step < 20 && !empty; ++step) {
    EXPECT_NEAR(measure(sgd, random, 1).variance, 4, 4 * 0.025);
    empty = source.drawn.back() == 0;
  }
  EXPECT_TRUE(empty) << "the seed gives an empty batch";
}

TEST(DpSgd, DividesSumsByTheExpectedSize) {
  FixedGradient source(1000, 4, 0.25F);  // norm 0.5
  DpSgd::Options plain = options(1, 1);
  plain.noise.reset();
  DpSgd sgd = DpSgd::create(plain, poisson(1000, 100), source, std::vector<float>(4)).value();
  ReplayRandom random = ReplayRandom::create(6).value();
  ASSERT_TRUE(sgd.step(random));
  const auto drawn = static_cast<double>(source.drawn[0]);
  ASSERT_NE(drawn, 100) << "the seed gives another size than the expected one";
  EXPECT_NEAR(sgd.parameters()[0], -0.25 * drawn / 100, 1e-6);
}

TEST(DpSgd, ClipsEachGradientInASum) {
  FixedGradient source(1000, 4, 50.0F);  // norm 100
  DpSgd::Options plain = options(1, 2);
  plain.noise.reset();
  DpSgd sgd = DpSgd::create(plain, poisson(1000, 1000), source, std::vector<float>(4)).value();
  ReplayRandom random = ReplayRandom::create(6).value();
  ASSERT_TRUE(sgd.step(random));
  EXPECT_NEAR(sgd.parameters()[0], -1.0, 1e-3) << "norm 2 in 4 equal coordinates";
}

// Adaptive clipping pays for its count: sum and count together are one release of the stated multiplier.
TEST(DpSgd, PaysForTheCountOfAdaptiveClipping) {
  constexpr double kZ = 2.0;
  DpSgd::Options adaptive = options(kZ, 1.0);
  adaptive.adaptive = AdaptiveClip{.quantile = 0.5, .rate = 1e-9, .count_noise_share = 0.03};
  FixedGradient source(1000, kMany, 0);
  DpSgd sgd = DpSgd::create(adaptive, poisson(1000, 50), source, std::vector<float>(kMany)).value();
  ReplayRandom random = ReplayRandom::create(7).value();
  const double on_sum = std::sqrt(measure(sgd, random, 5).variance);
  const double on_count = 0.03 * 50;
  EXPECT_NEAR(1 / std::sqrt(1 / (on_sum * on_sum) + 1 / (4 * on_count * on_count)), kZ, 0.01 * kZ);
  EXPECT_GT(on_sum, kZ * 1.2) << "without it the count would be free";
}

TEST(DpSgd, FindsTheQuantileByAdaptiveClipping) {
  FixedGradient source(1000, 100, 0.3F);  // all norms 3
  DpSgd::Options adaptive = options(0.1, 0.01);
  adaptive.adaptive = AdaptiveClip{.quantile = 0.5, .rate = 0.2, .count_noise_share = 0.01};
  DpSgd sgd = DpSgd::create(adaptive, poisson(1000, 200), source, std::vector<float>(100)).value();
  ReplayRandom random = ReplayRandom::create(8).value();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(sgd.step(random));
  EXPECT_NEAR(sgd.clip_norm(), 3, 0.5);
}

TEST(DpSgd, AddsDiscreteNoiseWithTheVarianceOfTheEventAndNoFractions) {
  FixedGradient source(100, kMany, 0.3F / std::sqrt(static_cast<float>(kMany)));
  DpSgd::Options discrete = options(1.3, 0.7);
  discrete.discrete = true;
  DpSgd sgd = DpSgd::create(discrete, poisson(100, 10), source, std::vector<float>(kMany)).value();
  ReplayRandom random = ReplayRandom::create(3).value();
  const Measured measured = measure(sgd, random, 5);
  const GradientGrid grid = GradientGrid::create(L2Sensitivity::of(0.7), kMany).value();
  EXPECT_NEAR(measured.variance / std::pow(1.3 * grid.bound() * grid.step(), 2), 1, 0.01);
  // The event has the same σ.
  const DpEvent step = DpSgd::event_of_step(sgd.sampler(), NoiseMultiplier::of(1.3), flat(0.7), true, kMany).value();
  const auto& sampled = std::get<PoissonSampledEvent>(step.kind());
  const DpEvent& noise = sampled.event;
  EXPECT_EQ(std::get<DiscreteGaussianEvent>(noise.kind()).sigma.value(),
            grid.sigma(NoiseMultiplier::of(1.3)).value().value());
  EXPECT_EQ(std::get<DiscreteGaussianEvent>(noise.kind()).l2_sensitivity.value(), grid.bound());

  // From weights of 0, one step of rate 1 is the release itself, divided by the size of the batch: whole steps.
  DpSgd once = DpSgd::create(discrete, poisson(100, 16), source, std::vector<float>(kMany)).value();
  ASSERT_TRUE(once.step(random));
  std::size_t whole = 0;
  for (const float x : once.parameters()) {
    const double steps = static_cast<double>(x) * 16 / grid.step();
    if (std::abs(steps) < 0x1p24) {
      ASSERT_EQ(steps, std::nearbyint(steps));
      ++whole;
    }
  }
  EXPECT_GT(whole, kMany / 4);
}

TEST(DpSgd, SumsRoundedClippedGradientsIfDiscrete) {
  FixedGradient source(100, 4, 1);
  DpSgd::Options discrete = options(1e-4, 0.5);
  discrete.discrete = true;
  DpSgd sgd = DpSgd::create(discrete, poisson(100, 100), source, std::vector<float>(4)).value();
  ReplayRandom random = ReplayRandom::create(3).value();
  ASSERT_TRUE(sgd.step(random));
  for (const float x : sgd.parameters()) EXPECT_NEAR(x, -0.25, 1e-4);
}

TEST(DpSgd, AveragesItsWeights) {
  FixedGradient source(10, 1, 1.0F);
  DpSgd::Options plain = options(1, 10);
  plain.noise.reset();
  plain.averaging = 0.9;
  DpSgd sgd = DpSgd::create(plain, poisson(10, 10), source, {0.0F}).value();
  ReplayRandom random = ReplayRandom::create(9).value();
  double exact = 0;
  for (int t = 1; t <= 30; ++t) {
    ASSERT_TRUE(sgd.step(random));
    const double kept = std::min(0.9, (1.0 + t) / (10.0 + t));
    exact = kept * exact + (1 - kept) * static_cast<double>(sgd.parameters()[0]);
    ASSERT_NEAR(sgd.result()[0], exact, 1e-4);
  }
}

TEST(DpSgd, ContinuesFromItsState) {
  FixedGradient source(100, 50, 0.1F);
  DpSgd::Options all = options(1.0, 0.5);
  all.optimizer = {.kind = OptimizerKind::kAdam};
  all.learning_rate = {.initial = 0.1, .decay = RateDecay::kCosine, .steps = 20};
  all.averaging = 0.9;
  all.adaptive = AdaptiveClip{.count_noise_share = 1};
  const auto fresh = [&](const DpSgd::Options& with) {
    return DpSgd::create(with, poisson(100, 10), source, std::vector<float>(50)).value();
  };
  DpSgd whole = fresh(all);
  ReplayRandom random = ReplayRandom::create(3).value();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(whole.step(random));
  const DpSgd::State half = whole.state();
  DpSgd rest = fresh(all);
  ASSERT_TRUE(rest.restore(half));
  EXPECT_TRUE(rest.replayed());
  ReplayRandom later = ReplayRandom::create(3, random.position()).value();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(whole.step(random));
    ASSERT_TRUE(rest.step(later));
  }
  EXPECT_EQ(rest.result(), whole.result());
  EXPECT_EQ(rest.parameters(), whole.parameters());
  EXPECT_EQ(rest.clip_norm(), whole.clip_norm());
  EXPECT_EQ(rest.steps(), 10U);

  // A state of another training leaves this one as it was.
  const auto refused = [&](const std::function<void(DpSgd::State&)>& change, DpSgd::Options with) {
    DpSgd other = fresh(with);
    DpSgd::State state = half;
    change(state);
    EXPECT_FALSE(other.restore(state));
    EXPECT_EQ(other.steps(), 0U);
    EXPECT_FALSE(other.replayed());
  };
  refused([](DpSgd::State& state) { state.parameters.pop_back(); }, all);
  refused([](DpSgd::State& state) { state.averaged.clear(); }, all);
  refused([](DpSgd::State& state) { state.optimizer.second.clear(); }, all);
  refused([](DpSgd::State& state) { state.optimizer.steps = 4; }, all);
  refused([](DpSgd::State& state) { state.clip_norm = std::nan(""); }, all);
  DpSgd::Options fixed = all;
  fixed.adaptive.reset();
  refused([](DpSgd::State&) {}, fixed);
}

TEST(DpSgd, SaysInItsEventWhenThereIsNoPrivacy) {
  FixedGradient source(10, 1, 1.0F);
  DpSgd secure = DpSgd::create(options(1, 1), poisson(10, 5), source, {0.0F}).value();
  SecureRandom random = SecureRandom::create().value();
  ASSERT_TRUE(secure.step(random));
  EXPECT_EQ(secure.event(Steps::of(7)),
            DpEvent(SelfComposedEvent{Steps::of(7), poisson(10, 5).event(NoiseMultiplier::of(1.0))}));
  ReplayRandom replay = ReplayRandom::create(1).value();
  ASSERT_TRUE(secure.step(replay));
  EXPECT_TRUE(contains<NonPrivateEvent>(secure.event(Steps::of(7))));
  ASSERT_TRUE(secure.step(random));
  EXPECT_TRUE(contains<NonPrivateEvent>(secure.event(Steps::of(7)))) << "for good";
  DpSgd::Options noiseless = options(1, 1);
  noiseless.noise.reset();
  EXPECT_TRUE(
      contains<NonPrivateEvent>(DpSgd::create(noiseless, poisson(10, 5), source, {0.0F}).value().event_of_step()));
}

TEST(DpSgd, RefusesDiscreteNoiseWithoutAFixedClipNorm) {
  FixedGradient source(100, 5, 0.1F);
  DpSgd::Options adaptive = options(1, 1);
  adaptive.discrete = true;
  adaptive.adaptive = AdaptiveClip{.count_noise_share = 1};
  const auto refused = [&](const DpSgd::Options& with) {
    const auto made = DpSgd::create(with, poisson(100, 10), source, std::vector<float>(5));
    ASSERT_FALSE(made.has_value());
    testing::expect_invalid(made.error(), "discrete noise");
  };
  refused(adaptive);
  DpSgd::Options none = options(1, 1);
  none.discrete = true;
  none.noise.reset();
  refused(none);
}

TEST(DpSgd, RefusesOptionsThatDoNotFit) {
  FixedGradient source(10, 2, 1.0F);
  const auto refused = [&](const std::function<void(DpSgd::Options&)>& change, const std::string& named) {
    DpSgd::Options changed = options(1, 1);
    change(changed);
    testing::expect_invalid(DpSgd::create(changed, poisson(10, 5), source, {0, 0}).error(), named);
  };
  refused([](DpSgd::Options& o) { o.clip.reset(); }, "clip");
  refused([](DpSgd::Options& o) { o.averaging = 1; }, "averaging");
  refused([](DpSgd::Options& o) { o.learning_rate.initial = -1; }, "learning rate");
  refused([](DpSgd::Options& o) { o.optimizer.momentum = 2; }, "momentum");
  refused(
      [](DpSgd::Options& o) {
        o.clip = ClipRule::create(GroupClip{{ClipNorm::of(1.0), ClipNorm::of(1.0)}}).value();
      },
      "2 clip norms");
  refused([](DpSgd::Options& o) { o.adaptive = AdaptiveClip{.quantile = 1}; }, "quantile");
  refused([](DpSgd::Options& o) { o.adaptive = AdaptiveClip{.rate = 0}; }, "rate");
  refused([](DpSgd::Options& o) { o.adaptive = AdaptiveClip{.count_noise_share = 0.01}; }, "count_noise_share");
  refused(
      [](DpSgd::Options& o) {
        o.adaptive = AdaptiveClip{};
        o.clip = ClipRule::create(AutomaticClip{ClipNorm::of(1.0), 0.01}).value();
      },
      "adaptive");
  testing::expect_invalid(DpSgd::create(options(1, 1), poisson(10, 5), source, {0}).error(), "2 parameters");
  testing::expect_invalid(DpSgd::create(options(1, 1), poisson(11, 5), source, {0, 0}).error(),
                          "as many examples as the data have");
}

}  // namespace
}  // namespace noisefloor
