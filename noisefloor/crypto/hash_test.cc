#include "noisefloor/crypto/hash.h"

#include <gtest/gtest.h>

#include "noisefloor/base/hex.h"

namespace noisefloor {
namespace {

// `b2sum -l 256` of the same bytes.
TEST(Blake2b, GivesKnownDigests) {
  EXPECT_EQ(to_hex(blake2b("")), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(to_hex(blake2b("abc")), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(Blake2b, DependsOnEveryByte) {
  const std::string text(1000, 'x');
  for (std::size_t i : {std::size_t{0}, std::size_t{127}, std::size_t{128}, std::size_t{999}}) {
    std::string other = text;
    other[i] = 'y';
    EXPECT_NE(blake2b(text), blake2b(other)) << i;
  }
}

}  // namespace
}  // namespace noisefloor
