#include "noisefloor/config/pipeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "noisefloor/config/pipeline_check.h"

namespace noisefloor {
namespace {

const std::string kText = R"(name = "two models"

[budget]
epsilon = 3.0
delta = 1e-6
adjacency = "replace-one"

[data]
rows = 6e4

[[run]]
name = "first"
technique = ["federated", "dp-sgd"]
target_epsilon = 1
clip_norm = 1.0
clients = 15
rounds = 50
local_epochs = 3
sample_rate = 0.01

[[run]]
technique = "dp-aggregation"
epsilon = 0.5
)";

const Finding* find(const std::vector<Finding>& findings, const std::string& code) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; });
  return found == findings.end() ? nullptr : &*found;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_finding(const std::string& text, const std::string& code, Place place, const std::string& named,
                    const std::string& remedy = "") {
  const PipelineText read = read_pipeline(text);
  const Finding* finding = find(read.findings, code);
  ASSERT_NE(finding, nullptr) << "no " << code << " in\n" << text;
  EXPECT_EQ(finding->severity, Severity::kError);
  EXPECT_EQ(finding->place.line, place.line) << finding->message;
  EXPECT_EQ(finding->place.column, place.column) << finding->message;
  EXPECT_NE(finding->message.find(named), std::string::npos) << finding->message;
  EXPECT_NE(finding->remedy.find(remedy), std::string::npos) << finding->remedy;
}

TEST(PipelineText, HoldsEveryValueWithItsPlace) {
  const PipelineText read = read_pipeline(kText);
  EXPECT_TRUE(read.findings.empty()) << read.findings[0].message;
  const Pipeline& p = read.pipeline;
  EXPECT_TRUE(p.readable);
  EXPECT_EQ(*p.name, "two models");
  EXPECT_EQ(*p.budget.epsilon, Epsilon::of(3));
  EXPECT_EQ(p.budget.epsilon.place, (Place{4, 11}));
  EXPECT_EQ(p.budget.neighbours(), Adjacency::kReplaceOne);
  EXPECT_EQ(p.budget.protects(), PrivacyUnit::kRow) << "by default";
  EXPECT_EQ(*p.data.rows, Rows::of(60000)) << "written as 6e4";
  ASSERT_EQ(p.runs.size(), 2U);
  EXPECT_EQ(p.runs[0].name, "first");
  EXPECT_EQ(p.runs[0].place.line, 11U);
  EXPECT_TRUE(p.runs[0].uses(Technique::kFederated));
  EXPECT_FALSE(p.runs[0].has_secure_aggregation());
  EXPECT_EQ(*p.runs[0].privacy.target_epsilon, Epsilon::of(1));
  EXPECT_EQ(*p.runs[0].federation.local_epochs, 3.0);
  EXPECT_EQ(p.runs[1].name, "run 2");
  EXPECT_EQ(p.runs[1].place.line, 21U);
  EXPECT_FALSE(p.runs[1].privacy.delta.stated());
}

TEST(PipelineText, RefusesUnknownNamesAndSuggestsTheNearest) {
  expect_finding(replaced(kText, "epsilon = 3.0", "epsilom = 3.0"), "unknown_key", {4, 1}, "epsilom", "'epsilon'");
  expect_finding(replaced(kText, "clip_norm", "clipnorm"), "unknown_key", {15, 1}, "clipnorm", "'clip_norm'");
  expect_finding(replaced(kText, "[data]", "[date]"), "unknown_section", {8, 2}, "date", "'data'");
  expect_finding(replaced(kText, "[[run]]", "[[ruin]]"), "unknown_section", {11, 3}, "ruin", "'run'");
  expect_finding(replaced(kText, "name = \"two", "nmae = \"two"), "unknown_key", {1, 1}, "nmae", "'name'");
  expect_finding(replaced(kText, "\"dp-sgd\"", "\"dp_sgd\""), "unknown_value", {13, 27}, "dp_sgd", "'dp-sgd'");
  expect_finding(replaced(kText, "replace-one", "swap"), "unknown_value", {6, 13}, "swap", "add-remove, replace-one");
  expect_finding(replaced(kText, "adjacency = \"replace-one\"", "rule = \"rdp\""), "unknown_value", {6, 8}, "rdp",
                 "planned, basic");
  expect_finding(kText + "accountant = \"magic\"\n", "unknown_value", {24, 14}, "magic", "pld");
}

