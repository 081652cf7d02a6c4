#include "noisefloor/federated/learning_simulation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/federated/draws.h"
#include "noisefloor/sgd/lanes_source.h"
#include "tests/support/refusal.h"

namespace noisefloor::federated {
namespace {

using noisefloor::testing::expect_invalid;

// f(x) = a/2 (x − b)² for every row; a row holds a and b.
class Parabola final : public TrainableModel {
 public:
  explicit Parabola(const Dataset& data) : data_(data) {}
  [[nodiscard]] std::size_t examples() const override { return data_.rows; }
  [[nodiscard]] std::size_t parameters() const override { return 1; }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                        const ClipRule* /*rule*/, BitStream& /*stream*/,
                                        std::span<float> sum) override {
    for (const std::uint64_t row : examples) {
      const auto example = data_.example(row);
      sum[0] += example[0] * (at[0] - example[1]);
    }
    return std::size_t{0};
  }
  [[nodiscard]] std::vector<float> initial_weights(BitStream& /*stream*/) const override { return {0}; }
  [[nodiscard]] std::vector<NamedTensor> name_weights(std::span<const float> weights) const override {
    return {{"x", {1}, {weights.begin(), weights.end()}}};
  }
  [[nodiscard]] Result<std::vector<float>> take_weights(const TensorFile& /*file*/) const override {
    return std::vector<float>{0};
  }
  [[nodiscard]] std::vector<float> predict(std::span<const float> at, const Dataset& data) override {
    return std::vector<float>(data.rows, at[0]);
  }

 private:
  const Dataset& data_;
};

Dataset parabolas(std::size_t rows, float a, float b) {
  Dataset data{.rows = rows, .shape = {2}, .features = {}, .labels = {}, .classes = 0, .targets = {}};
  for (std::size_t i = 0; i < rows; ++i) {
    data.features.insert(data.features.end(), {a, b});
    data.targets.push_back(b);
  }
  return data;
}

const ModelMaker kParabola = [](const Dataset& data) -> Result<std::unique_ptr<TrainableModel>> {
  return std::unique_ptr<TrainableModel>(std::make_unique<Parabola>(data));
};

// The two clients of the golden fixed points: a = 1, 10; b = 0, 1; n = 1, 3; K = 10 full steps of .05.
class FixedPoints : public ::testing::Test {
 protected:
  double reached(LearningOptions options) {
    options.rounds = 400;
    options.steps = 10;
    options.batch = 3;
    options.rate = 0.05;
    options.evaluate_every = 400;
    const auto found = simulate_learning(options, {{"one", &one_}, {"two", &two_}}, {{&two_}}, kParabola, {0});
    EXPECT_TRUE(found.has_value()) << (found.has_value() ? "" : found.error().message);
    return static_cast<double>(found.value().model[0]);
  }
  Dataset one_ = parabolas(1, 1, 0);
  Dataset two_ = parabolas(3, 10, 1);
};

TEST_F(FixedPoints, OfFedAvgIsTheGolden) { EXPECT_NEAR(reached({}), .8819236, 1e-6); }

TEST_F(FixedPoints, OfScaffoldIsTheOptimumOfItsWeights) {
  LearningOptions options;
  options.strategy.kind = StrategyKind::kScaffold;
  EXPECT_NEAR(reached(options), 30.0 / 31, 1e-6);
  options.weighting = Weighting::kEqual;
  EXPECT_NEAR(reached(options), 10.0 / 11, 1e-6);
}

TEST_F(FixedPoints, OfFedProxLiesBetween) {
  LearningOptions options;
  options.strategy.kind = StrategyKind::kFedProx;
  options.strategy.proximal = 1;
  const double prox = reached(options);
  EXPECT_GT(prox, .8819236 + 1e-3);
  EXPECT_LT(prox, 30.0 / 31);
}

// --- Small networks --------------------------------------------------------------------------------------------------

// Points of two classes, on either side of a line that is turned a little at each site.
Dataset points(std::size_t rows, double turn, std::uint64_t seed) {
  auto random = ReplayRandom::create(seed).value();
  Dataset data{.rows = rows, .shape = {2}, .features = {}, .labels = {}, .classes = 2, .targets = {}};
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = 2 * internal::uniform_share(random) - 1;
    const double y = 2 * internal::uniform_share(random) - 1;
    data.features.insert(data.features.end(), {static_cast<float>(x), static_cast<float>(y)});
    data.labels.push_back(x + turn * y > 0 ? 1 : 0);
  }
  return data;
}

