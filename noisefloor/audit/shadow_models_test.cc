#include "noisefloor/audit/shadow_models.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/clip.h"

namespace noisefloor::audit {
namespace {

// Labels that nothing explains: a network can only memorise them.
Dataset noise_with_labels(std::size_t rows, std::size_t features, std::uint64_t seed) {
  ReplayRandom random = ReplayRandom::create(seed).value();
  Dataset pool;
  pool.rows = rows;
  pool.shape = {features};
  pool.classes = 2;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < features; ++j) {
      pool.features.push_back(static_cast<float>(static_cast<double>(random.next_u64() >> 11) * 0x1p-52 - 1));
    }
    pool.labels.push_back(static_cast<std::int32_t>(random.next_u64() >> 63));
  }
  return pool;
}

LanesShadow memorising() {
  LanesShadow recipe;
  recipe.layers = {lanes::Linear{64}, lanes::Activate{lanes::Activation::kRelu}, lanes::Linear{2}};
  recipe.descent.optimizer.kind = OptimizerKind::kAdam;
  recipe.descent.learning_rate.initial = 0.01;
  recipe.descent.learning_rate.steps = 300;
  recipe.batch = Rows::of(50);
  recipe.steps = Steps::of(300);
  return recipe;
}

LanesShadow with_noise() {
  LanesShadow recipe = memorising();
  recipe.descent.optimizer.kind = OptimizerKind::kSgd;
  recipe.descent.learning_rate.initial = 0.5;
  recipe.descent.clip = ClipRule::create(FlatClip{ClipNorm::of(1)}).value();
  recipe.descent.noise = NoiseMultiplier::of(20);
  recipe.batch = Rows::of(100);
  recipe.steps = Steps::of(30);
  recipe.descent.learning_rate.steps = 30;
  return recipe;
}

// The positive and the negative control of every attack.
TEST(ShadowModels, AttacksFindWhatIsMemorisedAndNothingElse) {
  const Dataset pool = noise_with_labels(200, 20, 1);
  const References overfit = train_shadows({200, 16, 7, 2}, lanes_shadows(pool, memorising())).value();
  const References noised = train_shadows({200, 16, 7, 2}, lanes_shadows(pool, with_noise())).value();
  for (const Attack attack : {Attack::kThreshold, Attack::kLiraOnline, Attack::kLiraOffline, Attack::kRmia}) {
    const AttackResult found = attack_in_turn(overfit, attack, 8).value();
    EXPECT_GT(found.median_auc, 0.8) << name_of(attack);
    EXPECT_EQ(found.auc.size(), 8U);
    EXPECT_EQ(found.together.members() + found.together.others(), 1600U);
    const AttackResult nothing = attack_in_turn(noised, attack, 8).value();
    EXPECT_NEAR(nothing.median_auc, 0.5, 0.1) << name_of(attack);
  }
}

TEST(ShadowModels, AreTheSameForAnyNumberOfThreads) {
  const Dataset pool = noise_with_labels(60, 5, 3);
  LanesShadow recipe = memorising();
  recipe.steps = Steps::of(20);
  std::size_t told = 0;
  ShadowPlan plan{60, 5, 11, 1};
  plan.progress = [&](std::size_t done) { told = done; };
  const References one = train_shadows(plan, lanes_shadows(pool, recipe)).value();
  EXPECT_EQ(told, 5U);
  plan.threads = 3;
  const References three = train_shadows(plan, lanes_shadows(pool, recipe)).value();
  EXPECT_EQ(one.confidence, three.confidence);
  EXPECT_EQ(one.member, three.member);
  plan.seed = 12;
  const References other = train_shadows(plan, lanes_shadows(pool, recipe)).value();
  EXPECT_NE(one.member, other.member);
  EXPECT_NE(one.confidence, other.confidence);
}

TEST(ShadowModels, PassOnTheFirstError) {
  const TrainShadow fails = [](std::span<const std::uint64_t>, std::uint64_t) -> Result<std::vector<double>> {
    return invalid_argument("this training fails");
  };
  const auto failed = train_shadows({10, 4, 1, 2}, fails);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "this training fails");
  const TrainShadow fewer = [](std::span<const std::uint64_t>, std::uint64_t) -> Result<std::vector<double>> {
    return std::vector<double>(9, 0.0);
  };
  EXPECT_FALSE(train_shadows({10, 4, 1, 1}, fewer).has_value());
  EXPECT_FALSE(train_shadows({10, 1, 1, 1}, fails).has_value());
  EXPECT_FALSE(train_shadows({10, 4, 1, 0}, fails).has_value());
  EXPECT_FALSE(train_shadows({0, 4, 1, 1}, fails).has_value());
}

}  // namespace
}  // namespace noisefloor::audit
