#include "noisefloor/audit/membership_scores.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/audit/roc.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::audit {
namespace {

TEST(LogitConfidence, IsTheOddsOfTheRightClass) {
  const std::vector<float> logits = {2, -1, 0.5F};
  const double p = std::exp(2.0) / (std::exp(2.0) + std::exp(-1.0) + std::exp(0.5));
  EXPECT_NEAR(logit_confidence(logits, 0), std::log(p / (1 - p)), 1e-12);
  const std::vector<float> far = {800, -800, 0};
  EXPECT_NEAR(logit_confidence(far, 0), 800, 1e-9) << "probabilities would saturate";
  EXPECT_NEAR(logit_confidence(far, 1), -1600, 1e-9);
  const std::vector<float> one = {3};
  EXPECT_EQ(logit_confidence(one, 1), 3);
  EXPECT_EQ(logit_confidence(one, 0), -3);
}

// Models whose confidence in an example is its own difficulty, plus `leak` where they were trained on it, plus noise.
struct World {
  References references;
  std::vector<double> target;
  std::vector<std::uint8_t> target_has;
};

double normal(BitStream& random) {
  const auto uniform = [&] { return (static_cast<double>(random.next_u64() >> 11) + 0.5) / 9007199254740992.0; };
  return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979323846 * uniform());
}

World world(double leak, std::size_t models, std::size_t examples, std::uint64_t seed) {
  ReplayRandom random = ReplayRandom::create(seed).value();
  World made;
  made.references.models = models;
  made.references.examples = examples;
  std::vector<double> difficulty;
  for (std::size_t j = 0; j < examples; ++j) difficulty.push_back(3 * normal(random));
  for (std::size_t i = 0; i <= models; ++i) {
    for (std::size_t j = 0; j < examples; ++j) {
      const bool has = (random.next_u64() >> 63) != 0;
      const double confidence = difficulty[j] + (has ? leak : 0) + normal(random);
      if (i == models) {
        made.target.push_back(confidence);
        made.target_has.push_back(has ? 1 : 0);
      } else {
        made.references.confidence.push_back(confidence);
        made.references.member.push_back(has ? 1 : 0);
      }
    }
  }
  return made;
}

double auc_of(const World& made, const std::vector<double>& scores) {
  std::vector<double> in;
  std::vector<double> out;
  for (std::size_t j = 0; j < scores.size(); ++j) (made.target_has[j] != 0 ? in : out).push_back(scores[j]);
  return Roc::make(in, out).value().auc();
}

std::vector<std::size_t> everybody(std::size_t examples) {
  std::vector<std::size_t> places(examples);
  for (std::size_t j = 0; j < examples; ++j) places[j] = j;
  return places;
}

// What can be found at best: two Gaussians whose means are `leak` apart have an area of Φ(leak/√2).
TEST(MembershipScores, CalibratedAttacksFindWhatAThresholdMisses) {
  const World made = world(2, 64, 2000, 3);
  const double best = 0.9214;  // Φ(2/√2)
  const double threshold = auc_of(made, made.target);
  const double online = auc_of(made, lira_online(made.target, made.references).value());
  const double offline = auc_of(made, lira_offline(made.target, made.references).value());
  const double ratio = auc_of(made, rmia(made.target, made.references, everybody(2000)).value());
  EXPECT_LT(threshold, 0.72) << "difficulty hides membership from a threshold";
  EXPECT_NEAR(online, best, 0.02);
  EXPECT_NEAR(offline, best, 0.03);
  EXPECT_GT(ratio, threshold + 0.05);
}

// The negative control: nothing leaks, and no attack may find anything.
TEST(MembershipScores, FindNothingWhereNothingLeaks) {
  const World made = world(0, 64, 2000, 5);
  const double slack = 0.0646;  // five standard deviations of the area for 1,000 against 1,000
  EXPECT_NEAR(auc_of(made, lira_online(made.target, made.references).value()), 0.5, slack);
  EXPECT_NEAR(auc_of(made, lira_offline(made.target, made.references).value()), 0.5, slack);
  EXPECT_NEAR(auc_of(made, rmia(made.target, made.references, everybody(2000)).value()), 0.5, slack);
}

TEST(MembershipScores, RefuseWhatCannotBeJudged) {
  World made = world(1, 8, 20, 9);
  const std::vector<double> short_target(19, 0.0);
  EXPECT_FALSE(lira_online(short_target, made.references).has_value());
  References never = made.references;
  for (std::size_t i = 0; i < 8; ++i) never.member[i * 20 + 7] = 1;  // every model has example 7
  const auto refused = lira_offline(made.target, never);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("without example 7"), std::string::npos) << refused.error().message;
  References broken = made.references;
  broken.confidence[3] = std::nan("");
  EXPECT_FALSE(lira_online(made.target, broken).has_value());
  EXPECT_FALSE(rmia(made.target, made.references, std::vector<std::size_t>{20}).has_value());
  EXPECT_FALSE(rmia(made.target, made.references, std::vector<std::size_t>{}).has_value());
  EXPECT_FALSE(rmia(made.target, made.references, everybody(20), {.gamma = 0}).has_value());
}

void expect_finite(const std::vector<double>& scores) {
  for (const double score : scores) EXPECT_TRUE(std::isfinite(score));
}

TEST(MembershipScores, StayFiniteFarInTheTails) {
  World made = world(1, 40, 50, 13);
  made.target[0] = -1e6;
  made.target[1] = 1e6;
  expect_finite(lira_offline(made.target, made.references).value());
  expect_finite(lira_online(made.target, made.references).value());
  // An example that all models agree about.
  for (std::size_t i = 0; i < 40; ++i) made.references.confidence[i * 50 + 2] = 4;
  expect_finite(lira_online(made.target, made.references, {.models_for_own_spread = 2}).value());
}

}  // namespace
}  // namespace noisefloor::audit
