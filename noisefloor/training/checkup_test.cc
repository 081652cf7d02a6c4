#include "noisefloor/training/checkup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_training.h"

namespace noisefloor {
namespace {

class CheckupTest : public ::testing::Test {
 protected:
  CheckupTest() {
    toml_ = testing::toy_toml();
    write("data.csv", testing::toy_table());
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path(name)) << text; }
  void change(const std::string& from, const std::string& to) {
    const std::size_t place = toml_.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    toml_.replace(place, from.size(), to);
  }
  [[nodiscard]] Checkup check() const { return check_up(toml_, folder_.path("toy.toml"), {1, {}, "1.0"}); }
  // The only finding, about the line that names the data.
  void expect_finding(const Checkup& made, Severity severity, const std::string& message, const std::string& remedy) {
    ASSERT_EQ(made.file.findings.size(), 1U);
    const Finding& finding = made.file.findings.front();
    EXPECT_EQ(finding.severity, severity);
    EXPECT_NE(finding.message.find(message), std::string::npos) << finding.message;
    EXPECT_NE(finding.remedy.find(remedy), std::string::npos) << finding.remedy;
    EXPECT_GT(finding.place.line, 1U);
  }

  testing::TemporaryFolder folder_;
  std::string toml_;
};

TEST_F(CheckupTest, SaysWhatATrainingWouldCostAndWritesNothing) {
  const Checkup made = check();
  EXPECT_TRUE(made.file.findings.empty());
  ASSERT_TRUE(made.cost);
  EXPECT_TRUE(made.cost->charged);
  EXPECT_GT(made.cost->epsilon.upper, 0);
  EXPECT_GT(made.cost->steps.value(), 0U);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path("")))
    files += entry.is_regular_file() ? 1U : 0U;
  EXPECT_EQ(files, 1U) << "only the data";
}

TEST_F(CheckupTest, FindsColumnsAndSeparatorsThatDoNotFit) {
  change("name = \"x\"", "name = \"X\"");
  expect_finding(check(), Severity::kError, "names no column 'X'", "did you mean 'x'");
  toml_ = testing::toy_toml();
  std::string text = testing::toy_table();
  for (char& c : text) c = c == ',' ? ';' : c;
  write("data.csv", text);
  expect_finding(check(), Severity::kError, "names no column", "separator = \";\"");
}

TEST_F(CheckupTest, JudgesBoundsByPublicTestRows) {
  change("lower = -1\nupper = 1", "lower = 100\nupper = 200");
  EXPECT_TRUE(check().file.findings.empty()) << "rows that are kept from a private file are private";
  std::string rows = "x,y,kind\n";
  for (int i = 0; i < 400; ++i) rows += "0.5,0." + std::to_string(i) + ",yes\n";
  write("test.csv", rows);
  change("test_fraction = 0.2\n", "test = \"test.csv\"\n");
  const Checkup made = check();
  expect_finding(made, Severity::kWarning, "'x'", "");
  EXPECT_TRUE(made.cost) << "a warning does not keep the cost back";
}

TEST_F(CheckupTest, SaysThatTheDataAreNotHere) {
  std::filesystem::remove(folder_.path("data.csv"));
  const Checkup made = check();
  EXPECT_TRUE(made.file.findings.empty());
  EXPECT_FALSE(made.cost);
  EXPECT_NE(made.not_looked_at.find("data.csv"), std::string::npos) << made.not_looked_at;
}

TEST_F(CheckupTest, LooksAtNoDataWhileTheFileHasErrors) {
  change("[model]", "[modle]");
  const Checkup made = check();
  EXPECT_TRUE(has_errors(made.file.findings));
  EXPECT_FALSE(made.cost);
}

}  // namespace
}  // namespace noisefloor
