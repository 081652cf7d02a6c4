#include "noisefloor/federated/asynchronous.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

// A source with one row, whose gradient pulls to a number; it remembers the weights at which it was asked.
class Pull final : public GradientSource {
 public:
  explicit Pull(float to) : to_(to) {}
  [[nodiscard]] std::size_t examples() const override { return 1; }
  [[nodiscard]] std::size_t parameters() const override { return 1; }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> rows,
                                        const ClipRule* /*rule*/, BitStream& /*stream*/,
                                        std::span<float> sum) override {
    places.push_back(at[0]);
    for (std::size_t i = 0; i < rows.size(); ++i) sum[0] += std::clamp(at[0] - to_, -1.0F, 1.0F);
    return rows.size();
  }
  std::vector<float> places;

 private:
  float to_;
};

class AsynchronousTest : public ::testing::Test {
 protected:
  std::vector<DpSgd> clients(std::optional<double> noise = std::nullopt) {
    std::vector<DpSgd> made;
    for (Pull& source : sources_) {
      DpSgd::Options options;
      options.clip = ClipRule::create(FlatClip{ClipNorm::of(1.0)}).value();
      if (noise) options.noise = NoiseMultiplier::make(*noise).value();
      options.learning_rate = {.initial = 0.1};
      made.push_back(DpSgd::create(options,
                                   BatchSampler::poisson(Rows::of(1), Rows::of(1), Adjacency::kAddRemove).value(),
                                   source, {5})
                         .value());
    }
    return made;
  }
  std::array<Pull, 3> sources_{Pull(0), Pull(1), Pull(2)};
  ReplayRandom random_ = ReplayRandom::create(7).value();
};

TEST_F(AsynchronousTest, LetsAllClientsPullTheModel) {
  std::vector<DpSgd> all = clients();
  std::uint64_t broadcasts = 0;
  const std::vector<float> model = train_asynchronously(all, random_,
                                                        {.rounds = 200,
                                                         .broadcast =
                                                             [&](std::uint64_t round, auto) {
                                                               EXPECT_GT(round, broadcasts);
                                                               broadcasts = round;
                                                             }})
                                       .value();
  EXPECT_EQ(broadcasts, 200U);
  EXPECT_NEAR(model[0], 1.0, 0.15) << "pulls to 0, 1 and 2";
  for (const DpSgd& client : all) EXPECT_EQ(client.steps(), 200U);
}

// With lag 0 no client moves on before all have: all clients work on one model in each round, the broadcast one.
TEST_F(AsynchronousTest, KeepsRoundsInStepWithoutLag) {
  std::vector<DpSgd> all = clients();
  std::vector<float> models{5};
  ASSERT_TRUE(train_asynchronously(
                  all, random_,
                  {.rounds = 50,
                   .lag = 0,
                   .broadcast = [&](std::uint64_t, std::span<const float> model) { models.push_back(model[0]); }})
                  .has_value());
  models.pop_back();
  for (const Pull& source : sources_) EXPECT_EQ(source.places, models);
}

TEST_F(AsynchronousTest, LetsClientsGoAheadByTheLagOnly) {
  std::vector<DpSgd> all = clients();
  std::uint64_t ahead = 0;
  ASSERT_TRUE(train_asynchronously(all, random_,
                                   {.rounds = 300,
                                    .lag = 2,
                                    .broadcast =
                                        [&](std::uint64_t round, auto) {
                                          for (const DpSgd& client : all) {
                                            ahead = std::max(ahead, client.steps() - round);
                                          }
                                        }})
                  .has_value());
  EXPECT_EQ(ahead, 2U) << "a client that is 2 rounds ahead of the last broadcast, and none that is more";
  // A client's model holds its own updates.
  EXPECT_NE(sources_[0].places, sources_[1].places);
}

TEST_F(AsynchronousTest, GivesTheSameModelForTheSameSeeds) {
  const auto run = [&](std::uint64_t order) {
    ReplayRandom random = ReplayRandom::create(3).value();
    std::vector<DpSgd> all = clients(0.5);
    return train_asynchronously(all, random, {.rounds = 20, .order_seed = order}).value();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST_F(AsynchronousTest, RefusesImpossibleRuns) {
  std::vector<DpSgd> none;
  expect_invalid(train_asynchronously(none, random_, {.rounds = 1}).error(), "no client");
  std::vector<DpSgd> all = clients();
  expect_invalid(train_asynchronously(all, random_, {.rounds = 0}).error(), "at least one round");
  ASSERT_TRUE(all[1].step(random_));
  expect_invalid(train_asynchronously(all, random_, {.rounds = 1}).error(), "same weights");
  expect_invalid(all[0].move_to(std::vector<float>{1, 2}).error(), "has 1 parameters");
}

}  // namespace
}  // namespace noisefloor