ModelMaker network(const std::vector<lanes::Layer>& layers) {
  return [layers](const Dataset& data) -> Result<std::unique_ptr<TrainableModel>> {
    NF_TRY(lanes::Program program, lanes::Program::create({2, 1, 1}, layers, lanes::Loss::kCrossEntropy));
    NF_TRY(auto source, LanesSource::create(std::move(program), data, 1));
    return std::unique_ptr<TrainableModel>(std::move(source));
  };
}
const ModelMaker kLogistic = network({lanes::Linear{2}});
const ModelMaker kTwoLayers = network({lanes::Linear{4}, lanes::Activate{lanes::Activation::kTanh}, lanes::Linear{2}});

class Simulation : public ::testing::Test {
 protected:
  Simulation() {
    for (std::size_t i = 0; i < 5; ++i) {
      rows_.push_back(points(40 + 20 * i, 0.2 * static_cast<double>(i), i));
      held_.push_back(points(50, 0.2 * static_cast<double>(i), 100 + i));
    }
    for (std::size_t i = 0; i < 5; ++i) {
      sites_.push_back({"site " + std::to_string(i), &rows_[i]});
      tests_.sets.push_back(&held_[i]);
    }
    tests_.by_site = true;
    options_.rounds = 6;
    options_.steps = 5;
    options_.batch = 10;
    options_.rate = 0.5;
    options_.seed = 7;
  }
  LearningResult run(const ModelMaker& maker = kLogistic) {
    const auto model = maker(rows_[0]).value();
    std::vector<float> initial(model->parameters(), 0.01F);
    auto found = simulate_learning(options_, sites_, tests_, maker, initial);
    EXPECT_TRUE(found.has_value()) << (found.has_value() ? "" : found.error().message);
    return std::move(found).value();
  }
  Error refusal() {
    const auto found = simulate_learning(options_, sites_, tests_, kLogistic, std::vector<float>(6));
    EXPECT_FALSE(found.has_value());
    return found.has_value() ? Error{} : found.error();
  }
  static void expect_same(const LearningResult& a, const LearningResult& b) {
    EXPECT_EQ(a.model, b.model);
    EXPECT_EQ(a.joined, b.joined);
    ASSERT_EQ(a.rounds.size(), b.rounds.size());
    for (std::size_t i = 0; i < a.rounds.size(); ++i) {
      EXPECT_EQ(a.rounds[i].seconds, b.rounds[i].seconds);
      EXPECT_EQ(a.rounds[i].bytes_up, b.rounds[i].bytes_up);
      EXPECT_EQ(a.rounds[i].epsilon, b.rounds[i].epsilon);
      ASSERT_EQ(a.rounds[i].quality.has_value(), b.rounds[i].quality.has_value());
      if (!a.rounds[i].quality) continue;
      EXPECT_EQ(a.rounds[i].quality->loss, b.rounds[i].quality->loss);
    }
  }
  void make_private() {
    options_.mode = PrivacyMode::kLocal;
    options_.clip = ClipNorm::of(1);
    options_.epsilon = Epsilon::of(4);
    options_.delta = Delta::of(1e-3);
  }

  std::vector<Dataset> rows_;
  std::vector<Dataset> held_;
  std::vector<SimulatedSite> sites_;
  SimulatedTests tests_;
  LearningOptions options_;
};

TEST_F(Simulation, OneFullLocalStepIsCentralDescent) {
  options_.steps = 1;
  options_.batch = 1000;  // all rows
  options_.rounds = 10;
  const LearningResult together = run();
  options_.cooperation = Cooperation::kPooled;
  const LearningResult pooled = run();
  for (std::size_t k = 0; k < pooled.model.size(); ++k) EXPECT_NEAR(together.model[k], pooled.model[k], 1e-6) << k;
  options_.cooperation = Cooperation::kFederated;
  options_.weighting = Weighting::kEqual;
  EXPECT_GT(std::fabs(run().model[0] - pooled.model[0]), 1e-4) << "weights make the difference";
}

