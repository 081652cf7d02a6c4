#include "noisefloor/training/job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "noisefloor/training/model_release.h"
#include "noisefloor/training/planning.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::value_of;
using Json = nlohmann::ordered_json;

class TrainingJobTest : public testing::ToyJob {
 protected:
  [[nodiscard]] Result<TrainingJob> prepare(TrainingWish wish) const {
    wish.unknown = NewDatasets::kAdd;
    return TrainingJob::prepare(file(), std::move(wish), {});
  }
};

TEST_F(TrainingJobTest, SpendsAndWritesNothingWhilePreparing) {
  TrainingJob job = value_of(prepare(wish()));
  const TrainingCost cost = value_of(job.cost());
  EXPECT_TRUE(cost.charged);
  EXPECT_LE(cost.epsilon.upper, 2.0);
  EXPECT_GT(cost.epsilon.upper, 1.999);
  EXPECT_EQ(cost.steps, Steps::of(40));
  EXPECT_EQ(cost.spend.budget, "toy");
  EXPECT_TRUE(value_of(job.outlook(nullptr)).fits);
  EXPECT_FALSE(exists("out"));
}

TEST_F(TrainingJobTest, ChargesWhatItSaidAndCertifiesIt) {
  const auto ledger = make_ledger();
  TrainingJob job = value_of(prepare(wish()));
  const TrainingCost cost = value_of(job.cost());
  const TrainingOutcome made = value_of(job.run(ledger.get(), control_, "the command"));
  EXPECT_EQ(made.run.model.certificate.epsilon.upper, cost.epsilon.upper);
  EXPECT_NEAR(spent(*ledger), cost.epsilon.upper, 1e-9);
  EXPECT_FALSE(made.stopped);
  EXPECT_GT(made.notes.test->accuracy.value(), 0.9);
  const VerifiedRelease verified = value_of(verify_any_release(read("out/model.safetensors")));
  expect_good(verify_in_ledger(verified, *ledger));
  const Json notes = Json::parse(read("out/run.json"));
  EXPECT_EQ(notes["command"], "the command");
  EXPECT_EQ(notes["steps"], 40);
  EXPECT_EQ(notes["test"]["accuracy"], *made.notes.test->accuracy);
  EXPECT_EQ(witness_.last.steps, 40U);
  ASSERT_FALSE(witness_.qualities.empty());
  EXPECT_STREQ(witness_.qualities.back().examples, "test");
  // Asking with the same key again returns the same model.
  EXPECT_TRUE(value_of(job.outlook(ledger.get())).asked_before);
  TrainingJob again = value_of(prepare(wish()));
  EXPECT_TRUE(value_of(again.run(ledger.get(), control_)).run.again);
}

// Canaries take part, and nobody pays: what is charged and certified is what it would be without them.
TEST_F(TrainingJobTest, CanariesMeasureAndChangeNothingThatIsClaimed) {
  const TrainingCost without = value_of(value_of(prepare(wish())).cost());
  write("toy.toml", read("toy.toml") + "\n[audit]\ncanaries = 1000\n");
  const auto ledger = make_ledger();
  TrainingJob job = value_of(prepare(wish()));
  const TrainingCost cost = value_of(job.cost());
  EXPECT_EQ(cost.spend.statement, without.spend.statement);
  EXPECT_EQ(cost.epsilon.upper, without.epsilon.upper);
  const TrainingOutcome made = value_of(job.run(ledger.get(), control_));
  const Certificate& certificate = made.run.model.certificate;
  EXPECT_EQ(certificate.statement, without.spend.statement);
  EXPECT_EQ(made.run.weights.size(), job.session().model->parameters());
  EXPECT_GT(made.notes.test->accuracy.value(), 0.9);
  ASSERT_TRUE(made.run.audit.has_value());
  const audit::SignedAudit kept = value_of(audit::parse_audit(read("out/audit.json")));
  expect_good(audit::expect_about(kept, value_of(parse_certificate(made.run.model.signed_certificate)),
                                  read("out/certificate.json")));
  EXPECT_EQ(kept.audit.findings.steps, 40U);
  EXPECT_EQ(kept.audit.findings.counts.front().canaries, 1000U);
  EXPECT_LE(kept.judgement.measured, certificate.epsilon.upper);
  EXPECT_EQ(value_of(ledger->signer()), kept.key);
  expect_good(verify_in_ledger(value_of(verify_any_release(read("out/model.safetensors"))), *ledger));
  EXPECT_FALSE(exists("out/checkpoint.safetensors"));
  // The same key gives the same model, and its audit.
  TrainingJob again = value_of(prepare(wish()));
  const TrainingOutcome found = value_of(again.run(ledger.get(), control_));
  EXPECT_TRUE(found.run.again);
  ASSERT_TRUE(found.run.audit.has_value());
  EXPECT_TRUE(found.run.audit->audit.findings == kept.audit.findings);
}

