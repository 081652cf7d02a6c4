// Compares each method with its recurrence, written out in double precision.
#include "noisefloor/sgd/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

constexpr double kRate = 0.1;

// Runs both for a few steps of an uneven gradient from 1.5.
void expect_follows(Optimizer::Options options, const std::function<void(double& x, double g, int step)>& recurrence) {
  Optimizer optimizer = Optimizer::create(options, 1).value();
  std::vector<float> parameter{1.5F};
  double exact = 1.5;
  for (int step = 1; step <= 20; ++step) {
    const std::vector<float> gradient{static_cast<float>(std::sin(step * 1.7) + 0.3)};
    optimizer.step(parameter, gradient, kRate);
    recurrence(exact, gradient[0], step);
    ASSERT_NEAR(parameter[0], exact, 1e-5) << "step " << step;
  }
}

TEST(Optimizer, FollowsSgd) {
  expect_follows({}, [](double& x, double g, int) { x -= kRate * g; });
}

TEST(Optimizer, FollowsSgdWithRidge) {
  expect_follows({.weight_decay = 0.2}, [](double& x, double g, int) { x -= kRate * (g + 0.2 * x); });
}

TEST(Optimizer, FollowsMomentum) {
  double v = 0;
  expect_follows({.momentum = 0.9}, [&](double& x, double g, int) {
    v = 0.9 * v + g;
    x -= kRate * v;
  });
}

TEST(Optimizer, FollowsAdam) {
  double m = 0;
  double v = 0;
  expect_follows({.kind = OptimizerKind::kAdam}, [&](double& x, double g, int t) {
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    x -= kRate * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
  });
}

TEST(Optimizer, DecaysWeightsSeparatelyInAdamW) {
  double m = 0;
  double v = 0;
  expect_follows({.kind = OptimizerKind::kAdamW, .weight_decay = 0.5}, [&](double& x, double g, int t) {
    x -= kRate * 0.5 * x;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    x -= kRate * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8);
  });
}

TEST(Optimizer, FollowsAdagrad) {
  double sum = 0;
  expect_follows({.kind = OptimizerKind::kAdagrad}, [&](double& x, double g, int) {
    sum += g * g;
    x -= kRate * g / (std::sqrt(sum) + 1e-8);
  });
}

TEST(Optimizer, FollowsRmsProp) {
  double mean = 0;
  expect_follows({.kind = OptimizerKind::kRmsProp}, [&](double& x, double g, int) {
    mean = 0.99 * mean + 0.01 * g * g;
    x -= kRate * g / (std::sqrt(mean) + 1e-8);
  });
}

TEST(Optimizer, ContinuesFromItsState) {
  for (const OptimizerKind method : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW,
                                     OptimizerKind::kAdagrad, OptimizerKind::kRmsProp}) {
    const Optimizer::Options options{.kind = method, .momentum = 0.5};
    Optimizer first = Optimizer::create(options, 3).value();
    std::vector<float> a{1, 2, 3};
    const std::vector<float> gradient{0.5F, -1, 2};
    for (int i = 0; i < 3; ++i) first.step(a, gradient, kRate);
    Optimizer second = Optimizer::create(options, 3).value();
    ASSERT_TRUE(second.restore(first.state()));
    std::vector<float> b = a;
    first.step(a, gradient, kRate);
    second.step(b, gradient, kRate);
    EXPECT_EQ(a, b);
    Optimizer other = Optimizer::create({.kind = method, .momentum = 0.5}, 4).value();
    testing::expect_invalid(other.restore(first.state()).error(), "another");
  }
}

TEST(Optimizer, NamesBadOptions) {
  testing::expect_invalid(Optimizer::create({.momentum = 1}, 1).error(),
                          "momentum of an optimizer must be 0 or above and below 1; 1 was given");
  testing::expect_invalid(Optimizer::create({.beta1 = -0.1}, 1).error(), "beta1");
  testing::expect_invalid(Optimizer::create({.beta2 = 1.5}, 1).error(), "beta2");
  testing::expect_invalid(Optimizer::create({.alpha = std::nan("")}, 1).error(), "alpha");
  testing::expect_invalid(Optimizer::create({.epsilon = HUGE_VAL}, 1).error(), "epsilon");
  testing::expect_invalid(Optimizer::create({.weight_decay = -1}, 1).error(), "weight decay");
}

}  // namespace
}  // namespace noisefloor