TEST_F(Simulation, DoesNotDependOnThreads) {
  for (const StrategyKind kind : {StrategyKind::kFedAvg, StrategyKind::kScaffold, StrategyKind::kFedNova}) {
    options_.strategy.kind = kind;
    options_.faults = {.away = 0.2, .stragglers = 0.3, .slowdown = 20};
    make_private();
    options_.threads = 1;
    const LearningResult one = run();
    options_.threads = 3;
    expect_same(one, run());
    options_.seed = 8;
    EXPECT_NE(one.model, run().model) << "the seed makes the difference";
    options_.seed = 7;
  }
}

TEST_F(Simulation, LearnsWithEveryStrategy) {
  options_.rounds = 15;
  options_.batch = 20;
  for (const auto& [name, kind] : kStrategies) {
    options_.strategy = {.kind = kind};
    if (kind == StrategyKind::kFedAdagrad || kind == StrategyKind::kFedYogi || kind == StrategyKind::kFedAdam) {
      options_.strategy.server_rate = 0.3;
    }
    const LearningResult found = run();
    EXPECT_EQ(found.state, RunState::kComplete) << name;
    EXPECT_EQ(found.rounds.size(), 16U) << name;
    EXPECT_GT(*found.quality.accuracy, 0.8) << name;
    EXPECT_LE(*found.quality.worst, *found.quality.macro) << name;
  }
}

TEST_F(Simulation, ComparesWithAndWithoutCooperation) {
  options_.rounds = 15;
  options_.cooperation = Cooperation::kLocalOnly;
  const LearningResult alone = run();
  EXPECT_TRUE(alone.model.empty());
  EXPECT_EQ(alone.quality.sites.size(), 5U);
  EXPECT_EQ(alone.rounds.back().bytes_up, 0U);
  EXPECT_GT(*alone.quality.accuracy, 0.75);
  options_.cooperation = Cooperation::kPooled;
  EXPECT_GT(*run().quality.accuracy, 0.75);
}

TEST_F(Simulation, KeepsPersonalPartsAtTheirSites) {
  options_.personal = Personal::kLastLayer;
  const LearningResult own_layer = run(kTwoLayers);
  EXPECT_EQ(own_layer.parameters, 12U) << "of 22: 10 stay at the site";
  EXPECT_EQ(own_layer.model.size(), 12U);
  options_.personal = Personal::kLastBias;
  EXPECT_EQ(run().parameters, 4U);
  options_.personal = Personal::kLastLayer;
  expect_invalid(refusal(), "one layer");
  options_.personal = Personal::kDitto;
  const LearningResult ditto = run();
  options_.personal = Personal::kNone;
  const LearningResult plain = run();
  EXPECT_EQ(ditto.model, plain.model) << "what a site keeps to itself changes nothing for others";
  EXPECT_NE(ditto.quality.loss, plain.quality.loss);
  options_.personal = Personal::kFineTune;
  EXPECT_EQ(run().model, plain.model);
}

TEST_F(Simulation, SpendsWhatItSays) {
  make_private();
  const LearningResult found = run();
  ASSERT_EQ(found.noise.size(), 5U);
  EXPECT_GT(found.noise[0], found.noise[4]) << "a batch of 10 is a larger share of fewer rows";
  for (std::size_t i = 0; i < 5; ++i) {
    const double spent = found.rounds.back().epsilon[i];
    EXPECT_LE(spent, 4.0);
    EXPECT_GT(spent, 3.99);
    EXPECT_LT(found.rounds[1].epsilon[i], spent);
    // The same by hand: 30 steps of a Poisson sample.
    const auto law = BatchLaw::poisson(Rows::make(rows_[i].rows).value(), Rows::of(10), Adjacency::kAddRemove).value();
    const DpStatement all{Adjacency::kAddRemove, PrivacyUnit::kRow,
                          law.run(NoiseMultiplier::make(found.noise[i]).value(), Steps::of(30))};
    EXPECT_NEAR(spent, epsilon_of_rounds(all, 1, options_.delta).value(), 1e-6);
  }
  options_.noise = NoiseMultiplier::make(found.noise[0]).value();
  options_.rounds = 12;  // twice as many as the budgets allow for
  options_.evaluate_every = 100;
  options_.minimum_cohort = 5;
  const LearningResult refused = run();
  EXPECT_EQ(refused.state, RunState::kIncomplete) << "a site without budget declines, and the cohort is too small";
  EXPECT_EQ(refused.joined[0], 6U);
  EXPECT_EQ(refused.declined[0], 1U);
}

