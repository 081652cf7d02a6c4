// `noisefloor train` and `noisefloor evaluate`, as their users meet them.
#include <gtest/gtest.h>

#include <algorithm>
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

class CliTrain : public ::testing::Test {
 protected:
  CliTrain() {
    write("data.csv", toy_table());
    write("train.toml", toy_toml());
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path(name)) << text; }
  [[nodiscard]] std::string read(const std::string& name) const { return testing::read_file(folder_.path(name)); }
  [[nodiscard]] std::string train(const std::string& more, const std::string& output) const {
    return "train " + folder_.path("train.toml") + " --create --ledger " + folder_.path("ledger") + " --output " +
           folder_.path(output) + " " + more;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(CliTrain, FromABudgetToACertifiedModel) {
  const Outcome outcome = noisefloor_run(train("--json --quiet", "out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json report = Json::parse(outcome.out);
  EXPECT_LE(report["epsilon"]["upper"], 2.0);
  EXPECT_GT(report["epsilon"]["upper"], 1.999);
  EXPECT_GT(report["test"]["accuracy"], 0.9);
  EXPECT_GT(report["test"]["f1"], 0.9);
  EXPECT_EQ(report["steps"], 40);
  // The certificate says the same, and what it is about.
  const Json certificate = Json::parse(read("out/certificate.json"));
  EXPECT_EQ(certificate["epsilon"], report["epsilon"]);
  EXPECT_EQ(certificate["private"], true);
  EXPECT_EQ(certificate["ledger"]["budget"], "toy");
  EXPECT_NE(read("out/model.safetensors").find("noisefloor_certificate"), std::string::npos);
  EXPECT_NE(read("out/metrics.jsonl").find("\"step\":40"), std::string::npos);
  // The statement in it can be accounted for by anyone.
  write("statement.json", certificate["statement"].dump());
  const Outcome again = noisefloor_run("account events --json --delta 1e-5 --input " + folder_.path("statement.json"));
  EXPECT_EQ(Json::parse(again.out)["epsilon"]["upper"], report["epsilon"]["upper"]) << again.err;
  // Anyone can check it, and what was altered is found.
  const std::string verify = "verify " + folder_.path("out/model.safetensors") + " --ledger " + folder_.path("ledger");
  EXPECT_EQ(noisefloor_run(verify).exit_code, 0) << noisefloor_run(verify).err;
  EXPECT_EQ(Json::parse(noisefloor_run(verify + " --json").out)["ledger_checked"], true);
  EXPECT_EQ(noisefloor_run("verify " + folder_.path("out/certificate.json")).exit_code, 0);
  std::string altered = read("out/model.safetensors");
  altered.back() = static_cast<char>(altered.back() ^ 1);
  write("altered.safetensors", altered);
  expect_refused("verify " + folder_.path("altered.safetensors"), 6, "the content of the file is not");
  ASSERT_EQ(noisefloor_run("budget create b --epsilon 1 --ledger " + folder_.path("another")).exit_code, 0);
  expect_refused("verify " + folder_.path("out/model.safetensors") + " --ledger " + folder_.path("another"), 6,
                 "another ledger");
  // The ledger knows of it, and it verifies.
  const Outcome history = noisefloor_run("budget show toy --json --ledger " + folder_.path("ledger"));
  EXPECT_EQ(history.exit_code, 0) << history.err;
  EXPECT_EQ(noisefloor_run("budget verify --ledger " + folder_.path("ledger")).exit_code, 0);
  // The model is what was measured.
  const Outcome evaluated = noisefloor_run("evaluate " + folder_.path("train.toml") + " --json --model " +
                                           folder_.path("out/model.safetensors"));
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(Json::parse(evaluated.out)["test"], report["test"]);
}

TEST_F(CliTrain, TheLossIsShownWhereItIsPublic) {
  std::string text = toy_toml();
  text.replace(text.find("test_fraction = 0.2"), 19, "test_fraction = 0.2\nvalidation_fraction = 0.1");
  write("train.toml", text);
  const Outcome outcome = noisefloor_run(train("", "out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("validation loss 0."), std::string::npos) << outcome.err;
  EXPECT_NE(read("out/metrics.jsonl").find("\"validation_loss\":0."), std::string::npos);
}

TEST_F(CliTrain, TheBudgetIsOneForAllTrainings) {
  ASSERT_EQ(noisefloor_run(train("--quiet", "out")).exit_code, 0);
  const std::string model = read("out/model.safetensors");
  const Outcome again = noisefloor_run(train("--quiet --json", "out"));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out)["again"], true);
  EXPECT_EQ(read("out/model.safetensors"), model);
  expect_refused(train("--quiet --key other --epsilon 1", "out"), 2, "is there already");
  expect_refused(train("--quiet", "second"), 2, "another key");
  expect_refused(train("--quiet --key second", "second"), 3, "Nothing was spent");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("second/model.safetensors")));
}

TEST_F(CliTrain, WithoutPrivacyItSaysSoAndSpendsNothing) {
  for (const std::string& change : {std::string("--replay-seed 7"), std::string()}) {
    if (change.empty()) write("train.toml", toy_toml() + "noise = \"none\"\n");
    const std::string output = change.empty() ? "plain" : "replayed";
    const Outcome outcome = noisefloor_run(train("--quiet " + change, output));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("NOT PRIVATE"), std::string::npos) << outcome.out;
    EXPECT_EQ(Json::parse(read(output + "/certificate.json"))["private"], false);
  }
  const Outcome shown = noisefloor_run("budget show toy --json --ledger " + folder_.path("ledger"));
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(Json::parse(shown.out)["budget"]["spent_share"], 0);
}

