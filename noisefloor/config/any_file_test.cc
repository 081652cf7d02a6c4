#include "noisefloor/config/any_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "tests/support/sample_files.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::kPatientsFile;
using testing::kPipelineFile;
using testing::kStudyFile;

std::string text_of(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings) text += one.code + ": " + one.message + "\n";
  return text;
}

TEST(AnyFile, IsReadAsWhatItIsMeantAs) {
  const CheckedFile pipeline = check_file(kPipelineFile);
  ASSERT_TRUE(std::holds_alternative<CheckedPipeline>(pipeline.content));
  EXPECT_EQ(std::get<CheckedPipeline>(pipeline.content).assessment.runs.size(), 1U);
  const CheckedFile dataset = check_file(kPatientsFile);
  ASSERT_TRUE(std::holds_alternative<std::optional<DatasetDescription>>(dataset.content));
  const auto& description = std::get<std::optional<DatasetDescription>>(dataset.content);
  ASSERT_TRUE(description.has_value()) << text_of(dataset.findings);
  EXPECT_EQ(description->name, "patients");
  const CheckedFile training =
      check_file(kStudyFile, [](const std::string&) { return Result<std::string>(kPatientsFile); });
  ASSERT_TRUE(std::holds_alternative<std::optional<Training>>(training.content));
  ASSERT_TRUE(std::get<std::optional<Training>>(training.content).has_value()) << text_of(training.findings);
}

TEST(AnyFile, FindingsOfReadingAndAssessingAreInTheOrderOfTheFile) {
  std::string text = kPipelineFile;
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
  std::ofstream(folder.path("patients.toml")) << kPatientsFile;
  const Result<DatasetDescription> named = description_in(kStudyFile, folder.path("study.toml"));
  ASSERT_TRUE(named.has_value()) << named.error().message;
  const Result<DatasetDescription> itself = description_in(kPatientsFile, folder.path("patients.toml"));
  ASSERT_TRUE(itself.has_value()) << itself.error().message;
  EXPECT_EQ(named.value().name, "patients");
  EXPECT_EQ(digest_of(named.value()), digest_of(itself.value()));
}

TEST(AnyFile, ErrorsNameThePlaceAndTheRemedy) {
  std::string text = kPatientsFile;
  text.replace(text.find("upper = 120"), 11, "uper = 120");
  const Result<DatasetDescription> read = description_in(text, "patients.toml");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read.error().message.rfind("patients.toml:", 0), 0U) << read.error().message;
  EXPECT_NE(read.error().message.find("upper"), std::string::npos) << read.error().message;
  // A description that is named and is not there.
  const testing::TemporaryFolder folder;
  EXPECT_FALSE(description_in(kStudyFile, folder.path("study.toml")).has_value());
}

}  // namespace
}  // namespace noisefloor
