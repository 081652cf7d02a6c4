#include "noisefloor/secagg/parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace noisefloor::secagg {
namespace {

struct Row {
  double corrupt;
  double drop;
  ThreatModel threat;
  std::uint32_t clients;
  std::uint32_t degree;
  std::uint32_t threshold;
};

constexpr auto kCurious = ThreatModel::kCuriousServer;
constexpr auto kLying = ThreatModel::kLyingServer;

TEST(Parameters, MatchKnownValues) {
  const std::vector<Row> rows = {
      {.33, .33, kCurious, 1000, 286, 150},  {.33, .33, kCurious, 10000, 422, 221},
      {.3, .3, kLying, 1000, 872, 584},      {.05, .05, kCurious, 100, 12, 6},
      {.05, .05, kCurious, 1000, 30, 17},    {.05, .05, kCurious, 10000, 34, 20},
      {.05, .05, kCurious, 100000, 36, 21},  {.1, .2, kCurious, 100, 28, 11},
      {.1, .2, kCurious, 1000, 66, 31},      {.1, .2, kCurious, 10000, 78, 37},
      {.1, .2, kCurious, 100000, 86, 41},    {.33, .2, kCurious, 100, 54, 34},
      {.33, .2, kCurious, 1000, 162, 100},   {.33, .2, kCurious, 10000, 212, 129},
      {.33, .2, kCurious, 100000, 230, 140}, {.05, .05, kLying, 100, 16, 11},
      {.05, .05, kLying, 1000, 52, 37},      {.05, .05, kLying, 10000, 62, 44},
      {.05, .05, kLying, 100000, 68, 48},    {.1, .2, kLying, 100, 52, 32},
      {.1, .2, kLying, 1000, 194, 124},      {.1, .2, kLying, 10000, 280, 179},
      {.1, .2, kLying, 100000, 312, 199},
  };
  for (const Row& row : rows) {
    const Assumptions assumptions{row.clients, row.corrupt, row.drop, row.threat};
    const Topology found = find_topology(assumptions).value();
    EXPECT_EQ(found.degree, row.degree) << row.clients << " " << row.corrupt << " " << row.drop;
    EXPECT_EQ(found.threshold, row.threshold) << row.clients << " " << row.corrupt << " " << row.drop;
    EXPECT_LE(found.log2_insecure, -40);
    EXPECT_LE(found.log2_incorrect, -20);
    const Topology again = evaluate_topology(assumptions, found.degree, found.threshold).value();
    EXPECT_EQ(again.log2_insecure, found.log2_insecure);
    EXPECT_EQ(again.log2_incorrect, found.log2_incorrect);
  }
}

// Compares with counts of all subsets of a small population.
TEST(Parameters, HaveExactProbabilities) {
  // 40 clients, 4 corrupt, degree 2: a client is lost if both its neighbours are. P = 4·3/(39·38), 40 of them.
  const Topology curious = evaluate_topology({40, 0.1, 0.0}, 2, 2).value();
  EXPECT_NEAR(std::exp2(curious.log2_insecure), 40 * 12.0 / (39 * 38), 1e-6);
  EXPECT_EQ(curious.log2_incorrect, -std::numeric_limits<double>::infinity());
  // 4 drop out: one of two neighbours is gone. For those who stay 1 − 35·34/(39·38), for the others 1 − 36·35/(39·38).
  const Topology dropping = evaluate_topology({40, 0.0, 0.1}, 2, 2).value();
  EXPECT_NEAR(dropping.log2_incorrect, 0, 1e-12);
  const Topology rarely = evaluate_topology({1000, 0.0, 0.002}, 4, 3).value();
  // Two of 4 neighbours gone, when 2 of 999 (stayed, 998 of them) or 1 of 999 (dropped: impossible) are:
  // 6/(999·998/2)·998.
  EXPECT_NEAR(std::exp2(rarely.log2_incorrect), 998 * 6 / (999.0 * 998 / 2), 1e-9);
  // The graph of degree 2 is a circle: it falls apart if two are missing anywhere; the bound counts pairs.
  const Topology circle = evaluate_topology({1000, 0.0, 0.002}, 2, 1).value();
  EXPECT_NEAR(std::exp2(circle.log2_insecure), 1, 1e-2);
}

TEST(Parameters, AreCompleteForSmallCohorts) {
  const Topology five = find_topology({5, 0.2, 0.2}).value();
  EXPECT_EQ(five.degree, 4U);
  EXPECT_EQ(five.threshold, 2U);
  const Topology lying = find_topology({5, 0.2, 0.0, kLying}).value();
  EXPECT_EQ(lying.degree, 4U);
  EXPECT_EQ(lying.threshold, 4U);  // 2t > 5 + 1
  EXPECT_EQ(lying.log2_insecure, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(evaluate_topology({5, 0.2, 0.2, kLying}, 4, 3).value().log2_insecure, 0);
}

TEST(Parameters, NeedMoreNeighboursForStrongerDemands) {
  std::uint32_t last = 0;
  for (const double bits : {20.0, 40.0, 60.0, 80.0, 128.0}) {
    const Topology found = find_topology({1000, .1, .2, kCurious, bits, 20}).value();
    EXPECT_GE(found.degree, last);
    EXPECT_LE(found.log2_insecure, -bits);
    last = found.degree;
  }
}

TEST(Parameters, RefuseImpossibleDemands) {
  EXPECT_FALSE(find_topology({1, 0, 0}).has_value());
  EXPECT_FALSE(find_topology({kMaxClients + 1, 0, 0}).has_value());
  EXPECT_FALSE(find_topology({100, .6, .6}).has_value());
  EXPECT_FALSE(find_topology({10, .4, .4, kLying}).has_value());
  EXPECT_FALSE(find_topology({100, -.1, 0}).has_value());
  EXPECT_FALSE(find_topology({100, 0, 1}).has_value());
  EXPECT_FALSE(find_topology({100, std::nan(""), 0}).has_value());
  EXPECT_FALSE(find_topology({100, 0, 0, kCurious, 0}).has_value());
  EXPECT_FALSE(evaluate_topology({100, .1, .1}, 100, 3).has_value());
  EXPECT_FALSE(evaluate_topology({100, .1, .1}, 7, 3).has_value());
  EXPECT_FALSE(evaluate_topology({100, .1, .1}, 8, 0).has_value());
  EXPECT_FALSE(evaluate_topology({100, .1, .1}, 8, 9).has_value());
}

}  // namespace
}  // namespace noisefloor::secagg
