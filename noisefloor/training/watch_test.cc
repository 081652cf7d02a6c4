#include "noisefloor/training/watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/ledger_pieces.h"

namespace noisefloor {
namespace {

using testing::value_of;

// Each example has its number as its only feature.
Dataset numbered(std::size_t rows) {
  Dataset data{.rows = rows, .shape = {1}, .features = {}, .labels = {}, .classes = 0, .targets = {}};
  for (std::size_t i = 0; i < rows; ++i) data.features.push_back(static_cast<float>(i));
  data.targets.assign(rows, 0);
  return data;
}

TrainingExamples with_test(std::size_t rows) { return {numbered(3), numbered(rows), {}}; }

TEST(Watched, IsARandomPartThatIsTheSameEachTime) {
  const auto watched = value_of(watched_of(with_test(50'000)));
  ASSERT_TRUE(watched.has_value());
  EXPECT_STREQ(watched->name, "test");
  const std::vector<float>& chosen = watched->examples.features;
  ASSERT_EQ(chosen.size(), kMostWatched);
  EXPECT_EQ(value_of(watched_of(with_test(50'000)))->examples, watched->examples);
  // The examples are drawn from the whole file: a tenth of it holds 100 of them, give or take six standard deviations
  // (57).
  for (int tenth = 0; tenth < 10; ++tenth) {
    const auto within =
        std::count_if(chosen.begin(), chosen.end(), [&](float row) { return static_cast<int>(row) / 5000 == tenth; });
    EXPECT_NEAR(static_cast<double>(within), 100, 57) << tenth;
  }
}

TEST(Watched, IncludesAllOfAFew) {
  EXPECT_EQ(value_of(watched_of(with_test(kMostWatched)))->examples, numbered(kMostWatched));
}

TEST(Watched, PrefersValidationToTestsAndHasNothingPrivate) {
  TrainingExamples examples = with_test(5);
  examples.validation = numbered(7);
  EXPECT_STREQ(value_of(watched_of(examples))->name, "validation");
  EXPECT_EQ(value_of(watched_of(examples))->examples.rows, 7U);
  EXPECT_FALSE(value_of(watched_of({numbered(3), {}, {}})).has_value());
}

TEST(Metrics, AreOneLineOfJson) {
  TrainingProgress progress;
  progress.steps = 40;
  progress.planned = 50;
  progress.epsilon = 1.5;
  const std::string line =
      metrics_line(progress, PublicQuality{"test", {.examples = 5, .loss = 0.25, .accuracy = 1.0}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["step"], 40);
  EXPECT_EQ(json["epsilon"], 1.5);
  EXPECT_EQ(json["test_loss"], 0.25);
  EXPECT_EQ(json["test_accuracy"], 1.0);
  progress.epsilon = HUGE_VAL;
  const auto bare = nlohmann::json::parse(metrics_line(progress, {}));
  EXPECT_TRUE(bare["epsilon"].is_null());
  EXPECT_FALSE(bare.contains("test_loss"));
}

}  // namespace
}  // namespace noisefloor
