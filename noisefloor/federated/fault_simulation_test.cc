#include "noisefloor/federated/fault_simulation.h"

#include <gtest/gtest.h>

namespace noisefloor::federated::internal {
namespace {

// Runs seeds first … last − 1 and returns the sum over them of what happened.
FaultReport expect_invariants(std::uint64_t first, std::uint64_t last) {
  FaultReport total;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    const FaultReport report = simulate_faults(faults_for_seed(seed));
    EXPECT_FALSE(report.violation.has_value()) << "seed " << seed << ": " << report.violation.value_or("");
    total.counted += report.counted;
    total.restarts += report.restarts;
    total.messages += report.messages;
    total.steps += report.steps;
    total.faults.insert(total.faults.end(), report.faults.begin(), report.faults.end());
    if (report.state == RunState::kComplete) ++total.rounds;
  }
  return total;
}

TEST(FaultSimulation, KeepsEveryInvariantOn200Seeds) {
  const FaultReport total = expect_invariants(0, 200);
  // The faults are there, and most runs get through them.
  EXPECT_GT(total.faults.size(), 2000U);
  EXPECT_GT(total.restarts, 1500U);
  EXPECT_GT(total.rounds, 100U) << "complete runs of 200";
  RecordProperty("steps", static_cast<int>(total.steps));
}

TEST(SlowFaultSimulation, KeepsEveryInvariantOnTenThousandSeeds) { expect_invariants(200, 10'200); }

TEST(FaultSimulation, CompletesWithoutFaults) {
  FaultOptions options;
  options.seed = 3;
  const FaultReport report = simulate_faults(options);
  EXPECT_FALSE(report.violation.has_value());
  EXPECT_EQ(report.state, RunState::kComplete);
  EXPECT_EQ(report.rounds, 3U) << "no spare round";
  for (const RoundRecord& record : report.records) EXPECT_EQ(record.survivors.size(), 4U);
}

TEST(FaultSimulation, RepeatsByteForByte) {
  for (const std::uint64_t seed : {1U, 17U, 40U}) {
    const FaultReport one = simulate_faults(faults_for_seed(seed));
    const FaultReport other = simulate_faults(faults_for_seed(seed));
    EXPECT_EQ(one.digest, other.digest);
    EXPECT_EQ(one.model, other.model);
    EXPECT_EQ(one.faults, other.faults);
  }
  EXPECT_NE(simulate_faults(faults_for_seed(1)).digest, simulate_faults(faults_for_seed(17)).digest);
}

// Messages that are lost, repeated and late change neither who survives nor the model, if everyone gets through.
TEST(FaultSimulation, NetworkFaultsLeaveTheModelAsItIs) {
  FaultOptions options;
  options.seed = 9;
  const auto survivors_of_all = [](const FaultReport& report) {
    bool all = true;
    for (const RoundRecord& record : report.records) all = all && record.survivors.size() == 4;
    return all;
  };
  options.rates = {.duplicate = 0.5};
  const FaultReport report = simulate_faults(options);
  EXPECT_FALSE(report.violation.has_value());
  EXPECT_EQ(report.state, RunState::kComplete);
  EXPECT_TRUE(survivors_of_all(report));
  EXPECT_FALSE(report.faults.empty());
}

TEST(FaultSimulation, FindsAReceiptThatLeavesBeforeItsWrite) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    FaultOptions options = faults_for_seed(seed);
    options.acknowledge_before_durable = true;
    const FaultReport report = simulate_faults(options);
    if (!report.violation) continue;
    ++found;
    EXPECT_EQ(report.violation->rfind("receipt", 0) == 0 || report.violation->rfind("one model", 0) == 0 ||
                  report.violation->rfind("replay", 0) == 0 || report.violation->rfind("story", 0) == 0,
              true)
        << *report.violation;
  }
  EXPECT_GE(found, 5U);
}

// A site that is restored, or has a twin, draws new noise for a round that it has sent, if its budget lets it.
TEST(FaultSimulation, FindsABudgetThatGrantsTwice) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    FaultOptions options = faults_for_seed(seed);
    options.grant_again = true;
    const FaultReport report = simulate_faults(options);
    if (report.violation && report.violation->rfind("story", 0) == 0) ++found;
  }
  EXPECT_GE(found, 5U);
}

