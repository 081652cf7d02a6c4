// `noisefloor plan`, from numbers and from a training file, and `noisefloor train --plan`, as their users meet them.
#include <gtest/gtest.h>

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

using testing::expect_refused;
using testing::noisefloor_run;
using testing::Outcome;
using testing::read_file;
using testing::toy_table;
using testing::toy_toml;
using Json = nlohmann::json;

Json asked(const std::string& arguments) {
  const Outcome outcome = noisefloor_run("plan --json " + arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out);
}

TEST(CliPlan, ClosedFormAndExactSideBySide) {
  const Json plan = asked("--rows 60000 --epochs 6 --epsilon 0.15");
  const Json& closed = plan["closed_form"];
  EXPECT_NEAR(closed["noise_multiplier"], std::sqrt(2 * (0.15 + std::log(60000)) / 0.15), 1e-9);
  EXPECT_EQ(closed["batch"], 409);
  EXPECT_EQ(closed["rounds"], 881);
  EXPECT_NEAR(closed["gamma"], 3.65775, 1e-5);
  EXPECT_LT(closed["exact_epsilon"]["upper"], 0.05);
  EXPECT_EQ(closed["theorem_3_1"]["holds"], true);
  EXPECT_EQ(closed["theorem_b4"]["holds"], true);
  for (const char* theorem : {"theorem_3_1", "theorem_b4", "theorem_b2"}) {
    for (const Json& one : closed[theorem]["conditions"]) {
      EXPECT_TRUE(one["value"].is_number() && one["bound"].is_number()) << one;
    }
  }
  EXPECT_LE(plan["exact"]["epsilon"]["upper"], 0.15);
  EXPECT_GT(plan["rounds_ratio"], 8);
  EXPECT_GT(plan["noise_ratio"], 2.5);
  // What is called exact is what the accountant says of its event.
  EXPECT_EQ(plan["exact"]["noise_multiplier"], closed["noise_multiplier"]);
  EXPECT_LE(plan["exact_same_batch"]["epsilon"]["upper"], 0.15);
}

TEST(CliPlan, Table9AsPrinted) {
  const Json plan = asked("--rows 10000 --epochs 5 --noise-multiplier 19.29962 --paper");
  EXPECT_NEAR(plan["closed_form"]["epsilon"], 0.0497, 5e-5);
  EXPECT_EQ(std::floor(plan["closed_form"]["max_batch"].get<double>()), 26);
  EXPECT_EQ(std::floor(plan["closed_form"]["max_batch_asymptotic"].get<double>()), 198);
  EXPECT_NEAR(plan["closed_form"]["exact_epsilon"]["upper"], 0.01026, 1e-5);
}

TEST(CliPlan, WhereATheoremDoesNotApplyItSaysWhyAndTheExactPlanStands) {
  const Json plan = asked("--rows 5000 --epochs 2 --epsilon 3 --delta 1e-3");
  const Json& theorem = plan["closed_form"]["theorem_3_1"];
  EXPECT_EQ(theorem["holds"], false);
  int failing = 0;
  for (const Json& one : theorem["conditions"]) {
    if (one["holds"] == true) continue;
    ++failing;
    EXPECT_NE(one["remedy"], "");
  }
  EXPECT_EQ(failing, 4) << "delta above 1/N, epsilon, N and (7)";
  EXPECT_LE(plan["exact"]["epsilon"]["upper"], 3);
  // No closed form at all.
  const Json none = asked("--rows 1000 --epochs 500 --epsilon 0.05");
  EXPECT_NE(none["closed_form"]["error"].get<std::string>().find("epochs fit"), std::string::npos) << none;
  EXPECT_LE(none["exact"]["epsilon"]["upper"], 0.05);
}

TEST(CliPlan, AnyTwoAreFree) {
  const std::string base = "--rows 10000 --epochs 5 --epsilon 1 ";
  EXPECT_EQ(asked(base + "--batch-size 100")["exact"]["rounds"], 500);
  EXPECT_EQ(asked(base + "--rounds 500")["exact"]["batch"], 100);
  const double noise = asked(base + "--batch-size 100")["exact"]["noise_multiplier"];
  const Json both = asked(base + "--batch-size 100 --noise-multiplier " + std::to_string(2 * noise));
  EXPECT_GT(both["exact"]["rounds"], 1500) << "twice the noise, four times the rounds or so";
  EXPECT_GT(asked(base + "--batch-size 100 --sampler fixed-size")["exact"]["noise_multiplier"], 1.5 * noise);
  EXPECT_EQ(asked(base + "--batch-size 100 --sampler fixed-size")["adjacency"], "replace-one");
}

