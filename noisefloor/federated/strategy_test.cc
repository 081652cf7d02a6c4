#include "noisefloor/federated/strategy.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "noisefloor/random/uniform.h"
#include "tests/support/refusal.h"

namespace noisefloor::federated {
namespace {

using testing::expect_invalid;

// Two clients with f = a/2 (x − b)², a = 1, 10, b = 0, 1, and 1 and 3 rows; K = 10 full gradients of rate 0.05.
struct Quadratics {
  static constexpr std::array<double, 2> kCurve{1, 10};
  static constexpr std::array<double, 2> kBest{0, 1};
  static constexpr std::uint64_t kSteps = 10;
  static constexpr double kRate = 0.05;

  explicit Quadratics(const StrategyOptions& options) : strategy(Strategy::create(options, 1).value()) {}

  // A client's descent from x. Descends in double, with corrections in float.
  [[nodiscard]] double descend(std::size_t client, double x, double c, std::uint64_t steps = kSteps) const {
    double y = x;
    for (std::uint64_t step = 0; step < steps; ++step) {
      double g = kCurve[client] * (y - kBest[client]);
      if (strategy.options().kind == StrategyKind::kScaffold) g += c - own[client];
      if (strategy.options().kind == StrategyKind::kFedProx) g += strategy.options().proximal * (y - x);
      y -= kRate * g;
    }
    return y - x;
  }

  // The model after so many rounds with these weights in the mean, and c by the strategy or in its two-vector form with
  // the weights `in_c`.
  double run(int rounds, std::array<double, 2> weights, std::array<double, 2> in_c, bool derived = true) {
    StrategyState state = strategy.initial();
    std::vector<float> model{0};
    double c = 0;
    double x = 0;  // the server's model in double, for fixed points that must be right to 1e-6
    own = {};
    for (int round = 0; round < rounds; ++round) {
      std::array<double, 2> deltas{};
      for (std::size_t i = 0; i < 2; ++i) deltas[i] = descend(i, x, c);
      const double mean = weights[0] * deltas[0] + weights[1] * deltas[1];
      const std::array<double, 1> update{mean};
      auto moved = strategy.move(model, {.update = update}, state).value();
      double change_of_c = 0;
      for (std::size_t i = 0; i < 2; ++i) {
        const double next = own[i] - c - deltas[i] / (static_cast<double>(kSteps) * kRate);
        change_of_c += in_c[i] * (next - own[i]);
        own[i] = next;
      }
      state = moved.state;
      model = moved.model;
      x += mean;
      if (strategy.options().kind == StrategyKind::kScaffold) c = derived ? state.control[0] : c + change_of_c;
    }
    return x;
  }

