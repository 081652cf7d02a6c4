#include "noisefloor/summary/findings_summary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "noisefloor/base/printable.h"
#include "tests/support/sample_files.h"
#include "tests/support/summary_reading.h"

namespace noisefloor {
namespace {

using testing::expect_says;
using testing::fields_of;
using testing::kPatientsFile;
using testing::kPipelineFile;
using testing::kStudyFile;
using testing::names_of;
using testing::says;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

Summary checked(const std::string& text, bool strict = false) {
  return summary_of(check_file(text), "p.toml", text, strict);
}

TEST(Excerpt, PutsTheCaretUnderTheCharacter) {
  EXPECT_EQ(excerpt("one\ntwo\n", {2, 3}), "    2 | two\n      |   ^\n");
  EXPECT_EQ(excerpt("dé = x\n", {1, 4}), "    1 | dé = x\n      |    ^\n") << "columns are characters";
  EXPECT_EQ(excerpt("a\tb\x1b[31m", {1, 2}), "    1 | a b\\u{1b}[31m\n      |  ^\n") << "no control characters";
  EXPECT_EQ(excerpt("é\u202E = x\r\n", {1, 6}), "    1 | é\\u{202e} = x \n      |             ^\n") << "nor bidi ones";
  EXPECT_EQ(excerpt("one\n", {1, 99}), "    1 | one\n      |    ^\n") << "behind the end";
  EXPECT_EQ(excerpt("one\n", {7, 1}), "");
  EXPECT_EQ(excerpt("\none\n", {1, 1}), "");
}

TEST(Excerpt, CutsALongLineAroundThePlace) {
  const std::string line = std::string(300, 'a') + "X" + std::string(300, 'b');
  const std::string cut = excerpt(line, {1, 301});
  const std::size_t end = cut.find('\n');
  EXPECT_LT(end, 130U) << cut;
  // The caret stands under the X.
  EXPECT_EQ(cut.find('X'), cut.find('^') - (end + 1)) << cut;
}

TEST(FindingsSummary, AFileCannotMoveTheCursor) {
  const std::string text = "na\u202Eme = \"\u009B2J\"\n";
  const std::string shown = summary_of(check_file(text), "p\x1b[2J\n.toml", text, false).as_text();
  EXPECT_EQ(shown, printable_lines(shown)) << "there is nothing left to write out";
  EXPECT_NE(shown.find("p\\u{1b}[2J\\u{a}.toml:1:"), std::string::npos) << shown;
}

TEST(FindingsSummary, AGoodPipelineShowsItsCosts) {
  const Summary summary = checked(kPipelineFile, true);
  EXPECT_FALSE(summary.failure().has_value()) << summary.as_text();
  expect_says(summary, "p.toml: passed, 0 errors, 0 warnings\n");
  expect_says(summary, "  budget    epsilon 3, delta 1e-06, add-remove, unit row\n");
  expect_says(summary, "  run       'model': epsilon ");
  expect_says(summary, " (calibrated), 1000 steps at rate 0.01\n");
  expect_says(summary, "  left      epsilon 1");
  const Json fields = fields_of(summary);
  EXPECT_EQ(names_of(fields), (Names{"file", "passed", "errors", "warnings", "findings", "budget", "runs", "composed",
                                     "left", "statement"}));
  EXPECT_EQ(fields["passed"], true);
  EXPECT_EQ(fields["runs"][0]["steps"], 1000);
  EXPECT_LE(fields["composed"]["upper"].get<double>(), 2.0);
}

TEST(FindingsSummary, AnErrorFailsWithItsLine) {
  const Summary summary = checked(kPipelineFile + "noise_multiplier = 0.5  # small\n");
  EXPECT_EQ(summary.failure(), ErrorCode::kInvalidArgument);
  expect_says(summary, "p.toml:13:20: error: run 'model': noise_multiplier = 0.5 spends epsilon ");
  expect_says(summary,
              "   13 | noise_multiplier = 0.5  # small\n"
              "      |                    ^\n"
              "  remedy: noise_multiplier = ");
  expect_says(summary, "p.toml: FAILED, 1 error, ");
  const Json fields = fields_of(summary);
  EXPECT_EQ(fields["passed"], false);
  EXPECT_EQ(fields["errors"], 1);
  EXPECT_EQ(names_of(fields["findings"][0]), (Names{"severity", "code", "line", "column", "message", "remedy"}));
  EXPECT_EQ(fields["findings"][0]["code"], "noise_below_target");
}

TEST(FindingsSummary, RunsWithoutABoundAreNotCertified) {
  const Summary summary = checked(kPipelineFile + "sampler = \"shuffle\"\n");
  EXPECT_EQ(summary.failure(), ErrorCode::kInvalidArgument);
  expect_says(summary, "  all runs  not certified: see the errors\n");
  EXPECT_TRUE(fields_of(summary)["composed"].is_null());
  EXPECT_FALSE(fields_of(summary).contains("left"));
}

TEST(FindingsSummary, WarningsFailOnlyWhereItIsStrict) {
  CheckedFile file = check_file(kPipelineFile);
  file.findings.push_back({Severity::kWarning, "odd", {5, 1}, "an odd number", "choose another"});
  const Summary lenient = summary_of(file, "p.toml", kPipelineFile, false);
  EXPECT_FALSE(lenient.failure().has_value());
  expect_says(lenient, "p.toml:5:1: warning: an odd number [odd]\n    5 | rows = 60_000\n      | ^\n");
  expect_says(lenient, "p.toml: passed, 0 errors, 1 warning\n");
  const Summary strict = summary_of(file, "p.toml", kPipelineFile, true);
  EXPECT_EQ(strict.failure(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(fields_of(strict)["passed"], false);
}

TEST(FindingsSummary, ATrainingShowsItsBudgetModelAndNoise) {
  const auto named = [](const std::string&) { return Result<std::string>(kPatientsFile); };
  const Summary summary = summary_of(check_file(kStudyFile, named), "study.toml", kStudyFile, false);
  EXPECT_FALSE(summary.failure().has_value()) << summary.as_text();
  expect_says(summary, "'patients': epsilon 3, delta 1e-06, add-remove, unit row\n");
  expect_says(summary, "  model   logistic\n");
  expect_says(summary, "  noise   calibrated to epsilon 1 when the rows are counted\n");
  const Json fields = fields_of(summary);
  EXPECT_EQ(fields["name"], "study");
  EXPECT_EQ(fields["private"], true);
  // A training that cannot be read has no facts.
  const Summary alone = summary_of(check_file(kStudyFile), "study.toml", kStudyFile, false);
  EXPECT_EQ(alone.failure(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(fields_of(alone).contains("name"));
}

TEST(FindingsSummary, ADescriptionShowsItsName) {
  const Summary summary = checked(kPatientsFile);
  EXPECT_FALSE(summary.failure().has_value()) << summary.as_text();
  EXPECT_EQ(fields_of(summary)["name"], "patients");
}

}  // namespace
}  // namespace noisefloor