// The attacks: a look without noise before a private training is named by its certificate, and is refused where no
// ledger would know of it.
TEST_F(CliTrain, WhatLookedAtTheRowsWithoutNoiseIsNamed) {
  const std::string toml = toy_toml();
  const std::string alone = "train " + folder_.path("train.toml") + " --quiet --output " + folder_.path("nothing") +
                            " --ledger " + folder_.path("nowhere");
  for (const char* plain : {"", "noise = \"none\"\n"}) {
    write("train.toml", toml + plain);
    const std::string seed = *plain == 0 ? " --replay-seed 7" : "";
    expect_refused(alone + seed, 2, "public = true");
    EXPECT_FALSE(std::filesystem::exists(folder_.path("nowhere")));
    EXPECT_FALSE(std::filesystem::exists(folder_.path("nothing")));
    ASSERT_EQ(noisefloor_run(train("--quiet" + seed, *plain == 0 ? "replayed" : "plain")).exit_code, 0);
  }
  write("train.toml", toml);
  ASSERT_EQ(noisefloor_run(train("--quiet", "out")).exit_code, 0);
  const std::string verify = "verify " + folder_.path("out") + " --ledger " + folder_.path("ledger");
  const Outcome verified = noisefloor_run(verify);
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
  for (const char* kind : {"training with repeatable noise", "training without noise", "evaluation on private rows"}) {
    EXPECT_NE(verified.out.find(kind), std::string::npos) << verified.out;
  }
  EXPECT_NE(verified.out.find("3 times"), std::string::npos) << verified.out;
  EXPECT_EQ(Json::parse(noisefloor_run(verify + " --json").out)["exposures"].size(), 3U);
  EXPECT_NE(read("out/report.html").find("training without noise"), std::string::npos);
  // Without the list it is no certificate of its signer's.
  nlohmann::ordered_json shorter = nlohmann::ordered_json::parse(read("out/certificate.json"));
  shorter.erase("exposures");
  write("shorter.json", shorter.dump(2) + "\n");
  expect_refused("verify " + folder_.path("shorter.json"), 6, "altered after it was signed");
  EXPECT_EQ(noisefloor_run("budget verify --ledger " + folder_.path("ledger")).exit_code, 0);
}

