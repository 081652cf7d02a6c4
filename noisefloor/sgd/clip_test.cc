#include "noisefloor/sgd/clip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

ClipRule rule(ClipRule::Kind kind) { return ClipRule::create(std::move(kind)).value(); }

TEST(Clip, LeavesShortGradientsAndShortensLongOnes) {
  const ClipRule flat = rule(FlatClip{ClipNorm::of(2.0)});
  const std::vector<float> squared{1.0F, 0.0F, 9.0F, 3.0F, 16.0F, 0.0F};  // two groups, three examples
  std::vector<float> factors(6);
  EXPECT_EQ(flat.factors(squared, 2, 3, factors), 1U);  // norms √4 (within), 4, 3
  EXPECT_NEAR(factors[0], 1.0, 2e-4);
  EXPECT_NEAR(factors[1], 0.5, 2e-4);
  EXPECT_NEAR(factors[2], 2.0 / 3, 2e-4);
  for (std::size_t e = 0; e < 3; ++e) EXPECT_EQ(factors[e], factors[3 + e]);
  EXPECT_EQ(flat.sensitivity().value(), 2.0);
}

TEST(Clip, ClipsEachGroupSeparately) {
  const ClipRule groups = rule(GroupClip{{ClipNorm::of(3.0), ClipNorm::of(4.0)}});
  const std::vector<float> squared{1.0F, 36.0F, 64.0F, 1.0F};
  std::vector<float> factors(4);
  EXPECT_EQ(groups.factors(squared, 2, 2, factors), 0U);
  EXPECT_EQ(factors[0], 1.0F);
  EXPECT_NEAR(factors[1], 0.5, 2e-4);
  EXPECT_NEAR(factors[2], 0.5, 2e-4);
  EXPECT_EQ(factors[3], 1.0F);
  EXPECT_GE(groups.sensitivity().value(), 5.0);
  EXPECT_NEAR(groups.sensitivity().value(), 5.0, 1e-12);
}

TEST(Clip, BringsAllToOneLengthIfAutomatic) {
  const ClipRule automatic = rule(AutomaticClip{ClipNorm::of(1.0), 0.01});
  const std::vector<float> squared{1e-4F, 1.0F, 1e6F};
  std::vector<float> factors(3);
  automatic.factors(squared, 1, 3, factors);
  EXPECT_NEAR(factors[0] * 0.01F, 0.5, 2e-4);
  EXPECT_NEAR(factors[1], 1 / 1.01, 2e-4);
  EXPECT_NEAR(factors[2] * 1000.0F, 1.0, 2e-4);
}

// The clipped norm must not exceed the bound although the squared norm is a rounded float sum. A factor C/‖g‖ without a
// margin fails this for about half of the norms.
TEST(Clip, KeepsTheBoundDespiteRoundedNorms) {
  for (const ClipRule::Kind& kind :
       {ClipRule::Kind(FlatClip{ClipNorm::of(1.0)}), ClipRule::Kind(GroupClip{{ClipNorm::of(1.0)}}),
        ClipRule::Kind(AutomaticClip{ClipNorm::of(1.0), 1e-30})}) {
    const ClipRule clip = rule(kind);
    for (int i = 0; i < 10000; ++i) {
      const double norm = 1.0 + 1e-3 * i;
      const std::vector<float> squared{static_cast<float>(norm * norm * (1 - 5e-6))};
      std::vector<float> factor(1);
      clip.factors(squared, 1, 1, factor);
      ASSERT_LE(static_cast<double>(factor[0]) * norm, 1.0);
      ASSERT_GE(static_cast<double>(factor[0]) * norm, 1.0 - 2e-4);
    }
  }
}

TEST(Clip, SilencesGradientsThatAreNotFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ClipRule::Kind& kind :
       {ClipRule::Kind(FlatClip{ClipNorm::of(1.0)}), ClipRule::Kind(GroupClip{{ClipNorm::of(1.0), ClipNorm::of(1.0)}}),
        ClipRule::Kind(AutomaticClip{ClipNorm::of(1.0), 0.01})}) {
    const std::vector<float> squared{inf, nan, 1.0F, 0.1F, 0.1F, inf};
    std::vector<float> factors(6, 7.0F);
    EXPECT_EQ(rule(kind).factors(squared, 2, 3, factors), 0U);
    EXPECT_EQ(factors, std::vector<float>(6, 0.0F));
  }
}

TEST(Clip, RefusesBadRules) {
  testing::expect_invalid(ClipRule::create(GroupClip{}).error(), "clip norm for each layer");
  testing::expect_invalid(ClipRule::create(AutomaticClip{ClipNorm::of(1.0), 0}).error(), "gamma");
  testing::expect_invalid(ClipRule::create(AutomaticClip{ClipNorm::of(1.0), std::nan("")}).error(), "gamma");
}

}  // namespace
}  // namespace noisefloor