TEST_F(Simulation, AddsTheNoiseOfItsEvent) {
  // A model that learns nothing: the update of one step is noise alone, of z · C · rate / batch.
  make_private();
  options_.epsilon.reset();
  options_.noise = NoiseMultiplier::of(3);
  options_.steps = 1;
  options_.rounds = 1;
  options_.weighting = Weighting::kEqual;
  const ModelMaker wide = network({lanes::Linear{2000, false}, lanes::Linear{2}});
  const auto model = wide(rows_[0]).value();
  const std::vector<float> zeros(model->parameters(), 0.0F);
  const auto found = simulate_learning(options_, sites_, tests_, wide, zeros).value();
  double squares = 0;
  std::size_t count = 0;
  for (std::size_t k = 0; k + 2 < found.model.size(); ++k, ++count) squares += std::pow(found.model[k], 2);
  const double expected = 3.0 * 1.0 * 0.5 / 10 / std::sqrt(5.0);  // the mean of five
  const double ratio = squares / static_cast<double>(count) / (expected * expected);
  // 8000 draws: α = 1e-6 at ± 4.9 · √(2/8000).
  EXPECT_NEAR(ratio, 1, 0.078);
  EXPECT_GT(std::fabs(ratio * 0.81 - 1), 0.078) << "noise 10 % too small would be found";
}

TEST_F(Simulation, CentralNoiseIsPaidForByTheCoordinator) {
  options_.mode = PrivacyMode::kCentral;
  options_.weighting = Weighting::kEqual;
  options_.clip = ClipNorm::of(1);
  options_.epsilon = Epsilon::of(8);
  options_.delta = Delta::of(1e-3);
  options_.minimum_cohort = 0;
  const LearningResult found = run();
  EXPECT_EQ(found.rounds.back().epsilon.size(), 1U);
  EXPECT_LE(found.rounds.back().epsilon[0], 8.0);
  EXPECT_GT(found.rounds.back().epsilon[0], 7.9);
  options_.weighting = Weighting::kByCount;
  expect_invalid(refusal(), "equal weights");
}

TEST_F(Simulation, NoiseInsideTheSumProtectsRowsOfEverySite) {
  options_.mode = PrivacyMode::kSecagg;
  options_.weighting = Weighting::kEqual;
  options_.clip = ClipNorm::of(1);
  options_.epsilon = Epsilon::of(2);
  options_.delta = Delta::of(1e-3);
  options_.minimum_cohort = 0;
  options_.steps = 1;
  options_.batch = 100;  // of all 400 rows
  options_.evaluate_every = 60;
  options_.rounds = 60;
  const LearningResult found = run();
  EXPECT_EQ(found.state, RunState::kComplete);
  EXPECT_GT(*found.quality.accuracy, 0.8);
  ASSERT_EQ(found.rounds.back().epsilon.size(), 5U);
  for (const double epsilon : found.rounds.back().epsilon) {
    EXPECT_LE(epsilon, 2.0);
    EXPECT_GT(epsilon, 1.99);
  }
  // The same noise in all as one site with all rows would need: the price of five shares is that of the grid.
  const auto law = BatchLaw::poisson(SamplingRate::of(0.25), Adjacency::kAddRemove);
  const DpStatement alone{Adjacency::kAddRemove, PrivacyUnit::kRow,
                          law.run(NoiseMultiplier::make(found.noise[0]).value(), Steps::of(60))};
  EXPECT_NEAR(epsilon_of_rounds(alone, 1, options_.delta).value(), 2, 0.01);
  // A site that is away makes the round void: its share is missing.
  options_.faults.away = 0.2;
  options_.spare = 10;
  EXPECT_EQ(run().state, RunState::kIncomplete);
  options_.faults.away = 0;
  options_.spare = 0;
  options_.colluders = 2;
  EXPECT_NEAR(run().noise[0], found.noise[0], 1e-3) << "noise is relative to what honest sites add";
  options_.colluders = 5;
  expect_invalid(refusal(), "collude");
  options_.colluders = 0;
  options_.steps = 2;
  expect_invalid(refusal(), "local_steps = 1");
  options_.steps = 1;
  options_.strategy.kind = StrategyKind::kScaffold;
  expect_invalid(refusal(), "scaffold");
}