TEST_F(CliTrain, PublicRowsNeedNoLedgerWithoutNoise) {
  write("train.toml", testing::declared_public(toy_toml()));
  const std::string run = "train " + folder_.path("train.toml") + " --quiet --replay-seed 7 --ledger " +
                          folder_.path("ledger") + " --output " + folder_.path("public");
  ASSERT_EQ(noisefloor_run(run).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ledger")));
  EXPECT_EQ(Json::parse(read("public/certificate.json"))["public_data"], true);
  // Once the rows are private in the ledger, nobody declares them public.
  write("train.toml", toy_toml());
  ASSERT_EQ(noisefloor_run(train("--quiet", "out")).exit_code, 0);
  std::string fresh = testing::declared_public(toy_toml());
  fresh.replace(fresh.find("epsilon = 2.0\n"), 14, "epsilon = 2.0\nname = \"fresh\"\n");
  write("train.toml", fresh);
  std::filesystem::remove_all(folder_.path("public"));
  expect_refused(run, 3, "private dataset 'toy'");
}

TEST_F(CliTrain, AReplayRepeatsItself) {
  ASSERT_EQ(noisefloor_run(train("--quiet --replay-seed 7 --threads 2", "a")).exit_code, 0);
  ASSERT_EQ(noisefloor_run(train("--quiet --replay-seed 7 --threads 2", "b")).exit_code, 0);
  ASSERT_EQ(noisefloor_run(train("--quiet --replay-seed 8 --threads 2", "c")).exit_code, 0);
  EXPECT_EQ(read("a/model.safetensors"), read("b/model.safetensors"));
  EXPECT_NE(read("a/model.safetensors"), read("c/model.safetensors"));
}

// The toy table with a column "who": `people` of them, or one for each row.
std::string table_of_people(int people) {
  const std::string all = toy_table();
  std::string table;
  int row = -1;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\n', begin);
    table += all.substr(begin, end - begin) + (row < 0 ? ",who" : ",P" + std::to_string(row % people)) + "\n";
    ++row;
    begin = end + 1;
  }
  return table;
}

std::string by_person(const std::string& toml, int people = 500) {
  const std::string label = "label = \"kind\"\n";
  std::string text = toml;
  text.insert(text.find(label),
              "unit = \"person\"\nperson = \"who\"\nrows_per_person = 3\npeople = " + std::to_string(people) + "\n");
  return text;
}

