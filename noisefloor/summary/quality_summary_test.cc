#include "noisefloor/summary/quality_summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

Quality of_classes() {
  Quality quality{.examples = 400, .loss = 0.25};
  quality.accuracy = 0.875;
  quality.majority_accuracy = 0.5;
  quality.auc = 0.9375;
  return quality;
}

TEST(QualitySummary, WordsHoldWhatWasMeasuredAlone) {
  EXPECT_EQ(in_words(of_classes()),
            "accuracy 87.50 % (majority 50.00 %), AUC 0.9375, loss 0.2500 (400 examples, taken as public)");
  Quality numbers{.examples = 10, .loss = 2};
  numbers.rmse = 2.0;
  numbers.mean_rmse = 4.0;
  EXPECT_EQ(in_words(numbers), "RMSE 2 (of the mean 4), loss 2.0000 (10 examples, taken as public)");
  Quality text{.examples = 3, .loss = 0};
  text.positions = 30;
  text.accuracy = 1.0;
  EXPECT_EQ(in_words(text),
            "perplexity 1.000, next character: accuracy 100.00 %, loss 0.0000 (3 examples, taken as public)");
}

TEST(QualitySummary, AnEvaluationNamesTheModel) {
  const Summary summary = evaluation_summary("a/model.safetensors", of_classes());
  const Json json = Json::parse(summary.as_json());
  EXPECT_EQ(json["model"], "a/model.safetensors");
  EXPECT_EQ(json["test"]["accuracy"], 0.875);
  EXPECT_EQ(json["test"]["examples"], 400);
  EXPECT_EQ(summary.as_text(), "a/model.safetensors on its test data\n  test  " + in_words(of_classes()) + "\n");
}

TEST(QualitySummary, PredictionsSayWhereTheyAreAndHowMany) {
  const Summary summary = summary_of(Predictions{"the table", 7}, "a/model.safetensors", "out.csv");
  EXPECT_EQ(Json::parse(summary.as_json()),
            Json({{"model", "a/model.safetensors"}, {"predictions", "out.csv"}, {"examples", 7}}));
  EXPECT_EQ(summary.as_text(), "Predictions of a/model.safetensors\n  predictions  out.csv (7 examples)\n");
}

}  // namespace
}  // namespace noisefloor
