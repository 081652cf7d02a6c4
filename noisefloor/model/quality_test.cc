#include "noisefloor/model/quality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

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

TEST(Quality, JudgesClassesByTheirLargestOutput) {
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

TEST(Quality, JudgesTwoClassesByOneLogit) {
  const std::vector<float> outputs{2, -1, 200, -200};
  const Quality quality = quality_of(outputs, labelled({1, 1, 1, 1}, 2));
  EXPECT_DOUBLE_EQ(*quality.accuracy, 0.5);
  EXPECT_NEAR(quality.loss, (std::log1p(std::exp(-2)) + std::log1p(std::exp(1)) + 200) / 4, 1e-9);
}

TEST(Quality, TakesTheF1OfTheSecondOfTwoClasses) {
  // Class 1: guessed 3 times, there twice, right once.
  const Quality quality = quality_of(std::vector<float>{1, 1, 1, -1, -1}, labelled({1, 0, 0, 1, 0}, 2));
  EXPECT_DOUBLE_EQ(*quality.f1, 2.0 / 5);
  EXPECT_FALSE(quality.recall_at_20);
}

// Class 1 scores 0.9, 0.4, 0.4 and class 0 scores 0.8, 0.4, 0.1: of 9 pairs it wins 3 + 1 + 1 and ties twice.
TEST(Quality, AveragesTiesInTheAuc) {
  const std::vector<float> scores{0.9F, 0.8F, 0.4F, 0.4F, 0.4F, 0.1F};
  const Dataset data = labelled({1, 0, 1, 0, 1, 0}, 2);
  EXPECT_DOUBLE_EQ(*quality_of(scores, data).auc, (5 + 2 * 0.5) / 9);
  // Two outputs mean the same as their difference.
  std::vector<float> pairs;
  for (const float score : scores) pairs.insert(pairs.end(), {1, 1 + 4 * score});
  EXPECT_DOUBLE_EQ(*quality_of(pairs, data).auc, 6.0 / 9);
  // The AUC depends only on the order; with negated scores it is 1 minus itself.
  std::vector<float> negated;
  for (const float score : scores) negated.push_back(-100 * score);
  EXPECT_DOUBLE_EQ(*quality_of(negated, data).auc, 3.0 / 9);
  EXPECT_DOUBLE_EQ(*quality_of(std::vector<float>(6, 0.3F), data).auc, 0.5);
  EXPECT_DOUBLE_EQ(*quality_of(std::vector<float>{3, -3, 2, -2, 1, -1}, data).auc, 1);
}

TEST(Quality, ComputesTheAucOfAllPairs) {
  // Few different scores, so that there are many ties.
  std::vector<float> scores;
  std::vector<std::int32_t> labels;
  for (unsigned i = 0; i < 400; ++i) {
    scores.push_back(static_cast<float>(i * 2654435761U % 17));
    labels.push_back(static_cast<std::int32_t>(i * 40503U % 7 < 2));
  }
  double wins = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t k = 0; k < scores.size(); ++k) {
      if (labels[i] != 1 || labels[k] != 0) continue;
      ++pairs;
      wins += scores[i] > scores[k] ? 1 : scores[i] == scores[k] ? 0.5 : 0;
    }
  }
  EXPECT_DOUBLE_EQ(*quality_of(scores, labelled(labels, 2)).auc, wins / pairs);
}

TEST(Quality, HasNoAucWithoutBothClasses) {
  const std::vector<float> scores{1, 2, 3};
  EXPECT_FALSE(quality_of(scores, labelled({1, 1, 1}, 2)).auc);
  EXPECT_FALSE(quality_of(scores, labelled({0, 0, 0}, 2)).auc);
  EXPECT_DOUBLE_EQ(*quality_of(scores, labelled({0, 0, 0}, 2)).majority_accuracy, 1);
  EXPECT_FALSE(quality_of(std::vector<float>(9), labelled({0, 1, 2}, 3)).auc) << "three classes";
  EXPECT_FALSE(quality_of(std::vector<float>{1, NAN, 3}, labelled({0, 1, 0}, 2)).auc);
  const std::vector<float> infinite{INFINITY, INFINITY, 0, 1};
  EXPECT_FALSE(quality_of(infinite, labelled({0, 1}, 2)).auc) << "their difference is no number";
}

