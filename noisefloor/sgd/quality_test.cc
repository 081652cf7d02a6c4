#include "noisefloor/sgd/quality.h"

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
  EXPECT_DOUBLE_EQ(quality.accuracy, 0.75);
  // Class 0: precision 1, recall 1. Class 1: precision 1, recall 1/2. Class 2 does not occur.
  EXPECT_DOUBLE_EQ(quality.f1, (1 + 2.0 / 3) / 2);
  const double loss = std::log(std::exp(2) + 2) - 2 + std::log(1 + std::exp(1) + std::exp(3)) - 1 +
                      std::log(std::exp(5) + 2) - 5 + std::log(std::exp(1) + 2) - 1;
  EXPECT_NEAR(quality.loss, loss / 4, 1e-9);
}

TEST(Quality, OfOneLogit) {
  const std::vector<float> outputs{2, -1, 200, -200};
  const Quality quality = quality_of(outputs, labelled({1, 1, 1, 1}, 2));
  EXPECT_DOUBLE_EQ(quality.accuracy, 0.5);
  EXPECT_NEAR(quality.loss, (std::log1p(std::exp(-2)) + std::log1p(std::exp(1)) + 200) / 4, 1e-9);
}

TEST(Quality, OfNumbers) {
  Dataset data = labelled({0, 0}, 0);
  data.labels.clear();
  data.targets = {1, 5};
  const Quality quality = quality_of(std::vector<float>{3, 5}, data);
  EXPECT_DOUBLE_EQ(quality.loss, 1);
  EXPECT_EQ(quality.accuracy, 0);
}

TEST(Quality, OfNothing) { EXPECT_EQ(quality_of({}, labelled({}, 3)).examples, 0U); }

}  // namespace
}  // namespace noisefloor
