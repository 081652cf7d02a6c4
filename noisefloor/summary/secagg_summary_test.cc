#include "noisefloor/summary/secagg_summary.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "noisefloor/secagg/parameters.h"
#include "tests/support/summary_reading.h"

namespace noisefloor {
namespace {

using testing::expect_says;
using testing::fields_of;
using testing::names_of;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

secagg::PlannedRound planned(const secagg::Assumptions& assumptions) {
  return secagg::plan_round(assumptions, 1U << 20, 16).value();
}

TEST(SecaggSummary, ARoundSaysWhatItNeedsAndCosts) {
  const secagg::PlannedRound round = planned({1000, 0.1, 0.2});
  const Summary summary = summary_of(round);
  expect_says(summary, "A secure sum of 1000 clients, 10 % corrupt, 20 % dropping out, a curious server\n");
  expect_says(summary, "66 neighbours each\n");
  expect_says(summary, "of the packed vector of 1048576 x 16 bits");
  expect_says(summary, " MiB, receives ");
  const Json fields = fields_of(summary);
  EXPECT_EQ(names_of(fields), (Names{"clients", "threat", "minimum_roster", "grinding_bits", "degree", "threshold",
                                     "log2_insecure", "security_bits", "log2_incorrect", "client", "server",
                                     "payload_bytes", "upload_over_payload", "upload_over_float32"}));
  EXPECT_EQ(fields["clients"], 1000);
  EXPECT_EQ(fields["threat"], "curious-server");
  EXPECT_EQ(fields["threshold"], round.topology.threshold);
  EXPECT_EQ(fields["log2_insecure"], round.topology.log2_insecure);
  EXPECT_EQ(fields["payload_bytes"], 0x1p21);
  EXPECT_EQ(fields["client"]["sent_bytes"], round.cost.client.sent_bytes);
}

TEST(SecaggSummary, WhatCannotHappenHasNoLogarithm) {
  secagg::PlannedRound round = planned({5, 0, 0.2, secagg::ThreatModel::kLyingServer});
  round.topology.log2_insecure = -std::numeric_limits<double>::infinity();
  const Summary summary = summary_of(round);
  expect_says(summary, "a server that may lie\n");
  expect_says(summary, "4 neighbours each, which is everyone\n");
  expect_says(summary, "with probability 0 (it cannot happen) at most\n");
  EXPECT_TRUE(fields_of(summary)["log2_insecure"].is_null());
}

TEST(SecaggSummary, SaysHowManyBitsOfSecurityTheRegistryHas) {
  const secagg::PlannedRound round = planned({1000, 0.1, 0.2, secagg::ThreatModel::kLyingServer});
  const Summary summary = summary_of(round);
  EXPECT_EQ(fields_of(summary)["security_bits"], -round.topology.log2_insecure);
  expect_says(summary, " bits for the registry, whoever of it is in the roster\n");
}

TEST(SecaggSummary, WarnsWhereRoundingInflatesTheSensitivity) {
  const auto noisy = [](std::uint32_t clients, unsigned bits) {
    const secagg::NoiseWish wish{NoiseMultiplier::of(1)};
    return summary_of(secagg::plan_round({clients, 0.1, 0.2}, 1U << 16, bits, wish).value());
  };
  const Summary coarse = noisy(10'000, 16);
  expect_says(coarse, "Warning: rounding to 16 bits makes the sensitivity 1.52 times the clip norm");
  expect_says(coarse, "With 19 bits it is 1.02 times at most");
  const Json noise = fields_of(coarse)["noise"];
  EXPECT_EQ(noise["minimum_survivors"], 8000);
  EXPECT_EQ(noise["colluders"], 1000);
  EXPECT_NEAR(noise["sensitivity_over_clip"].get<double>(), 1.52, 0.005);
  EXPECT_EQ(noisy(10'000, 19).as_text().find("Warning"), std::string::npos);
}

TEST(SecaggSummary, TheDemonstrationShowsThreeRounds) {
  const secagg::Demonstration made{.masked = {1000.5, -2000.25},
                                   .update = {0.5, -0.25},
                                   .everyone = {{0, 1, 2, 3, 4}, {1.5, 2}, {1.5, 2.5}, 0.5},
                                   .one_dropped = {{0, 1, 3, 4}, {1, 2}, {1, 2}, 0},
                                   .below_threshold = secagg::AbortReason::kTooFewNeighbours};
  const Summary summary = summary_of(made);
  expect_says(summary, "[1000.500000, -2000.250000]   what the server sees of client 0\n");
  expect_says(summary, "[0.500000, -0.250000]   what it never sees\n");
  expect_says(summary, "5.00e-01, less than a step");
  expect_says(summary, "too-few-neighbours: below the threshold the round ends");
  const Json fields = fields_of(summary);
  EXPECT_EQ(names_of(fields), (Names{"masked_message", "update", "everyone", "one_dropped", "below_threshold"}));
  EXPECT_EQ(fields["everyone"],
            (Json{{"survivors", {0, 1, 2, 3, 4}}, {"sum", {1.5, 2.0}}, {"true_sum", {1.5, 2.5}}, {"error", 0.5}}));
  EXPECT_EQ(fields["one_dropped"]["survivors"].size(), 4U);
  EXPECT_EQ(fields["below_threshold"]["aborted"], "too-few-neighbours");
}

}  // namespace
}  // namespace noisefloor