TEST(PipelineText, RefusesWrongTypes) {
  for (const char* value : {"\"3\"", "true", "[3.0]", "{a = 3}", "1979-05-27"}) {
    expect_finding(replaced(kText, "epsilon = 3.0", std::string("epsilon = ") + value), "wrong_type", {4, 11},
                   "epsilon");
  }
  for (const char* value : {"\"6\"", "false", "[1]", "07:32:00"}) {
    expect_finding(replaced(kText, "rows = 6e4", std::string("rows = ") + value), "wrong_type", {9, 8}, "rows");
  }
  expect_finding(replaced(kText, "\"two models\"", "2"), "wrong_type", {1, 8}, "name");
  expect_finding(replaced(kText, "\"replace-one\"", "1"), "wrong_type", {6, 13}, "adjacency");
  expect_finding(kText + "release = \"no\"\n", "wrong_type", {24, 11}, "release");
  expect_finding(kText + "technique2 = 1\n", "unknown_key", {24, 1}, "technique2");
  expect_finding(replaced(kText, "[\"federated\", \"dp-sgd\"]", "[\"federated\", 3]"), "wrong_type", {13, 27},
                 "technique");
  expect_finding("budget = 3\n", "wrong_type", {1, 1}, "budget", "[budget]");
  expect_finding("[[budget]]\nepsilon = 1\n", "wrong_type", {1, 3}, "budget", "[budget]");
  expect_finding("[run]\n", "wrong_type", {1, 2}, "run", "[[run]]");
  expect_finding("run = [1]\n", "wrong_type", {1, 1}, "run", "[[run]]");
}

TEST(PipelineText, RefusesNumbersOutOfRange) {
  for (const char* value : {"0", "-1.0", "nan", "inf", "-inf", "-3"}) {
    expect_finding(replaced(kText, "epsilon = 3.0", std::string("epsilon = ") + value), "out_of_range", {4, 11},
                   "epsilon");
  }
  for (const char* value : {"1", "1.5", "-1e-6", "nan", "inf"}) {
    expect_finding(replaced(kText, "delta = 1e-6", std::string("delta = ") + value), "out_of_range", {5, 9}, "delta");
  }
  for (const char* value : {"0", "-5", "1.5", "1e300", "nan", "-inf"}) {
    expect_finding(replaced(kText, "rows = 6e4", std::string("rows = ") + value), "out_of_range", {9, 8}, "rows");
  }
  for (const char* value : {"0", "-1", "nan"}) {
    expect_finding(replaced(kText, "local_epochs = 3", std::string("local_epochs = ") + value), "out_of_range",
                   {18, 16}, "local_epochs");
  }
  expect_finding(replaced(kText, "sample_rate = 0.01", "sample_rate = 1.01"), "out_of_range", {19, 15}, "sample_rate");
  expect_finding(kText + "lower = inf\n", "out_of_range", {24, 9}, "lower");
  expect_finding(kText + "replay_seed = -1\n", "out_of_range", {24, 15}, "replay_seed");
  expect_finding(kText + "name = \"\"\n", "out_of_range", {24, 8}, "name");
  expect_finding(replaced(kText, "[\"federated\", \"dp-sgd\"]", "[]"), "out_of_range", {13, 13}, "technique");
}

TEST(PipelineText, GivesThePlaceOfSyntaxErrors) {
  expect_finding(replaced(kText, "epsilon = 3.0", "epsilon = "), "syntax", {4, 11}, "TOML");
  expect_finding(replaced(kText, "delta = 1e-6", "epsilon = 1e-6"), "syntax", {5, 11}, "redefine");
  expect_finding(replaced(kText, "[data]", "[budget]"), "syntax", {8, 1}, "redefine");
  expect_finding(replaced(kText, "3.0", "3.0 3"), "syntax", {4, 15}, "TOML");
  expect_finding("a = \"\xff\"\n", "syntax", {1, 5}, "utf-8");
  EXPECT_FALSE(read_pipeline("[budget\n").pipeline.readable);
}

TEST(PipelineText, CollectsEveryFinding) {
  const PipelineText read = read_pipeline("[budget]\nepsilon = -1\ndelta = 2\nunti = 1\n[[run]]\nsteps = 0\n[oops]\n");
  std::vector<std::uint32_t> lines;
  for (const Finding& finding : read.findings) lines.push_back(finding.place.line);
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{2, 3, 4, 6, 7})) << "all, in the order of the file";
}

TEST(PipelineText, RefusesKeysThatDoNothing) {
  expect_finding(replaced(kText, "epsilon = 0.5", "epsilon = 0.5\nbatch_size = 3"), "key_not_used", {24, 14},
                 "batch_size");
  expect_finding(replaced(kText, "target_epsilon", "epsilon"), "key_not_used", {14, 11}, "epsilon", "target_epsilon");
  expect_finding(kText + "method = \"mst\"\n", "key_not_used", {24, 10}, "method", "synthetic");
  expect_finding(kText + "rounds = 3\n", "key_not_used", {24, 10}, "rounds", "federated");
  expect_finding(kText + "sampler = \"shuffle\"\n", "key_not_used", {24, 11}, "sampler");
}