TEST_F(CliTrain, PeopleAreProtectedWithAllTheirRows) {
  write("data.csv", table_of_people(500));
  write("train.toml", by_person(toy_toml()));
  const Outcome outcome = noisefloor_run(train("--json --quiet", "out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_GT(report["people"], 350);
  EXPECT_LT(report["people"], 450);
  EXPECT_FALSE(report.contains("examples")) << "how many rows they have is private";
  EXPECT_GT(report["test"]["accuracy"], 0.8);
  const Json certificate = Json::parse(read("out/certificate.json"));
  EXPECT_EQ(certificate["statement"]["unit"], "person");
  EXPECT_EQ(certificate["configuration"]["rows_per_person"], 3);
  const Json budget = Json::parse(noisefloor_run("budget show toy --json --ledger " + folder_.path("ledger")).out);
  EXPECT_NE(budget.dump().find("\"person\""), std::string::npos) << budget;
  EXPECT_EQ(noisefloor_run("verify " + folder_.path("out/model.safetensors") + " --ledger " + folder_.path("ledger"))
                .exit_code,
            0);
  EXPECT_NE(noisefloor_run("check " + folder_.path("train.toml")).out.find("unit person"), std::string::npos);
  // A budget of people does not pay for rows.
  write("train.toml", toy_toml());
  const Outcome rows = noisefloor_run(train("--quiet --key again", "rows"));
  EXPECT_NE(rows.exit_code, 0);
  EXPECT_NE(rows.err.find("person"), std::string::npos) << rows.err;
}

TEST_F(CliTrain, WithOneRowEachPeopleAreTrainedOnAsRows) {
  for (const char* more : {"steps = 12\n", "steps = 12\nnoise = \"discrete\"\n"}) {
    const std::string name = std::string(more).size() > 12 ? "discrete" : "gaussian";
    write("data.csv", table_of_people(2000));
    write("train.toml", testing::declared_public(toy_toml(more)));
    ASSERT_EQ(noisefloor_run(train("--quiet --replay-seed 5", name + "-rows")).exit_code, 0);
    write("train.toml", by_person(testing::declared_public(toy_toml(more)), 2000));
    const Outcome people = noisefloor_run(train("--quiet --replay-seed 5", name + "-people"));
    ASSERT_EQ(people.exit_code, 0) << people.err;
    const auto weights = [&](const std::string& folder) {
      return Json::parse(read(folder + "/certificate.json"))["released"]["digest"];
    };
    EXPECT_FALSE(weights(name + "-rows").is_null());
    EXPECT_EQ(weights(name + "-rows"), weights(name + "-people")) << "the digest of the weights";
  }
}

TEST_F(CliTrain, WhatIsWrongAboutPeopleIsNamedAndNothingIsSpent) {
  std::string toml = by_person(toy_toml());
  write("train.toml", toml);
  expect_refused(train("--quiet", "out"), 4, "names no column 'who'");
  std::string table = table_of_people(500);
  table.replace(table.find(",P7\n"), 4, ",\n");
  // A row that is nobody's is private, too, and no error.
  write("data.csv", table);
  EXPECT_EQ(noisefloor_run(train("--quiet --dry-run", "out")).exit_code, 0);
  // Delta is compared with the number of people.
  write("data.csv", table_of_people(500));
  toml.replace(toml.find("delta = 1e-5"), 12, "delta = 3e-3");
  write("train.toml", toml);
  expect_refused(train("--quiet", "out"), 2, "1/people");
  toml.replace(toml.find("delta = 3e-3"), 12, "delta = 1e-5");
  toml.replace(toml.find("batch_size = 200"), 16, "batch_size = 900");
  write("train.toml", toml);
  expect_refused(train("--quiet", "out"), 2, "people; the largest batch");
}

TEST_F(CliTrain, DiscreteNoiseIsCertifiedToo) {
  write("train.toml", toy_toml() + "noise = \"discrete\"\n");
  const Outcome outcome = noisefloor_run(train("--json --quiet", "out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_LE(report["epsilon"]["upper"], 2.0);
  EXPECT_GT(report["epsilon"]["upper"], 1.999);
  EXPECT_GT(report["test"]["accuracy"], 0.9);
  EXPECT_NE(read("out/certificate.json").find("discrete_gaussian"), std::string::npos);
}

TEST_F(CliTrain, AKilledTrainingGoesOnAndIsChargedAgain) {
  std::string text = toy_toml();
  text.replace(text.find("steps = 40"), 10, "steps = 60000");
  write("train.toml", text);
  const std::string options = "--quiet --noise-multiplier 2000 --delta 1e-6 --threads 1 --checkpoint-every 0.05";
  const auto spent = [&] {
    const Outcome shown = noisefloor_run("budget show toy --json --ledger " + folder_.path("ledger"));
    return Json::parse(shown.out)["epsilon_spent"].get<double>();
  };
  const Outcome killed =
      testing::run_until(train(options, "out"), folder_.path("out/checkpoint.safetensors"), "kill -KILL $first");
  ASSERT_NE(killed.exit_code, 0) << "the training was over too soon for this test";
  ASSERT_TRUE(std::filesystem::exists(folder_.path("out/checkpoint.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out/model.safetensors")));
  const double before = spent();
  expect_refused(train(options, "out"), 3, "--resume");
  EXPECT_EQ(spent(), before);
  const std::string resume = options + " --resume " + folder_.path("out/checkpoint.safetensors");
  // Not with other noise, not on a damaged file, not on another ledger.
  expect_refused(
      train("--quiet --noise-multiplier 1999 --delta 1e-6 --resume " + folder_.path("out/checkpoint.safetensors"),
            "out"),
      2, "other settings");
  write("damaged", read("out/checkpoint.safetensors").substr(1));
  expect_refused(train(options + " --resume " + folder_.path("damaged"), "out"), 4, "");
  EXPECT_EQ(spent(), before);
  const Outcome resumed = noisefloor_run(train(resume + " --json", "out"));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(Json::parse(resumed.out)["steps"], 60000);
  EXPECT_GT(spent(), 1.5 * before);
  const Json certificate = Json::parse(read("out/certificate.json"));
  EXPECT_EQ(certificate["ledger"]["reservations"].size(), 2U);
  EXPECT_EQ(certificate["steps"], 60000);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out/checkpoint.safetensors"))) << "what is finished needs none";
  EXPECT_EQ(noisefloor_run("budget verify --ledger " + folder_.path("ledger")).exit_code, 0);
}

// Ctrl-C: the model so far, with a certificate of the steps that were made; the plan stays paid for.
TEST_F(CliTrain, AnInterruptedTrainingGivesTheModelSoFar) {
  std::string text = toy_toml();
  text.replace(text.find("steps = 40"), 10, "steps = 6000000");
  write("train.toml", text);
  const Outcome outcome = testing::run_until(train("--quiet --json --threads 1", "out"),
                                             folder_.path("out/metrics.jsonl"), "kill -INT $first");
  ASSERT_NE(outcome.out, "") << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_LT(report["steps"], 6000000);
  // The moment was chosen by someone who saw the progress: the certificate covers all planned steps.
  EXPECT_NEAR(report["epsilon"]["upper"].get<double>(), 2.0, 0.01);
  EXPECT_EQ(Json::parse(read("out/certificate.json"))["steps"], report["steps"]);
  EXPECT_EQ(noisefloor_run("verify " + folder_.path("out/model.safetensors") + " --ledger " + folder_.path("ledger"))
                .exit_code,
            0);
  EXPECT_TRUE(std::filesystem::exists(folder_.path("out/checkpoint.safetensors")));
  const Outcome shown = noisefloor_run("budget show toy --json --ledger " + folder_.path("ledger"));
  EXPECT_NEAR(Json::parse(shown.out)["epsilon_spent"].get<double>(), 2.0, 0.01);
}

// The attack on version 0.1: without key, signature and ledger any epsilon passed as true.
TEST_F(CliTrain, WhatNobodySignedIsNotVerified) {
  ASSERT_EQ(noisefloor_run(train("--quiet", "out")).exit_code, 0);
  const nlohmann::ordered_json whole = nlohmann::ordered_json::parse(read("out/certificate.json"));
  nlohmann::ordered_json forged = whole;
  for (const char* field : {"public_key", "signature", "ledger"}) forged.erase(field);
  write("forged.json", forged.dump(2) + "\n");
  expect_refused("verify " + folder_.path("forged.json"), 6, "nobody has signed it");
  expect_refused("report " + folder_.path("forged.json") + " --output " + folder_.path("forged.html"), 6, "nobody");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("forged.html")));
  // A valid signature does not say whose it is, and neither does a ledger that lay beside it.
  const std::string verify = "verify " + folder_.path("out") + " --json";
  const Json unknown = Json::parse(noisefloor_run(verify).out);
  EXPECT_EQ(unknown["signer"]["known"], false);
  const auto key = whole["public_key"].get<std::string>();
  EXPECT_EQ(unknown["signer"]["key"], key);
  EXPECT_EQ(Json::parse(noisefloor_run(verify + " --signer " + key).out)["signer"]["known"], true);
  EXPECT_EQ(Json::parse(noisefloor_run(verify + " --ledger " + folder_.path("ledger")).out)["signer"]["known"], true);
  write("signers", "# who may sign\n" + key + " The registry\n");
  EXPECT_EQ(Json::parse(noisefloor_run(verify + " --signer " + folder_.path("signers")).out)["signer"]["name"],
            "'The registry'");
  std::string other = key;
  other[0] = other[0] == 'a' ? 'b' : 'a';
  expect_refused("verify " + folder_.path("out") + " --signer " + other, 6, "none of the keys that you trust");
  expect_refused("verify " + folder_.path("out") + " --signer " + folder_.path("nowhere"), 5, "nowhere");
}

// The attack on version 0.1: train without noise, then take one private step at a tiny rate from there. The weights
// stay what they were, and the certificate said epsilon 0.0007.
TEST_F(CliTrain, WeightsWithoutPrivacyAreNotLaunderedByAPrivateStep) {
  const std::string plain = toy_toml("steps = 40\nnoise = \"none\"\n");
  write("train.toml", plain);
  ASSERT_EQ(noisefloor_run(train("--quiet", "plain")).exit_code, 0);
  const auto launder = [&](const std::string& model) {
    std::string text = toy_toml("steps = 1\nnoise_multiplier = 100\ntarget_delta = 1e-6\n");
    text.replace(text.find("learning_rate = 2.0"), 19, "learning_rate = 1e-12");
    text.replace(text.find("kind = \"logistic\"\n"), 18, "kind = \"logistic\"\n" + model);
    write("train.toml", text);
  };
  const std::string start = "start_from = \"plain/model.safetensors\"\n";
  launder(start);
  expect_refused(train("--quiet", "out"), 2, "without privacy");
  launder(start + "start_is_public = \"trust me\"\n");
  expect_refused(train("--quiet", "out"), 2, "not declared public");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out")));
  // A refused run leaves no ledger, no key and no dataset behind.
  expect_refused("sweep " + folder_.path("train.toml") + " --epsilons 0.5 --quiet --create --output " +
                     folder_.path("out") + " --ledger " + folder_.path("other"),
                 2, "not declared public");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("other")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("other.key")));
  // From a model that was paid for, the cost of that model is part of the new certificate.
  write("train.toml", toy_toml("steps = 40\ntarget_epsilon = 1.5\ntarget_delta = 5e-6\n"));
  ASSERT_EQ(noisefloor_run(train("--quiet", "first")).exit_code, 0);
  launder("start_from = \"first/model.safetensors\"\n");
  const Outcome second = noisefloor_run(train("--quiet --json --key second", "second"));
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_GT(Json::parse(second.out)["epsilon"]["upper"], 1.4);
  const Json certificate = Json::parse(read("second/certificate.json"));
  EXPECT_EQ(certificate["started_from"]["digest"], Json::parse(read("first/certificate.json"))["released"]["digest"]);
  const std::string verify = "verify " + folder_.path("second") + " --ledger " + folder_.path("ledger");
  const Outcome verified = noisefloor_run(verify);
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_NE(verified.out.find("whose cost is included"), std::string::npos) << verified.out;
}