// Everything is given: which conditions hold, which fail, and by how much.
TEST(CliPlan, TheoremsOfBatchesThatAreGiven) {
  const Json few = asked("--rows 20000 --epochs 10 --epsilon 0.2 --batch-size 400");
  EXPECT_EQ(few["closed_form"]["theorem_3_1"]["holds"], true);
  const Json& given = few["as_given"];
  EXPECT_EQ(given["rounds"], 500);
  EXPECT_EQ(given["theorem_3_1"]["holds"], false);
  int failing = 0;
  for (const Json& one : given["theorem_b4"]["conditions"]) {
    if (one["holds"] == true) continue;
    ++failing;
    EXPECT_EQ(one["name"], "(34)");
    EXPECT_EQ(one["value"], 500);
    EXPECT_GT(one["bound"], 1000);
    EXPECT_NE(one["remedy"].get<std::string>().find("rounds"), std::string::npos);
  }
  EXPECT_EQ(failing, 1);
  EXPECT_LE(few["exact"]["epsilon"]["upper"], 0.2) << "the exact plan stands";
  const Json list = asked("--rows 20000 --sizes 65x1000,90x1500 --epsilon 0.2");
  EXPECT_EQ(list["epochs"], 10);
  EXPECT_NEAR(list["as_given"]["theta"], 90 / 80.0, 1e-12);
  EXPECT_EQ(list["as_given"]["theorem_b4"]["holds"], true);
  EXPECT_EQ(list["exact"]["rounds"], 2500);
  EXPECT_LE(list["exact"]["epsilon"]["upper"], 0.2);
  const double noise = list["exact"]["noise_multiplier"];
  const std::string more = "--rows 20000 --sizes 65x1000,90x1500 --epsilon 0.2 --noise-multiplier ";
  EXPECT_EQ(asked(more + std::to_string(1.01 * noise))["exact"]["rounds"], 2500);
  expect_refused("plan " + more + std::to_string(0.9 * noise), 2, "it takes");
}

TEST(CliPlan, BadNumbersSayWhatWouldDo) {
  expect_refused("plan", 2, "--rows");
  expect_refused("plan --rows 1000", 2, "--epochs");
  expect_refused("plan --rows 0 --epochs 1 --epsilon 1", 2, "rows");
  expect_refused("plan --rows 1000 --epochs -1 --epsilon 1", 2, "--epochs");
  expect_refused("plan --rows 1000 --epochs nan --epsilon 1", 2, "--epochs");
  expect_refused("plan --rows 1000 --epochs 1 --epsilon 0", 2, "epsilon");
  expect_refused("plan --rows 1000 --epochs 1 --epsilon 1 --delta 0", 2, "--delta");
  expect_refused("plan --rows 1000 --epochs 1 --epsilon 1 --delta 1", 2, "delta");
  expect_refused("plan --rows 1000 --epochs 1 --epsilon 1 --batch-size 1001", 2, "at most 1000");
  expect_refused("plan --rows 1000 --epochs 5 --epsilon 1 --rounds 4", 2, "The least are 5");
  expect_refused("plan --rows 1000 --epochs 5 --epsilon 1 --rounds 4 --batch-size 3", 2, "give one");
  expect_refused("plan --rows 1000 --epochs 5 --noise-multiplier 1.2", 2, "above sqrt(2)");
  expect_refused("plan --rows 1000 --epochs 5 --noise-multiplier 1.2", 2, "give --epsilon");
  expect_refused("plan --rows 1000 --epochs 5 --noise-multiplier 3 --sampler fixed-size", 2, "give --epsilon");
  expect_refused("plan --rows 1000 --epochs 5 --epsilon 1 --rounds 10 --noise-multiplier 3", 2, "nothing free");
  expect_refused("plan --rows 1000 --sizes 10x5,2000x3 --epsilon 1", 2, "at most 1000");
  expect_refused("plan --rows 1000 --sizes 10,20 --epsilon 1", 2, "100x50");
  expect_refused("plan --rows 1000 --sizes 10x5, --epsilon 1", 2, "100x50");
  expect_refused("plan --rows 1000 --sizes 10x0 --epsilon 1", 2, "1 or above");
  expect_refused("plan --rows 1000 --epochs 1 --sizes 10x5 --epsilon 1", 2, "leave out --epochs");
  expect_refused("plan --rows 1000 --epochs 50 --epsilon 0.01 --noise-multiplier 1", 2, "it takes");
  expect_refused("plan --rows 1000 --epochs 1 --epsilon 1 --sampler shuffle", 2, "poisson or fixed-size");
  expect_refused("plan --rows 1000 --epochs 1 --epsilon 1 --growth 99", 2, "--growth");
}

