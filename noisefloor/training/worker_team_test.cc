#include "noisefloor/training/worker_team.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace noisefloor {
namespace {

// The test decides what all others together add.
class ScriptedGroup final : public WorkerGroup {
 public:
  using Others = std::function<Result<void>(std::span<float>)>;
  ScriptedGroup(std::size_t rank, Others others) : rank_(rank), others_(std::move(others)) {}
  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return 3; }
  [[nodiscard]] Result<void> sum(std::span<float> numbers) override {
    sent.push_back(numbers[0]);
    return others_(numbers);
  }
  std::vector<float> sent;

 private:
  std::size_t rank_;
  Others others_;
};

Result<void> silent(std::span<float> /*numbers*/) { return success(); }

TEST(WorkerTeam, AsksNobodyIfAlone) {
  const WorkerTeam team;
  EXPECT_TRUE(team.alone());
  EXPECT_TRUE(team.leads());
  EXPECT_TRUE(team.begin().has_value());
  EXPECT_TRUE(team.expect_same("x").has_value());
  EXPECT_TRUE(team.stop(true));
  EXPECT_FALSE(team.stop(false));
}

TEST(WorkerTeam, StartsOnlyByTheFirst) {
  ScriptedGroup first(0, silent);
  ScriptedGroup second(1, silent);
  EXPECT_TRUE(WorkerTeam(&first).begin().has_value());
  EXPECT_TRUE(WorkerTeam(&second).begin().has_value());
  EXPECT_EQ(first.sent, std::vector<float>{1});
  EXPECT_EQ(second.sent, std::vector<float>{0});
  EXPECT_FALSE(WorkerTeam(&second).leads());
}

TEST(WorkerTeam, StopsAllIfAnyoneWantsToStop) {
  ScriptedGroup quiet(0, silent);
  EXPECT_TRUE(WorkerTeam(&quiet).stop(true));
  EXPECT_FALSE(WorkerTeam(&quiet).stop(false));
  ScriptedGroup other(0, [](std::span<float> numbers) -> Result<void> {
    numbers[0] += 1;
    return success();
  });
  EXPECT_TRUE(WorkerTeam(&other).stop(false));
}

TEST(WorkerTeam, DoesNotStartIfTheGroupIsLost) {
  ScriptedGroup lost(1, [](std::span<float>) -> Result<void> { return Error{ErrorCode::kProtocol, "gone"}; });
  EXPECT_FALSE(WorkerTeam(&lost).begin().has_value());
}

}  // namespace
}  // namespace noisefloor