TEST_F(CliTrain, PredictsForExamplesWithoutLabels) {
  ASSERT_EQ(noisefloor_run(train("--quiet", "out")).exit_code, 0);
  write("new.csv", "y,x\n0.9,0.9\n-0.9,-0.8\n");
  const std::string predict = "predict " + folder_.path("train.toml") + " --model " +
                              folder_.path("out/model.safetensors") + " --output " + folder_.path("p.csv");
  const Outcome outcome = noisefloor_run(predict + " --input " + folder_.path("new.csv"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string csv = read("p.csv");
  EXPECT_EQ(csv.rfind("example,prediction,p(no),p(yes)\n0,yes,", 0), 0U) << csv;
  EXPECT_NE(csv.find("\n1,no,"), std::string::npos) << csv;
  // To standard output, with an id for each example.
  write("new.csv", "name,y,x\nAda,0.9,0.9\nBob,-0.9,-0.8\n");
  const std::string listed = "predict " + folder_.path("train.toml") + " --model " +
                             folder_.path("out/model.safetensors") + " --output - --id name --input " +
                             folder_.path("new.csv");
  const Outcome printed = noisefloor_run(listed);
  EXPECT_EQ(printed.out.rfind("name,prediction,p(no),p(yes)\nAda,yes,", 0), 0U) << printed.out << printed.err;
  EXPECT_NE(printed.out.find("\nBob,no,"), std::string::npos) << printed.out;
  EXPECT_EQ(std::count(printed.out.begin(), printed.out.end(), '\n'), 3) << "the table and nothing else";
  expect_refused(listed + " --json", 2, "--output -");
  expect_refused(predict + " --id nobody --input " + folder_.path("new.csv"), 4, "'nobody'");
  write("new.csv", "x\n0.9\n");
  expect_refused(predict + " --input " + folder_.path("new.csv"), 4, "'y'");
  expect_refused(predict + " --input " + folder_.path("none.csv"), 5, "none.csv");
}

// Not even one step with so little noise fits: nothing is drawn, and all of the budget is left.
TEST_F(CliTrain, ABudgetTooSmallForOneStepIsNotTouched) {
  const std::string error = testing::expect_clean_failure(train("--quiet --noise-multiplier 0.05", "out"), 3);
  EXPECT_NE(error.find("noise multiplier"), std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ledger"))) << "what is refused leaves nothing behind";
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ledger.key")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out")));
  const std::string create =
      "budget create toy --epsilon 2 --delta 1e-5 --rule basic --ledger " + folder_.path("ledger");
  ASSERT_EQ(noisefloor_run(create).exit_code, 0);
  EXPECT_EQ(testing::expect_clean_failure(train("--quiet --noise-multiplier 0.05", "out"), 3), error);
  const Outcome shown = noisefloor_run("budget show toy --json --ledger " + folder_.path("ledger"));
  EXPECT_EQ(Json::parse(shown.out)["epsilon_spent"], 0) << shown.out;
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out")));
  ASSERT_EQ(noisefloor_run(train("--quiet", "out")).exit_code, 0);
}

