#include "noisefloor/base/hex.h"

#include <gtest/gtest.h>

#include <array>

namespace noisefloor {
namespace {

TEST(Hex, EveryByteRoundTrips) {
  std::array<std::uint8_t, 256> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(to_hex(all).substr(0, 8), "00010203");
  std::array<std::uint8_t, 256> read{};
  EXPECT_TRUE(from_hex(to_hex(all), read));
  EXPECT_EQ(read, all);
  EXPECT_TRUE(from_hex("", {}));
}

TEST(Hex, AcceptsOneTextForEachSequence) {
  std::array<std::uint8_t, 1> byte{};
  for (const char* text : {"", "0", "0g", "0A", " 0", "0x", "zz", "00 ", "0000"}) {
    EXPECT_FALSE(from_hex(text, byte)) << text;
  }
}

}  // namespace
}  // namespace noisefloor
