#include "noisefloor/sgd/gradient_grid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/sgd/sampler.h"

namespace noisefloor {
namespace {

GradientGrid grid(double clip, std::size_t parameters) {
  return GradientGrid::create(L2Sensitivity::make(clip).value(), parameters).value();
}

TEST(GradientGrid, HasEnoughStepsAndPaysForRounding) {
  for (const double clip : {1e-6, 0.1, 0.75, 1.0, 3.0, 1e9}) {
    const GradientGrid g = grid(clip, 10'000);
    EXPECT_EQ(std::exp2(std::round(std::log2(g.step()))), g.step());
    EXPECT_GE(clip / g.step(), 0x1p24);
    EXPECT_LT(clip / g.step(), 0x1p25);
    EXPECT_GE(g.bound(), clip / g.step() + 50);
    EXPECT_LE(g.bound(), (clip / g.step()) * (1 + 1e-5));
  }
  EXPECT_FALSE(GradientGrid::create(L2Sensitivity::make(1e-300).value(), 10).has_value());
}

// Vectors on the sphere, moved to where rounding lengthens them most: none exceeds the bound.
TEST(GradientGrid, KeepsRoundedVectorsWithinTheBound) {
  ReplayRandom random = ReplayRandom::create(5).value();
  const GradientGrid g = grid(1, 400);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> v(400);
    fill_gaussian(random, v, 1);
    double length = 0;
    for (const float x : v) length += static_cast<double>(x) * x;
    double rounded = 0;
    for (const float x : v) {
      const double steps = static_cast<double>(x) / std::sqrt(length) / g.step();
      // Moves away from zero by as much as rounding to nearest can.
      const double away = std::floor(std::abs(steps)) + (std::abs(steps) - std::floor(std::abs(steps)) >= 0.5 ? 1 : 0);
      rounded += away * away;
    }
    EXPECT_LE(std::sqrt(rounded), g.bound());
    EXPECT_GT(std::sqrt(rounded), g.bound() * 0.999);
  }
}

TEST(GradientGrid, CostsHardlyMoreThanContinuousNoise) {
  const NoiseMultiplier noise = NoiseMultiplier::of(1.5);
  const BatchSampler poisson = BatchSampler::poisson(Rows::of(60'000), Rows::of(1'000), Adjacency::kAddRemove).value();
  const auto epsilon = [&](const DpEvent& step, Adjacency adjacency) {
    return pld_epsilon(SelfComposedEvent{Steps::of(1'000), step}, adjacency, Delta::of(1e-5)).value();
  };
  const double smooth = epsilon(poisson.event(noise), Adjacency::kAddRemove).upper;
  const double on_grid =
      epsilon(poisson.event(grid(0.1, 26'010).event(noise, poisson.reach()).value()), Adjacency::kAddRemove).upper;
  EXPECT_GE(on_grid, smooth * (1 - 1e-7));
  EXPECT_LE(on_grid, smooth * (1 + 1e-5));
  // An exchanged row moves the sum twice as far.
  const BatchSampler fixed =
      BatchSampler::fixed_size(Rows::of(60'000), Rows::of(1'000), Adjacency::kReplaceOne).value();
  EXPECT_EQ(fixed.reach(), 2);
  EXPECT_GE(epsilon(fixed.event(grid(0.1, 26'010).event(noise, fixed.reach()).value()), Adjacency::kReplaceOne).upper,
            epsilon(fixed.event(noise), Adjacency::kReplaceOne).lower);
}

}  // namespace
}  // namespace noisefloor
