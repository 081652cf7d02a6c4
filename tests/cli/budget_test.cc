// The budget's commands as their users type them, on SQLite; the suites in noisefloor/ledger run against both
// databases.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::noisefloor_run;
using testing::Outcome;
using testing::shell;
using Json = nlohmann::json;

class CliBudget : public ::testing::Test {
 protected:
  // Runs `noisefloor budget ARGUMENTS` in a folder of the test's own.
  [[nodiscard]] Outcome budget(const std::string& arguments) const {
    return shell("cd '" + folder_.path("") + "' && noisefloor budget " + arguments);
  }
  [[nodiscard]] Json budget_json(const std::string& arguments) const {
    const Outcome outcome = budget(arguments + " --json");
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  void expect_failure(const std::string& arguments, int code, const std::string& part) const {
    const Outcome outcome = budget(arguments);
    EXPECT_EQ(outcome.exit_code, code) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_LT(outcome.err.size(), 700U) << outcome.err;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(CliBudget, TheLifeOfASpend) {
  const Json made = budget_json("create trial --epsilon 3 --delta 1e-5 --unit person --rule zcdp");
  EXPECT_EQ(made["new_ledger"], true);
  EXPECT_EQ(made["budget"]["rule"], "zcdp");
  const Json spend = budget_json("reserve trial --key age --noise-multiplier 20 --purpose 'Mean age'");
  EXPECT_EQ(spend["reservation"], 2);
  EXPECT_EQ(spend["repeated"], false);
  EXPECT_EQ(spend["statement"]["unit"], "person");
  // Until it is committed nobody knows whether its noise was drawn.
  expect_failure("reserve trial --key age --noise-multiplier 20 --purpose 'Mean age'", 3, "counts as spent");
  ASSERT_EQ(shell("printf 42.5 > '" + folder_.path("answer") + "'").exit_code, 0);
  EXPECT_EQ(budget_json("commit 2 --release answer --keep --accuracy 0.9")["kept"], true);
  const Json again = budget_json("reserve trial --key age --noise-multiplier 20 --purpose 'Mean age' --output same");
  EXPECT_EQ(again["repeated"], true);
  EXPECT_EQ(testing::read_file(folder_.path("same")), "42.5");
  const Json shown = budget_json("show trial");
  EXPECT_EQ(shown["budget"]["uses"]["committed"], 1);
  EXPECT_GE(shown["epsilon_spent"].get<double>(), shown["epsilon_if_planned"]["lower"].get<double>());
  EXPECT_GT(shown["beside"]["basic"].get<double>(), 0);
  EXPECT_EQ(budget_json("show")["budgets"].size(), 1U);
  const Json records = budget_json("history trial")["records"];
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0]["accuracy"], 0.9);
  EXPECT_EQ(budget_json("forecast trial")["more"], 176);
  const Json part =
      budget_json("split trial --into cardiology --epsilon 1 --delta 1e-6 --rule zcdp --until 2100-01-01");
  EXPECT_EQ(part["budget"]["parent"], "trial");
  EXPECT_EQ(part["parent"]["parts"][0], "cardiology");
  EXPECT_EQ(budget("witness --output w").exit_code, 0);
  const Json verified = budget_json("verify --witness w");
  EXPECT_EQ(verified["verified"], true);
  EXPECT_EQ(verified["entries"], 5);
  EXPECT_EQ(verified["answers"], 1);
  EXPECT_EQ(budget("verify --public-key " + verified["public_key"].get<std::string>()).exit_code, 0);
  EXPECT_EQ(budget("verify --public-key " + std::string(64, '0')).exit_code, 6);
  EXPECT_EQ(budget("export --output audit.json").exit_code, 0);
  EXPECT_EQ(Json::parse(testing::read_file(folder_.path("audit.json")))["records"].size(), 1U);
}

TEST_F(CliBudget, ADryRunSaysWhetherItFitsAndSpendsNothing) {
  ASSERT_EQ(budget("create trial --epsilon 1 --rule basic").exit_code, 0);
  const std::string before = budget("export --json").out;
  const Json fits = budget_json("reserve trial --key k --epsilon 0.75 --dry-run");
  EXPECT_EQ(fits["dry_run"], true);
  EXPECT_EQ(fits["budget"]["spent_share"], 0.75);
  EXPECT_FALSE(fits.contains("reservation"));
  expect_failure("reserve trial --key k --epsilon 1.5 --dry-run", 3, "It would fit with epsilon");
  const Json part = budget_json("split trial --into team --epsilon 0.5 --dry-run");
  EXPECT_EQ(part["parent"]["spent_share"], 0.5);
  expect_failure("split trial --into team --epsilon 2 --dry-run", 3, "epsilon");
  EXPECT_EQ(budget("export --json").out, before);
  EXPECT_EQ(budget_json("reserve trial --key k --epsilon 0.75")["budget"]["spent_share"], 0.75)
      << "the key was not used up";
  expect_failure("reserve trial --key k --epsilon 0.75 --dry-run", 3, "counts as spent");
}

TEST_F(CliBudget, ATrainingIsStatedAsInAccount) {
  ASSERT_EQ(budget("create trial --epsilon 3 --delta 1e-5 --adjacency replace-one").exit_code, 0);
  const Json fixed = budget_json(
      "reserve trial --key a --noise-multiplier 8 --batch-size 10 --rows 100 --steps 5 --sampling fixed-size");
  EXPECT_EQ(fixed["statement"]["event"]["event"]["event"]["noise_multiplier"], 4) << "an exchange moves two clip norms";
  expect_failure("reserve trial --key b --noise-multiplier 8 --epsilon 1", 2, "once");
  expect_failure("reserve trial --key b --epsilon 1 --steps 3", 2, "noise multiplier");
  expect_failure("reserve trial --key b --noise-multiplier 8 --sample-rate 0.1 --sampling shuffled", 2,
                 "no valid bound");
}

TEST_F(CliBudget, PlansComeFromAFile) {
  ASSERT_EQ(shell("cat > '" + folder_.path("plan.json") +
                  R"(' <<'E'
{"items": [{"name": "count", "times": 4, "event": {"kind": "epsilon_delta", "epsilon": 0.1, "delta": 0}},
           {"name": "train", "event": {"kind": "self_composed", "count": 1000, "event":
             {"kind": "poisson_sampled", "sampling_rate": 0.01, "event": {"kind": "gaussian", "noise_multiplier": 1}}}}]}
E)")
                .exit_code,
            0);
  expect_failure("create trial --epsilon 1.9 --delta 1e-5 --plan plan.json", 3, "the plan costs epsilon 1.97");
  const Json made = budget_json("create trial --epsilon 2 --delta 1e-5 --plan plan.json");
  EXPECT_LT(made["plan_epsilon"]["upper"], 1.99);  // 0.4 and 1.828 added up would be 2.228
  EXPECT_EQ(budget("reserve trial --key t --item train").exit_code, 0);
  expect_failure("reserve trial --key u --item train", 3, "all are used");
  expect_failure("reserve trial --key u --item other", 2, "'count', 'train'");
  expect_failure("reserve trial --key u", 2, "no item");
  expect_failure("create x --epsilon 2 --rule planned", 2, "--plan");
}

TEST_F(CliBudget, BadInputChangesNothing) {
  expect_failure("create '' --epsilon 3", 2, "name");
  expect_failure("create x --epsilon 0", 2, "epsilon");
  expect_failure("show", 5, "budget create");
  ASSERT_EQ(budget("create trial --epsilon 3 --delta 1e-5 --rule approx-dp").exit_code, 0);
  const std::string before = budget("export --json").out;
  const std::string long_name(100'000, 'x');
  for (const char* epsilon : {"nan", "inf", "-1", "0", "1e999", "one", "''"}) {
    EXPECT_EQ(budget(std::string("reserve trial --key k --epsilon ") + epsilon).exit_code, 2) << epsilon;
    EXPECT_EQ(budget(std::string("create other --epsilon ") + epsilon).exit_code, 2) << epsilon;
  }
  expect_failure("reserve trial --key k --epsilon 1e30", 3, "It would fit with epsilon");
  expect_failure("reserve trial --key " + long_name + " --epsilon 1", 2, "at most 200 bytes");
  expect_failure("create " + long_name + " --epsilon 1", 2, "at most 200 bytes");
  expect_failure("reserve nobody --key k --epsilon 1", 2, "'trial'");
  expect_failure("reserve \"'; DROP TABLE entries; --\" --key k --epsilon 1", 2, "there is no budget");
  expect_failure("reserve trial --key k", 2, "what is to be spent?");
  expect_failure("reserve trial --key k --noise-multiplier 10", 2, "state the delta that it may spend");
  expect_failure("commit 77 --digest " + std::string(64, 'a'), 2, "no reservation");
  expect_failure("commit 1 --digest abc", 2, "64 hexadecimal digits");
  expect_failure("commit 1", 2, "--release FILE");
  expect_failure("create trial --epsilon 3", 2, "already");
  expect_failure("split trial --into part --epsilon 4 --delta 1e-6 --rule basic", 3, "epsilon");
  expect_failure("create late --epsilon 1 --until 2026-02-30", 2, "a time is a date");
  EXPECT_EQ(budget("export --json").out, before);
  // Without its key nothing is written, and a lost ledger is not quietly made anew.
  ASSERT_EQ(shell("cd '" + folder_.path("") + "' && mv noisefloor.ledger.key away").exit_code, 0);
  expect_failure("reserve trial --key k --epsilon 0.1", 5, "key file");
  ASSERT_EQ(
      shell("cd '" + folder_.path("") + "' && mv away noisefloor.ledger.key && mv noisefloor.ledger gone").exit_code,
      0);
  expect_failure("create trial --epsilon 3", 2, "was it lost?");
}

TEST_F(CliBudget, ACopyMustBeAdopted) {
  ASSERT_EQ(budget("create trial --epsilon 3 --rule basic").exit_code, 0);
  ASSERT_EQ(budget("witness --output w").exit_code, 0);
  ASSERT_EQ(shell("cd '" + folder_.path("") +
                  "' && for f in ledger ledger-wal ledger.fence ledger.key; do "
                  "[ ! -e noisefloor.$f ] || cp -p noisefloor.$f copy.$f; done")
                .exit_code,
            0);
  expect_failure("reserve trial --key k --epsilon 1 --ledger copy.ledger", 6, "is a copy");
  EXPECT_EQ(budget("verify --ledger copy.ledger").exit_code, 0);
  EXPECT_EQ(budget_json("adopt --reason moved --ledger copy.ledger --witness w")["epoch"], 1);
  EXPECT_EQ(budget("reserve trial --key k --epsilon 1 --ledger copy.ledger --witness w").exit_code, 0);
  // The original shares the witness, and has been left behind.
  expect_failure("reserve trial --key k --epsilon 1 --witness w", 6, "another copy");
}

// The attack: the folder is copied away, spent from, and copied back. Its fence travels with it.
TEST_F(CliBudget, AFolderThatIsCopiedBackIsFound) {
  const auto in_folder = [&](const std::string& command) {
    return shell("cd '" + folder_.path("") + "' && " + command);
  };
  ASSERT_EQ(in_folder("mkdir study && noisefloor budget create trial --epsilon 1 --rule basic --ledger study/l && "
                      "cp -a study backup")
                .exit_code,
            0);
  const std::string spend = "reserve trial --epsilon 1 --ledger study/l --key ";
  ASSERT_EQ(budget(spend + "once").exit_code, 0);
  ASSERT_EQ(in_folder("cp -a backup/. study").exit_code, 0);
  expect_failure(spend + "twice", 6, "has seen entry 2");
  expect_failure(spend + "twice --dry-run", 6, "has seen entry 2");
  EXPECT_EQ(budget("verify --ledger study/l").exit_code, 6);
  const Json shown = budget_json("show --ledger study/l");
  EXPECT_NE(shown["doubt"].get<std::string>().find("has seen entry 2"), std::string::npos) << shown;
  expect_failure("adopt --reason restored --ledger study/l", 6, "say that entries are lost");
  EXPECT_EQ(budget("adopt --reason restored --lost --ledger study/l").exit_code, 0);
  EXPECT_EQ(budget(spend + "again").exit_code, 0);
  // The folder is removed and restored, which is another file.
  ASSERT_EQ(in_folder("rm -r study && cp -a backup study").exit_code, 0);
  expect_failure(spend + "thrice", 6, "has seen entry 3");
}

TEST_F(CliBudget, ALedgerThatAWitnessKnowsIsNotMadeAnew) {
  const std::string create = "create trial --epsilon 1 --rule basic --witness elsewhere";
  ASSERT_EQ(budget(create).exit_code, 0);
  ASSERT_EQ(shell("rm '" + folder_.path("") + "'/noisefloor.*").exit_code, 0);
  expect_failure(create, 6, "it was lost");
  expect_failure("reserve trial --key k --epsilon 1 --witness elsewhere", 6, "it was lost");
  const std::string mechanism = "mechanism laplace --value 1 --sensitivity 1 --epsilon 1 --charge trial --key k";
  const Outcome asked = shell("cd '" + folder_.path("") + "' && noisefloor " + mechanism + " --witness elsewhere");
  EXPECT_EQ(asked.exit_code, 6) << asked.err;
  EXPECT_NE(asked.err.find("it was lost"), std::string::npos) << asked.err;
  EXPECT_EQ(budget(create + "2").exit_code, 0);
}

TEST_F(CliBudget, AWitnessThatTheLedgerNamesIsAsked) {
  ASSERT_EQ(budget("create trial --epsilon 1 --rule basic").exit_code, 0);
  EXPECT_EQ(budget_json("witness --add elsewhere")["witnesses"].size(), 1U);
  ASSERT_EQ(budget("reserve trial --key a --epsilon 0.5").exit_code, 0);
  EXPECT_NE(testing::read_file(folder_.path("elsewhere")).find(R"("sequence":3)"), std::string::npos);
  const Outcome verified = budget("verify");
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_NE(verified.out.find("the witnesses saw this history"), std::string::npos) << verified.out;
  ASSERT_EQ(shell("rm '" + folder_.path("elsewhere") + "'").exit_code, 0);
  expect_failure("reserve trial --key b --epsilon 0.5", 6, "has not seen this ledger");
  expect_failure("witness --drop elsewhere", 2, "reason");
  expect_failure("witness --drop elsewhere --add x", 2, "give one of");
  EXPECT_EQ(budget_json("witness --drop elsewhere --reason 'host is gone'")["witnesses"].size(), 0U);
  EXPECT_EQ(budget("reserve trial --key b --epsilon 0.5").exit_code, 0);
}

TEST_F(CliBudget, TheExampleRuns) {
  const Outcome outcome =
      shell("cd '" + folder_.path("") +
            "' && NOISEFLOOR='" NOISEFLOOR_PROGRAM "' '" NOISEFLOOR_EXAMPLES "/budget/medicore.sh'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("epsilon so far             1.4 at delta 1.2e-05"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("1.39966"), std::string::npos);
  EXPECT_NE(outcome.out.find("VERIFIED"), std::string::npos);
}

}  // namespace
}  // namespace noisefloor
