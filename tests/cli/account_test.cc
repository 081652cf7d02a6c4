// `noisefloor account` and `noisefloor calibrate`, as their users meet them.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "noisefloor/event/json.h"
#include "program.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_clean_failure;
using testing::noisefloor_run;
using testing::Outcome;
using testing::read_file;
using testing::shell;
using Json = nlohmann::json;

const std::string kDpSgd = "account dpsgd --sample-rate 0.01 --noise-multiplier 1 --steps 1000 ";

Json json_of(const std::string& call) {
  const Outcome outcome = noisefloor_run(call + " --json");
  EXPECT_EQ(outcome.exit_code, 0) << call << outcome.err;
  return outcome.exit_code == 0 ? Json::parse(outcome.out) : Json::object();
}

void expect_inside(const Json& interval, double exact) {
  EXPECT_LE(interval["lower"].get<double>(), exact * (1 + 1e-9));
  EXPECT_GE(interval["upper"].get<double>(), exact * (1 - 1e-9));
}

TEST(CliAccount, DpSgdIsCertifiedFromBothSides) {
  const Json json = json_of(kDpSgd + "--delta 1e-5");
  expect_inside(json["epsilon"], 1.828236666516579);
  EXPECT_LT(json["epsilon"]["upper"].get<double>() / json["epsilon"]["lower"].get<double>(), 1 + 1e-6);
  EXPECT_EQ(json["delta"], 1e-5);
  EXPECT_EQ(json["accountant"], "pld");
  EXPECT_EQ(json["adjacency"], "add-remove");
  EXPECT_EQ(json["sampling"], "poisson");
  EXPECT_GE(json["seconds"].get<double>(), 0);
  EXPECT_TRUE(json["warnings"].empty());
  EXPECT_TRUE(parse_statement(json["statement"].dump()).has_value());
}

TEST(CliAccount, BatchesRowsAndEpochsAreAnotherWayToSayIt) {
  const Json json =
      json_of("account dpsgd --batch-size 256 --rows 60000 --epochs 60 --noise-multiplier 1.1 --delta 1e-5");
  EXPECT_EQ(json["parameters"]["steps"], 14063);  // 60 passes and a bit
  EXPECT_NEAR(json["parameters"]["sample_rate"].get<double>(), 256.0 / 60000, 1e-15);
}

TEST(CliAccount, EveryMechanismAnswers) {
  expect_inside(json_of("account gaussian --noise-multiplier 1 --count 1000 --delta 1e-5")["epsilon"],
                633.9298513356148);
  expect_inside(json_of("account laplace --noise-multiplier 10 --count 100 --delta 1e-6")["epsilon"],
                4.692667415611285);
  expect_inside(json_of("account randomized-response --local-epsilon 0.1 --count 100 --delta 1e-6")["epsilon"],
                4.7745675881079865);
}

TEST(CliAccount, EventsComeAsTheyWereEmitted) {
  const Json release = json_of("mechanism gaussian --value 3 --sensitivity 1 --epsilon 1 --delta 1e-6");
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("statement.json");
  std::ofstream(path) << release["statement"].dump();
  const Json json = json_of("account events --input " + path + " --delta 1e-6");
  EXPECT_LE(json["epsilon"]["upper"].get<double>(), 1 + 1e-9);
  EXPECT_GT(json["epsilon"]["lower"].get<double>(), 0.999);
}

TEST(CliAccount, ComparesAllAccountants) {
  const Json json = json_of("account gaussian --noise-multiplier 1 --count 1000 --delta 1e-5 --accountant all");
  ASSERT_EQ(json["comparison"].size(), 6U);
  double best = HUGE_VAL;
  for (const Json& row : json["comparison"]) {
    const double epsilon = row["epsilon"]["upper"];
    if (!row["estimate"].get<bool>()) best = std::min(best, epsilon);
    EXPECT_GE(epsilon, 633.9298513356148 * (1 - 1e-12)) << row["accountant"];
    if (row["accountant"] == "rdp") {
      EXPECT_NEAR(epsilon, 648.78, 0.01);
    }
  }
  EXPECT_NEAR(best, 633.9298513356148, 1e-6);
  const Json sampled = json_of(kDpSgd + "--delta 1e-5 --accountant gdp");
  EXPECT_TRUE(sampled["estimate"].get<bool>()) << "the central-limit form is no bound";
  EXPECT_NE(noisefloor_run(kDpSgd + "--delta 1e-5 --accountant gdp").out.find("ESTIMATE"), std::string::npos);
}

