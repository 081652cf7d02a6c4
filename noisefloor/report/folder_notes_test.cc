#include "noisefloor/report/folder_notes.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

constexpr const char* kMetricsName = "metrics.jsonl";

class FolderNotesTest : public ::testing::Test {
 protected:
  void write(const char* name, const std::string& text) const {
    std::ofstream(folder_.path(name), std::ios::binary) << text;
  }
  [[nodiscard]] Result<FolderNotes> read() const { return read_folder_notes(folder_.path("")); }
  [[nodiscard]] Result<std::vector<SweepLine>> sweep(const std::string& text) const {
    write(kSweepName, text);
    return read_sweep(folder_.path(""));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(FolderNotesTest, FindsNoNotesInAFolderWithoutThem) {
  const FolderNotes notes = value_of(read());
  EXPECT_TRUE(notes.metrics.empty() && notes.utility.empty() && notes.quality.empty());
  EXPECT_EQ(notes.command, "");
}

TEST_F(FolderNotesTest, ReadsMetricsLineByLine) {
  write(kMetricsName,
        "{\"step\":5,\"epsilon\":0.5,\"clip_norm\":1,\"test_loss\":0.7,\"test_accuracy\":0.625}\n"
        "{\"step\":6,\"epsilon\":null,\"clip_norm\":1}\n");
  const FolderNotes notes = value_of(read());
  EXPECT_EQ(notes.watched, "test");
  ASSERT_EQ(notes.metrics.size(), 2U);
  EXPECT_EQ(notes.metrics[0].step, 5);
  EXPECT_EQ(notes.metrics[0].epsilon, 0.5);
  EXPECT_EQ(notes.metrics[0].loss, 0.7);
  EXPECT_EQ(notes.metrics[0].accuracy, 0.625);
  EXPECT_FALSE(notes.metrics[1].epsilon || notes.metrics[1].loss || notes.metrics[1].accuracy);
}

TEST_F(FolderNotesTest, LeavesOutALineThatWasCutOff) {
  write(kMetricsName, "{\"step\":1}\n{\"step\":2,\"eps");
  EXPECT_EQ(value_of(read()).metrics.size(), 1U);
  write(kMetricsName, "{\"step\":1}\n{\"step\":2,\"eps\n");
  expect_error(read(), ErrorCode::kInputData, "line 2");
  write(kMetricsName, "{\"step\":1}\n{\"epsilon\":2}\n");
  expect_error(read(), ErrorCode::kInputData, "no step");
}

TEST_F(FolderNotesTest, KeepsOnlyTheLinesOfARunThatStartedAgain) {
  write(kMetricsName, "{\"step\":7}\n{\"step\":9}\n{\"step\":2}\n{\"step\":4}\n");
  const FolderNotes notes = value_of(read());
  ASSERT_EQ(notes.metrics.size(), 2U);
  EXPECT_EQ(notes.metrics[0].step, 2);
}

TEST_F(FolderNotesTest, ReadsTheResultsOfATraining) {
  write(kRunName, R"({"command":"noisefloor train x.toml","test":{"examples":400,"loss":0.25,"accuracy":0.9,)"
                  R"("majority_accuracy":0.5,"auc":0.95},"validation":{"loss":"high","examples":-3}})");
  const FolderNotes notes = value_of(read());
  EXPECT_EQ(notes.command, "noisefloor train x.toml");
  ASSERT_EQ(notes.quality.size(), 2U);
  const NotedQuality& test = notes.quality[0];
  EXPECT_EQ(test.data, "test");
  EXPECT_EQ(test.examples, 400U);
  EXPECT_EQ(test.accuracy, 0.9);
  EXPECT_EQ(test.majority_accuracy, 0.5);
  EXPECT_EQ(test.auc, 0.95);
  EXPECT_FALSE(test.perplexity || test.rmse);
  EXPECT_FALSE(notes.quality[1].loss || notes.quality[1].examples) << "what is no such number is missing";
  write(kRunName, "[1]");
  expect_error(read(), ErrorCode::kInputData, "is not a JSON object");
}

TEST_F(FolderNotesTest, ReadsUtilityGraphsByTheirColumns) {
  write(kUtilityGraphName, "clip_norm,accuracy,noise_multiplier,lowest,mean,highest\n0.5,0.9,2,0.7,0.75,0.8\n");
  const FolderNotes notes = value_of(read());
  ASSERT_EQ(notes.utility.size(), 1U);
  EXPECT_EQ(notes.utility[0].clip_norm, "0.5");
  EXPECT_EQ(notes.utility[0].noise_multiplier, 2);
  EXPECT_EQ(notes.utility[0].lowest, 0.7);
  EXPECT_EQ(notes.utility[0].highest, 0.8);
  write(kUtilityGraphName, "clip_norm,accuracy,noise_multiplier,lowest,mean,highest\n0.5,0.9,none,0.7,0.75,0.8\n");
  expect_error(read(), ErrorCode::kInputData, "line 2");
  write(kUtilityGraphName, "a,b\n");
  expect_error(read(), ErrorCode::kInputData, "not a utility graph");
}

TEST_F(FolderNotesTest, ReadsTheTableOfASweep) {
  EXPECT_FALSE(is_sweep_folder(folder_.path("")));
  const auto lines = value_of(sweep("epsilon,noise_multiplier,accuracy\n1,2.5,0.8\ninf,,0.9\n"));
  EXPECT_TRUE(is_sweep_folder(folder_.path("")));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].epsilon, "1");
  EXPECT_EQ(lines[0].cells.at("noise_multiplier"), 2.5);
  EXPECT_EQ(lines[1].epsilon, "inf");
  EXPECT_EQ(lines[1].cells.count("noise_multiplier"), 0U);
  EXPECT_EQ(sweep_run_name(lines[0].epsilon), "epsilon-1");
  EXPECT_EQ(sweep_run_name(lines[1].epsilon), "without-privacy");
}

// The first cell becomes the name of a folder, so it must not lead out of the sweep's folder.
TEST_F(FolderNotesTest, RefusesASweepThatNamesOtherFolders) {
  expect_error(sweep("epsilon,loss\n/../../secret,1\n"), ErrorCode::kInputData, "epsilon is not a number");
  expect_error(sweep("epsilon,loss\n1\n"), ErrorCode::kInputData, "number of cells");
  expect_error(sweep("epsilon,loss\n"), ErrorCode::kInputData, "no runs");
  expect_error(sweep("rows,loss\n1,2\n"), ErrorCode::kInputData, "not the table of a sweep");
}

}  // namespace
}  // namespace noisefloor
