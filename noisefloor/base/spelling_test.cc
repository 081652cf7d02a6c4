#include "noisefloor/base/spelling.h"

#include <gtest/gtest.h>

namespace noisefloor {
namespace {

const std::vector<std::string_view> kKnown{"epsilon", "delta", "noise_multiplier", "dp-sgd", "secure-aggregation"};

TEST(Spelling, FindsTheNearestName) {
  EXPECT_EQ(nearest_name("epsilonn", kKnown), "epsilon");
  EXPECT_EQ(nearest_name("espilon", kKnown), "epsilon");
  EXPECT_EQ(nearest_name("dleta", kKnown), "delta");
  EXPECT_EQ(nearest_name("Noise-Multiplier", kKnown), "noise_multiplier") << "case and dashes do not count";
  EXPECT_EQ(nearest_name("dp_sgd", kKnown), "dp-sgd");
}

TEST(Spelling, DoesNotGuessWildly) {
  EXPECT_EQ(nearest_name("learning_rate", kKnown), "");
  EXPECT_EQ(nearest_name("", kKnown), "");
  EXPECT_EQ(nearest_name(std::string(1000, 'e'), kKnown), "");
  EXPECT_EQ(nearest_name("epsilon", {}), "");
}

TEST(Spelling, IgnoresCaseAndDashes) {
  EXPECT_TRUE(same_spelling("Noise multiplier", "noise_multiplier"));
  EXPECT_TRUE(same_spelling("", ""));
  EXPECT_FALSE(same_spelling("age", "ages"));
  EXPECT_FALSE(same_spelling("age", "aga"));
}

TEST(Spelling, SuggestsOrLists) {
  EXPECT_EQ(suggestion("delat", kKnown), "did you mean 'delta'?");
  EXPECT_EQ(suggestion("xyz", {"a", "b"}), "there are: a, b");
}

}  // namespace
}  // namespace noisefloor
