#include "noisefloor/base/hex.h"

#include <gtest/gtest.h>

namespace noisefloor {
namespace {

TEST(Hex, EveryByteComesBack) {
  std::vector<std::uint8_t> all(256);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(to_hex(all).substr(0, 8), "00010203");
  EXPECT_EQ(from_hex(to_hex(all)), all);
  EXPECT_EQ(from_hex(""), std::vector<std::uint8_t>{});
}

TEST(Hex, OnlyOneTextForOneSequence) {
  for (const char* text : {"0", "0g", "0A", " 0", "0x", "zz", "00 "}) EXPECT_EQ(from_hex(text), std::nullopt) << text;
}

}  // namespace
}  // namespace noisefloor
