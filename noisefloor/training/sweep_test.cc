#include "noisefloor/training/sweep.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

class SweepTest : public testing::ToyJob {
 protected:
  [[nodiscard]] Result<SweepJob> prepare(std::vector<double> epsilons, std::optional<std::uint64_t> seed = {}) const {
    return SweepJob::prepare(file(),
                             {.epsilons = std::move(epsilons),
                              .folder = path("sweep"),
                              .key = {},
                              .replay_seed = seed,
                              .unknown = NewDatasets::kAdd},
                             {});
  }
};

TEST_F(SweepTest, KeepsTheBudgetWithAllRunsTogether) {
  const auto ledger = make_ledger();
  SweepJob job = value_of(prepare({kNoPrivacy, 0.5, 1.5}));
  EXPECT_EQ(job.delta(), Delta::of(5e-6)) << "each private run takes half";
  EXPECT_EQ(job.epsilons(), (std::vector<double>{0.5, 1.5, kNoPrivacy}));
  EXPECT_TRUE(value_of(job.outlook(nullptr)).fits);
  EXPECT_FALSE(exists("sweep"));
  const std::vector<SweepRun> runs = value_of(job.run(ledger.get(), control_));
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_LE(runs[0].certified, 0.5);
  EXPECT_LE(runs[1].certified, 1.5);
  EXPECT_TRUE(std::isinf(runs[2].certified));
  EXPECT_EQ(loss_of_utility(runs[2], runs[2]), 0);
  EXPECT_GT(spent(*ledger), 1.99);
  EXPECT_EQ(witness_.titles, (std::vector<std::string>{"epsilon 0.5: ", "epsilon 1.5: ", "epsilon inf: "}));
  EXPECT_TRUE(exists("sweep/without-privacy/model.safetensors"));
  EXPECT_TRUE(value_of(job.outlook(ledger.get())).asked_before);
}

TEST_F(SweepTest, RefusesRunsBeyondTheBudgetBeforeAnythingIsSpent) {
  expect_error(prepare({1, 2}), ErrorCode::kBudgetExhausted, "spend 3 together");
  EXPECT_TRUE(prepare({1, 2}, 7).has_value()) << "repeated noise is not charged";
  // The file's budget would allow for it, but little of it is left.
  const auto ledger = make_ledger();
  SweepJob job = value_of(prepare({1, 0.9}));
  testing::expect_good(ledger->create_budget(budget_of(job.file().training.privacy)));
  ASSERT_TRUE(ledger->reserve(testing::request("toy", "before", testing::pure(0.5))).has_value());
  EXPECT_FALSE(value_of(job.outlook(ledger.get())).fits);
}

TEST_F(SweepTest, RefusesBadQuestions) {
  expect_error(prepare({1, 1}), ErrorCode::kInvalidArgument, "twice");
  expect_error(prepare({0}), ErrorCode::kInvalidArgument, "epsilon");
  expect_error(prepare({NAN}), ErrorCode::kInvalidArgument, "epsilon");
  expect_error(prepare({}), ErrorCode::kInvalidArgument, "epsilon");
  change("test_fraction = 0.2\n", "");
  expect_error(prepare({1}), ErrorCode::kInvalidArgument, "test_fraction");
}

TEST_F(SweepTest, KeepsFinishedRunsIfStopped) {
  const auto ledger = make_ledger();
  SweepJob job = value_of(prepare({0.5, 1}));
  control_.stop = [&] { return witness_.titles.size() == 2; };
  expect_error(job.run(ledger.get(), control_), ErrorCode::kInvalidArgument, "stopped");
  EXPECT_TRUE(exists("sweep/epsilon-0.5/model.safetensors"));
  EXPECT_FALSE(exists("sweep/sweep.csv"));
}

TEST(SweepTable, LeavesOutMeasuresThatNoRunHas) {
  SweepRun without{.epsilon = kNoPrivacy, .noise = {}, .quality = {.examples = 10, .loss = 0.5}};
  SweepRun with = without;
  with.epsilon = 2;
  with.noise = NoiseMultiplier::of(1.25);
  with.certified = 1.5;
  with.quality.loss = 0.75;
  EXPECT_EQ(sweep_table({with, without}, Delta::of(1e-5)),
            "epsilon,delta,noise_multiplier,certified_epsilon,loss,loss_of_utility,seconds\n"
            "2,1e-05,1.25,1.5,0.75,0.5,0.000\n"
            "inf,1e-05,,inf,0.5,0,0.000\n");
  with.quality.accuracy = 0.5;
  EXPECT_EQ(measures_of({with, without}).size(), 2U) << "one run has it";
  EXPECT_NE(sweep_table({with, without}, Delta::of(1e-5)).find("inf,1e-05,,inf,0.5,,"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
