#include "noisefloor/plan/utility_graph.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/sgd/lanes_source.h"
#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

// Two classes; the model x > 0 is right about every row.
Dataset two_classes() {
  Dataset data{.rows = 400, .shape = {1}, .features = {}, .labels = {}, .classes = 2, .targets = {}};
  for (int i = 0; i < 400; ++i) {
    data.features.push_back(i % 2 == 0 ? 1.0F : -1.0F);
    data.labels.push_back(i % 2 == 0 ? 1 : 0);
  }
  return data;
}

std::vector<NoiseMultiplier> noises(std::initializer_list<double> values) {
  std::vector<NoiseMultiplier> made;
  for (const double value : values) made.push_back(NoiseMultiplier::make(value).value());
  return made;
}

UtilityCurve curve(double clip, double accuracy, std::initializer_list<std::pair<double, double>> points) {
  UtilityCurve made{ClipNorm::make(clip).value(), accuracy, {}};
  for (const auto& [noise, mean] : points) {
    made.points.push_back({NoiseMultiplier::make(noise).value(), mean, mean, mean});
  }
  return made;
}

TEST(UtilityGraph, FallsWhereNoiseReachesTheScaleOfTheModel) {
  const Dataset data = two_classes();
  const auto program = lanes::Program::create({1, 1, 1}, {lanes::Linear{1}}, lanes::Loss::kBinary).value();
  const auto model = LanesSource::create(program, data, 2).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  const UtilityCurve found =
      utility_curve(*model, std::vector<float>{4, 0}, ClipNorm::of(0.5), noises({0.1, 1000}), 400, data, random)
          .value();
  EXPECT_EQ(found.accuracy, 1);
  EXPECT_EQ(found.points[0].lowest, 1) << "0.05 on a weight of 4 changes nothing";
  // Weight and bias are pure noise: the weight's sign is right in half of the draws, and the bias drowns it in half of
  // all draws.
  EXPECT_NEAR(found.points[1].mean, 0.5, 0.08);
  EXPECT_EQ(found.points[1].lowest, 0);
  EXPECT_EQ(found.points[1].highest, 1);
}

TEST(UtilityGraph, RecommendsTheMostNoiseThatCostsLittleEnough) {
  const std::vector<UtilityCurve> curves{curve(0.1, 0.9, {{10, 1.0}, {20, 0.9}, {40, 0.5}}),
                                         curve(0.05, 0.9, {{10, 1.0}, {20, 0.98}, {40, 0.7}}),
                                         curve(0.01, 0.4, {{10, 1.0}, {20, 1.0}, {40, 1.0}})};
  const auto choice = recommended(curves, 0.1, 0.8);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->clip.value(), 0.05);
  EXPECT_NEAR(choice->noise.value(), 20 + 20 * 0.08 / 0.28, 1e-9);
  EXPECT_EQ(recommended(curves, 0.1)->clip.value(), 0.01) << "a model that learned nothing tolerates all";
  EXPECT_FALSE(recommended(std::vector{curve(0.1, 0.9, {{10, 0.5}})}, 0.1).has_value());
}

TEST(UtilityGraph, RefusesModelsThatPredictNumbers) {
  Dataset data = two_classes();
  data.targets.assign(data.rows, 0.5F);
  data.labels.clear();
  data.classes = 0;
  const auto program = lanes::Program::create({1, 1, 1}, {lanes::Linear{1}}, lanes::Loss::kSquared).value();
  const auto model = LanesSource::create(program, data, 1).value();
  ReplayRandom random = ReplayRandom::create(1).value();
  expect_invalid(
      utility_curve(*model, std::vector<float>{1, 0}, ClipNorm::of(1.0), noises({1}), 1, data, random).error(),
      "classes");
}

}  // namespace
}  // namespace noisefloor
