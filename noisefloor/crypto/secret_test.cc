#include "noisefloor/crypto/secret.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <new>

namespace noisefloor {
namespace {

bool all_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; });
}

TEST(Secret, IsNotCopiedByMistake) { static_assert(!std::copyable<Secret32> && std::movable<Secret32>); }

TEST(Secret, IsWipedWhenDestroyed) {
  alignas(Secret32) std::array<std::uint8_t, sizeof(Secret32)> memory;
  auto* secret = new (memory.data()) Secret32;
  std::fill(secret->bytes().begin(), secret->bytes().end(), std::uint8_t{7});
  EXPECT_FALSE(all_zero(memory));
  secret->~Secret32();
  EXPECT_TRUE(all_zero(memory));
}

TEST(Secret, IsWipedWhenMoved) {
  Secret32 a;
  std::fill(a.bytes().begin(), a.bytes().end(), std::uint8_t{7});
  Secret32 b = std::move(a);
  EXPECT_TRUE(all_zero(a.bytes()));  // NOLINT(bugprone-use-after-move)
  Secret32 c;
  c = std::move(b);
  EXPECT_TRUE(all_zero(b.bytes()));  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(c.bytes()[31], 7);
  EXPECT_TRUE(equal_in_constant_time(c.bytes(), c.clone().bytes()));
  EXPECT_FALSE(equal_in_constant_time(c.bytes(), a.bytes()));
  EXPECT_FALSE(equal_in_constant_time(c.bytes(), c.bytes().first<31>()));
}

}  // namespace
}  // namespace noisefloor
