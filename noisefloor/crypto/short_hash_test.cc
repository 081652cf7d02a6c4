#include "noisefloor/crypto/short_hash.h"

#include <gtest/gtest.h>

#include <string>

#include "noisefloor/base/hex.h"

namespace noisefloor {
namespace {

// The first vectors of the authors' reference implementation: key 00 01 … 0f, texts of 0 and 1 byte.
TEST(ShortHash, MatchesTheReferenceImplementation) {
  ShortKey key;
  for (std::size_t i = 0; i < key.bytes().size(); ++i) key.bytes()[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(to_hex(short_hash(key, "")), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(to_hex(short_hash(key, std::string(1, '\0'))), "da87c1d86b99af44347659119b22fc45");
}

TEST(ShortHash, DependsOnTheKey) {
  ShortKey one;
  ShortKey two;
  two.bytes()[15] = 1;
  EXPECT_NE(short_hash(one, "row"), short_hash(two, "row"));
}

}  // namespace
}  // namespace noisefloor