TEST_F(TrainingJobTest, AnAuditGoesWithNoCheckpointAndNoReplay) {
  write("toy.toml", read("toy.toml") + "\n[audit]\n");
  declare_public();
  TrainingWish repeated = wish();
  repeated.replay_seed = 3;
  const TrainingOutcome made = value_of(value_of(prepare(repeated)).run(nullptr, control_));
  EXPECT_FALSE(made.run.audit.has_value()) << "nothing is certified that canaries could refute";
  EXPECT_FALSE(exists("out/audit.json"));
}

TEST_F(TrainingJobTest, LeavesNothingBehindIfRefused) {
  const auto ledger = make_ledger();
  TrainingWish asked = wish();
  asked.folder = path("deep/er/out");
  asked.noise.multiplier = NoiseMultiplier::of(0.05);
  TrainingJob job = value_of(prepare(asked));
  const Outlook outlook = value_of(job.outlook(nullptr));
  EXPECT_FALSE(outlook.fits);
  EXPECT_NE(outlook.refusal.find("noise multiplier"), std::string::npos) << outlook.refusal;
  expect_error(job.run(ledger.get(), control_), ErrorCode::kBudgetExhausted, "Nothing was spent");
  EXPECT_EQ(budgets(*ledger), 0U) << "a budget that could not pay was made";
  EXPECT_FALSE(exists("deep"));
  // If the budget exists, the ledger refuses.
  expect_good(ledger->create_budget(budget_of(job.file().training.privacy)));
  expect_error(job.run(ledger.get(), control_), ErrorCode::kBudgetExhausted, "Nothing was spent");
  EXPECT_EQ(spent(*ledger), 0);
  EXPECT_FALSE(exists("deep"));
}

// Bounds in the wrong unit are found by the public test rows, and a refusal shows that it was said before anything was
// spent.
TEST_F(TrainingJobTest, TellsDoubtsAboutColumnsBeforeSpending) {
  change("lower = -1\nupper = 1", "lower = 100\nupper = 200");
  std::string rows = "x,y,kind\n";
  for (int i = 0; i < 400; ++i) rows += fmt::format("{},0.{},yes\n", 0.25 + i * 1e-3, i);
  write("test.csv", rows);
  change("test_fraction = 0.2\n", "test = \"test.csv\"\n");
  const auto ledger = make_ledger();
  TrainingWish asked = wish();
  asked.noise.multiplier = NoiseMultiplier::of(0.05);
  TrainingJob job = value_of(prepare(asked));
  EXPECT_TRUE(witness_.warnings.empty());
  expect_error(job.run(ledger.get(), control_), ErrorCode::kBudgetExhausted, "Nothing was spent");
  ASSERT_EQ(witness_.warnings.size(), 1U);
  EXPECT_NE(witness_.warnings[0].find("'x'"), std::string::npos) << witness_.warnings[0];
  EXPECT_EQ(budgets(*ledger), 0U);
}

// The rows that are kept for tests from a private file are private: a warning would be an answer that nobody paid for.
TEST_F(TrainingJobTest, DoubtsNoColumnsByPrivateRows) {
  const auto ledger = make_ledger();
  TrainingWish asked = wish();
  asked.noise.multiplier = NoiseMultiplier::of(0.05);
  change("lower = -1\nupper = 1", "lower = 100\nupper = 200");
  expect_error(value_of(prepare(asked)).run(ledger.get(), control_), ErrorCode::kBudgetExhausted, "Nothing was spent");
  EXPECT_TRUE(witness_.warnings.empty());
}