TEST_F(CliTrain, TheNotesSayHowItWasCalled) {
  ASSERT_EQ(noisefloor_run(train("--quiet --key one --epsilon 1", "out")).exit_code, 0);
  const std::string command = Json::parse(read("out/run.json"))["command"];
  EXPECT_EQ(command, "noisefloor train " + folder_.path("train.toml") + " --epsilon 1 --key one --output " +
                         folder_.path("out") + " --ledger " + folder_.path("ledger"));
}

TEST_F(CliTrain, ADryRunSaysWhatWouldBeChargedAndTouchesNothing) {
  const Outcome first = noisefloor_run(train("--json --dry-run", "out"));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Json cost = Json::parse(first.out);
  EXPECT_EQ(cost["fits"], true);
  EXPECT_EQ(cost["budget_exists"], false);
  EXPECT_LE(cost["epsilon"]["upper"], 2.0);
  EXPECT_EQ(cost["steps"], 40);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ledger")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out")));
  // It is what is charged then; and afterwards there is nothing left.
  const Json made = Json::parse(noisefloor_run(train("--json --quiet", "out")).out);
  EXPECT_EQ(made["epsilon"], cost["epsilon"]);
  EXPECT_EQ(made["noise_multiplier"], cost["noise_multiplier"]);
  const std::string ledger = read("ledger");
  const Outcome second = noisefloor_run(train("--json --dry-run --key second", "second"));
  EXPECT_EQ(second.exit_code, 3) << second.err;
  EXPECT_EQ(Json::parse(second.out)["fits"], false);
  const std::string sweep = "sweep " + folder_.path("train.toml") + " --json --dry-run --epsilons 0.5,1,inf --ledger " +
                            folder_.path("ledger") + " --output " + folder_.path("sweep");
  const Outcome swept = noisefloor_run(sweep);
  EXPECT_EQ(swept.exit_code, 3) << swept.err;
  EXPECT_EQ(Json::parse(swept.out)["epsilon"], 1.5);
  EXPECT_EQ(Json::parse(swept.out)["runs"].size(), 3U);
  EXPECT_EQ(Json::parse(noisefloor_run(train("--json --dry-run --replay-seed 1", "second")).out)["charged"], false);
  EXPECT_EQ(read("ledger"), ledger);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("second")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("sweep")));
}

