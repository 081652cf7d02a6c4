#include "noisefloor/base/wide_int.h"

#include <gtest/gtest.h>

namespace noisefloor {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(WideInt, NarrowingSaturates) {
  EXPECT_EQ(saturate_to_int64(Int128{kMax}), kMax);
  EXPECT_EQ(saturate_to_int64(Int128{kMax} + 1), kMax);
  EXPECT_EQ(saturate_to_int64(Int128{kMin} - 1), kMin);
  EXPECT_EQ(saturate_to_int64(Int128{-5}), -5);
}

TEST(WideInt, AdditionSaturates) {
  EXPECT_TRUE(saturating_add(kInt128Max, 1) == kInt128Max);
  EXPECT_TRUE(saturating_add(-kInt128Max, -5) == -kInt128Max - 1);
  EXPECT_TRUE(saturating_add(Int128{2}, -3) == -1);
}

}  // namespace
}  // namespace noisefloor
