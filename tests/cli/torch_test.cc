// Models that need libtorch, and several workers: as users of `noisefloor` meet them, with `noisefloor-torch` beside it
// and without.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "program.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/toy_training.h"

namespace noisefloor {
namespace {

using testing::expect_clean_failure;
using testing::noisefloor_run;
using testing::Outcome;
using testing::shell;
using testing::toy_table;
using testing::toy_toml;
using Json = nlohmann::json;

class CliTorch : public ::testing::Test {
 protected:
  CliTorch() {
    std::string text;
    for (int i = 0; i < 500; ++i) text += "the quick brown fox jumps over the lazy dog. ";
    write("text.txt", text);
    write("alphabet.txt", "abcdefghijklmnopqrstuvwxyz .?\n");
    write("lstm.toml", toml("lstm", "kind = \"lstm\"\nwidth = 32"));
    write("transformer.toml", toml("transformer", "kind = \"transformer\"\nwidth = 32\nheads = 4\nlayers = 1"));
    write("data.csv", toy_table());
    write("table.toml", toy_toml());
  }

  static std::string toml(const std::string& name, const std::string& model, int steps = 60) {
    return "name = \"" + name + R"("
[budget]
epsilon = 10.0
delta = 1e-5
[data]
format = "text"
train = "text.txt"
rows = 1730
length = 12
alphabet = "alphabet.txt"
replacement = "?"
test_fraction = 0.1
[model]
)" + model +
           R"(
[training]
noise_multiplier = 1.1
batch_size = 300
clip_norm = 1.0
optimizer = "adam"
learning_rate = 0.02
steps = )" +
           std::to_string(steps) + "\n";
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path(name)) << text; }
  [[nodiscard]] std::string train(const std::string& file, const std::string& more, const std::string& output,
                                  const std::string& ledger = "ledger") const {
    return "train " + folder_.path(file) + " --create --quiet --ledger " + folder_.path(ledger) + " --output " +
           folder_.path(output) + " " + more;
  }
  // Once it trains, `then` happens to it: the process $first.
  [[nodiscard]] Outcome started(const std::string& arguments, const std::string& then) const {
    return testing::run_until(arguments, folder_.path("out/metrics.jsonl"), then);
  }
  void expect_no_model(const std::string& output) const {
    EXPECT_FALSE(std::filesystem::exists(folder_.path(output + "/model.safetensors")));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(CliTorch, WithoutTheOtherProgramItSaysWhatIsMissing) {
  std::filesystem::copy(NOISEFLOOR_PROGRAM, folder_.path("noisefloor"));
  for (const std::string& arguments : {train("lstm.toml", "", "out"), train("table.toml", "--workers 2", "out"),
                                       "evaluate " + folder_.path("lstm.toml")}) {
    const Outcome outcome = shell(folder_.path("noisefloor") + " " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("needs libtorch"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("noisefloor-torch"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("NOISEFLOOR_WITH_TORCH=ON"), std::string::npos) << outcome.err;
  }
  expect_no_model("out");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ledger"))) << "nothing was spent";
}

#ifdef NOISEFLOOR_TORCH_PROGRAM

// Even chances of 29 characters: a loss of 3.4. Their frequencies alone: 3.1.
TEST_F(CliTorch, TinyLanguageModelsLearn) {
  for (const std::string model : {"lstm", "transformer"}) {
    const Outcome outcome = noisefloor_run(train(model + ".toml", "--json", model, model + ".ledger"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json report = Json::parse(outcome.out);
    EXPECT_LT(report["test"]["loss"], 2.4) << model;
    EXPECT_GT(report["test"]["accuracy"], 0.3) << model;
    EXPECT_NEAR(report["test"]["perplexity"], std::exp(report["test"]["loss"].get<double>()), 1e-6);
    EXPECT_EQ(report["private"], true);
    const Outcome evaluated = noisefloor_run("evaluate " + folder_.path(model + ".toml") + " --json --model " +
                                             folder_.path(model + "/model.safetensors"));
    ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
    EXPECT_NEAR(Json::parse(evaluated.out)["test"]["loss"], report["test"]["loss"], 1e-5);
  }
}

// Each character of a text with what was expected in its place: their losses are the loss that evaluate reports.
TEST_F(CliTorch, PredictsTheCharactersOfAText) {
  ASSERT_EQ(noisefloor_run(train("lstm.toml", "", "lstm")).exit_code, 0);
  write("new.txt", "the quick, brown fox jumps over it");
  const std::string files = folder_.path("lstm.toml") + " --model " + folder_.path("lstm/model.safetensors") +
                            " --output " + folder_.path("p.csv") + " --input ";
  const Outcome outcome = noisefloor_run("predict " + files + folder_.path("new.txt"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string csv = testing::read_file(folder_.path("p.csv"));
  EXPECT_EQ(csv.rfind("example,position,character,prediction,p(prediction),p(character)\n0,1,h,", 0), 0U) << csv;
  EXPECT_NE(csv.find("\n0,9,?,"), std::string::npos) << "what is not in the alphabet: " << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 12) << "two rows of 12 + 1 characters";
  write("new.txt", "short");
  expect_clean_failure("predict " + files + folder_.path("new.txt"), 4);
}

// Copies of images, and a limit so low that few of them are at work at once.
TEST_F(CliTorch, ImagesWithCopiesAndLittleMemory) {
  const auto [images, labels] = testing::toy_images(8);
  write("images", images);
  write("labels", labels);
  std::string layers = "kind = \"layers\"\n";
  for (const char* layer :
       {"conv2d\"\noutputs = 4\nkernel = 3", "instance_norm\"", "gelu\"", "flatten\"", "linear\"\noutputs = 2"}) {
    layers += std::string("[[model.layer]]\ntype = \"") + layer + "\n";
  }
  write("images.toml", testing::toy_images_toml(layers, "copies = 4\nshift = 1\nmirror = true\nmemory_limit = 1\n"));
  const Outcome outcome = noisefloor_run(train("images.toml", "--json", "out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(Json::parse(outcome.out)["test"]["accuracy"], 0.9);
}

TEST_F(CliTorch, AdaptersAreTrainedOnTopOfAModel) {
  ASSERT_EQ(noisefloor_run(train("transformer.toml", "", "base")).exit_code, 0);
  write("adapted.toml",
        toml("adapted",
             "kind = \"transformer\"\nwidth = 32\nheads = 4\nlayers = 1\ntuning = \"lora\"\nlora_rank = 2\n"
             "start_from = \"base/model.safetensors\"\nstart_is_public = \"another ledger has paid for it\""));
  const Outcome outcome = noisefloor_run(train("adapted.toml", "--json", "adapted", "adapted.ledger"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_LT(report["parameters"], 1000);
  EXPECT_LT(report["test"]["loss"], 2.4);
}

TEST_F(CliTorch, WorkersTrainOneModelAndSpendOnce) {
  const Outcome outcome = noisefloor_run(train("table.toml", "--json --workers 3", "out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["workers"], 3);
  EXPECT_EQ(report["steps"], 40);
  EXPECT_GT(report["test"]["accuracy"], 0.9);
  EXPECT_LE(report["epsilon"]["upper"], 2.0);
  EXPECT_GT(report["epsilon"]["upper"], 1.999) << "that of one worker";
  const Outcome shown = noisefloor_run("budget show toy --json --ledger " + folder_.path("ledger"));
  EXPECT_EQ(shown.exit_code, 0);
  // The budget is gone: nothing is drawn, and nobody is left behind.
  const std::string temporary = folder_.path("temporary");
  const Outcome refused = shell("mkdir '" + temporary + "'; export TMPDIR='" + temporary + "'; noisefloor " +
                                train("table.toml", "--workers 2 --key again", "second"));
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_NE(refused.err.find("Nothing was spent"), std::string::npos) << refused.err;
  expect_no_model("second");
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

TEST_F(CliTorch, WorkersMeetAtAPlaceAndMustAgree) {
  const std::string place = "127.0.0.1:" + std::to_string(30'000 + ::getpid() % 10'000);
  const std::string join = " --workers 2 --worker-timeout 60 --rendezvous " + place;
  const Outcome good = shell("noisefloor " + train("table.toml", join + " --rank 1", "other") + " > " +
                             folder_.path("follower") + " &\nnoisefloor " +
                             train("table.toml", "--json" + join + " --rank 0", "out") + "\ncode=$?\nwait; exit $code");
  ASSERT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(Json::parse(good.out)["workers"], 2);
  EXPECT_NE(testing::read_file(folder_.path("follower")).find("Worker 1 of 2"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("other"))) << "only the first writes";
  // Less noise at the other: both refuse, before anything is spent.
  write("quiet.toml", toy_toml("steps = 40\nnoise_multiplier = 0.01\n"));
  const Outcome bad = shell("noisefloor " + train("quiet.toml", join + " --rank 1", "other") + " 2> " +
                            folder_.path("follower") + " &\nnoisefloor " +
                            train("table.toml", join + " --rank 0 --key two", "two") + "\ncode=$?\nwait; exit $code");
  EXPECT_EQ(bad.exit_code, 2) << bad.err;
  EXPECT_NE(bad.err.find("do not agree"), std::string::npos) << bad.err;
  EXPECT_NE(testing::read_file(folder_.path("follower")).find("do not agree"), std::string::npos);
  expect_no_model("two");
}

// A worker is killed while it trains: the first fails with the reason, publishes nothing, and the budget stays spent.
TEST_F(CliTorch, AKilledWorkerEndsTheTraining) {
  write("table.toml", toy_toml("steps = 1000000\n"));
  const Outcome outcome = started(train("table.toml", "--workers 3", "out"), "kill -9 $(pgrep -P $first | head -1)");
  EXPECT_EQ(outcome.exit_code, 7) << outcome.err;
  EXPECT_NE(outcome.err.find("a worker is gone"), std::string::npos) << outcome.err;
  expect_no_model("out");
  expect_clean_failure(train("table.toml", "--key again", "second"), 3);
}

TEST_F(CliTorch, OneInterruptStopsAllWorkersAfterTheSameStep) {
  write("table.toml", toy_toml("steps = 1000000\n"));
  const Outcome outcome = started(train("table.toml", "--json --workers 2", "out"), "kill -TERM $first");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LT(Json::parse(outcome.out)["steps"], 1000000);
}

TEST_F(CliTorch, WhatDoesNotFitIsRefused) {
  const auto refused = [&](const std::string& more, const std::string& named) {
    const std::string error = expect_clean_failure(train("table.toml", more, "out"), 2);
    EXPECT_NE(error.find(named), std::string::npos) << error;
  };
  refused("--workers 0", "--workers must be 1");
  refused("--workers 2 --rank 1", "--rendezvous");
  refused("--rendezvous 127.0.0.1:29500 --rank 0", "--workers");
  refused("--workers 2 --rendezvous 127.0.0.1:29500 --rank 2", "--rank must be 0 to 1");
  refused("--workers 2 --rendezvous nowhere --rank 0", "HOST:PORT");
  std::string fixed = toy_toml("steps = 40\nsampler = \"fixed-size\"\n");
  fixed.replace(fixed.find("delta"), 0, "adjacency = \"replace-one\"\n");
  write("table.toml", fixed);
  refused("--workers 2", "uniform subset");
}

// OpenBLAS is told what the processor can do, unless the user has told it.
TEST_F(CliTorch, OpenBlasTakesTheKernelsOfTheProcessor) {
  write("short.toml", toml("short", "kind = \"lstm\"\nwidth = 8", 1));
  const std::string run = "noisefloor " + train("short.toml", "--replay-seed 1", "out");
  const Outcome outcome = shell("export OPENBLAS_VERBOSE=2; unset OPENBLAS_CORETYPE; " + run);
  if (outcome.err.find("Core: ") == std::string::npos) GTEST_SKIP() << "another BLAS, or one that does not say";
  EXPECT_EQ(outcome.err.find("Core: Prescott"), std::string::npos) << outcome.err;
  const Outcome told =
      shell("export OPENBLAS_VERBOSE=2 OPENBLAS_CORETYPE=Nehalem; rm -r " + folder_.path("out") + "; " + run);
  EXPECT_NE(told.err.find("Core: Nehalem"), std::string::npos) << told.err;
}

// People on libtorch: two workers draw them together, and a training that was killed goes on to the weights of one that
// was not.
TEST_F(CliTorch, PeopleTrainOnTorchWithWorkersAndCheckpoints) {
  std::string table = "x,y,kind,who\n";
  const std::string rows = toy_table();
  std::size_t person = 0;
  for (std::size_t at = rows.find('\n') + 1; at < rows.size(); ++person) {
    const std::size_t end = rows.find('\n', at);
    table += rows.substr(at, end - at) + ",P" + std::to_string(person % 500) + "\n";
    at = end + 1;
  }
  write("people.csv", table);
  const auto by_person = [&](const std::string& steps) {
    std::string text = toy_toml("steps = " + steps + "\n");
    text.replace(text.find("data.csv"), 8, "people.csv");
    text.insert(text.find("label = "), "unit = \"person\"\nperson = \"who\"\nrows_per_person = 2\npeople = 500\n");
    text.replace(text.find("kind = \"logistic\""), 17,
                 "kind = \"layers\"\n[[model.layer]]\ntype = \"linear\"\noutputs = 2\n");
    return text;
  };
  write("people.toml", by_person("12"));
  const Outcome both = noisefloor_run(train("people.toml", "--json --workers 2", "both"));
  ASSERT_EQ(both.exit_code, 0) << both.err;
  EXPECT_GT(Json::parse(both.out)["people"], 350);
  EXPECT_EQ(Json::parse(testing::read_file(folder_.path("both/certificate.json")))["statement"]["unit"], "person");

  write("people.toml", by_person("3000"));
  const auto digest = [&](const std::string& output) {
    return Json::parse(testing::read_file(folder_.path(output + "/certificate.json")))["released"]["digest"];
  };
  const std::string options = "--replay-seed 5 --threads 1 --checkpoint-every 0.02";
  ASSERT_EQ(noisefloor_run(train("people.toml", options, "whole")).exit_code, 0);
  const Outcome killed = testing::run_until(train("people.toml", options, "part"),
                                            folder_.path("part/checkpoint.safetensors"), "kill -KILL $first");
  ASSERT_NE(killed.exit_code, 0) << "the training was over too soon for this test";
  const Outcome resumed = noisefloor_run(
      train("people.toml", options + " --resume " + folder_.path("part/checkpoint.safetensors"), "rest"));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(digest("whole"), digest("rest"));
}

#endif

}  // namespace
}  // namespace noisefloor
