// The road from a budget to what is published, as users of `mechanism --charge`, `train`, `verify` and `demo` meet it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"
#include "tests/support/gzip.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_training.h"

namespace noisefloor {
namespace {

using testing::expect_refused;
using testing::noisefloor_run;
using testing::Outcome;
using testing::read_file;
using testing::toy_table;
using testing::toy_toml;
using Json = nlohmann::json;

class CliRelease : public ::testing::Test {
 protected:
  void create(const std::string& budget, const std::string& terms) const {
    const Outcome made = noisefloor_run("budget create " + budget + " " + terms + ledger());
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  [[nodiscard]] std::string ledger() const { return " --ledger " + folder_.path("ledger"); }
  [[nodiscard]] double spent(const std::string& budget) const {
    return Json::parse(noisefloor_run("budget show " + budget + " --json" + ledger()).out)["budget"]["spent_share"];
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path(name)) << text; }

  testing::TemporaryFolder folder_;
};

TEST_F(CliRelease, AnAnswerIsPaidForCertifiedAndGivenAgain) {
  create("trial", "--epsilon 1 --rule basic");
  const std::string ask = "mechanism laplace --value 9870 --sensitivity 1 --epsilon 0.6 --charge trial --key patients" +
                          ledger() + " --output " + folder_.path("patients.json");
  const Outcome first = noisefloor_run(ask + " --json");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(read_file(folder_.path("patients.json")), first.out) << "what is printed is what was released";
  const Json answer = Json::parse(first.out);
  EXPECT_EQ(answer["certificate"]["ledger"]["budget"], "trial");
  EXPECT_EQ(answer["certificate"], Json::parse(read_file(folder_.path("patients.certificate.json"))));
  EXPECT_NEAR(spent("trial"), 0.6, 1e-9);
  // The same question gets the same answer, elsewhere too, whatever the data have become.
  EXPECT_EQ(noisefloor_run(ask + " --json").out, first.out);
  const Outcome later = noisefloor_run(
      "mechanism laplace --value 1 --sensitivity 1 --epsilon 0.6 --charge trial --key patients --json" + ledger());
  EXPECT_EQ(later.out, first.out) << later.err;
  const Outcome in_words = noisefloor_run(ask);
  EXPECT_NE(in_words.out.find("Answered before"), std::string::npos) << in_words.out;
  EXPECT_NE(in_words.out.find("95 % interval"), std::string::npos) << "as it was printed the first time";
  EXPECT_NEAR(spent("trial"), 0.6, 1e-9);
  // Anyone can check it.
  const std::string verify = "verify " + folder_.path("patients.json") + " --json" + ledger();
  const Outcome verified = noisefloor_run(verify);
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(Json::parse(verified.out)["what"], "answer");
  EXPECT_EQ(Json::parse(verified.out)["ledger_checked"], true);
  EXPECT_NEAR(Json::parse(verified.out)["epsilon"]["upper"].get<double>(), 0.6, 1e-6);
  std::string altered = first.out;
  altered.replace(altered.find("\"value\": ") + 9, 1, altered[altered.find("\"value\": ") + 9] == '1' ? "2" : "1");
  write("altered.json", altered);
  expect_refused("verify " + folder_.path("altered.json"), 6, "the content of the file is not");
  // No more than there is.
  expect_refused("mechanism laplace --value 9870 --sensitivity 1 --epsilon 0.6 --charge trial --key more" + ledger(), 3,
                 "Nothing was spent");
  EXPECT_EQ(noisefloor_run("budget verify" + ledger()).exit_code, 0);
}

TEST_F(CliRelease, WhatIsWrongWithAQuestionIsFoundBeforeAnythingIsSpent) {
  create("trial", "--epsilon 1 --rule basic");
  const std::string ask = "mechanism laplace --value 9870 --sensitivity 1 --epsilon 0.5";
  expect_refused(ask + " --charge trial" + ledger(), 2, "--key");
  expect_refused(ask + " --key x", 2, "--charge");
  expect_refused(ask + " --output x.json", 2, "--charge");
  expect_refused(ask + " --charge trial --key x --replay-seed 1" + ledger(), 2, "not private");
  expect_refused(ask + " --charge nobody --key x" + ledger(), 2, "nobody");
  expect_refused(ask + " --charge trial --key x --ledger " + folder_.path("none"), 5, "none");
  expect_refused(ask + " --charge trial --key x --adjacency replace-one" + ledger(), 2, "add-remove");
  expect_refused(ask + " --charge trial --key x --output /proc/no/x.json" + ledger(), 5, "/proc/no");
  expect_refused(
      "mechanism noisy-max --scores 9871,9872 --top 3 --sensitivity 1 --epsilon 1 --charge trial --key x" + ledger(), 2,
      "");
  EXPECT_EQ(spent("trial"), 0);
}

TEST_F(CliRelease, ADryRunSaysWhatWouldBeChargedAndSpendsNothing) {
  create("trial", "--epsilon 1 --rule basic");
  const std::string ask = "mechanism laplace --value 9870 --sensitivity 1 --charge trial --key patients" + ledger();
  const std::string file = folder_.path("patients.json");
  std::filesystem::remove(folder_.path("ledger.key"));  // it is not needed
  const Outcome fits = noisefloor_run(ask + " --epsilon 0.6 --dry-run --json --output " + file);
  ASSERT_EQ(fits.exit_code, 0) << fits.err;
  const Json quote = Json::parse(fits.out);
  EXPECT_EQ(quote["dry_run"], true);
  EXPECT_EQ(quote["fits"], true);
  EXPECT_NEAR(quote["cost"]["upper"].get<double>(), 0.6, 1e-6);
  EXPECT_EQ(quote["answered_before"], false);
  EXPECT_EQ(fits.out.find("9870"), std::string::npos);
  EXPECT_EQ(fits.out, noisefloor_run(ask + " --epsilon 0.6 --dry-run --json --output " + file).out) << "no noise";
  const Outcome too_dear = noisefloor_run(ask + " --epsilon 1.2 --dry-run");
  EXPECT_EQ(too_dear.exit_code, 3);
  EXPECT_NE(too_dear.out.find("NO: "), std::string::npos) << too_dear.out;
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(spent("trial"), 0);
  expect_refused("mechanism laplace --value 9870 --sensitivity 1 --epsilon 1 --dry-run", 2, "--charge");
  expect_refused(ask + " --epsilon 0.6 --dry-run --adjacency replace-one", 2, "add-remove");
}

TEST_F(CliRelease, TheSameKeyWithAnotherQuestionIsRefused) {
  create("trial", "--epsilon 1 --rule basic");
  write("ages.txt", "31\n45\n62\n58\n");
  const std::string ask = "mechanism quantile --input " + folder_.path("ages.txt") +
                          " --lower 0 --upper 100 --epsilon 0.4 --charge trial --key age" + ledger();
  ASSERT_EQ(noisefloor_run(ask + " --level 0.5").exit_code, 0);
  expect_refused(ask + " --level 0.9", 2, "another request");
  EXPECT_NEAR(spent("trial"), 0.4, 1e-9);
}

// What a mechanism reserves is what it does.
TEST_F(CliRelease, EveryMechanismTravelsTheRoad) {
  create("rows", "--epsilon 100 --delta 1e-3 --rule basic");
  create("persons", "--epsilon 100 --delta 1e-3 --rule basic --unit person");
  create("exchanged", "--epsilon 100 --delta 1e-3 --rule basic --adjacency replace-one");
  write("ages.txt", "31\n45\n62\n58\n");
  const std::string ages = " --input " + folder_.path("ages.txt") + " --lower 0 --upper 100";
  int asked = 0;
  for (const auto& [budget, question] : std::initializer_list<std::pair<std::string, std::string>>{
           {"rows", "laplace --value 7 --sensitivity 1 --epsilon 1"},
           {"rows", "gaussian --value 7 --sensitivity 1 --epsilon 1 --delta 1e-6"},
           {"rows", "geometric --value 7 --sensitivity 1 --epsilon 1"},
           {"rows", "sum --epsilon 1" + ages},
           {"rows", "sum --epsilon 1 --delta 1e-6" + ages},
           {"exchanged", "mean --epsilon 1 --delta 1e-6 --adjacency replace-one" + ages},
           {"rows", "quantile --epsilon 1" + ages},
           {"rows", "exponential --scores a=3,b=9 --sensitivity 1 --epsilon 1"},
           {"rows", "permute-and-flip --scores a=3,b=9 --sensitivity 1 --epsilon 1"},
           {"rows", "noisy-max --scores a=3,b=9,c=8 --top 2 --sensitivity 1 --epsilon 1"},
           {"rows", "above-threshold --values 3,80 --threshold 30 --sensitivity 1 --epsilon 1"},
           {"rows", "histogram --counts a=3,b=9 --epsilon 1"},
           {"persons", "partition-selection --counts a=300,b=1 --epsilon 1 --delta 1e-6"},
           {"rows", "tree-count --values 3,0,5 --steps 8 --epsilon 1"}}) {
    const std::string file = folder_.path(std::to_string(++asked) + ".json");
    const Outcome answer = noisefloor_run("mechanism " + question + " --charge " + budget + " --key " +
                                          std::to_string(asked) + " --output " + file + ledger());
    ASSERT_EQ(answer.exit_code, 0) << question << "\n" << answer.err;
    EXPECT_EQ(answer.out.find("Not charged"), std::string::npos);
    const Outcome verified = noisefloor_run("verify " + file + ledger());
    EXPECT_EQ(verified.exit_code, 0) << question << "\n" << verified.err;
  }
  EXPECT_EQ(noisefloor_run("budget verify" + ledger()).exit_code, 0);
}

// Whenever it is killed: no model without a reservation, and asking again ends with a model that verifies or says why
// not.
TEST_F(CliRelease, ATrainingThatIsKilledAnywhereIsFinishedOrAccountedFor) {
  write("data.csv", toy_table());
  const std::string text = toy_toml("steps = 400\nnoise_multiplier = 50.0\n");
  write("train.toml", text);
  create("toy", "--epsilon 1000 --delta 1e-5 --rule basic");
  int finished = 0;
  int refused = 0;
  for (int run = 0; run < 24; ++run) {
    const std::string key = "run-" + std::to_string(run);
    const std::string out = folder_.path(key);
    const std::string train = "train " + folder_.path("train.toml") +
                              " --create --quiet --threads 1 --delta 1e-7 --key " + key + " --output " + out + ledger();
    (void)testing::shell("timeout -s KILL 0.0" + std::to_string(10 + 3 * run) + " '" NOISEFLOOR_PROGRAM "' " + train);
    const bool was_out = std::filesystem::exists(out + "/model.safetensors");
    if (was_out) {
      EXPECT_EQ(noisefloor_run("verify " + out + "/model.safetensors" + ledger()).exit_code, 0) << run;
    }
    const Outcome again = noisefloor_run(train);
    if (again.exit_code == 0) {
      ++finished;
      const Outcome verified = noisefloor_run("verify " + out + "/model.safetensors" + ledger());
      EXPECT_EQ(verified.exit_code, 0) << run << ": " << verified.err;
    } else {
      ++refused;
      EXPECT_EQ(again.exit_code, 3) << again.err;
      EXPECT_NE(again.err.find("counts as spent"), std::string::npos) << again.err;
      EXPECT_FALSE(was_out);
    }
    EXPECT_EQ(noisefloor_run("budget verify" + ledger()).exit_code, 0) << run;
  }
  EXPECT_GT(finished, 0);
  RecordProperty("refused", refused);
}

// Images of ten kinds, each with a bright square of its own, as the four files of MNIST.
class CliDemo : public ::testing::Test {
 protected:
  static constexpr int kSide = 28;