TEST_F(TrainingJobTest, TellsOfAMisspeltCategory) {
  std::string table = "kind,colour\n";
  for (int i = 0; i < 2000; ++i) table += i % 2 == 0 ? "yes,red\n" : "no,green\n";
  write("data.csv", table);
  write("test.csv", table + "yes,red\n");
  std::string toml = testing::toy_toml();
  toml.replace(toml.find("test_fraction = 0.2"), 19, "test = \"test.csv\"");
  const std::size_t from = toml.find("[[data.column]]");
  toml.replace(from, toml.find("[model]") - from,
               "[[data.column]]\nname = \"colour\"\nvalues = [\"red\", \"grene\"]\n");
  write("toy.toml", toml);
  const auto ledger = make_ledger();
  TrainingJob job = value_of(prepare(wish()));
  (void)value_of(job.run(ledger.get(), control_));
  ASSERT_EQ(witness_.warnings.size(), 1U);
  EXPECT_NE(witness_.warnings[0].find("grene"), std::string::npos) << witness_.warnings[0];
  EXPECT_NE(witness_.warnings[0].find("green"), std::string::npos) << witness_.warnings[0];
}

TEST_F(TrainingJobTest, KeepsEarlierFilesIfRefused) {
  const auto ledger = make_ledger();
  std::filesystem::create_directories(path("out"));
  TrainingWish asked = wish();
  asked.noise.multiplier = NoiseMultiplier::of(0.05);
  TrainingJob job = value_of(prepare(asked));
  expect_error(job.run(ledger.get(), control_), ErrorCode::kBudgetExhausted, "");
  EXPECT_TRUE(exists("out"));
}

TEST_F(TrainingJobTest, ReturnsTheModelSoFarIfStoppedAndStaysPaidFor) {
  const auto ledger = make_ledger();
  int asked = 0;
  control_.stop = [&] { return ++asked == 7; };
  TrainingJob job = value_of(prepare(wish()));
  const TrainingOutcome made = value_of(job.run(ledger.get(), control_));
  EXPECT_TRUE(made.stopped);
  EXPECT_EQ(made.run.model.certificate.steps, 7U);
  EXPECT_LT(made.run.model.certificate.epsilon.upper, 2);
  EXPECT_GT(spent(*ledger), 1.99);
  EXPECT_TRUE(exists("out/checkpoint.safetensors"));
}

TEST_F(TrainingJobTest, RefusesADeltaThatProtectsNobody) {
  TrainingWish asked = wish();
  asked.noise.delta = Delta::of(0.0);
  expect_error(prepare(asked), ErrorCode::kInvalidArgument, "above 0");
  asked.noise.delta = Delta::of(1e-4);
  expect_error(prepare(asked), ErrorCode::kInvalidArgument, "at most the budget's");
  asked.noise = {Epsilon::of(1.0), {}, NoiseMultiplier::of(1.0)};
  expect_error(prepare(asked), ErrorCode::kInvalidArgument, "not both");
  change("delta = 1e-5", "delta = 0.001");
  expect_error(prepare(wish()), ErrorCode::kInvalidArgument, "1/rows");
}

TEST_F(TrainingJobTest, RefusesAPrivateRunWithoutALedger) {
  TrainingJob job = value_of(prepare(wish()));
  expect_error(job.run(nullptr, control_), ErrorCode::kInvalidArgument, "ledger");
  EXPECT_FALSE(exists("out"));
}

TEST_F(TrainingJobTest, ChargesNothingForRepeatableNoiseAndIsNotPrivate) {
  declare_public();
  TrainingWish asked = wish();
  asked.replay_seed = 7;
  TrainingJob job = value_of(prepare(asked));
  EXPECT_FALSE(value_of(job.cost()).charged);
  EXPECT_FALSE(job.needs_ledger());
  const TrainingOutcome first = value_of(job.run(nullptr, control_));
  EXPECT_TRUE(std::isinf(first.run.model.certificate.epsilon.upper));
  asked.folder = path("second");
  TrainingJob again = value_of(prepare(asked));
  EXPECT_EQ(value_of(again.run(nullptr, control_)).run.weights, first.run.weights);
}