TEST(FaultSimulation, ShrinksAFailingSeed) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    FaultOptions options = faults_for_seed(seed);
    options.acknowledge_before_durable = true;
    const FaultReport report = simulate_faults(options);
    if (!report.violation || report.faults.size() < 10) continue;
    const std::set<std::uint64_t> few = shrink_faults(options);
    EXPECT_LE(few.size(), 4U) << "of " << report.faults.size();
    options.only = few;
    EXPECT_TRUE(simulate_faults(options).violation.has_value());
    options.only = std::set<std::uint64_t>{};
    EXPECT_FALSE(simulate_faults(options).violation.has_value()) << "without faults the bug is not seen";
    return;
  }
  FAIL() << "no seed finds the bug";
}

// No fault of a site, and no lie, stops the others or enters their model.
TEST(FaultSimulation, LiarsAreLeftOut) {
  for (const Liar liar : {Liar::kNaN, Liar::kHuge, Liar::kWrongLength, Liar::kSilent}) {
    FaultOptions options;
    options.seed = 21;
    options.liars = {Liar::kHonest, liar};
    const FaultReport report = simulate_faults(options);
    EXPECT_FALSE(report.violation.has_value());
    EXPECT_EQ(report.state, RunState::kComplete);
    for (const RoundRecord& record : report.records) {
      EXPECT_EQ(record.survivors, (std::vector<std::uint32_t>{0, 2, 3}));
    }
  }
}

// Only the first round waits for a site that is dead.
TEST(FaultSimulation, ADeadSiteDelaysTheOthersOnce) {
  FaultOptions options;
  options.seed = 4;
  options.rounds = 8;
  options.liars = {Liar::kSilent};
  const FaultReport report = simulate_faults(options);
  EXPECT_EQ(report.state, RunState::kComplete);
  EXPECT_EQ(report.rounds, 8U);
  const FaultReport without = [&] {
    FaultOptions all = options;
    all.liars = {};
    return simulate_faults(all);
  }();
  EXPECT_EQ(without.rounds, 8U);
  EXPECT_GT(report.ended_ms, 5000U) << "the limit of the first round";
  EXPECT_LT(report.ended_ms, 5000 + without.ended_ms + 500);
}

TEST(FaultSimulation, EndsIncompleteWhenBudgetsEnd) {
  FaultOptions options;
  options.seed = 5;
  options.rounds = 6;
  options.budget = 2;
  const FaultReport report = simulate_faults(options);
  EXPECT_FALSE(report.violation.has_value());
  EXPECT_EQ(report.state, RunState::kIncomplete);
  EXPECT_EQ(report.counted, 2U);
}

TEST(FaultSimulation, RobustRulesGoTheSameWay) {
  for (const RobustRule rule : {RobustRule::kMedian, RobustRule::kGeometricMedian, RobustRule::kCentredClipping}) {
    FaultOptions options = faults_for_seed(8);
    options.sites = 5;
    options.minimum_cohort = 3;
    options.strategy = StrategyKind::kFedAvg;
    options.liars = {Liar::kHuge};
    options.robust = {.rule = rule, .liars = 1, .norm = {}};
    if (rule == RobustRule::kCentredClipping) options.robust.norm = 10;
    const FaultReport report = simulate_faults(options);
    EXPECT_FALSE(report.violation.has_value()) << name_of(rule) << ": " << report.violation.value_or("");
    for (const float value : report.model) EXPECT_LT(value, 100.0F);
  }
}

}  // namespace
}  // namespace noisefloor::federated::internal