TEST(Quality, TakesTheMajorityOfTheExamples) {
  const std::vector<float> outputs{9, 0, 0, /**/ 9, 0, 0, /**/ 9, 0, 0, /**/ 9, 0, 0};
  const Quality quality = quality_of(outputs, labelled({2, 1, 2, 0}, 3));
  EXPECT_DOUBLE_EQ(*quality.majority_accuracy, 0.5);
  EXPECT_DOUBLE_EQ(*quality.accuracy, 0.25);
  EXPECT_DOUBLE_EQ(*quality_of(std::vector<float>{1, 1, 1, -1, -1}, labelled({1, 0, 0, 1, 0}, 2)).majority_accuracy,
                   0.6);
}

TEST(Quality, MeasuresRecallAmongManyClasses) {
  // 30 classes whose outputs fall: class 19 is the last one among 20.
  std::vector<float> outputs;
  for (int row = 0; row < 3; ++row) {
    for (int i = 0; i < 30; ++i) outputs.push_back(static_cast<float>(-i));
  }
  EXPECT_DOUBLE_EQ(*quality_of(outputs, labelled({19, 20, 3}, 30)).recall_at_20, 2.0 / 3);
}

TEST(Quality, MeasuresRecallAmongSuggestionsToEachPerson) {
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
  // Two outputs mean the same as their difference.
  std::vector<float> pairs;
  for (const float score : scores) pairs.insert(pairs.end(), {5 - score, 5});
  EXPECT_DOUBLE_EQ(*quality_of(pairs, data).recall_at_20, (2.0 / 3 + 1) / 2);
  // Equal scores find nothing that is beyond the 20th place.
  EXPECT_LT(*quality_of(std::vector<float>(34), data).recall_at_20, 0.6);
}

TEST(Quality, JudgesNumbersByTheirDistance) {
  Dataset data = labelled({0, 0}, 0);
  data.labels.clear();
  data.targets = {1, 5};
  const Quality quality = quality_of(std::vector<float>{3, 5}, data);
  EXPECT_DOUBLE_EQ(quality.loss, 1);
  EXPECT_DOUBLE_EQ(*quality.rmse, std::sqrt(2));
  EXPECT_DOUBLE_EQ(*quality.mean_rmse, 2) << "both are 2 away from their mean";
  EXPECT_FALSE(quality.accuracy || quality.f1 || quality.recall_at_20 || quality.auc || quality.majority_accuracy);
}

TEST(Quality, NamesNoFiguresThatWereNotMeasured) {
  using Figures = std::vector<std::pair<const char*, double>>;
  const auto names = [](const Figures& figures) {
    std::vector<std::string> all;
    for (const auto& [name, value] : figures) all.emplace_back(name);
    return all;
  };
  const Quality two = quality_of(std::vector<float>{1, -1}, labelled({1, 0}, 2));
  EXPECT_EQ(names(named_figures(two)),
            (std::vector<std::string>{"loss", "accuracy", "majority_accuracy", "auc", "f1"}));
  const Figures text = named_figures({.examples = 1, .loss = 2, .accuracy = 0.5, .positions = 10});
  EXPECT_EQ(names(text), (std::vector<std::string>{"loss", "accuracy", "perplexity"}));
  EXPECT_DOUBLE_EQ(text.back().second, std::exp(2));
}

TEST(Quality, JudgesNothingWithoutExamples) { EXPECT_EQ(quality_of({}, labelled({}, 3)).examples, 0U); }

}  // namespace
}  // namespace noisefloor