  Strategy strategy;
  std::array<double, 2> own{};
};

StrategyOptions of(StrategyKind kind) {
  StrategyOptions options;
  options.kind = kind;
  options.local_steps = Quadratics::kSteps;
  options.local_rate = Quadratics::kRate;
  return options;
}

constexpr std::array<double, 2> kByRows{0.25, 0.75};
constexpr std::array<double, 2> kEqual{0.5, 0.5};

TEST(Strategy, ReachesTheGoldenFixedPoints) {
  EXPECT_NEAR(Quadratics(of(StrategyKind::kFedAvg)).run(2000, kByRows, kByRows), 0.8819236, 1e-6);
  EXPECT_NEAR(Quadratics(of(StrategyKind::kScaffold)).run(2000, kByRows, kByRows), 30.0 / 31, 1e-6)
      << "the weighted optimum";
}

// The weights trap: the fixed point is that of the weights in c. This is what the derived c, with one p for both, rules
// out.
TEST(Strategy, UnequalWeightsInControlTrainAnotherObjective) {
  EXPECT_NEAR(Quadratics(of(StrategyKind::kScaffold)).run(4000, kByRows, kEqual, /*derived=*/false), 10.0 / 11, 1e-6);
}

// One vector as good as two: c from the mean alone, with all sites or some of them, weighted or not.
TEST(Strategy, DerivedControlEqualsTheTwoVectorForm) {
  ReplayRandom random = ReplayRandom::create(5).value();
  constexpr std::size_t kSites = 6;
  constexpr std::size_t kParameters = 9;
  StrategyOptions options = of(StrategyKind::kScaffold);
  const Strategy strategy = Strategy::create(options, kParameters).value();
  const auto number = [&] {
    return static_cast<double>(static_cast<float>(static_cast<double>(uniform_below(random, 2001)) / 1000.0 - 1));
  };
  for (const bool weighted : {false, true}) {
    StrategyState state = strategy.initial();
    std::vector<float> model(kParameters);
    std::vector<std::vector<double>> own(kSites, std::vector<double>(kParameters));
    std::vector<double> two_vectors(kParameters);
    std::array<double, kSites> weights{};
    double all = 0;
    for (double& weight : weights) all += weight = weighted ? 1 + static_cast<double>(uniform_below(random, 9)) : 1;
    for (int round = 0; round < 40; ++round) {
      double share = 0;
      std::vector<double> mean(kParameters);
      std::vector<double> change(kParameters);
      for (std::size_t i = 0; i < kSites; ++i) {
        if (round > 0 && uniform_below(random, 2) == 0 && i != 0) continue;  // not in this round
        const double p = weights[i] / all;
        share += p;
        std::vector<float> delta(kParameters);
        for (float& value : delta) value = static_cast<float>(number());
        const auto next = strategy.next_own_control(own[i], state.control, delta);
        for (std::size_t k = 0; k < kParameters; ++k) {
          mean[k] += p * static_cast<double>(delta[k]);
          change[k] += p * (next[k] - own[i][k]);
        }
        own[i] = next;
      }
      for (double& value : mean) value /= share;
      for (std::size_t k = 0; k < kParameters; ++k) two_vectors[k] += change[k];
      auto moved = strategy.move(model, {.update = mean, .share = std::min(share, 1.0)}, state).value();
      state = moved.state;
      model = moved.model;
      for (std::size_t k = 0; k < kParameters; ++k) {
        EXPECT_NEAR(state.control[k], two_vectors[k], 1e-14) << "round " << round;
        double sum = 0;
        for (std::size_t i = 0; i < kSites; ++i) sum += weights[i] / all * own[i][k];
        EXPECT_NEAR(state.control[k], sum, 1e-13) << "c = Σ p_i c_i";
      }
    }
  }
}

// One full local step of each site is centralised descent, whatever the strategy is called.
TEST(Strategy, OneFullLocalStepIsCentralisedDescent) {
  for (const StrategyKind kind : {StrategyKind::kFedAvg, StrategyKind::kFedProx, StrategyKind::kFedNova}) {
    const Quadratics sites(of(kind));
    StrategyState state = sites.strategy.initial();
    std::vector<float> model{0};
    double central = 0;
    for (int round = 0; round < 50; ++round) {
      const std::array<double, 1> mean{0.25 * sites.descend(0, static_cast<double>(model[0]), 0, 1) +
                                       0.75 * sites.descend(1, static_cast<double>(model[0]), 0, 1)};
      auto moved = sites.strategy.move(model, {.update = mean}, state).value();
      model = moved.model;
      state = moved.state;
      central -= Quadratics::kRate * (0.25 * central + 0.75 * 10 * (central - 1));
      ASSERT_NEAR(static_cast<double>(model[0]), central, 1e-6) << name_of(kind);
    }
  }
}

// Sites that make other numbers of steps: FedNova reaches the weighted optimum's direction, and FedAvg does not.
TEST(Strategy, FedNovaRemovesTheWeightOfMoreSteps) {
  // Two sites with linear losses −x and +x, of equal weight: together they have no slope.
  const Strategy nova = Strategy::create(of(StrategyKind::kFedNova), 1).value();
  const double many = 9 * 0.1;
  const double few = -1 * 0.1;
  const std::array<double, 1> normalised{0.5 * many / 9 + 0.5 * few / 1};
  const auto moved = nova.move(std::vector<float>{0}, {.update = normalised, .steps = 5}, nova.initial()).value();
  EXPECT_NEAR(static_cast<double>(moved.model[0]), 0, 1e-7);
  const Strategy average = Strategy::create(of(StrategyKind::kFedAvg), 1).value();
  const std::array<double, 1> plain{0.5 * many + 0.5 * few};
  EXPECT_GT(average.move(std::vector<float>{0}, {.update = plain}, average.initial()).value().model[0], 0.3F);
}

TEST(Strategy, FollowsTheRecurrencesOfAdaptiveServers) {
  const std::array<double, 4> updates{0.5, -0.25, 0.125, 0.0625};
  for (const StrategyKind kind :
       {StrategyKind::kFedAvgM, StrategyKind::kFedAdagrad, StrategyKind::kFedYogi, StrategyKind::kFedAdam}) {
    StrategyOptions options = of(kind);
    options.server_rate = 0.5;
    const Strategy strategy = Strategy::create(options, 1).value();
    StrategyState state = strategy.initial();
    std::vector<float> model{1};
    double x = 1;
    double m = 0;
    double v = 1e-6;
    for (const double update : updates) {
      const std::array<double, 1> mean{update};
      auto moved = strategy.move(model, {.update = mean}, state).value();
      model = moved.model;
      state = moved.state;
      const double square = update * update;
      if (kind == StrategyKind::kFedAvgM) {
        m = 0.9 * m + update;
        x += 0.5 * m;
      } else {
        m = 0.9 * m + 0.1 * update;
        if (kind == StrategyKind::kFedAdagrad) v += square;
        if (kind == StrategyKind::kFedAdam) v = 0.99 * v + 0.01 * square;
        if (kind == StrategyKind::kFedYogi) v -= 0.01 * square * (v > square ? 1 : -1);
        x += 0.5 * m / (std::sqrt(v) + 1e-3);
      }
      EXPECT_NEAR(static_cast<double>(model[0]), x, 1e-5 * std::fabs(x)) << name_of(kind);
    }
    EXPECT_EQ(state.rounds, 4U);
  }
}

TEST(Strategy, CorrectsGradientsOfSites) {
  std::vector<float> gradient{1, 1};
  const std::vector<float> y{3, 5};
  const std::vector<float> x{1, 1};
  StrategyOptions options = of(StrategyKind::kFedProx);
  options.proximal = 0.5;
  Strategy::create(options, 2).value().correct(gradient, y, x, {}, {});
  EXPECT_EQ(gradient, (std::vector<float>{2, 3}));
  const std::vector<double> c{0.5, 0};
  const std::vector<double> own{0, 2};
  Strategy::create(of(StrategyKind::kScaffold), 2).value().correct(gradient, y, x, c, own);
  EXPECT_EQ(gradient, (std::vector<float>{2.5, 1}));
}

TEST(Strategy, RefusesWhatHasNoMeaning) {
  StrategyOptions options;
  options.server_rate = 0;
  expect_invalid(Strategy::create(options, 1).error(), "the server's rate must be above 0, and is 0");
  options = {};
  options.beta2 = 1;
  expect_invalid(Strategy::create(options, 1).error(), "beta2");
  options = {};
  options.tau = std::nan("");
  expect_invalid(Strategy::create(options, 1).error(), "tau");
  expect_invalid(Strategy::create({}, 0).error(), "at least one parameter");

  const Strategy strategy = Strategy::create(of(StrategyKind::kScaffold), 2).value();
  const std::vector<float> model{1, 2};
  const std::array<double, 2> update{1, 1};
  expect_invalid(strategy.move(model, {.update = {}}, strategy.initial()).error(), "the mean 0");
  expect_invalid(strategy.move(model, {.update = update}, {}).error(), "another strategy");
  expect_invalid(strategy.move(model, {.update = update, .share = 1.5}, strategy.initial()).error(), "[0, 1]");
  const std::array<double, 2> odd{1, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(strategy.move(model, {.update = odd}, strategy.initial()).error().code, ErrorCode::kProtocol);
  const std::array<double, 2> huge{1e300, 1};
  EXPECT_EQ(strategy.move(model, {.update = huge}, strategy.initial()).error().code, ErrorCode::kProtocol)
      << "the model would be infinite";
}

}  // namespace
}  // namespace noisefloor::federated