class CliPlanTraining : public ::testing::Test {
 protected:
  CliPlanTraining() {
    write("data.csv", toy_table());
    write("toy.toml", toy_toml("epochs = 10\n") + goal("public"));
  }
  static std::string goal(const std::string& utility, const std::string& more = "") {
    return "[plan]\nutility = \"" + utility + "\"\nclip_norms = [0.5, 1]\nnoise_multipliers = [0.5, 1, 2, 4]\n" + more;
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path(name)) << text; }
  [[nodiscard]] std::string plan(const std::string& more = "") const {
    return "plan " + folder_.path("toy.toml") + " --create --quiet --ledger " + folder_.path("ledger") + " --output " +
           folder_.path("plan") + " " + more;
  }
  [[nodiscard]] std::string train(const std::string& more = "", const std::string& file = "plan.json") const {
    return "train " + folder_.path("toy.toml") + " --create --quiet --json --ledger " + folder_.path("ledger") +
           " --plan " + folder_.path("plan/" + file) + " --output " + folder_.path("out") + " " + more;
  }
  [[nodiscard]] double spent() const {
    const Outcome outcome = noisefloor_run("budget show toy --json --ledger " + folder_.path("ledger"));
    return outcome.exit_code == 0 ? Json::parse(outcome.out)["budget"]["spent_share"].get<double>() : 0;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(CliPlanTraining, FromAGoalToAModel) {
  write("toy.toml", toy_toml("epochs = 10\n") + goal("public", "target_accuracy = 0.9\n"));
  const Outcome planned = noisefloor_run(plan("--json"));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const Json report = Json::parse(planned.out);
  EXPECT_LE(report["epsilon"]["upper"], 2.0);
  EXPECT_NE(read_file(folder_.path("plan/utility-graph.svg")).find("C = 0.5"), std::string::npos);
  EXPECT_NE(read_file(folder_.path("plan/utility-graph.csv")).find("clip_norm,accuracy"), std::string::npos);
  const Outcome trained = noisefloor_run(train());
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Json model = Json::parse(trained.out);
  EXPECT_EQ(model["steps"], report["steps"]);
  EXPECT_EQ(model["noise_multiplier"], report["noise_multiplier"]);
  EXPECT_EQ(model["epsilon"], report["epsilon"]);
  EXPECT_EQ(model["target"]["decision"], "done") << model;
  // Once.
  std::filesystem::remove_all(folder_.path("out"));
  expect_refused(train(), 2, "was used before");
}

TEST_F(CliPlanTraining, APlanThatIsSetAsideIsPaidForAtOnceAndTrainsOnce) {
  ASSERT_EQ(noisefloor_run(plan("--reserve")).exit_code, 0);
  const std::string show = "budget show toy --ledger " + folder_.path("ledger");
  const std::string before = noisefloor_run(show).out;
  const Outcome trained = noisefloor_run(train());
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(noisefloor_run(show).out, before) << "the training costs nothing more";
  EXPECT_EQ(noisefloor_run("budget verify --ledger " + folder_.path("ledger")).exit_code, 0);
}

TEST_F(CliPlanTraining, DeviationsAreRefused) {
  ASSERT_EQ(noisefloor_run(plan()).exit_code, 0);
  for (const std::string option :
       {"--epsilon 1", "--delta 1e-6", "--noise-multiplier 1", "--replay-seed 1", "--key x"}) {
    expect_refused(train(option), 2, "would deviate from the plan");
  }
  const std::string good = read_file(folder_.path("plan/plan.json"));
  std::string changed = good;
  changed.replace(changed.find("\"clip_norm\": 0."), 15, "\"clip_norm\": 1.");
  write("plan/plan.json", changed);
  expect_refused(train(), 6, "changed after it was signed");
  write("plan/plan.json", good);
  write("toy.toml", read_file(folder_.path("toy.toml")) + "\n");
  expect_refused(train(), 2, "has changed since");
  write("toy.toml", toy_toml("epochs = 10\n") + goal("public"));
  write("data.csv", toy_table() + "0.1,0.1,yes\n0.2,0.1,yes\n0.3,0.1,yes\n0.4,0.1,yes\n0.5,0.1,yes\n");
  EXPECT_EQ(noisefloor_run(train("--dry-run")).exit_code, 0) << "how many rows there are is private";
  write("data.csv", toy_table());
  EXPECT_EQ(noisefloor_run("budget create other --epsilon 1 --ledger " + folder_.path("another")).exit_code, 0);
  expect_refused(train("--ledger " + folder_.path("another")), 2, "--ledger");
}

TEST_F(CliPlanTraining, PhasesGoOnWithLessNoiseAsLongAsThereIsBudget) {
  write("toy.toml", toy_toml("epochs = 10\n") + goal("public", "target_accuracy = 0.9\nphases = 2\n"));
  ASSERT_EQ(noisefloor_run(plan()).exit_code, 0);
  ASSERT_EQ(noisefloor_run(train()).exit_code, 0);
  const Outcome next = noisefloor_run(plan("--json --after " + folder_.path("out")));
  ASSERT_EQ(next.exit_code, 0) << next.err;
  const Json first = Json::parse(read_file(folder_.path("plan/plan.json")));
  const Json second = Json::parse(read_file(folder_.path("plan/plan-2.json")));
  EXPECT_LT(second["noise_multiplier"], first["noise_multiplier"]);
  EXPECT_LE(first["certified_epsilon"]["upper"].get<double>() + second["certified_epsilon"]["upper"].get<double>(),
            2.0);
  const std::string train_on = "train " + folder_.path("toy.toml") + " --create --quiet --ledger " +
                               folder_.path("ledger") + " --plan " + folder_.path("plan/plan-2.json") + " --output " +
                               folder_.path("out2");
  const Outcome trained = noisefloor_run(train_on);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  expect_refused(plan("--after " + folder_.path("out2")), 2, "last of 2 phases");
  expect_refused(plan("--after " + folder_.path("out") + " --noise-multiplier 50"), 2, "less noise");
}

TEST_F(CliPlanTraining, AUtilityGraphOfPrivateDataIsCharged) {
  write("toy.toml", toy_toml("epochs = 10\n") + goal("budgeted", "utility_epsilon = 0.5\n"));
  const Outcome planned = noisefloor_run(plan("--json"));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const Outcome history = noisefloor_run("budget history --json --ledger " + folder_.path("ledger"));
  EXPECT_NE(history.out.find("toy/utility-graph-"), std::string::npos) << history.out;
  // It is a release of its own, with a certificate that says what all of its models cost.
  const Outcome verified = noisefloor_run("verify " + folder_.path("plan/utility-graph.json") + " --json --ledger " +
                                          folder_.path("ledger"));
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(Json::parse(verified.out)["what"], "utility graph");
  EXPECT_LE(Json::parse(verified.out)["epsilon"]["upper"], 0.5);
  EXPECT_GT(Json::parse(verified.out)["epsilon"]["upper"], 0.499);
  EXPECT_EQ(Json::parse(verified.out)["ledger_checked"], true);
  // Planning again takes the same graph, which is paid for once, even where its files are gone.
  const double paid = spent();
  EXPECT_GT(paid, 0);
  const std::string graph = read_file(folder_.path("plan/utility-graph.csv"));
  std::filesystem::remove_all(folder_.path("plan"));
  ASSERT_EQ(noisefloor_run(plan()).exit_code, 0);
  EXPECT_EQ(read_file(folder_.path("plan/utility-graph.csv")), graph);
  EXPECT_EQ(spent(), paid);
  EXPECT_LE(Json::parse(planned.out)["epsilon"]["upper"], 1.5) << "what is left";
  const Outcome trained = noisefloor_run(train());
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
}

TEST_F(CliPlanTraining, ProxyDataStandInForPrivateOnes) {
  write("toy.toml", toy_toml("epochs = 10\n") + goal("proxy", "proxy = \"proxy.csv\"\n"));
  write("proxy.csv", toy_table());
  expect_refused(plan(), 2, "rows of this training");
  std::string other = "x,y,kind\n";
  for (int i = 0; i < 2000; ++i) {
    const double x = std::cos(i * 3.7);
    const double y = std::cos(i * 1.3 + 2);
    other += std::to_string(x) + "," + std::to_string(y) + "," + (x + y > 0 ? "yes" : "no") + "\n";
  }
  write("proxy.csv", other);
  const Outcome planned = noisefloor_run(plan());
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_EQ(spent(), 0) << "nothing of the private data was looked at";
}

TEST_F(CliPlanTraining, WhatCannotBePlannedSaysWhy) {
  write("toy.toml", toy_toml());
  expect_refused(plan(), 2, "no [plan]");
  write("toy.toml", toy_toml("epochs = 10\n") + "[plan]\ndraws = 3\n");
  expect_refused(plan(), 2, "utility");
  write("toy.toml", toy_toml("epochs = 10\n") + goal("public", "target_accuracy = 0.9999\n"));
  expect_refused(plan(), 2, "out of reach");
  std::filesystem::remove_all(folder_.path("plan"));
  write("toy.toml", toy_toml("epochs = 10\nnoise = \"discrete\"\n") + goal("public"));
  expect_refused(plan(), 2, "Gaussian noise");
  write("toy.toml", toy_toml("epochs = 10\n") + goal("public"));
  expect_refused(plan("--rows 100"), 2, "leave out --rows");
  expect_refused(plan("--noise-multiplier 3"), 2, "--after");
  expect_refused(train(), 5, "could not be read");
}

}  // namespace
}  // namespace noisefloor
