#include "noisefloor/training/prediction.h"

#include <gtest/gtest.h>

#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

class PredictionTest : public testing::ToyJob {
 protected:
  PredictionTest() {
    declare_public();
    TrainingWish asked = wish();
    asked.replay_seed = 7;
    TrainingJob job = value_of(TrainingJob::prepare(file(), asked, {}));
    quality_ = value_of(job.run(nullptr, control_)).notes.test;
    write("new.csv", "id,y,x\n\"a, b\",0.9,0.9\n17,-0.9,-0.8\n");
  }
  [[nodiscard]] Result<Predictions> predicted(const std::string& input, std::optional<std::string> id = {}) const {
    return predict(file(), path("out/model.safetensors"), {path(input), std::move(id)}, {});
  }
  std::optional<Quality> quality_;
};

TEST_F(PredictionTest, MeasuresWhatTheTrainingMeasured) {
  const Quality quality = value_of(evaluate_model(file(), path("out/model.safetensors"), {}));
  EXPECT_EQ(quality.accuracy, quality_->accuracy);
  EXPECT_EQ(quality.loss, quality_->loss);
  EXPECT_EQ(usual_model_path(file().training), "toy/model.safetensors");
}

TEST_F(PredictionTest, NumbersExamplesOrCarriesTheirIdsThrough) {
  const Predictions numbered = value_of(predicted("new.csv"));
  EXPECT_EQ(numbered.examples, 2U);
  EXPECT_EQ(numbered.csv.rfind("example,prediction,p(no),p(yes)\n0,yes,", 0), 0U) << numbered.csv;
  EXPECT_NE(numbered.csv.find("\n1,no,"), std::string::npos);
  const Predictions named = value_of(predicted("new.csv", "id"));
  EXPECT_EQ(named.csv.rfind("id,prediction,p(no),p(yes)\n\"a, b\",yes,", 0), 0U) << named.csv;
  EXPECT_NE(named.csv.find("\n17,no,"), std::string::npos);
}

TEST_F(PredictionTest, NamesBadQuestions) {
  expect_error(predicted("new.csv", "name"), ErrorCode::kInputData, "'name'");
  expect_error(predicted("none.csv"), ErrorCode::kIo, "none.csv");
  write("short.csv", "x\n0.9\n");
  expect_error(predicted("short.csv"), ErrorCode::kInputData, "'y'");
  expect_error(predict(file(), path("none"), {path("new.csv"), {}}, {}), ErrorCode::kIo, "none");
}

}  // namespace
}  // namespace noisefloor
