// `noisefloor report`, and the reports that train and sweep write. How they look is tested in tests/report.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_training.h"

namespace noisefloor {
namespace {

using testing::expect_refused;
using testing::noisefloor_run;
using testing::Outcome;
using testing::toy_table;
using testing::toy_toml;
using Json = nlohmann::json;
namespace fs = std::filesystem;

class CliReport : public ::testing::Test {
 protected:
  CliReport() {
    write("data.csv", toy_table());
    write("train.toml", toy_toml());
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path(name), std::ios::binary) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const { return testing::read_file(folder_.path(name)); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] Json train(const std::string& more, const std::string& output) const {
    const Outcome outcome = noisefloor_run("train " + path("train.toml") + " --create --quiet --json --ledger " +
                                           path("ledger") + " --output " + path(output) + " " + more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.exit_code == 0 ? Json::parse(outcome.out) : Json{};
  }
  [[nodiscard]] static bool has(const std::string& html, const std::string& text) {
    return html.find(text) != std::string::npos;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(CliReport, ATrainingWritesOneAndSaysWhere) {
  const Json trained = train("--epsilon 1 --delta 5e-6", "out");
  EXPECT_EQ(trained["report"], path("out/report.html"));
  const std::string html = read("out/report.html");
  EXPECT_TRUE(has(html, "✓ Verified"));
  EXPECT_TRUE(has(html, "ε ≤ 1<"));
  EXPECT_TRUE(has(html, "Of epsilon 2: spent before 0, spent by this model 1, left 1")) << html.substr(0, 20000);
  EXPECT_TRUE(has(html, "noisefloor verify " + path("out/model.safetensors") + " --ledger " + path("ledger")));
  EXPECT_TRUE(has(html, "noisefloor train " + path("train.toml") + " --epsilon 1"));
  EXPECT_TRUE(has(html, "Accuracy on test data"));
  // The same again from its folder.
  const Outcome again = noisefloor_run("report " + path("out") + " --json --ledger " + path("ledger"));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const Json said = Json::parse(again.out);
  EXPECT_EQ(said["epsilon"], trained["epsilon"]);
  EXPECT_EQ(said["ledger_checked"], true);
  EXPECT_EQ(read("out/report.html"), html);
  // The next one sees what was spent before.
  (void)train("--epsilon 0.5 --delta 5e-6 --key second", "second");
  EXPECT_TRUE(has(read("second/report.html"), "spent before 1, spent by this model 0.5, left 0.5"));
  // And the first one, what was since.
  ASSERT_EQ(noisefloor_run("report " + path("out") + " --ledger " + path("ledger")).exit_code, 0);
  EXPECT_TRUE(has(read("out/report.html"), "spent by this model 1, spent since 0.5, left 0.5"));
}

TEST_F(CliReport, NotIfItIsNotWanted) {
  const Json trained = train("--no-report", "out");
  EXPECT_FALSE(trained.contains("report"));
  EXPECT_FALSE(fs::exists(path("out/report.html")));
}

TEST_F(CliReport, WhatDoesNotVerifyHasNone) {
  (void)train("--no-report", "out");
  const std::string model = read("out/model.safetensors");
  std::string altered = model;
  altered.back() = static_cast<char>(altered.back() ^ 1);
  write("out/model.safetensors", altered);
  expect_refused("report " + path("out"), 6, "the content of the file is not");
  write("out/model.safetensors", model);
  std::string certificate = read("out/certificate.json");
  const std::size_t at = certificate.find("\"steps\": 40");
  ASSERT_NE(at, std::string::npos);
  certificate.replace(at, 11, "\"steps\": 41");
  write("out/certificate.json", certificate);
  expect_refused("report " + path("out/certificate.json"), 6, "altered");
  expect_refused("report " + path("out"), 6, "not the certificate that the model holds");
  EXPECT_FALSE(fs::exists(path("out/report.html")));
}

TEST_F(CliReport, OfAModelOrACertificateAlone) {
  (void)train("--no-report", "out");
  fs::copy_file(path("out/model.safetensors"), path("mailed.safetensors"));
  write("metrics.jsonl", "this is about something else\n");
  const Outcome mailed = noisefloor_run("report " + path("mailed.safetensors") + " --output " + path("mailed.html"));
  ASSERT_EQ(mailed.exit_code, 0) << mailed.err;
  EXPECT_TRUE(has(read("mailed.html"), "which was not at hand"));
  EXPECT_TRUE(has(read("mailed.html"), "Signer unknown"));
  EXPECT_FALSE(has(read("mailed.html"), "✓ Verified")) << "whoever mailed it may have signed it";
  const std::string signer = " --signer " + Json::parse(read("out/certificate.json"))["public_key"].get<std::string>();
  const std::string again = "report " + path("mailed.safetensors") + " --output " + path("mailed.html") + signer;
  ASSERT_EQ(noisefloor_run(again).exit_code, 0);
  EXPECT_TRUE(has(read("mailed.html"), "✓ Verified"));
  const Outcome certificate = noisefloor_run("report " + path("out/certificate.json") + " --json --output " +
                                             path("certificate.html") + signer);
  ASSERT_EQ(certificate.exit_code, 0) << certificate.err;
  EXPECT_EQ(Json::parse(certificate.out)["ledger_checked"], false);
  EXPECT_TRUE(has(read("certificate.html"), "from a certificate alone"));
  EXPECT_TRUE(has(read("certificate.html"), "✓ Certificate verified"));
  // Another ledger is refused if it is named, and left alone if it lies around.
  ASSERT_EQ(noisefloor_run("budget create b --epsilon 1 --ledger " + path("another")).exit_code, 0);
  expect_refused("report " + path("out") + " --ledger " + path("another"), 6, "another ledger");
  const Outcome beside = testing::shell("NOISEFLOOR_LEDGER=" + path("another") + " noisefloor report " + path("out"));
  EXPECT_EQ(beside.exit_code, 0) << beside.err;
  EXPECT_TRUE(has(read("out/report.html"), "which was not at hand"));
}

// Anyone can write a certificate that claims nothing and is not signed; its names must not deceive whoever verifies it.
TEST_F(CliReport, HostileNamesOfACertificateAreWrittenOut) {
  (void)train("--no-report --replay-seed 1", "out");
  nlohmann::ordered_json certificate = nlohmann::ordered_json::parse(read("out/certificate.json"));
  certificate["name"] = "toy\x1b[2J\u202Ex";
  certificate["data"] = "<b>1\n  signature    valid\u009B\u200B";
  write("hostile.json", certificate.dump(2) + "\n");
  const Outcome verified = noisefloor_run("verify " + path("hostile.json"));
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_TRUE(has(verified.out, "'toy\\u{1b}[2J\\u{202e}x'")) << verified.out;
  EXPECT_TRUE(has(verified.out, "<b>1\\u{a}  signature    valid\\u{9b}\\u{200b}\n")) << verified.out;
  const Outcome reported = noisefloor_run("report " + path("hostile.json") + " --output " + path("hostile.html"));
  ASSERT_EQ(reported.exit_code, 0) << reported.err;
  EXPECT_TRUE(has(reported.out, "Report on toy\\u{1b}[2J\\u{202e}x\n")) << reported.out;
  const std::string html = read("hostile.html");
  EXPECT_TRUE(has(html, "toy\\u{1b}[2J\\u{202e}x"));
  const std::string json = noisefloor_run("verify " + path("hostile.json") + " --json").out;
  EXPECT_EQ(Json::parse(json)["name"], "toy\x1b[2J\u202Ex") << "JSON keeps the data";
  for (const std::string& text : {verified.out, reported.out, html, json}) {
    for (const char* raw : {"\x1b", "\u202E", "\u200B", "\u009B"}) EXPECT_FALSE(has(text, raw)) << text;
  }
}

// A name that cannot be read is refused in the file that states it, by its place.
TEST_F(CliReport, ATrainingHasAPrintableName) {
  std::string file = toy_toml();
  file.replace(file.find("toy"), 3, "to\\u202ey");
  write("train.toml", file);
  expect_refused("train " + path("train.toml") + " --create --ledger " + path("ledger"), 2, "U+202E");
  EXPECT_FALSE(fs::exists(path("ledger")));
}

TEST_F(CliReport, CurvesAreThoseOfTheLog) {
  std::string text = toy_toml();
  text.replace(text.find("test_fraction = 0.2"), 19, "test_fraction = 0.2\nvalidation_fraction = 0.1");
  write("train.toml", text);
  (void)train("--no-report", "out");
  const Json line = Json::parse(read("out/metrics.jsonl"));
  EXPECT_GT(line["validation_accuracy"], 0.8) << line;
  EXPECT_FALSE(line.contains("test_accuracy"));
  // What a run that was killed in this folder has left counts for nothing.
  write("out/metrics.jsonl",
        "{\"step\":7,\"epsilon\":0.25,\"clip_norm\":1,\"validation_loss\":4.125}\n"
        "{\"step\":5,\"epsilon\":0.5,\"clip_norm\":1,\"validation_loss\":0.7,\"validation_accuracy\":0.625}\n"
        "{\"step\":9,\"epsilon\":1.5,\"clip_norm\":1,\"validation_loss\":0.5,\"validation_accuracy\":0.875}\n"
        "{\"step\":12,\"epsi");
  ASSERT_EQ(noisefloor_run("report " + path("out")).exit_code, 0);
  const std::string html = read("out/report.html");
  EXPECT_TRUE(has(html, "<th scope=\"row\">0.5</th><td>62.5</td>")) << "accuracy by epsilon";
  EXPECT_TRUE(has(html, "<th scope=\"row\">1.5</th><td>87.5</td>"));
  EXPECT_TRUE(has(html, "<th scope=\"row\">9</th><td>0.5</td>")) << "loss by step";
  EXPECT_FALSE(has(html, "4.125"));
  write("out/metrics.jsonl", "{\"step\":5}\nno metrics\n{\"step\":6}\n");
  expect_refused("report " + path("out"), 4, "line 2");
  expect_refused("report " + path("nothing"), 5, "nothing");
  fs::create_directory(path("empty"));
  expect_refused("report " + path("empty"), 4, "neither");
}

TEST_F(CliReport, AUtilityGraphComesWithItsPlan) {
  write("train.toml", toy_toml("epochs = 10\n") +
                          "[plan]\nutility = \"public\"\nclip_norms = [0.5, 1]\nnoise_multipliers = [0.5, 1, 2, 4]\n");
  const Outcome planned = noisefloor_run("plan " + path("train.toml") + " --create --quiet --reserve --ledger " +
                                         path("ledger") + " --output " + path("plan"));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const Json trained = train("--plan " + path("plan/plan.json"), "out");
  const std::string html = read("out/report.html");
  EXPECT_TRUE(has(html, "clip norm 0.5</li>"));
  EXPECT_TRUE(has(html, "<caption>Plan</caption>"));
  EXPECT_EQ(read("out/utility-graph.csv"), read("plan/utility-graph.csv"));
  // Set aside as a part of the budget, which is the one that pays.
  const std::string spent = "Of epsilon 2: spent before 0, spent by this model ";
  ASSERT_TRUE(has(html, spent));
  EXPECT_NEAR(std::stod(html.substr(html.find(spent) + spent.size())), trained["epsilon"]["upper"].get<double>(), 1e-3);
  // A plan that was altered is not shown.
  std::string plan = read("out/plan.json");
  plan.replace(plan.find("\"phases\""), 8, "\"phase5\"");
  write("out/plan.json", plan);
  const Outcome altered = noisefloor_run("report " + path("out"));
  EXPECT_NE(altered.exit_code, 0);
}

TEST_F(CliReport, ASweepIsOnePromise) {
  const Outcome swept =
      noisefloor_run("sweep " + path("train.toml") + " --create --json --quiet --epsilons 0.5,1,inf --ledger " +
                     path("ledger") + " --output " + path("sweep"));
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  const Json said = Json::parse(swept.out);
  EXPECT_EQ(said["report"], path("sweep/report.html"));
  const Outcome outcome = noisefloor_run("report " + path("sweep") + " --json --ledger " + path("ledger"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  // Together they cost more than the larger one, and less than their sum.
  EXPECT_GT(report["epsilon"]["lower"], 1.0);
  EXPECT_LT(report["epsilon"]["upper"], 1.5);
  EXPECT_NEAR(report["delta"].get<double>(), 1e-5, 1e-12);
  const std::string html = read("sweep/report.html");
  EXPECT_TRUE(has(html, "these 2 private models"));
  EXPECT_TRUE(has(html, "without privacy: "));
  EXPECT_TRUE(has(html, "must not be handed on"));
  // The certified ε is a little below what was asked for, so what is spent and left is too.
  EXPECT_TRUE(has(html, "spent before 0, spent by these 2 private models 1.5, left 0.5"));
  // One of them altered: none of it is shown.
  std::string model = read("sweep/epsilon-1/model.safetensors");
  model.back() = static_cast<char>(model.back() ^ 1);
  write("sweep/epsilon-1/model.safetensors", model);
  expect_refused("report " + path("sweep"), 6, "the content of the file is not");
}

TEST_F(CliReport, QualityHasItsBaselinesBesideIt) {
  const Json test = train("--epsilon 1", "out")["test"];
  EXPECT_GT(test["auc"], 0.9);
  EXPECT_LE(test["auc"], 1.0);
  EXPECT_GE(test["majority_accuracy"], 0.5);
  EXPECT_LT(test["majority_accuracy"], test["accuracy"]);
  const std::string html = read("out/report.html");
  EXPECT_TRUE(has(html, "AUC on test data"));
  EXPECT_TRUE(has(html, "the most frequent class alone gets "));
  const Outcome evaluated =
      noisefloor_run("evaluate " + path("train.toml") + " --model " + path("out/model.safetensors"));
  EXPECT_TRUE(has(evaluated.out, " % (majority ")) << evaluated.out << evaluated.err;
  EXPECT_TRUE(has(evaluated.out, ", AUC ")) << evaluated.out;
}

// `noisefloor verify` on folders.
TEST_F(CliReport, VerifyTakesTheFolderOfARun) {
  (void)train("--no-report", "out");
  const Outcome outcome = noisefloor_run("verify " + path("out") + " --json --ledger " + path("ledger"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json verdict = Json::parse(outcome.out);
  EXPECT_EQ(verdict["file"], path("out/model.safetensors"));
  EXPECT_EQ(verdict["ledger_checked"], true);
  // The same as of the file itself.
  const Outcome file = noisefloor_run("verify " + path("out/model.safetensors") + " --json --ledger " + path("ledger"));
  EXPECT_EQ(outcome.out, file.out);
  EXPECT_TRUE(has(noisefloor_run("verify " + path("out")).out,
                  path("out/model.safetensors") + ": what its certificate says is true"));
  std::string certificate = read("out/certificate.json");
  certificate.replace(certificate.find("\"steps\": 40"), 11, "\"steps\": 41");
  write("out/certificate.json", certificate);
  expect_refused("verify " + path("out"), 6, "not the certificate that the model holds");
  fs::create_directory(path("empty"));
  expect_refused("verify " + path("empty"), 4, "neither");
}

TEST_F(CliReport, VerifyTakesTheFolderOfASweepAndSaysWhichModelFails) {
  const Outcome swept =
      noisefloor_run("sweep " + path("train.toml") + " --create --no-report --quiet --epsilons 0.5,1,inf --ledger " +
                     path("ledger") + " --output " + path("sweep"));
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  const Outcome outcome = noisefloor_run("verify " + path("sweep") + " --json --ledger " + path("ledger"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json verdicts = Json::parse(outcome.out)["verdicts"];
  ASSERT_EQ(verdicts.size(), 3U);
  EXPECT_EQ(verdicts[0]["file"], path("sweep/epsilon-0.5/model.safetensors"));
  EXPECT_EQ(verdicts[0]["private"], true);
  EXPECT_EQ(verdicts[1]["ledger_checked"], true);
  EXPECT_EQ(verdicts[2]["file"], path("sweep/without-privacy/model.safetensors"));
  EXPECT_EQ(verdicts[2]["private"], false);
  EXPECT_EQ(verdicts[2]["ledger_checked"], false);
  const std::string text = noisefloor_run("verify " + path("sweep")).out;
  EXPECT_TRUE(has(text, "what the certificates of its 3 models say is true")) << text;
  EXPECT_TRUE(has(text, "NOT PRIVATE")) << text;
  ASSERT_EQ(noisefloor_run("budget create b --epsilon 1 --ledger " + path("another")).exit_code, 0);
  expect_refused("verify " + path("sweep") + " --ledger " + path("another"), 6, "another ledger");
  std::string model = read("sweep/epsilon-1/model.safetensors");
  model.back() = static_cast<char>(model.back() ^ 1);
  write("sweep/epsilon-1/model.safetensors", model);
  expect_refused("verify " + path("sweep"), 6, "epsilon-1/model.safetensors: the content of the file is not");
}

#ifdef NOISEFLOOR_VERIFY_EXAMPLE
TEST_F(CliReport, TheExampleInCppAgreesWithVerify) {
  (void)train("--epsilon 1 --no-report", "out");
  const auto example = [&](const std::string& ledger, const char* epsilon) {
    return testing::shell("cd " + path("") + " && " NOISEFLOOR_VERIFY_EXAMPLE " " + path("out") + " " + path(ledger) +
                          " " + epsilon);
  };
  const Outcome accepted = example("ledger", "1");
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_TRUE(has(accepted.out, "for one row added or removed")) << accepted.out;
  EXPECT_TRUE(has(read("report.html"), "✓ Verified"));
  EXPECT_EQ(example("ledger", "0.5").exit_code, 6);
  ASSERT_EQ(noisefloor_run("budget create b --epsilon 1 --ledger " + path("another")).exit_code, 0);
  EXPECT_EQ(example("another", "1").exit_code, 6);
}
#endif

TEST_F(CliReport, WithoutPrivacyItSaysSo) {
  (void)train("--replay-seed 7", "out");
  const std::string html = read("out/report.html");
  EXPECT_TRUE(has(html, "NOT PRIVATE"));
  EXPECT_FALSE(has(html, "✓ Verified"));
  EXPECT_TRUE(has(html, "Nothing was charged"));
  const Outcome outcome = noisefloor_run("report " + path("out") + " --json");
  EXPECT_EQ(Json::parse(outcome.out)["private"], false);
}

}  // namespace
}  // namespace noisefloor