TEST_F(TrainingJobTest, ChargesTheRemainingStepsAfterACheckpoint) {
  const auto ledger = make_ledger();
  change("epsilon = 2.0", "epsilon = 4.0");
  int asked_to_stop = 0;
  control_.stop = [&] { return ++asked_to_stop == 10; };
  TrainingWish asked = wish();
  asked.noise.epsilon = Epsilon::of(2.0);
  asked.noise.delta = Delta::of(4e-6);
  TrainingJob first = value_of(prepare(asked));
  (void)value_of(first.run(ledger.get(), control_));
  control_.stop = {};
  asked.from = value_of(parse_checkpoint(read("out/checkpoint.safetensors")));
  asked.folder = path("rest");
  TrainingJob rest = value_of(prepare(asked));
  EXPECT_EQ(value_of(rest.cost()).steps, Steps::of(30));
  EXPECT_EQ(rest.request().key, "toy-from-step-10");
  const TrainingOutcome made = value_of(rest.run(ledger.get(), control_));
  EXPECT_EQ(made.run.model.certificate.steps, 40U);
  // A checkpoint of another ledger is refused.
  const auto other = make_ledger("other");
  asked.folder = path("elsewhere");
  asked.key = "x";
  TrainingJob elsewhere = value_of(prepare(asked));
  expect_error(elsewhere.run(other.get(), control_), ErrorCode::kInvalidArgument, "another ledger");
}

TEST_F(TrainingJobTest, FollowsAPlanExactlyOnceAndByItsOwnLedger) {
  write("toy.toml", testing::toy_toml("epochs = 10\n") +
                        "[plan]\nutility = \"public\"\nclip_norms = [0.5, 1]\nnoise_multipliers = [0.5, 1, 2, 4]\n");
  const auto ledger = make_ledger();
  PlanJob planning = value_of(PlanJob::prepare(file(), {.folder = path("plan"), .unknown = NewDatasets::kAdd}, {}));
  const auto curves = value_of(planning.draw_graph(ledger.get(), control_));
  MadePlan planned = value_of(planning.make(value_of(planning.choose(curves))));
  const std::string place = value_of(planning.sign(planned.plan, *ledger, {}));
  TrainingWish asked = wish();
  asked.plan = value_of(read_plan(place, file()));
  for (const auto& deviate : std::vector<std::function<void(TrainingWish&)>>{
           [](TrainingWish& w) { w.noise.epsilon = Epsilon::of(1.0); },
           [](TrainingWish& w) { w.noise.delta = Delta::of(1e-6); },
           [](TrainingWish& w) { w.noise.multiplier = NoiseMultiplier::of(1.0); },
           [](TrainingWish& w) { w.replay_seed = 1; }, [](TrainingWish& w) { w.key = "x"; }}) {
    TrainingWish other = asked;
    deviate(other);
    expect_error(prepare(other), ErrorCode::kInvalidArgument, "deviate from the plan");
  }
  const auto another = make_ledger("another");
  TrainingJob job = value_of(prepare(asked));
  expect_error(job.run(another.get(), control_), ErrorCode::kVerificationFailed, "another ledger");
  EXPECT_EQ(budgets(*another), 0U);
  const TrainingOutcome made = value_of(job.run(ledger.get(), control_));
  EXPECT_EQ(made.run.model.certificate.epsilon.upper, planned.plan.certified.upper);
  EXPECT_EQ(read("out/plan.json"), read("plan/plan.json"));
  EXPECT_EQ(read("out/utility-graph.csv"), read("plan/utility-graph.csv"));
  asked.folder = path("once-more");
  TrainingJob again = value_of(prepare(asked));
  expect_error(again.run(ledger.get(), control_), ErrorCode::kInvalidArgument, "was used before");
  write("data.csv", testing::toy_table() + "0.1,0.1,yes\n0.2,0.1,yes\n0.3,0.1,yes\n0.4,0.1,yes\n0.5,0.1,yes\n");
  EXPECT_TRUE(prepare(asked).has_value())
      << "how many rows there are is private, and the plan is for the stated number";
  write("toy.toml", read("toy.toml") + "\n");
  expect_error(read_plan(place, file()), ErrorCode::kInvalidArgument, "has changed since");
}