TEST(PipelineText, RefusesTextThatNestsTooDeeply) {
  std::string dotted;
  for (int i = 0; i < 30000; ++i) dotted += "a.";
  expect_finding("\n" + dotted + "a = 1\n", "syntax", {2, 34}, "dots");
  std::string nested = "x = ";
  for (int i = 0; i < 200; ++i) nested += "[\n{ a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = ";
  EXPECT_TRUE(has_errors(read_pipeline(nested).findings));
  EXPECT_TRUE(has_errors(read_pipeline(std::string(60000, '[')).findings));
  expect_finding(std::string(kMaxPipelineBytes + 1, '#'), "too_large", {1, 1}, "bytes");
  EXPECT_FALSE(
      has_errors(read_pipeline("# " + std::string(200, '.') + "\n" + kText + "# " + std::string(99, '.')).findings));
  EXPECT_FALSE(has_errors(read_pipeline(kText + "name = \"" + std::string(99, '.') + "\"\n").findings));
}

TEST(PipelineText, AllowsOtherAlphabetsInTextsAndComments) {
  EXPECT_FALSE(has_errors(read_pipeline("\xEF\xBB\xBF# Ünïcode\n" + kText + "name = \"Übung \\\" ä\" # é\n").findings));
  EXPECT_FALSE(has_errors(read_pipeline(kText + "name = 'Übung \\'\n").findings));
  expect_finding("ä = 1\n", "syntax", {1, 1}, "ASCII", "quotes");
  expect_finding("[budget]\n\u00a0epsilon = 1\n", "syntax", {2, 1}, "ASCII");
  expect_finding("name = \"é\" ü\n", "syntax", {1, 12}, "ASCII");
  expect_finding("name = \"\\ä\"\n", "syntax", {1, 10}, "ASCII");
  expect_finding("name = \"\"\"\\\nä\"\"\"\n", "syntax", {1, 8}, "several lines");
  expect_finding("name = \'\'\'ä\'\'\'\n", "syntax", {1, 8}, "several lines");
}

// Checks what every finding must satisfy, wherever it comes from.
void expect_well_formed(const std::vector<Finding>& findings, const std::string& text) {
  const auto lines = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const Finding& finding : findings) {
    RC_ASSERT(!finding.code.empty());
    RC_ASSERT(!finding.message.empty());
    RC_ASSERT(!finding.remedy.empty());
    RC_ASSERT(finding.message.find('\n') == std::string::npos);
    RC_ASSERT(finding.place.line >= 1U);
    RC_ASSERT(finding.place.line <= lines);
    RC_ASSERT(finding.place.column >= 1U);
  }
}

// Reads and checks a text, and returns whether it passed. A text that passes keeps its budget.
bool passes(const std::string& text) {
  const PipelineText read = read_pipeline(text);
  const Assessment assessment = assess(read.pipeline);
  expect_well_formed(read.findings, text);
  expect_well_formed(assessment.findings, text);
  if (has_errors(read.findings) || has_errors(assessment.findings)) return false;
  RC_ASSERT(assessment.composed.has_value());
  RC_ASSERT(assessment.composed->upper <= read.pipeline.budget.epsilon.value->value() * (1 + 1e-12));
  return true;
}

RC_GTEST_PROP(PipelineProperty, NeverPassesGarbage, (const std::string& text)) { RC_ASSERT(!passes(text)); }

RC_GTEST_PROP(PipelineProperty, NeverPassesWordsInAnyOrder, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("[budget]", "[[run]]", "epsilon", "delta", "=", "1", "1e-6", "\n", "technique",
                                    "\"dp-sgd\"", "[", "]", "{", "}", ".", "\"", "#", ",", "nan", "steps", "run"));
  std::string text;
  for (const std::string& word : words) text += word + " ";
  RC_ASSERT(!passes(text));
}

RC_GTEST_PROP(PipelineProperty, NeverPassesMutatedTextSilently, ()) {
  // Gaussian noise under add-remove composes quickly.
  std::string text = replaced(kText, "epsilon = 0.5", "mechanism = \"gaussian\"\nnoise_multiplier = 5");
  text = replaced(text, "replace-one", "add-remove");
  for (int edits = *rc::gen::inRange(1, 5); edits > 0; --edits) {
    const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        text.erase(at, *rc::gen::inRange<std::size_t>(1, 20));
        break;
      case 1:
        text[at] = *rc::gen::arbitrary<char>();
        break;
      case 2:
        text.insert(at,
                    *rc::gen::element<std::string>("0", "-", "9", "e3", ".", "\n", "=", "nan", "[[run]]\n", "\"", "#"));
        break;
      default: {  // a line is doubled, or removed
        const std::size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        if (end <= begin) break;
        const std::string line = text.substr(begin, end - begin);
        *rc::gen::arbitrary<bool>() ? text.insert(begin, line) : text.erase(begin, end - begin);
      }
    }
    RC_PRE(!text.empty());
  }
  static_cast<void>(passes(text));  // asserts that a text that passes keeps its budget
}

}  // namespace
}  // namespace noisefloor
