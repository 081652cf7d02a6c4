#include "noisefloor/random/alias_table.h"

#include <gtest/gtest.h>

#include "noisefloor/random/wide_real.h"
#include "tests/support/statistics.h"

namespace noisefloor::internal {
namespace {

using testing::kAlpha;
using testing::p_value_of_sampler;

// The last probability is what the others leave.
WideProbabilities wide(const std::vector<double>& p) {
  std::vector<WideReal> wide_p(p.begin(), p.end());
  wide_p.back() = 1;
  for (std::size_t i = 0; i + 1 < p.size(); ++i) wide_p.back() -= wide_p[i];
  return {wide_p};
}

WideProbabilities wide_but_last(const std::vector<double>& p) {
  WideProbabilities all = wide(p);
  all.p.pop_back();
  return all;
}

double p_value(const AliasTable& table, const std::vector<double>& p, std::uint64_t seed) {
  ReplayRandom stream = ReplayRandom::create(seed).value();
  return p_value_of_sampler(
      500'000, [&] { return table.sample(stream).outcome; }, 0, static_cast<std::int64_t>(p.size()) - 1,
      [&](std::int64_t i) { return p[static_cast<std::size_t>(i)]; });
}

// Detects a probability off by 2 % of itself. Mutants: two outcomes exchanged; 2 % moved from one to another.
TEST(AliasTable, HasTheGivenLaw) {
  const std::vector<double> p = {0.5, 0.25, 0.125, 0.0625, 0.0625};
  const AliasTable table(wide(p));
  EXPECT_GT(p_value(table, p, 1), kAlpha);
  EXPECT_LT(p_value(table, {0.25, 0.5, 0.125, 0.0625, 0.0625}, 1), kAlpha);
  EXPECT_LT(p_value(table, {0.49, 0.26, 0.125, 0.0625, 0.0625}, 1), kAlpha);
}

TEST(AliasTable, MissingProbabilityBelongsToOneMoreOutcome) {
  const std::vector<double> all = {0.1, 0.2, 0.3, 0.4};
  EXPECT_GT(p_value(AliasTable(wide_but_last(all)), all, 2), kAlpha);
}

// With a unit of 2^-4 instead of 2^-63 nearly everything is decided by the rests, which otherwise nobody would ever
// see. Mutant: a table that ignores them (probabilities rounded to sixteenths).
TEST(AliasTable, TheRestsCompleteTheLawExactly) {
  const std::vector<double> p = {0.33, 0.27, 0.21, 0.11, 0.08};
  EXPECT_GT(p_value(AliasTable(wide(p), 4), p, 3), kAlpha);
  EXPECT_GT(p_value(AliasTable(wide_but_last(p), 4), p, 3), kAlpha);
  EXPECT_LT(p_value(AliasTable(wide({0.375, 0.25, 0.1875, 0.125, 0.0625})), p, 3), kAlpha);
}

TEST(AliasTable, TheSpareBitIsFairAndIndependentOfTheOutcome) {
  const AliasTable table(wide({0.5, 0.3, 0.2}));
  ReplayRandom stream = ReplayRandom::create(4).value();
  const double p[] = {0.25, 0.25, 0.15, 0.15, 0.1, 0.1};
  EXPECT_GT(p_value_of_sampler(
                500'000,
                [&] {
                  const auto draw = table.sample(stream);
                  return std::int64_t{draw.outcome} * 2 + (draw.bit ? 1 : 0);
                },
                0, 5, [&](std::int64_t i) { return p[i]; }),
            kAlpha);
}

TEST(AliasTable, OneCertainOutcome) {
  const AliasTable table(wide({1.0}));
  ReplayRandom stream = ReplayRandom::create(5).value();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(table.sample(stream).outcome, 0U);
}

}  // namespace
}  // namespace noisefloor::internal