TEST_F(CliTrain, ImagesThatAreCutAreNamedAndMislabelledOnesAreNoError) {
  const auto [images, labels] = testing::toy_images(4);
  const std::string model = "kind = \"logistic\"";
  write("train.toml", testing::toy_images_toml(model, ""));
  write("labels", labels);
  write("images", images.substr(0, images.size() - 1));
  expect_refused(train("--quiet", "bad"), 4, "images");
  write("images", images);
  write("labels", labels.substr(0, 100));
  expect_refused(train("--quiet", "bad"), 4, "labels");
  std::string wrong = labels;
  wrong[8 + 17] = 2;
  write("labels", wrong);
  EXPECT_EQ(noisefloor_run(train("--quiet --dry-run", "bad")).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ledger")));
  // As they are, they can be learned; with copies and discrete noise, too.
  write("labels", labels);
  write("train.toml", testing::toy_images_toml(model, "noise = \"discrete\"\ncopies = 2\nmirror = true\n"));
  const Outcome outcome = noisefloor_run(train("--quiet --json", "out"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(Json::parse(outcome.out)["test"]["accuracy"], 0.9);
}

TEST_F(CliTrain, ASweepMeasuresWhatPrivacyCosts) {
  const std::string sweep = "sweep " + folder_.path("train.toml") + " --create --ledger " + folder_.path("ledger") +
                            " --output " + folder_.path("sweep") + " --quiet ";
  expect_refused(sweep + "--epsilons 1,2,inf", 3, "spend 3 together");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("ledger")));
  expect_refused(sweep + "--epsilons 1,1", 2, "twice");
  expect_refused(sweep + "--epsilons 1,nought", 2, "nought");
  expect_refused(sweep + "--epsilons 0", 2, "epsilon");
  const Outcome outcome = noisefloor_run(sweep + "--epsilons inf,0.5,1.5 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  ASSERT_EQ(report["runs"].size(), 3U);
  EXPECT_EQ(report["delta"], 5e-6) << "each private run takes half";
  EXPECT_GT(report["runs"][0]["noise_multiplier"], report["runs"][1]["noise_multiplier"]);
  EXPECT_LE(report["runs"][0]["certified_epsilon"], 0.5);
  EXPECT_TRUE(report["runs"][2]["epsilon"].is_null());
  EXPECT_EQ(report["runs"][2]["loss_of_utility"], 0.0);
  EXPECT_GT(report["runs"][1]["accuracy"], 0.8);
  const std::string table = read("sweep/sweep.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 4) << table;
  EXPECT_NE(read("sweep/sweep.svg").find("without privacy"), std::string::npos);
  EXPECT_EQ(table.find("recall"), std::string::npos) << "no run has it";
  // For people: no column without a number, no -0.0, and a word on the model without privacy.
  std::filesystem::remove_all(folder_.path("sweep/without-privacy"));
  const Outcome shown = noisefloor_run(sweep + "--epsilons inf,0.5,1.5");
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out.find("recall"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("-0.0%"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("Keep this file inside your organisation: it is not private."), std::string::npos);
  // Both runs are in the ledger, and nothing is left for a third.
  expect_refused(train("--quiet --epsilon 0.1 --key more", "more"), 3, "Nothing was spent");
}

TEST_F(CliTrain, BadInputIsNamedAndNothingIsSpent) {
  const auto refused = [&](const std::string& from, const std::string& to, int code, const std::string& named) {
    std::string text = toy_toml();
    if (const std::size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
    write("train.toml", text);
    expect_refused(train("--quiet", "bad"), code, named);
    EXPECT_FALSE(std::filesystem::exists(folder_.path("ledger"))) << named;
  };
  refused("batch_size = 200", "batch_size = 5000", 2, "train.toml:23: a batch of 5000");
  refused("learning_rate", "learning_rat", 2, "learning_rate");
  refused("kind = \"logistic\"", "kind = \"logistik\"", 2, "logistic");
  refused("\"data.csv\"", "\"nowhere.csv\"", 5, "nowhere.csv");
  refused("label = \"kind\"", "label = \"sort\"", 4, "sort");
  refused("name = \"x\"", "name = \"z\"", 4, "z");
  refused("clip_norm = 1.0", "", 2, "clip_norm");
  refused("epsilon = 2.0", "epsilon = nan", 2, "epsilon");
  refused("delta = 1e-5", "delta = 0.0009", 2, "1/rows");
  refused("kind = \"logistic\"", "kind = \"layers\"\n[[model.layer]]\ntype = \"lineer\"\noutputs = 2", 2,
          "train.toml:23");
  write("train.toml", toy_toml());
  expect_refused(train("--quiet --epsilon -1", "bad"), 2, "epsilon");
  expect_refused(train("--quiet --threads 0", "bad"), 2, "--threads");
  write("data.csv", "987,987\n");
  expect_refused(train("--quiet", "bad"), 4, "data.csv: the first line cannot be read as the names of the columns");
  write("data.csv", "");
  expect_refused(train("--quiet", "bad"), 4, "data.csv: the first line");
  expect_refused("train " + folder_.path("none.toml"), 5, "none.toml");
}

}  // namespace
}  // namespace noisefloor
