#include "noisefloor/config/any_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

const std::string kData = R"([data]
format = "csv"
file = "patients.csv"
label = "ill"
classes = ["no", "yes"]
[[data.column]]
name = "age"
lower = 0
upper = 120

)";
const std::string kBudget = "[budget]\nepsilon = 3\ndelta = 1e-6\n\n";
const std::string kPatients = "name = \"patients\"\n\n" + kData + kBudget;
const std::string kTraining = R"(name = "study"

[data]
dataset = "patients.toml"
test_fraction = 0.2

[model]
kind = "logistic"

[training]
target_epsilon = 1
batch_size = 100
epochs = 2
clip_norm = 1.0
learning_rate = 0.1
)";
const std::string kPipeline = R"([budget]
epsilon = 3
delta = 1e-6
[data]
rows = 60_000
[[run]]
name = "model"
technique = "dp-sgd"
target_epsilon = 2
clip_norm = 1
batch_size = 600
epochs = 10
)";

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings) text += one.code + ": " + one.message + "\n";
  return text;
}

TEST(AnyFile, IsReadAsWhatItIsMeantAs) {
  const CheckedFile pipeline = check_file(kPipeline);
  ASSERT_TRUE(std::holds_alternative<CheckedPipeline>(pipeline.content));
  EXPECT_EQ(std::get<CheckedPipeline>(pipeline.content).assessment.runs.size(), 1U);
  const CheckedFile dataset = check_file(kPatients);
  ASSERT_TRUE(std::holds_alternative<std::optional<DatasetDescription>>(dataset.content));
  const auto& description = std::get<std::optional<DatasetDescription>>(dataset.content);
  ASSERT_TRUE(description.has_value()) << text_of(dataset.findings);
  EXPECT_EQ(description->name, "patients");
  const CheckedFile training = check_file(kTraining, [](const std::string&) { return Result<std::string>(kPatients); });
  ASSERT_TRUE(std::holds_alternative<std::optional<Training>>(training.content));
  ASSERT_TRUE(std::get<std::optional<Training>>(training.content).has_value()) << text_of(training.findings);
}

TEST(AnyFile, FindingsOfReadingAndAssessingAreInTheOrderOfTheFile) {
  std::string text = kPipeline;
  text.replace(text.find("delta = 1e-6"), 12, "delta = 0.5");  // found when the pipeline is assessed
  text.replace(text.find("epochs = 10"), 11, "epoks = 10");    // found by reading, further below
  const CheckedFile checked = check_file(text);
  EXPECT_TRUE(has_errors(checked.findings));
  EXPECT_GE(checked.findings.size(), 2U) << text_of(checked.findings);
  EXPECT_TRUE(std::is_sorted(checked.findings.begin(), checked.findings.end(),
                             [](const Finding& a, const Finding& b) { return a.place < b.place; }));
}

TEST(AnyFile, ATrainingLeadsToTheDatasetThatItNames) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path("patients.toml")) << kPatients;
  const Result<DatasetDescription> named = description_in(kTraining, folder.path("study.toml"));
  ASSERT_TRUE(named.has_value()) << named.error().message;
  const Result<DatasetDescription> itself = description_in(kPatients, folder.path("patients.toml"));
  ASSERT_TRUE(itself.has_value()) << itself.error().message;
  EXPECT_EQ(named.value().name, "patients");
  EXPECT_EQ(digest_of(named.value()), digest_of(itself.value()));
}

TEST(AnyFile, ErrorsNameThePlaceAndTheRemedy) {
  std::string text = kPatients;
  text.replace(text.find("upper = 120"), 11, "uper = 120");
  const Result<DatasetDescription> read = description_in(text, "patients.toml");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read.error().message.rfind("patients.toml:", 0), 0U) << read.error().message;
  EXPECT_NE(read.error().message.find("upper"), std::string::npos) << read.error().message;
  // A description that is named and is not there.
  const testing::TemporaryFolder folder;
  EXPECT_FALSE(description_in(kTraining, folder.path("study.toml")).has_value());
}

}  // namespace
}  // namespace noisefloor