  static std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> static_cast<unsigned>(shift));
    return bytes;
  }
  void write(const std::string& name, std::uint32_t rows) const {
    std::string images = big_endian(0x803) + big_endian(rows) + big_endian(kSide) + big_endian(kSide);
    std::string labels = big_endian(0x801) + big_endian(rows);
    for (std::uint32_t row = 0; row < rows; ++row) {
      const int kind = static_cast<int>(row % 10);
      for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
          const bool bright = x / 6 == kind % 4 && y / 8 == kind / 4;
          const double speck = std::sin(static_cast<double>(row) * 12.9898 + x * 78.233 + y * 37.719);
          images += static_cast<char>((bright ? 190 : 30) + static_cast<int>(25 * speck));
        }
      }
      labels += static_cast<char>(kind);
    }
    std::ofstream(folder_.path(name + "-images-idx3-ubyte.gz")) << testing::gzip(images);
    std::ofstream(folder_.path(name + "-labels-idx1-ubyte.gz")) << testing::gzip(labels);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(CliDemo, GoesFromAPlanToAReportAndIsRefusedASecondTime) {
  write("train", 12'000);
  write("t10k", 1'000);
  const std::string out = folder_.path("demo");
  const Outcome outcome = noisefloor_run("demo --json --data " + folder_.path("") + " --output " + out);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  ASSERT_EQ(report["steps"].size(), 6U);
  EXPECT_GT(report["steps"][0]["result"]["rounds_ratio"], 5);
  EXPECT_EQ(report["steps"][1]["result"]["reserved"], true);
  EXPECT_EQ(report["steps"][2]["result"]["target"]["decision"], "done") << outcome.out;
  EXPECT_LE(report["steps"][2]["result"]["epsilon"]["upper"], 3);
  EXPECT_EQ(report["steps"][3]["result"]["ledger_checked"], true);
  EXPECT_EQ(report["steps"][4]["exit_code"], 3) << "the budget is gone";
  EXPECT_TRUE(std::filesystem::exists(report["report"].get<std::string>())) << report["report"];
  expect_refused("demo --data " + folder_.path("") + " --output " + out, 2, "not empty");
  expect_refused("demo --output " + folder_.path("other") + " --data " + folder_.path("nowhere"), 4,
                 "dataset-fashion-mnist");
}

}  // namespace
}  // namespace noisefloor
