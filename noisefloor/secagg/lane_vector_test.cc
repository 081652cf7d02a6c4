#include "noisefloor/secagg/lane_vector.h"

#include <gtest/gtest.h>

#include "noisefloor/random/bit_stream.h"

namespace noisefloor::secagg {
namespace {

LaneVector random_vector(std::uint64_t dimension, unsigned bits, BitStream& stream) {
  LaneVector vector(dimension, bits);
  for (std::uint64_t i = 0; i < dimension; ++i) vector.set(i, stream.next_u64());
  return vector;
}

std::vector<std::uint8_t> packed(const LaneVector& vector) {
  std::vector<std::uint8_t> bytes(packed_bytes(vector.dimension(), vector.bits()));
  vector.pack(bytes);
  return bytes;
}

TEST(LaneVector, PacksAndAddsAtEverySize) {
  ReplayRandom stream = ReplayRandom::create(1).value();
  for (unsigned bits = 1; bits <= kMaxBits; ++bits) {
    for (const std::uint64_t dimension : {0U, 1U, 7U, 8U, 9U, 63U, 64U, 65U, 200U}) {
      const LaneVector a = random_vector(dimension, bits, stream);
      LaneVector b = random_vector(dimension, bits, stream);
      const std::vector<std::uint8_t> bytes = packed(a);
      ASSERT_TRUE(is_packed(bytes, dimension, bits));
      LaneVector again(dimension, bits);
      again.add_packed(bytes);
      ASSERT_EQ(again, a) << bits << " " << dimension;
      ASSERT_EQ(packed(again), bytes);
      LaneVector sum = b;
      sum.add_packed(bytes);
      for (std::uint64_t i = 0; i < dimension; ++i) {
        ASSERT_EQ(sum.get(i), (a.get(i) + b.get(i)) & (~std::uint64_t{0} >> (64 - bits)));
      }
    }
  }
}

// Written out by hand: 1, 2, 3, 4 in three bits each, lowest first: 001 | 010 | 011 | 100.
TEST(LaneVector, PacksBitsOneAfterTheOther) {
  LaneVector vector(4, 3);
  for (std::uint64_t i = 0; i < 4; ++i) vector.set(i, i + 1);
  EXPECT_EQ(packed(vector), (std::vector<std::uint8_t>{0b11010001, 0b1000}));
}

TEST(LaneVector, ReadsSignedValues) {
  LaneVector vector(4, 5);
  vector.set(0, static_cast<std::uint64_t>(-1));
  vector.set(1, 15);
  vector.set(2, 16);
  EXPECT_EQ(vector.get(0), 31U);
  EXPECT_EQ(vector.get_signed(0), -1);
  EXPECT_EQ(vector.get_signed(1), 15);
  EXPECT_EQ(vector.get_signed(2), -16);
  EXPECT_EQ(vector.get_signed(3), 0);
}

TEST(LaneVector, HasOnePackedForm) {
  EXPECT_TRUE(is_packed(std::vector<std::uint8_t>{0xff, 0x0f}, 4, 3));
  EXPECT_FALSE(is_packed(std::vector<std::uint8_t>{0xff, 0x1f}, 4, 3));
  EXPECT_FALSE(is_packed(std::vector<std::uint8_t>{0xff}, 4, 3));
  EXPECT_FALSE(is_packed(std::vector<std::uint8_t>{0xff, 0x0f, 0}, 4, 3));
}

}  // namespace
}  // namespace noisefloor::secagg