// Neighbours, format by format: with an odd record in the place of an ordinary one, or beside the others, a charged
// training says, certifies and notes the same. Only what was released differs.
class NeighbourTrainingsTest : public TrainingJobTest {
 protected:
  struct Said {
    std::string cost;
    Json certificate;
    std::vector<std::string> keys;
    std::size_t warnings = 0;
    friend bool operator==(const Said&, const Said&) = default;
  };
  // Trains on the files as they are now.
  Said train() {
    const std::string name = "run-" + std::to_string(++runs_);
    const auto ledger = make_ledger(name + "-ledger");
    TrainingWish asked = wish();
    asked.folder = path(name);
    TrainingJob job = value_of(prepare(asked));
    const TrainingCost cost = value_of(job.cost());
    Said said;
    said.cost = std::to_string(cost.epsilon.upper) + " in " + std::to_string(cost.steps.value());
    witness_.warnings.clear();
    const TrainingOutcome made = value_of(job.run(ledger.get(), control_));
    said.warnings = witness_.warnings.size();
    said.certificate = Json::parse(read(name + "/certificate.json"));
    for (const char* own : {"released", "ledger", "digest", "public_key", "signature"}) said.certificate.erase(own);
    const Json notes = Json::parse(read(name + "/run.json"));
    for (const auto& [key, value] : notes.items()) said.keys.push_back(key);
    return said;
  }

  int runs_ = 0;
};

TEST_F(NeighbourTrainingsTest, OfATableOfPeopleSayTheSame) {
  std::string text = testing::toy_toml("steps = 4\nnoise_multiplier = 30\n");
  text.replace(text.find("test_fraction = 0.2\n"), 20,
               "unit = \"person\"\nperson = \"who\"\nrows_per_person = 2\npeople = 250\n");
  write("toy.toml", text);
  std::string table = "x,y,kind,who\n";
  for (int i = 0; i < 600; ++i)
    table += "0.1,0.2," + std::string(i % 2 == 0 ? "yes" : "no") + ",P" + std::to_string(i / 2) + "\n";
  write("data.csv", table);
  const Said plain = train();
  EXPECT_NE(plain.certificate.dump().find("the number of people to learn from, 250, is taken as public"),
            std::string::npos);
  for (const char* more :
       {"0.1,0.2,yes,new\n", "0.1,0.2,maybe,new\n", "x,0.2,yes,P1\n", "0.1,0.2,yes,\n", "0.1,0.2\n", "\"\n"}) {
    write("data.csv", table + more);
    EXPECT_TRUE(train() == plain) << more;
  }
}

TEST_F(NeighbourTrainingsTest, OfSparseExamplesSayTheSame) {
  std::string text = testing::toy_toml("steps = 4\nnoise_multiplier = 30\n");
  text =
      text.substr(0, text.find("[data]")) +
      "[data]\nformat = \"libsvm\"\ntrain = \"data.svm\"\nrows = 500\ndimension = 3\nlower = 0\nupper = 1\nclasses = "
      "[\"-1\", \"1\"]\n" +
      text.substr(text.find("[model]"));
  write("toy.toml", text);
  std::string examples;
  for (int i = 0; i < 300; ++i) examples += i % 2 == 0 ? "1 1:1 3:0.5\n" : "-1 2:1\n";
  write("data.svm", examples);
  const Said plain = train();
  for (const char* more : {"1 1:1\n", "0 1:1\n", "1 9:1\n", "1 1:x\n", "1 2:1 1:1\n", "\n", "1 1\n"}) {
    write("data.svm", examples + more);
    EXPECT_TRUE(train() == plain) << more;
  }
}

TEST_F(NeighbourTrainingsTest, OfImagesSayTheSame) {
  std::string text = testing::toy_images_toml("kind = \"logistic\"", "noise_multiplier = 30\n");
  text.replace(text.find("test_fraction = 0.2\n"), 20, "");
  write("toy.toml", text);
  const testing::ToyImages toy = testing::toy_images(4);
  write("images", toy.images);
  write("labels", toy.labels);
  const Said plain = train();
  for (const char label : {'\x00', '\x01', '\x02', '\xff'}) {
    std::string labels = toy.labels;
    labels[labels.size() - 7] = label;
    write("labels", labels);
    EXPECT_TRUE(train() == plain) << static_cast<int>(label);
  }
}

}  // namespace
}  // namespace noisefloor
