#include "noisefloor/pate/label_spreading.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace noisefloor {
namespace {

// Two half moons, each inside the other's arms: nearness along them says which is which, and straight lines do not.
Dataset moons(std::size_t each) {
  Dataset data;
  data.rows = 2 * each;
  data.shape = {5};
  data.classes = 2;
  for (std::size_t i = 0; i < data.rows; ++i) {
    const bool upper = i % 2 == 0;
    const double t = 3.14159 * (static_cast<double>(i / 2) + 0.5) / static_cast<double>(each);
    const double x = upper ? std::cos(t) : 1 - std::cos(t);
    const double y = upper ? std::sin(t) : 0.5 - std::sin(t);
    // Turned in a space of five features, of which the last is the same for all.
    for (const double f : {0.6 * x + 0.8 * y, 0.8 * x - 0.6 * y, 0.1 * x, 0.1 * y, 7.0}) {
      data.features.push_back(static_cast<float>(f));
    }
    data.labels.push_back(upper ? 0 : 1);
  }
  return data;
}

TEST(PrincipalComponents, KeepDistances) {
  const Dataset data = moons(100);
  const std::vector<float> coordinates = principal_components(data, 2, 2);
  ASSERT_EQ(coordinates.size(), 400);
  std::vector<double> scale(5);
  for (std::size_t k = 0; k < 5; ++k) {
    double mean = 0;
    double square = 0;
    for (std::size_t i = 0; i < data.rows; ++i) mean += data.example(i)[k] / 200.0;
    for (std::size_t i = 0; i < data.rows; ++i) square += std::pow(data.example(i)[k] - mean, 2) / 200;
    scale[k] = square > 1e-9 ? 1 / std::sqrt(square) : 0;
  }
  for (std::size_t i = 1; i < data.rows; i += 7) {
    double features = 0;
    double found = 0;
    for (std::size_t k = 0; k < 5; ++k) {
      features += std::pow((data.example(i)[k] - data.example(0)[k]) * scale[k], 2);
    }
    for (std::size_t k = 0; k < 2; ++k) found += std::pow(coordinates[2 * i + k] - coordinates[k], 2);
    EXPECT_NEAR(found, features, 1e-4 * (1 + features)) << "two directions hold all that there is";
  }
  EXPECT_EQ(coordinates, principal_components(data, 2, 1)) << "whatever the threads";
  EXPECT_EQ(principal_components(data, 9, 1).size(), 200 * 5) << "no more than there are";
}

TEST(SpreadLabels, FollowTheShapeOfTheData) {
  const Dataset data = moons(150);
  const std::vector<float> coordinates = principal_components(data, 2, 2);
  const std::vector<GivenLabel> given{{20, 0}, {21, 1}};
  const SpreadLabels spread = spread_labels(coordinates, data.rows, 2, given, {.neighbours = 5}, 2).value();
  std::size_t right = 0;
  for (std::size_t i = 0; i < data.rows; ++i) right += spread.labels[i] == data.labels[i] ? 1U : 0U;
  EXPECT_EQ(right, data.rows);
  EXPECT_EQ(spread.shares, spread_labels(coordinates, data.rows, 2, given, {.neighbours = 5}, 1).value().shares);
}

TEST(SpreadLabels, LeavesOutWhatNoLabelReaches) {
  // Two pairs, far from each other.
  const std::vector<float> coordinates{0, 1, 1000, 1001};
  const SpreadLabels spread =
      spread_labels(coordinates, 4, 2, std::vector<GivenLabel>{{0, 1}}, {.neighbours = 1}, 1).value();
  EXPECT_EQ(spread.labels, (std::vector<std::int32_t>{1, 1, -1, -1}));
}

TEST(SpreadingGraph, TakesLabelsOfPointsThatAreNotInIt) {
  const Dataset data = moons(150);
  const PrincipalSpace space = principal_space(data, 2, 1);
  const SpreadingGraph graph = SpreadingGraph::on(space.coordinates(data, 1), data.rows, {.neighbours = 5}, 2).value();
  // Two points beside the moons, of which one label is out of range, and a third that counts nothing.
  Dataset points = data.take(std::vector<std::uint64_t>{20, 21, 40}).value();
  for (float& x : points.features) x += 0.01F;
  const std::vector<std::uint16_t> classes =
      graph.classes_from(space.coordinates(points, 1), std::vector<std::int32_t>{0, 1, 2}, 2);
  std::size_t right = 0;
  for (std::size_t i = 0; i < data.rows; ++i) right += classes[i] == data.labels[i] ? 1U : 0U;
  EXPECT_EQ(right, data.rows);
  EXPECT_EQ(graph.classes_from({}, {}, 2), std::vector<std::uint16_t>(data.rows, 0)) << "nobody says anything";
  EXPECT_FALSE(SpreadingGraph::on({}, 0, {}, 1).has_value());
}

TEST(SpreadLabels, RefuseWhatHasNoMeaning) {
  const std::vector<float> coordinates{0, 1, 2, 3};
  const std::vector<GivenLabel> good{{0, 1}};
  EXPECT_FALSE(spread_labels(coordinates, 4, 2, {}, {}, 1).has_value());
  EXPECT_FALSE(spread_labels(coordinates, 4, 2, std::vector<GivenLabel>{{4, 1}}, {}, 1).has_value());
  EXPECT_FALSE(spread_labels(coordinates, 4, 2, std::vector<GivenLabel>{{0, 2}}, {}, 1).has_value());
  EXPECT_FALSE(spread_labels(coordinates, 4, 2, good, {.smoothing = 1}, 1).has_value());
  EXPECT_FALSE(spread_labels(coordinates, 4, 2, good, {.neighbours = 0}, 1).has_value());
}

}  // namespace
}  // namespace noisefloor
