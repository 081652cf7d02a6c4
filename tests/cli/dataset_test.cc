// The dataset's commands as their users type them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "program.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::Outcome;
using testing::shell;
using Json = nlohmann::json;

class CliDataset : public ::testing::Test {
 protected:
  void SetUp() override {
    std::mt19937_64 random(1);
    std::string rows = "id,age,ill\n";
    for (int i = 0; i < 400; ++i) {
      rows += std::to_string(random()) + "," + std::to_string(random() % 90) + "," +
              (random() % 2 == 0 ? "no" : "yes") + "\n";
    }
    write("patients.csv", rows);
    describe("patients");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path(name)) << text; }
  void describe(const std::string& name, const std::string& budget = "[budget]\nepsilon = 1\ndelta = 0\n",
                const std::string& file = "patients.csv") const {
    write(name + ".toml", "name = \"" + name + "\"\nrows = 400\n" + (budget.empty() ? "public = true\n" : "") +
                              "[data]\nformat = \"csv\"\nfile = \"" + file +
                              "\"\nlabel = \"ill\"\nclasses = [\"no\", \"yes\"]\n[[data.column]]\nname = \"age\"\n"
                              "lower = 0\nupper = 100\n" +
                              budget);
  }
  [[nodiscard]] Outcome run(const std::string& command) const {
    return shell("cd '" + folder_.path("") + "' && " + command);
  }
  [[nodiscard]] Json dataset(const std::string& arguments) const {
    const Outcome outcome = run("noisefloor dataset " + arguments + " --json");
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  void expect_failure(const std::string& command, int code, const std::string& part) const {
    const Outcome outcome = run("noisefloor " + command);
    EXPECT_EQ(outcome.exit_code, code) << command << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << command;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(CliDataset, IsAddedListedShownAndRetired) {
  const Json added = dataset("add patients.toml");
  EXPECT_EQ(added["new_ledger"], true);
  EXPECT_EQ(added["new_budget"], true);
  EXPECT_EQ(added["dataset"]["budget"]["epsilon"], 1);
  EXPECT_EQ(dataset("list")["datasets"].size(), 1U);
  EXPECT_EQ(dataset("show patients")["dataset"]["retired"], nullptr);
  EXPECT_EQ(dataset("retire patients --reason 'consent expired'")["dataset"]["retired"], "consent expired");
  expect_failure("budget reserve patients --key k --epsilon 0.1", 3, "consent expired");
  expect_failure("dataset show others", 2, "there are: 'patients'");
  EXPECT_EQ(run("noisefloor budget verify").exit_code, 0);
}

TEST_F(CliDataset, ACopyIsRefusedWithTheCommandThatAllowsIt) {
  EXPECT_EQ(run("noisefloor dataset add patients.toml").exit_code, 0);
  EXPECT_EQ(run("(head -1 patients.csv; tail -n +2 patients.csv | sort -r) | gzip >copy.csv.gz").exit_code, 0);
  describe("copy", "[budget]\nepsilon = 5\ndelta = 0\n", "copy.csv.gz");
  expect_failure("dataset add copy.toml", 3, "noisefloor dataset add 'copy.toml' --same-as 'patients'");
  EXPECT_EQ(dataset("add copy.toml --same-as patients")["dataset"]["budget"]["name"], "patients");
  describe("open", "");
  expect_failure("dataset add open.toml", 3, "declared public");
}

TEST_F(CliDataset, NoOutputShowsWhatIsRememberedOfRows) {
  EXPECT_EQ(run("noisefloor dataset add patients.toml").exit_code, 0);
  for (const char* command :
       {"dataset show patients --json", "dataset list --json", "budget history --json", "budget show --json"}) {
    const Outcome outcome = run(std::string("noisefloor ") + command);
    EXPECT_EQ(outcome.exit_code, 0) << command << outcome.err;
    EXPECT_EQ(outcome.out.find("sketch"), std::string::npos) << command;
    EXPECT_LT(outcome.out.size(), 10'000U) << command;
  }
}

TEST_F(CliDataset, ARefusedFileLeavesNothingBehind) {
  write("bad.toml", "name = \"bad\"\n[data]\nformat = \"csv\"\nfiel = \"x.csv\"\n");
  expect_failure("dataset add bad.toml", 2, "bad.toml:");
  describe("gone", "[budget]\nepsilon = 1\ndelta = 0\n", "gone.csv");
  expect_failure("dataset add gone.toml", 5, "gone.csv");
  EXPECT_NE(run("ls *ledger*").exit_code, 0);
}

TEST_F(CliDataset, ATrainingFileIsADescriptionToo) {
  describe("patients", "[budget]\nepsilon = 1\ndelta = 1e-6\n");
  write("risk.toml",
        "name = \"risk\"\n[data]\ndataset = \"patients.toml\"\n[model]\nkind = \"logistic\"\n[training]\n"
        "batch_size = 20\nepochs = 1\nclip_norm = 1.0\nlearning_rate = 0.1\n");
  EXPECT_EQ(dataset("add risk.toml")["dataset"]["name"], "patients");
  EXPECT_EQ(run("noisefloor check risk.toml").exit_code, 0);
  EXPECT_EQ(run("noisefloor check patients.toml").exit_code, 0);
}

// A training and a mechanism, each a process of its own, on the same rows under two names: one budget pays for both,
// and what does not fit is refused with exit code 3.
TEST_F(CliDataset, ATrainingAndAMechanismShareOneBudget) {
  describe("patients", "[budget]\nepsilon = 1\ndelta = 1e-6\n");
  write("risk.toml",
        "name = \"risk\"\n[data]\ndataset = \"patients.toml\"\n[model]\nkind = \"logistic\"\n[training]\n"
        "batch_size = 20\nepochs = 1\nclip_norm = 1.0\nlearning_rate = 0.1\n");
  EXPECT_EQ(run("(head -1 patients.csv; tail -n +2 patients.csv | sort -r) >copy.csv").exit_code, 0);
  describe("copy", "[budget]\nepsilon = 5\ndelta = 1e-6\n", "copy.csv");
  const std::string mean = "mechanism mean --dataset copy.toml --column age --epsilon 0.3 --key ";

  const Outcome trained = run("noisefloor train risk.toml --epsilon 0.5 --create --quiet --no-report");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  expect_failure(mean + "mean-age --create", 3, "dataset add 'copy.toml' --same-as 'patients'");
  EXPECT_EQ(dataset("add copy.toml --same-as patients")["dataset"]["budget"]["name"], "patients");
  const Outcome answered = run("noisefloor " + mean + "mean-age --json");
  ASSERT_EQ(answered.exit_code, 0) << answered.err;
  EXPECT_NE(answered.out.find("\"copy\""), std::string::npos) << "the answer names its dataset";
  const double spent = dataset("show patients")["dataset"]["budget"]["spent_share"];
  EXPECT_GT(spent, 0.79);
  EXPECT_LE(spent, 0.8 + 1e-9);

  expect_failure(mean + "mean-again", 3, "the budget 'patients' does not allow this");
  expect_failure("train risk.toml --epsilon 0.5 --key second --output second --quiet", 3, "'patients'");
  EXPECT_NE(run("ls second").exit_code, 0) << "a refused run leaves nothing behind";
  EXPECT_EQ(run("noisefloor " + mean + "mean-age").exit_code, 0) << "the same key gets the same answer";
  EXPECT_EQ(dataset("show patients")["dataset"]["budget"]["spent_share"], spent);
  EXPECT_EQ(run("noisefloor budget verify").exit_code, 0);
}

// Of two processes that ask at once for more than half, one is answered.
TEST_F(CliDataset, OfTwoProcessesAtOnceOneIsRefused) {
  EXPECT_EQ(run("noisefloor dataset add patients.toml").exit_code, 0);
  const std::string ask = "noisefloor mechanism sum --dataset patients.toml --column age --epsilon 0.6 --key ";
  const Outcome both = run("{ (" + ask + "a >/dev/null 2>&1; echo $? >a) & (" + ask +
                           "b >/dev/null 2>&1; echo $? >b) & wait; cat a b | sort | tr '\\n' ' '; }");
  EXPECT_EQ(both.out, "0 3 ");
  EXPECT_NEAR(dataset("show patients")["dataset"]["budget"]["spent_share"].get<double>(), 0.6, 1e-9);
}

TEST_F(CliDataset, AMechanismMakesNoBudgetSilently) {
  const std::string ask = "mechanism quantile --dataset patients.toml --column age --epsilon 0.1 --key median";
  expect_failure(ask, 2, "noisefloor dataset add patients.toml");
  EXPECT_NE(run("ls *ledger*").exit_code, 0);
  const Outcome dry = run("noisefloor " + ask + " --dry-run");
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_NE(dry.out.find("it would be made with the dataset"), std::string::npos) << dry.out;
  EXPECT_NE(run("ls *ledger*").exit_code, 0);
  EXPECT_EQ(run("noisefloor " + ask + " --create").exit_code, 0);
  expect_failure(ask + "2 --unit person", 2, "leave out --unit");
  expect_failure("mechanism sum --dataset patients.toml --column agge --epsilon 1 --key k", 2, "did you mean 'age'");
  expect_failure("mechanism sum --dataset patients.toml --column age --epsilon 1", 2, "--key");
  expect_failure("mechanism sum --epsilon 1", 2, "--dataset FILE with --column");
}

// A person is who the description said when the dataset was added. With the number of the row as the person, the same
// budget would pay for a guarantee about rows.
TEST_F(CliDataset, AnotherPersonIsRefused) {
  std::string visits = "visit,patient,age,ill\n";
  for (int i = 0; i < 300; ++i) {
    visits += std::to_string(7'000'001 + 13 * i) + "," + std::to_string(i / 3) + "," + std::to_string(i % 90) + "," +
              (i % 7 == 0 ? "yes" : "no") + "\n";
  }
  write("visits.csv", visits);
  const auto describe_by = [&](const std::string& unit) {
    write("visits.toml",
          "name = \"visits\"\n[data]\nformat = \"csv\"\nfile = \"visits.csv\"\nlabel = \"ill\"\n"
          "classes = [\"no\", \"yes\"]\n[[data.column]]\nname = \"age\"\n"
          "lower = 0\nupper = 100\n[budget]\nepsilon = 1\ndelta = 0\n" +
              unit);
  };
  describe_by("[unit]\nof = \"person\"\ncolumn = \"patient\"\nrows_per_person = 3\n");
  const std::string ask = "mechanism sum --dataset visits.toml --column age --epsilon 0.25 --key ";
  EXPECT_EQ(run("noisefloor dataset add visits.toml").exit_code, 0);
  EXPECT_EQ(run("noisefloor " + ask + "a").exit_code, 0);
  describe_by("[unit]\nof = \"person\"\ncolumn = \"visit\"\nrows_per_person = 1\n");
  expect_failure(ask + "b", 2, "told apart by the column 'patient'");
  describe_by("");
  expect_failure(ask + "b", 2, "for add-remove of one person, and this use is for add-remove of one row");
  describe_by("[unit]\nof = \"person\"\ncolumn = \"patient\"\nrows_per_person = 2\n");
  EXPECT_EQ(run("noisefloor " + ask + "b").exit_code, 0) << "fewer rows of the same person";
  EXPECT_NEAR(dataset("show visits")["dataset"]["budget"]["spent_share"].get<double>(), 0.5, 1e-9);
}

// What a newcomer does first: init, fill in, check, train.
TEST_F(CliDataset, InitWritesFilesThatCheckSaysHowToFillIn) {
  ASSERT_EQ(run("noisefloor init patients.csv --name study").exit_code, 0);
  const Outcome blank = run("noisefloor check study.toml");
  EXPECT_EQ(blank.exit_code, 2) << blank.out;
  EXPECT_NE(blank.out.find("study.toml:"), std::string::npos) << blank.out;
  EXPECT_EQ(run("noisefloor dataset add study.toml").exit_code, 2) << "a blank is no bound";
  EXPECT_EQ(run("noisefloor init patients.csv --name study").exit_code, 2) << "nothing is overwritten";
  const Outcome checked = run("noisefloor check patients.toml");
  EXPECT_EQ(checked.exit_code, 0) << checked.out;
  EXPECT_EQ(run("sed -i 's/^id,age,ill/id,Age,ill/' patients.csv").exit_code, 0);
  const Outcome misspelt = run("noisefloor check patients.toml");
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_NE(misspelt.out.find("did you mean 'Age'"), std::string::npos) << misspelt.out;
}

}  // namespace
}  // namespace noisefloor
