// `noisefloor check`, as its users meet it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "noisefloor/event/json.h"
#include "program.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_clean_failure;
using testing::noisefloor_run;
using testing::Outcome;
using testing::shell;
using Json = nlohmann::json;

const std::string kExamples = NOISEFLOOR_EXAMPLES "/pipelines";

const std::string kGood = R"([budget]
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

std::string file_with(const std::string& text) {
  static const testing::TemporaryFolder folder;
  const std::string path = folder.path("pipeline.toml");
  std::ofstream(path) << text;
  return path;
}

Json json_of(const std::string& text, int code) {
  const Outcome outcome = noisefloor_run("check --json " + file_with(text));
  EXPECT_EQ(outcome.exit_code, code) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return Json::parse(outcome.out);
}

bool has_code(const Json& json, const std::string& code) {
  return std::any_of(json["findings"].begin(), json["findings"].end(),
                     [&](const Json& f) { return f["code"] == code; });
}

TEST(CliCheck, MediCorePasses) {
  const Outcome outcome = noisefloor_run("check --strict " + kExamples + "/medicore.toml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("passed, 0 errors, 0 warnings"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("certified: at least 1.99"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("left      epsilon 1"), std::string::npos) << outcome.out;
}

TEST(CliCheck, TheFaultyExampleFailsWithAllItsFaults) {
  const Outcome outcome = noisefloor_run("check --json " + kExamples + "/faulty.toml");
  EXPECT_EQ(outcome.exit_code, 2);
  const Json json = Json::parse(outcome.out);
  for (const char* code : {"delta_above_one_in_rows", "noise_below_target", "clip_missing", "shuffle_not_poisson",
                           "target_above_total", "unknown_key", "synthetic_without_dp", "bounds_from_data"}) {
    EXPECT_TRUE(has_code(json, code)) << code;
  }
  EXPECT_FALSE(json["passed"].get<bool>());
  EXPECT_TRUE(json["composed"].is_null());
}

TEST(CliCheck, PointsAtTheLineLikeACompiler) {
  const std::string path = file_with(kGood + "noise_multiplier = 0.5  # small\n");
  const Outcome outcome = noisefloor_run("check " + path);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.find(path + ":13:20: error: run 'model': noise_multiplier = 0.5 spends epsilon "), 0U)
      << outcome.out;
  EXPECT_NE(outcome.out.find("   13 | noise_multiplier = 0.5  # small\n"
                             "      |                    ^\n"
                             "  remedy: noise_multiplier = "),
            std::string::npos)
      << outcome.out;
}

TEST(CliCheck, TheCaretIsUnderTheCharacterAlsoBehindOtherAlphabets) {
  const Outcome outcome = noisefloor_run("check " + file_with(kGood + "run = \"ä\"\n[[run]]\n\"clé\" = 1\n[[run]\n"));
  EXPECT_EQ(outcome.exit_code, 2);
  const Outcome bad = noisefloor_run("check " + file_with("[[run]]\ntechnique = [\"dé\", \"dp-sgdd\"]\n"));
  EXPECT_NE(bad.out.find("    2 | technique = [\"dé\", \"dp-sgdd\"]\n      |                    ^\n"),
            std::string::npos)
      << bad.out;
}

