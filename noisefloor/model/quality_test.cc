#include "noisefloor/model/quality.h"

#include <gtest/gtest.h>

#include <cmath>

namespace noisefloor {
namespace {

Dataset labelled(std::vector<std::int32_t> labels, std::int32_t classes) {
  Dataset data;
  data.rows = labels.size();
  data.shape = {1};
  data.features.resize(labels.size());
  data.labels = std::move(labels);
  data.classes = classes;
  return data;
}

TEST(Quality, OfClasses) {
  const std::vector<float> outputs{2, 0, 0, /**/ 0, 1, 3, /**/ 0, 5, 0, /**/ 1, 0, 0};
  const Quality quality = quality_of(outputs, labelled({0, 1, 1, 0}, 3));
  EXPECT_EQ(quality.examples, 4U);
  EXPECT_DOUBLE_EQ(*quality.accuracy, 0.75);
  // Class 0: precision 1, recall 1. Class 1: precision 1, recall 1/2. Class 2 does not occur.
  EXPECT_DOUBLE_EQ(*quality.f1, (1 + 2.0 / 3) / 2);
  const double loss = std::log(std::exp(2) + 2) - 2 + std::log(1 + std::exp(1) + std::exp(3)) - 1 +
                      std::log(std::exp(5) + 2) - 5 + std::log(std::exp(1) + 2) - 1;
  EXPECT_NEAR(quality.loss, loss / 4, 1e-9);
}

TEST(Quality, OfOneLogit) {
  const std::vector<float> outputs{2, -1, 200, -200};
  const Quality quality = quality_of(outputs, labelled({1, 1, 1, 1}, 2));
  EXPECT_DOUBLE_EQ(*quality.accuracy, 0.5);
  EXPECT_NEAR(quality.loss, (std::log1p(std::exp(-2)) + std::log1p(std::exp(1)) + 200) / 4, 1e-9);
}

TEST(Quality, OfTwoClassesTheSecondOneCounts) {
  // Class 1: guessed 3 times, there twice, right once.
  const Quality quality = quality_of(std::vector<float>{1, 1, 1, -1, -1}, labelled({1, 0, 0, 1, 0}, 2));
  EXPECT_DOUBLE_EQ(*quality.f1, 2.0 / 5);
  EXPECT_FALSE(quality.recall_at_20);
}

TEST(Quality, RecallAmongManyClasses) {
  // 30 classes whose outputs fall: class 19 is the last one among 20.
  std::vector<float> outputs;
  for (int row = 0; row < 3; ++row) {
    for (int i = 0; i < 30; ++i) outputs.push_back(static_cast<float>(-i));
  }
  EXPECT_DOUBLE_EQ(*quality_of(outputs, labelled({19, 20, 3}, 30)).recall_at_20, 2.0 / 3);
}

TEST(Quality, RecallAmongSuggestionsToEachPerson) {
  // Person 0 has 30 suggestions, the wanted ones at places 1, 20 and 21; person 1 has 2, of which one is wanted;
  // person 2 wants nothing.
  Dataset data = labelled(std::vector<std::int32_t>(34), 2);
  std::vector<float> scores;
  for (std::size_t i = 0; i < 34; ++i) {
    data.groups.push_back(i < 30 ? 0 : i < 32 ? 1 : 2);
    scores.push_back(-static_cast<float>(i));
  }
  for (const std::size_t wanted : {0U, 19U, 20U, 31U}) data.labels[wanted] = 1;
  EXPECT_DOUBLE_EQ(*quality_of(scores, data).recall_at_20, (2.0 / 3 + 1) / 2);
  // Two outputs say the same as their difference.
  std::vector<float> pairs;
  for (const float score : scores) pairs.insert(pairs.end(), {5 - score, 5});
  EXPECT_DOUBLE_EQ(*quality_of(pairs, data).recall_at_20, (2.0 / 3 + 1) / 2);
  // Equal scores find nothing that is beyond the 20th place.
  EXPECT_LT(*quality_of(std::vector<float>(34), data).recall_at_20, 0.6);
}

TEST(Quality, OfNumbers) {
  Dataset data = labelled({0, 0}, 0);
  data.labels.clear();
  data.targets = {1, 5};
  const Quality quality = quality_of(std::vector<float>{3, 5}, data);
  EXPECT_DOUBLE_EQ(quality.loss, 1);
  EXPECT_FALSE(quality.accuracy || quality.f1 || quality.recall_at_20);
}

TEST(Quality, OfNothing) { EXPECT_EQ(quality_of({}, labelled({}, 3)).examples, 0U); }

}  // namespace
}  // namespace noisefloor
