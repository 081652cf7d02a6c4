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
  // Quantile regression learns from half of those that a target has not seen, and needs no other model.
  const AttackResult learned = attack_in_turn(overfit, Attack::kQuantile, 4, &pool).value();
  EXPECT_GT(learned.median_auc, 0.75);
  EXPECT_LT(learned.together.others(), 4U * 60U);
  EXPECT_NEAR(attack_in_turn(noised, Attack::kQuantile, 4, &pool).value().median_auc, 0.5, 0.15);
  EXPECT_FALSE(attack_in_turn(overfit, Attack::kQuantile, 4).has_value()) << "without the features";
  // A model by itself is attacked by all others.
  const auto first = std::span(overfit.confidence).first(200);
  const auto member = std::span(overfit.member).first(200);
  EXPECT_GT(attack_one(first, member, overfit, Attack::kThreshold).value().median_auc, 0.8);
  EXPECT_FALSE(attack_one(first.first(7), member, overfit, Attack::kRmia).has_value());
  for (const char* name : {"threshold", "lira-online", "lira-offline", "rmia", "quantile"}) {
    EXPECT_EQ(name_of(parse_attack(name).value()), name);
  }
  EXPECT_FALSE(parse_attack("guess").has_value());
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

// With four models, one pair attacks the other: every example has a model with it, and one without it.
TEST(ShadowModels, ComeInPairsThatComplementEachOther) {
  const Dataset pool = noise_with_labels(100, 5, 3);
  const References four = train_shadows({100, 4, 5, 2}, lanes_shadows(pool, memorising())).value();
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(four.member[i] + four.member[100 + i], 1);
    EXPECT_EQ(four.member[200 + i] + four.member[300 + i], 1);
  }
  EXPECT_NE(std::vector<std::uint8_t>(four.member.begin(), four.member.begin() + 100),
            std::vector<std::uint8_t>(four.member.begin() + 200, four.member.begin() + 300));
  for (const Attack attack : {Attack::kLiraOnline, Attack::kLiraOffline, Attack::kRmia}) {
    EXPECT_GT(attack_in_turn(four, attack, 4).value().median_auc, 0.7) << name_of(attack);
  }
  const References noised = train_shadows({100, 4, 5, 2}, lanes_shadows(pool, with_noise())).value();
  EXPECT_NEAR(attack_in_turn(noised, Attack::kLiraOnline, 4).value().together.auc(), 0.5, 0.13)
      << "the pair gives nothing away";
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