TEST_F(Simulation, WithoutNoiseTheSumOnTheGridIsCentralDescent) {
  options_.mode = PrivacyMode::kSecagg;
  options_.weighting = Weighting::kEqual;
  options_.clip = ClipNorm::of(4);  // beyond all gradients
  options_.noise = NoiseMultiplier::of(1e-4);
  options_.delta = Delta::of(1e-3);
  options_.minimum_cohort = 0;
  options_.steps = 1;
  options_.batch = 400;
  options_.rounds = 3;
  options_.evaluate_every = 3;
  const LearningResult together = run();
  options_ = {};
  options_.cooperation = Cooperation::kPooled;
  options_.rounds = 3;
  options_.batch = 400;
  options_.steps = 1;
  options_.rate = 0.5;
  options_.seed = 7;
  const LearningResult pooled = run();
  ASSERT_EQ(together.model.size(), pooled.model.size());
  for (std::size_t k = 0; k < pooled.model.size(); ++k) EXPECT_NEAR(together.model[k], pooled.model[k], 1e-3) << k;
  EXPECT_NE(together.model, pooled.model);
}

TEST_F(Simulation, WaitsForNobodyWhoIsAwayForEver) {
  options_.rounds = 20;
  options_.spare = 4;  // rounds in which everybody is away are void
  options_.faults.away = 0.3;
  options_.round_limit_ms = 5000;
  const LearningResult found = run();
  EXPECT_EQ(found.state, RunState::kComplete);
  std::uint64_t all = 0;
  for (const std::uint64_t joined : found.joined) {
    EXPECT_GT(joined, 4U);
    EXPECT_LT(joined, 22U);
    all += joined;
  }
  EXPECT_NEAR(static_cast<double>(all), 72, 25);
}

TEST_F(Simulation, StragglersCostTimeOrTheirRounds) {
  const LearningResult quick = run();
  options_.faults.stragglers = 0.5;
  options_.faults.slowdown = 1000;
  const LearningResult slow = run();
  EXPECT_GT(slow.rounds.back().seconds, quick.rounds.back().seconds + 5);
  EXPECT_EQ(slow.model, quick.model) << "everybody was waited for";
  options_.round_limit_ms = 1000;
  const LearningResult impatient = run();
  EXPECT_LT(impatient.rounds.back().survivors, 5U);
}

TEST_F(Simulation, LiarsBreakTheMeanAndNotTheMedian) {
  options_.weighting = Weighting::kEqual;
  options_.rounds = 15;
  options_.faults.liars = 1;
  options_.faults.attack = Attack::kSignFlip;
  options_.faults.strength = 20;
  const double broken = *run().quality.accuracy;
  options_.robust = {RobustRule::kMedian, 1};
  options_.minimum_cohort = 5;
  EXPECT_GT(*run().quality.accuracy, 0.75);
  EXPECT_LT(broken, 0.5);
  make_private();
  EXPECT_GT(*run().quality.accuracy, 0.65) << "with noise on, too";
  options_.faults.attack = Attack::kNaN;
  EXPECT_GT(*run().quality.accuracy, 0.65);
}

TEST_F(Simulation, RefusesWhatDoesNotFit) {
  options_.strategy.kind = StrategyKind::kScaffold;
  options_.steps = 0;
  expect_invalid(refusal(), "same number of local steps");
  options_ = {};
  options_.noise = NoiseMultiplier::of(1);
  expect_invalid(refusal(), "go with a mode");
  options_ = {};
  options_.mode = PrivacyMode::kLocal;
  expect_invalid(refusal(), "clip norm");
  options_ = {};
  options_.faults.liars = 5;
  expect_invalid(refusal(), "honest");
  options_ = {};
  options_.robust = {RobustRule::kKrum, 2};
  options_.minimum_cohort = 5;
  expect_invalid(refusal(), "equal weights");
}

}  // namespace
}  // namespace noisefloor::federated
