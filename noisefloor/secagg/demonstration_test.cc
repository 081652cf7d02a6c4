#include "noisefloor/secagg/demonstration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace noisefloor::secagg {
namespace {

Demonstration demonstration_of(std::uint64_t seed) {
  ReplayRandom stream = ReplayRandom::create(seed).value();
  Result<Demonstration> made = demonstrate(stream);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return std::move(made).value();
}

// The true sum is known here: a sum of other clients, or a mask that is left in it, is far from it.
TEST(Demonstration, SumsAgreeWithinRounding) {
  for (const std::uint64_t seed : {7U, 8U}) {
    const Demonstration made = demonstration_of(seed);
    EXPECT_EQ(made.everyone.survivors, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(made.one_dropped.survivors, (std::vector<std::uint32_t>{0, 1, 3, 4}));
    for (const RecoveredSum* round : {&made.everyone, &made.one_dropped}) {
      const double clients = static_cast<double>(round->survivors.size());
      ASSERT_EQ(round->sum.size(), kDemonstrationDimension);
      double largest = 0;
      for (std::size_t i = 0; i < round->sum.size(); ++i) {
        largest = std::max(largest, std::abs(round->sum[i] - round->true_sum[i]));
      }
      EXPECT_EQ(round->error, largest);
      EXPECT_LT(round->error, clients * kDemonstrationStep + 1e-14);
    }
    // Both rounds are about the same updates: what is missing from the second sum is one client's update.
    EXPECT_NE(made.everyone.true_sum, made.one_dropped.true_sum);
  }
}

TEST(Demonstration, AMessageLooksLikeNoUpdate) {
  const Demonstration made = demonstration_of(7);
  ASSERT_EQ(made.masked.size(), made.update.size());
  double far = 0;
  for (std::size_t i = 0; i < made.masked.size(); ++i) far = std::max(far, std::abs(made.masked[i] - made.update[i]));
  EXPECT_GT(far, 5);
}

TEST(Demonstration, BelowTheThresholdThereIsNoSum) {
  EXPECT_EQ(demonstration_of(7).below_threshold, AbortReason::kTooFewNeighbours);
}

TEST(Demonstration, FollowsItsStream) {
  EXPECT_EQ(demonstration_of(7).masked, demonstration_of(7).masked);
  EXPECT_NE(demonstration_of(7).masked, demonstration_of(8).masked);
}

}  // namespace
}  // namespace noisefloor::secagg