TEST(CliCheck, ControlCharactersDoNotReachTheTerminal) {
  const Outcome outcome = noisefloor_run("check " + file_with("epsilon = \x1b[31m\n[\"\\u001b[31m\"]\n"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << outcome.out;
  const Outcome key = noisefloor_run("check " + file_with("\"\\u001b[31m\" = 1\n"));
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_EQ(key.out.find('\x1b'), std::string::npos) << key.out;
}

TEST(CliCheck, JsonHasEverything) {
  const Json json = json_of(kGood, 0);
  EXPECT_TRUE(json["passed"].get<bool>());
  EXPECT_EQ(json["errors"], 0);
  EXPECT_EQ(json["budget"]["epsilon"], 3.0);
  EXPECT_EQ(json["runs"][0]["name"], "model");
  EXPECT_EQ(json["runs"][0]["steps"], 1000);
  EXPECT_TRUE(json["runs"][0]["calibrated"].get<bool>());
  EXPECT_LE(json["composed"]["upper"].get<double>(), 2.0);
  EXPECT_GT(json["composed"]["lower"].get<double>(), 1.999);
  EXPECT_NEAR(json["left"].get<double>(), 3 - json["composed"]["upper"].get<double>(), 1e-12);
  EXPECT_TRUE(parse_statement(json["statement"].dump()).has_value());

  const Json bad = json_of(kGood + "sampler = \"shuffle\"\n", 2);
  ASSERT_EQ(bad["findings"].size(), 1U);
  const Json& finding = bad["findings"][0];
  EXPECT_EQ(finding["severity"], "error");
  EXPECT_EQ(finding["code"], "shuffle_not_poisson");
  EXPECT_EQ(finding["line"], 13);
  EXPECT_EQ(finding["column"], 11);
  EXPECT_FALSE(finding["remedy"].get<std::string>().empty());
}

TEST(CliCheck, TheStatementCanBeAccountedForAgain) {
  const Outcome outcome =
      shell("noisefloor check --json " + file_with(kGood) +
            " | python3 -c 'import json,sys; print(json.dumps(json.load(sys.stdin)[\"statement\"]))' "
            "| noisefloor account events --input - --delta 1e-6 --json");
  if (outcome.exit_code != 0 && outcome.err.find("python3") != std::string::npos) GTEST_SKIP() << "no python3";
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["epsilon"]["upper"], json_of(kGood, 0)["composed"]["upper"]);
}

TEST(CliCheck, TrainingsAreCheckedToo) {
  const std::string examples = std::string(NOISEFLOOR_EXAMPLES) + "/training/";
  for (const char* name : {"fashion.toml", "streamrec.toml"}) {
    const Outcome outcome = noisefloor_run("check " + examples + name);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("calibrated to epsilon 3"), std::string::npos) << outcome.out;
  }
  const Outcome faulty =
      noisefloor_run("check - --json < <(sed 's/learning_rate/learning_rat/' " + examples + "fashion.toml)");
  EXPECT_EQ(faulty.exit_code, 2);
  const Json report = Json::parse(faulty.out);
  EXPECT_EQ(report["errors"], 2);
  EXPECT_EQ(report["findings"][0]["code"], "key_missing");
}

TEST(CliCheck, WarningsFailOnlyIfTheyAreToldTo) {
  const std::string path = file_with(kGood + "[[run]]\ntechnique = \"federated\"\nclients = 4\nrelease = false\n");
  const Outcome lenient = noisefloor_run("check " + path);
  EXPECT_EQ(lenient.exit_code, 0) << lenient.out;
  EXPECT_NE(lenient.out.find("warning: run 'run 2': federated learning without DP"), std::string::npos) << lenient.out;
  EXPECT_NE(lenient.out.find("passed, 0 errors, 1 warning\n"), std::string::npos) << lenient.out;
  const Outcome strict = noisefloor_run("check --strict " + path);
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_NE(strict.out.find("FAILED, 0 errors, 1 warning\n"), std::string::npos) << strict.out;
}

TEST(CliCheck, ReadsStandardInput) {
  const Outcome outcome = shell("noisefloor check - < " + file_with(kGood));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("standard input: passed"), std::string::npos) << outcome.out;
}

TEST(CliCheck, FilesThatCannotBeReadAndBadOptions) {
  expect_clean_failure("check /no/such/file.toml", 5);
  expect_clean_failure("check /", 5);
  expect_clean_failure("check", 2);
  expect_clean_failure("check " + file_with(kGood) + " --loud", 2);
  EXPECT_EQ(noisefloor_run("check " + file_with("")).exit_code, 2) << "an empty file does not pass";
  EXPECT_EQ(noisefloor_run("check " + kExamples + "/medicore.toml > /dev/full").exit_code, 5);
}

TEST(CliCheck, HelpHasExamplesAndCompletionKnowsIt) {
  const Outcome help = noisefloor_run("check --help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("noisefloor check examples/pipelines/medicore.toml"), std::string::npos);
  EXPECT_NE(help.out.find("--strict"), std::string::npos);
  EXPECT_NE(noisefloor_run("completion bash").out.find("'check') words='"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