TEST(CliAccount, AnswersTheOtherQuestionToo) {
  const Json json = json_of(kDpSgd + "--epsilon 1.828236666516579");
  EXPECT_EQ(json["epsilon"], 1.828236666516579);
  EXPECT_LE(json["delta"]["lower"].get<double>(), 1e-5 * (1 + 1e-7));
  EXPECT_GE(json["delta"]["upper"].get<double>(), 1e-5 * (1 - 1e-7));
}

TEST(CliAccount, ParametersThatLookMisStatedEarnAWarning) {
  const auto warned = [](const std::string& call) { return !json_of(call)["warnings"].empty(); };
  EXPECT_TRUE(warned("account dpsgd --sample-rate 0.0001 --noise-multiplier 1 --steps 10 --delta 1e-5"));
  EXPECT_TRUE(warned("account dpsgd --sample-rate 0.9 --noise-multiplier 5 --steps 10 --delta 1e-5"));
  EXPECT_FALSE(warned(kDpSgd + "--delta 1e-5"));
  EXPECT_NE(noisefloor_run("account dpsgd --sample-rate 0.9 --noise-multiplier 5 --steps 10 --delta 1e-5")
                .out.find("WARNING"),
            std::string::npos);
}

TEST(CliAccount, CurvesAreWrittenAsNumbersAndAsPictures) {
  const testing::TemporaryFolder folder;
  const std::string prefix = folder.path("curve");
  for (const char* kind : {"epsilon", "tradeoff"}) {
    const Json json = json_of(kDpSgd + "--delta 1e-5 --curve " + kind + " --output " + prefix);
    EXPECT_EQ(json["curve"]["csv"], prefix + ".csv");
    const std::string csv = read_file(prefix + ".csv");
    EXPECT_GT(std::count(csv.begin(), csv.end(), '\n'), 50);
    const std::string svg = read_file(prefix + ".svg");
    EXPECT_EQ(svg.rfind("<svg ", 0), 0U);
    EXPECT_NE(svg.find("</svg>"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
  }
  expect_clean_failure(kDpSgd + "--delta 1e-5 --curve epsilon --output /no/such/folder/x", 5);
}

TEST(CliAccount, WhatHasNoValidBoundIsRefusedWithTheReason) {
  const Outcome shuffled = noisefloor_run(kDpSgd + "--delta 1e-5 --sampling shuffled");
  EXPECT_EQ(shuffled.exit_code, 2);
  EXPECT_EQ(shuffled.out, "");
  EXPECT_NE(shuffled.err.find("Poisson"), std::string::npos);
  expect_clean_failure(
      "account dpsgd --batch-size 10 --rows 100 --noise-multiplier 1 --steps 5 --delta 1e-5 --sampling fixed-size", 2);
  const Json fixed = json_of(
      "account dpsgd --batch-size 10 --rows 100 --noise-multiplier 4 --steps 5 --delta 1e-5 --sampling fixed-size "
      "--adjacency replace-one");
  EXPECT_GT(fixed["epsilon"]["lower"].get<double>(), 0);
}

TEST(CliAccount, BadInputIsRefusedByName) {
  for (const char* bad : {"--delta 0.5 --epsilon 1", "", "--delta 1", "--delta -1", "--delta nan", "--delta 1e400",
                          "--delta ''", "--delta 0", "--delta 1e-5 --accountant magic", "--delta 1e-5 --adjacency near",
                          "--delta 1e-5 --sampling sometimes", "--delta 1e-5 --curve round", "--epsilon -1",
                          "--delta 1e-5 --steps 10", "--delta 1e-5 --epochs 3", "--delta 1e-5 --unit household"}) {
    expect_clean_failure(kDpSgd + bad, 2);
  }
  for (const char* bad : {"--sample-rate 0", "--sample-rate 1.5", "--sample-rate nan", "--batch-size 10",
                          "--batch-size 20 --rows 10", ""}) {
    expect_clean_failure("account dpsgd --noise-multiplier 1 --steps 10 --delta 1e-5 " + std::string(bad), 2);
  }
  for (const char* bad : {"0", "-1", "inf", "x"}) {
    expect_clean_failure(
        "account dpsgd --sample-rate 0.1 --steps 10 --delta 1e-5 --noise-multiplier " + std::string(bad), 2);
  }
  expect_clean_failure("account events --input /no/such/file --delta 1e-5", 4);
  expect_clean_failure("account", 2);
  EXPECT_EQ(shell("echo '{}' | noisefloor account events --input - --delta 1e-5").exit_code, 4);
  EXPECT_EQ(shell("head -c 100000000 /dev/zero | noisefloor account events --input - --delta 1e-5").exit_code, 4);
}

TEST(CliAccount, NonPrivateEventsAreInfiniteAndSaySo) {
  const Outcome outcome = shell(
      "echo '{\"noisefloor_event\":1,\"adjacency\":\"add-remove\",\"unit\":\"row\",\"event\":{\"kind\":"
      "\"non_private\",\"reason\":\"replay\"}}' | noisefloor account events --input - --delta 1e-5 --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["epsilon"]["upper"], "infinite");
}

TEST(CliCalibrate, FindsTheLeastNoiseTheMostStepsAndTheLargestRate) {
  const Json noise = json_of("calibrate dpsgd --sample-rate 0.01 --steps 10000 --epsilon 8 --delta 1e-5");
  const double z = noise["noise_multiplier"];
  EXPECT_GE(z, 0.8825284902876901 * (1 - 1e-9));
  EXPECT_LE(z, 0.8825284902876901 * (1 + 1e-6));
  EXPECT_LE(noise["epsilon"]["upper"].get<double>(), 8.0);

  const Json steps =
      json_of("calibrate dpsgd --sample-rate 0.01 --noise-multiplier 1 --epsilon 3 --delta 1e-5 --solve steps");
  const auto most = steps["steps"].get<std::uint64_t>();
  const auto epsilon_after = [](std::uint64_t count) {
    return json_of("account dpsgd --sample-rate 0.01 --noise-multiplier 1 --delta 1e-5 --steps " +
                   std::to_string(count))["epsilon"]["upper"]
        .get<double>();
  };
  EXPECT_LE(epsilon_after(most), 3);
  EXPECT_GT(epsilon_after(most + 1), 3);

  const Json rate =
      json_of("calibrate dpsgd --noise-multiplier 1 --steps 1000 --epsilon 3 --delta 1e-5 --solve sample-rate");
  EXPECT_LE(rate["epsilon"]["upper"].get<double>(), 3);
  EXPECT_GT(rate["epsilon"]["lower"].get<double>(), 3 * (1 - 1e-5));
}

TEST(CliCalibrate, NoiseForQueriesAndQueriesForNoise) {
  const Json noise = json_of("calibrate gaussian --count 10 --epsilon 1 --delta 1e-6");
  EXPECT_LE(noise["epsilon"]["upper"].get<double>(), 1);
  EXPECT_GT(noise["epsilon"]["lower"].get<double>(), 1 - 1e-6);
  const Json count = json_of("calibrate laplace --noise-multiplier 20 --epsilon 1 --delta 1e-5 --solve count");
  EXPECT_GT(count["count"].get<std::uint64_t>(), 20U) << "basic composition alone allows 20";
  EXPECT_LE(count["epsilon"]["upper"].get<double>(), 1);
}

TEST(CliCalibrate, BadInputIsRefusedByName) {
  expect_clean_failure("calibrate dpsgd --sample-rate 0.01 --steps 100 --epsilon 0 --delta 1e-5", 2);
  expect_clean_failure("calibrate dpsgd --sample-rate 0.01 --steps 100 --epsilon 1 --delta 0", 2);
  expect_clean_failure("calibrate dpsgd --sample-rate 0.01 --steps 100 --epsilon 1", 2);
  expect_clean_failure("calibrate dpsgd --sample-rate 0.01 --epsilon 1 --delta 1e-5", 2);
  expect_clean_failure("calibrate dpsgd --sample-rate 0.01 --steps 10 --epsilon 1 --delta 1e-5 --solve luck", 2);
  expect_clean_failure(
      "calibrate dpsgd --sample-rate 0.5 --noise-multiplier 0.3 --epsilon 0.1 --delta 1e-5 --solve steps", 2);
  expect_clean_failure("calibrate", 2);
}

TEST(CliAccount, HelpHasExamplesThatWork) {
  int tried = 0;
  for (const char* command : {"account dpsgd", "account gaussian", "account laplace", "account randomized-response",
                              "calibrate dpsgd", "calibrate gaussian", "calibrate laplace"}) {
    const std::string help = noisefloor_run(std::string(command) + " --help").out;
    const std::size_t at = help.find("Example:\n  noisefloor ");
    ASSERT_NE(at, std::string::npos) << command;
    const std::string example = help.substr(at + 11, help.find('\n', at + 11) - at - 11);
    EXPECT_EQ(shell(example).exit_code, 0) << example;
    ++tried;
  }
  EXPECT_EQ(tried, 7);
}

}  // namespace
}  // namespace noisefloor
