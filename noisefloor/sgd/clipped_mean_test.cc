#include "noisefloor/sgd/clipped_mean.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace noisefloor::internal {
namespace {

const ParameterGroups kTwoGroups{{{0, 2, 0}, {2, 1, 1}, {3, 1, 0}}, 2};

ClipRule rule(ClipRule::Kind kind) { return ClipRule::create(std::move(kind)).value(); }

TEST(ClippedMean, ClipsTheMeanAndNotTheSum) {
  const std::vector<float> total{4, 0, 0, 3};  // norm 5; over 4 rows 1.25
  std::vector<float> sum(4);
  const ClipRule wide = rule(FlatClip{ClipNorm::of(1.25)});
  EXPECT_TRUE(add_clipped_mean(total, 4, kTwoGroups, &wide, sum));
  EXPECT_NEAR(sum[0], 1, 2e-4);
  EXPECT_NEAR(sum[3], 0.75, 2e-4);
  const ClipRule narrow = rule(FlatClip{ClipNorm::of(0.5)});
  EXPECT_FALSE(add_clipped_mean(total, 4, kTwoGroups, &narrow, sum));
  EXPECT_NEAR(sum[0], 1.4, 4e-4) << "added to what was there";
  std::vector<float> plain(4);
  EXPECT_FALSE(add_clipped_mean(total, 4, kTwoGroups, nullptr, plain));
  EXPECT_EQ(plain, (std::vector<float>{1, 0, 0, 0.75F}));
}

TEST(ClippedMean, ClipsEachGroupSeparately) {
  const std::vector<float> total{6, 0, 20, 8};  // over 2 rows: norms 5 and 10
  std::vector<float> sum(4);
  const ClipRule by_group = rule(GroupClip{{ClipNorm::of(1.0), ClipNorm::of(100.0)}});
  EXPECT_FALSE(add_clipped_mean(total, 2, kTwoGroups, &by_group, sum));
  EXPECT_NEAR(sum[0], 0.6, 1e-3);
  EXPECT_NEAR(sum[2], 10, 2e-3);
  EXPECT_NEAR(sum[3], 0.8, 1e-3);
}

TEST(ClippedMean, AddsNothingIfNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const ClipRule::Kind& kind :
         {ClipRule::Kind(FlatClip{ClipNorm::of(1.0)}), ClipRule::Kind(AutomaticClip{ClipNorm::of(1.0)}),
          ClipRule::Kind(GroupClip{{ClipNorm::of(1.0), ClipNorm::of(1.0)}})}) {
      const ClipRule clip = rule(kind);
      std::vector<float> total{1, bad, 1, 1};
      std::vector<float> sum{1, 2, 3, 4};
      EXPECT_FALSE(add_clipped_mean(total, 3, kTwoGroups, &clip, sum));
      EXPECT_EQ(sum, (std::vector<float>{1, 2, 3, 4}));
      const GradientGrid grid = GradientGrid::create(clip.sensitivity(), 4).value();
      std::vector<std::int64_t> steps{1, 2, 3, 4};
      add_clipped_mean(total, 3, kTwoGroups, clip, grid, steps);
      EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3, 4}));
    }
  }
}

// The steps are those of the clipped mean, to half a step, and within the bound.
TEST(ClippedMean, RoundsOnceOnAGrid) {
  const ClipRule clip = rule(FlatClip{ClipNorm::of(0.3)});
  const GradientGrid grid = GradientGrid::create(clip.sensitivity(), 4).value();
  std::vector<float> total{4, -1, 0.1F, 3};
  std::vector<float> sum(4);
  (void)add_clipped_mean(total, 3, kTwoGroups, &clip, sum);
  std::vector<std::int64_t> steps(4);
  add_clipped_mean(total, 3, kTwoGroups, clip, grid, steps);
  double squares = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_LE(std::abs(static_cast<double>(steps[i]) - static_cast<double>(sum[i]) / grid.step()), 0.5);
    squares += static_cast<double>(steps[i]) * static_cast<double>(steps[i]);
  }
  EXPECT_LE(squares, grid.bound() * grid.bound());
  EXPECT_GT(squares, 0.9 * std::pow(0.3 / grid.step(), 2));
}

}  // namespace
}  // namespace noisefloor::internal
