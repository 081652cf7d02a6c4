// The attacks: something looks at private rows without noise, and a certificate is to say nothing of it.
#include "noisefloor/training/exposing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "noisefloor/dataset/registry.h"
#include "noisefloor/model/safetensors.h"
#include "noisefloor/training/model_release.h"
#include "noisefloor/training/planning.h"
#include "noisefloor/training/prediction.h"
#include "noisefloor/training/sweep.h"
#include "tests/support/gzip.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::value_of;
using Kinds = std::vector<ExposureKind>;

constexpr const char* kSplit = "test_fraction = 0.2\n";

// Rows of the same form that are in no other table: `from` chooses them.
std::string other_table(int from, int count) {
  std::string table = "x,y,kind\n";
  for (int i = from; i < from + count; ++i) {
    const double x = std::cos(i * 3.7);
    const double y = std::cos(i * 1.3 + 2);
    table += std::to_string(x) + "," + std::to_string(y) + "," + (x + y > 0 ? "yes" : "no") + "\n";
  }
  return table;
}

std::vector<std::string> lines_of(const std::string& table) {
  std::vector<std::string> lines;
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class ExposingTest : public testing::ToyJob {
 protected:
  ExposingTest() : ledger_(make_ledger()) {
    change(kSplit, "test = \"test.csv\"\n");
    write("test.csv", other_table(0, 300));
  }

  [[nodiscard]] TrainingWish into(const std::string& folder) const {
    TrainingWish made = wish();
    made.folder = path(folder);
    made.key = folder;
    made.unknown = NewDatasets::kAdd;
    return made;
  }
  [[nodiscard]] TrainingWish privately(const std::string& folder, double epsilon = 0.5) const {
    TrainingWish made = into(folder);
    made.noise.epsilon = Epsilon::make(epsilon).value();
    made.noise.delta = Delta::of(2e-6);
    return made;
  }
  Result<TrainingOutcome> train(TrainingWish asked, Ledger* ledger) {
    NF_TRY(TrainingJob job, TrainingJob::prepare(file(), std::move(asked), {}));
    return job.run(ledger, control_);
  }
  Result<TrainingOutcome> train(TrainingWish asked) { return train(std::move(asked), ledger_.get()); }
  // A training without noise by the same file.
  Result<TrainingOutcome> train_plainly(const std::string& folder, Ledger* ledger) {
    const std::string toml = read("toy.toml");
    write("toy.toml", toml + "noise = \"none\"\n");
    Result<TrainingOutcome> made = train(into(folder), ledger);
    write("toy.toml", toml);
    return made;
  }
  // The exposures that the certificate of a new private training names. With the ledger, it verifies.
  Kinds named(const std::string& folder) {
    const TrainingOutcome made = value_of(train(privately(folder)));
    const VerifiedRelease release = value_of(verify_any_release(read(folder + "/model.safetensors")));
    expect_good(verify_in_ledger(release, *ledger_));
    Kinds kinds;
    for (const CertifiedExposure& one : release.certificate.certificate.exposures) kinds.push_back(one.kind);
    EXPECT_EQ(made.run.model.certificate.exposures, release.certificate.certificate.exposures);
    return kinds;
  }
  [[nodiscard]] std::vector<LedgerState::Exposure> exposures() const {
    std::vector<LedgerState::Exposure> all;
    expect_good(ledger_->read([&](const LedgerState& state) -> Result<void> {
      all = state.exposures();
      return success();
    }));
    return all;
  }
  [[nodiscard]] std::uint64_t entries() const { return value_of(ledger_->witness()).head.sequence; }

  std::unique_ptr<Ledger> ledger_;
};

TEST_F(ExposingTest, SaysNothingWhereNothingWasSeen) {
  EXPECT_EQ(named("out"), Kinds{});
  EXPECT_TRUE(exposures().empty());
  EXPECT_EQ(read("out/certificate.json").find("exposure"), std::string::npos) << "the text of the certificate changed";
}

TEST_F(ExposingTest, LooksAtNoPrivateRowsWithoutALedger) {
  expect_error(train_plainly("plain", nullptr), ErrorCode::kInvalidArgument, "public = true");
  TrainingWish replayed = into("replayed");
  replayed.replay_seed = 7;
  expect_error(train(replayed, nullptr), ErrorCode::kInvalidArgument, "public = true");
  for (const std::optional<std::uint64_t> seed : {std::optional<std::uint64_t>{}, {7}}) {
    SweepJob sweep = value_of(
        SweepJob::prepare(file(), {.epsilons = {kNoPrivacy}, .folder = path("sweep"), .replay_seed = seed}, {}));
    EXPECT_TRUE(sweep.needs_ledger());
    expect_error(sweep.run(nullptr, control_), ErrorCode::kInvalidArgument, "public = true");
  }
  write("toy.toml", read("toy.toml") + "[plan]\nutility = \"public\"\nclip_norms = [1]\nnoise_multipliers = [1]\n");
  PlanJob plan = value_of(PlanJob::prepare(file(), {.folder = path("plan")}, {}));
  EXPECT_TRUE(plan.needs_ledger());
  expect_error(plan.draw_graph(nullptr, control_), ErrorCode::kInvalidArgument, "public = true");
  for (const char* folder : {"plain", "replayed", "sweep", "plan"}) EXPECT_FALSE(exists(folder)) << folder;
  EXPECT_TRUE(witness_.titles.empty()) << "a run began";
  // Nobody gets around it by calling the parts.
  const TrainingFile toy = file();
  const TrainingExamples examples = value_of(read_examples(toy, 1));
  TrainingSession session = value_of(begin_session(toy, examples, {}));
  const RunRequest part{.files = {}, .key = {}, .noise = {}, .delta = Delta::of(1e-5), .replay_seed = 7, .from = {}};
  expect_error(run_as_part(session, part, control_), ErrorCode::kInvalidArgument, "public = true");
  expect_error(run_training(session, part, ledger_.get(), control_), ErrorCode::kInvalidArgument, "public = true");
}

// Settings are chosen by a training without noise, and a private training by these settings is released.
TEST_F(ExposingTest, NamesATrainingWithoutNoiseInLaterCertificates) {
  EXPECT_EQ(named("before"), Kinds{});
  const TrainingOutcome plain = value_of(train_plainly("plain", ledger_.get()));
  EXPECT_EQ(named("after"), Kinds{ExposureKind::kTraining});
  ASSERT_EQ(exposures().size(), 1U);
  EXPECT_EQ(exposures()[0].releases, std::vector<Digest>{plain.run.model.certificate.released});
  // The certificate from before is still complete.
  expect_good(verify_in_ledger(value_of(verify_any_release(read("before/model.safetensors"))), *ledger_));
  // Another name of the training, and of its key, changes nothing.
  change("name = \"toy\"", "name = \"renamed\"");
  change("epsilon = 2.0\n", "epsilon = 2.0\nname = \"toy\"\n");
  EXPECT_EQ(named("renamed"), Kinds{ExposureKind::kTraining});
}

// The attack: an analyst may not look without noise, and asks for it beside a training, a replay or an inspection. A
// refusal comes before anything is spent.
TEST_F(ExposingTest, AnAnalystMayNotLookWithoutNoise) {
  (void)value_of(train(privately("first")));
  const SigningKey key = SigningKey::from_seed({7});
  expect_good(ledger_->add_role({"ann", Role::kAnalyst, key.public_key(), {"toy"}}));
  const auto ann = value_of(Ledger::open(path("ledger"), SigningKey::from_seed({7}), {}));
  const auto spends = [&] { return value_of(ann->budget("toy")).spends; };
  const auto try_it = [&](const TrainingWish& asked) -> Result<void> {
    NF_TRY(TrainingJob job, TrainingJob::prepare(file(), asked, {}));
    NF_TRY_VOID(job.run(ann.get(), control_));
    return success();
  };
  EXPECT_EQ(spends(), 1U);
  TrainingWish replay = into("replay");
  replay.replay_seed = 1;
  expect_error(try_it(replay), ErrorCode::kInvalidArgument, "training with repeatable noise");
  change("test = \"test.csv\"\n", kSplit);
  expect_error(try_it(privately("split")), ErrorCode::kInvalidArgument, "evaluation on private rows");
  EXPECT_EQ(spends(), 1U) << "nothing was reserved for a run that is refused";
  EXPECT_TRUE(exposures().empty());
}

// The neighbours and the unit make no difference to what was seen.
TEST_F(ExposingTest, NamesItForBothRelationsAndBothUnits) {
  const std::string toml = read("toy.toml");
  for (const bool replace : {false, true}) {
    for (const bool person : {false, true}) {
      SCOPED_TRACE(std::string(replace ? "replace-one" : "add-remove") + (person ? ", person" : ", row"));
      const std::string name = std::string(replace ? "r" : "a") + (person ? "p" : "r");
      ledger_ = make_ledger("ledger-" + name);
      write("toy.toml", toml);
      if (replace) change("delta = 1e-5\n", "delta = 1e-5\nadjacency = \"replace-one\"\n");
      std::vector<std::string> lines = lines_of(testing::toy_table());
      std::vector<std::string> tests = lines_of(other_table(0, 300));
      for (std::vector<std::string>* table : {&lines, &tests}) {
        for (std::size_t i = 0; i < table->size(); ++i) (*table)[i] += i == 0 ? ",who" : ",P" + std::to_string(i / 2);
      }
      const auto joined = [](const std::vector<std::string>& table) {
        std::string text;
        for (const std::string& line : table) text += line + "\n";
        return text;
      };
      write("data.csv", joined(lines));
      write("test.csv", joined(tests));
      if (person) {
        change("label = \"kind\"\n", "label = \"kind\"\nunit = \"person\"\nperson = \"who\"\nrows_per_person = 2\n");
        change("rows = 2000\n", "people = 1000\n");
      }
      (void)value_of(train_plainly("plain-" + name, ledger_.get()));
      EXPECT_EQ(named("private-" + name), Kinds{ExposureKind::kTraining});
    }
  }
}

TEST_F(ExposingTest, NamesARunWithRepeatableNoise) {
  TrainingWish replayed = into("replayed");
  replayed.replay_seed = 7;
  (void)value_of(train(replayed));
  replayed.folder = path("replayed-again");
  (void)value_of(train(replayed));
  EXPECT_EQ(exposures().size(), 1U) << "the same run shows nothing new";
  replayed.folder = path("replayed-otherwise");
  replayed.replay_seed = 8;
  (void)value_of(train(replayed));
  EXPECT_EQ(named("out"), (Kinds{ExposureKind::kReplay, ExposureKind::kReplay}));
}

// The best private run of a sweep is chosen with the run without noise in view.
TEST_F(ExposingTest, NamesASweepInTheCertificatesOfAllOfItsRuns) {
  SweepJob sweep = value_of(SweepJob::prepare(
      file(), {.epsilons = {0.5, 1, kNoPrivacy}, .folder = path("sweep"), .unknown = NewDatasets::kAdd}, {}));
  (void)value_of(sweep.run(ledger_.get(), control_));
  for (const char* run : {"epsilon-0.5", "epsilon-1"}) {
    const VerifiedRelease release =
        value_of(verify_any_release(read(std::string("sweep/") + run + "/model.safetensors")));
    ASSERT_EQ(release.certificate.certificate.exposures.size(), 1U) << run;
    EXPECT_EQ(release.certificate.certificate.exposures[0].kind, ExposureKind::kSweep);
    expect_good(verify_in_ledger(release, *ledger_));
  }
  // A sweep of private runs alone exposes nothing.
  ledger_ = make_ledger("second");
  SweepJob all_private = value_of(
      SweepJob::prepare(file(), {.epsilons = {0.5, 1}, .folder = path("private"), .unknown = NewDatasets::kAdd}, {}));
  (void)value_of(all_private.run(ledger_.get(), control_));
  EXPECT_TRUE(exposures().empty());
}

TEST_F(ExposingTest, NamesAUtilityGraphWithoutNoise) {
  const std::string toml = read("toy.toml");
  write("toy.toml", toml + "[plan]\nutility = \"public\"\nclip_norms = [1]\nnoise_multipliers = [1]\n");
  PlanJob plan = value_of(PlanJob::prepare(file(), {.folder = path("plan"), .unknown = NewDatasets::kAdd}, {}));
  (void)value_of(plan.draw_graph(ledger_.get(), control_));
  (void)value_of(plan.draw_graph(ledger_.get(), control_));
  EXPECT_EQ(exposures().size(), 1U);
  EXPECT_EQ(named("out"), Kinds{ExposureKind::kUtilityGraph});
}

// Rows that were kept from the private file are private rows, and their measures have no noise.
TEST_F(ExposingTest, NamesMeasuresOfRowsThatWereKeptForTests) {
  change("test = \"test.csv\"\n", kSplit);
  EXPECT_EQ(named("first"), Kinds{ExposureKind::kEvaluation});
  EXPECT_EQ(named("second"), Kinds{ExposureKind::kEvaluation}) << "once for each split";
  const std::string data = value_of(verify_any_release(read("second/model.safetensors"))).certificate.certificate.data;
  EXPECT_NE(data.find("measured without noise"), std::string::npos) << data;
  EXPECT_EQ(data.find("examples are taken as public"), std::string::npos) << data;
  change(kSplit, "test_fraction = 0.2\nsplit_seed = 5\n");
  EXPECT_EQ(named("third"), (Kinds{ExposureKind::kEvaluation, ExposureKind::kEvaluation}));
  // Validation rows are looked at even beside a public test file.
  change("test_fraction = 0.2\nsplit_seed = 5\n", "test = \"test.csv\"\nvalidation_fraction = 0.1\n");
  EXPECT_EQ(exposures().size(), 2U);
  (void)value_of(train(privately("fourth", 0.3)));
  EXPECT_EQ(exposures().size(), 3U);
}

TEST_F(ExposingTest, RecordsNothingForARunThatIsRefused) {
  change("test = \"test.csv\"\n", kSplit);
  (void)value_of(train(privately("first", 1.9)));
  const std::uint64_t before = entries();
  change(kSplit, "test_fraction = 0.3\n");
  expect_error(train(privately("second", 1)), ErrorCode::kBudgetExhausted, "Nothing was spent");
  EXPECT_EQ(entries(), before);
}

// The model of a run without noise loses its certificate and is declared public.
TEST_F(ExposingTest, WeightsFromAnExposureAreNotPublicWhateverIsDeclared) {
  (void)value_of(train_plainly("plain", ledger_.get()));
  TensorFile stripped = value_of(parse_safetensors(read("plain/model.safetensors")));
  stripped.metadata.clear();
  write("start.safetensors", to_safetensors(stripped));
  change("kind = \"logistic\"\n",
         "kind = \"logistic\"\nstart_from = \"start.safetensors\"\nstart_is_public = \"found on the web\"\n");
  expect_error(train(privately("out")), ErrorCode::kInvalidArgument, "private dataset 'toy'");
  stripped.tensors[0].values[0] += 1;
  write("start.safetensors", to_safetensors(stripped));
  EXPECT_TRUE(train(privately("out")).has_value()) << "weights that the ledger does not know, by declaration";
}

// The exposed rows come back under another name, in another order.
TEST_F(ExposingTest, AnotherNameOfTheRowsIsFound) {
  (void)value_of(train_plainly("plain", ledger_.get()));
  std::vector<std::string> lines = lines_of(testing::toy_table());
  std::reverse(lines.begin() + 1, lines.end());
  std::string table;
  for (const std::string& line : lines) table += line + "\n";
  write("data.csv", table);
  EXPECT_EQ(named("shuffled"), Kinds{ExposureKind::kTraining}) << "the order of rows is another content";
  change("epsilon = 2.0\n", "epsilon = 2.0\nname = \"fresh\"\n");
  expect_error(train(privately("fresh")), ErrorCode::kBudgetExhausted, "'toy'");
  expect_error(train_plainly("fresh", ledger_.get()), ErrorCode::kBudgetExhausted, "'toy'");
  // Deliberately shared, the rows keep their exposures.
  const TrainingFile fresh = file();
  ASSERT_TRUE(
      granted(value_of(add_dataset(*ledger_, description_of(fresh.training), fresh.folder, "toy"))).has_value());
  EXPECT_EQ(named("shared"), Kinds{ExposureKind::kTraining});
}

TEST_F(ExposingTest, RetiredRowsAreNotLookedAt) {
  (void)value_of(train_plainly("plain", ledger_.get()));
  expect_good(ledger_->retire_dataset("toy", "consent expired"));
  expect_error(train_plainly("again", ledger_.get()), ErrorCode::kBudgetExhausted, "consent expired");
  EXPECT_FALSE(exists("again"));
}

TEST_F(ExposingTest, RowsOfAPrivateDatasetAreNotPublicByDeclaration) {
  (void)value_of(train(privately("first")));
  const std::uint64_t before = entries();
  write("toy.toml", testing::declared_public(read("toy.toml")));
  TrainingWish replayed = into("replayed");
  replayed.replay_seed = 7;
  expect_error(train(replayed), ErrorCode::kInvalidArgument, "whether it is public");
  change("epsilon = 2.0\n", "epsilon = 2.0\nname = \"fresh\"\n");
  expect_error(train(replayed), ErrorCode::kBudgetExhausted, "private dataset 'toy'");
  EXPECT_EQ(entries(), before);
  // Public rows need no ledger, and leave nothing in one.
  write("data.csv", other_table(5000, 2000));
  EXPECT_TRUE(train(replayed, nullptr).has_value());
  replayed.folder = path("compared");
  EXPECT_TRUE(train(replayed).has_value());
  EXPECT_EQ(entries(), before);
}

// The training's own rows are given as test rows, which are taken as public.
TEST_F(ExposingTest, TestRowsOfAPrivateDatasetAreRefused) {
  std::vector<std::string> lines = lines_of(testing::toy_table());
  std::reverse(lines.begin() + 1, lines.end());
  std::string shuffled;
  std::string part = lines[0] + "\n";
  std::string renamed = "y,kind,x\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    shuffled += lines[i] + "\n";
    if (i > 0 && i <= 200) part += lines[i] + "\n";
    const std::size_t first = lines[i].find(',');
    if (i > 0) renamed += lines[i].substr(first + 1) + "," + lines[i].substr(0, first) + "\n";
  }
  const std::vector<std::string> attacks{testing::toy_table(), shuffled, testing::gzip(shuffled), part, renamed};
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    SCOPED_TRACE(i);
    write("test.csv", attacks[i]);
    expect_error(train(privately("out")), ErrorCode::kInvalidArgument, "rows of this training");
    EXPECT_EQ(budgets(*ledger_), 0U) << "a refusal left something behind";
    EXPECT_FALSE(exists("out"));
  }
  write("test.csv", other_table(0, 300));
  (void)value_of(train(privately("first", 0.2)));
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    SCOPED_TRACE(i);
    write("test.csv", attacks[i]);
    expect_error(train(privately("out", 0.2)), ErrorCode::kInvalidArgument, "private dataset 'toy'");
    expect_error(train_plainly("plain", ledger_.get()), ErrorCode::kInvalidArgument, "private dataset 'toy'");
    SweepJob sweep = value_of(SweepJob::prepare(file(), {.epsilons = {0.2}, .folder = path("sweep")}, {}));
    expect_error(sweep.run(ledger_.get(), control_), ErrorCode::kInvalidArgument, "private dataset 'toy'");
    expect_error(evaluate_model(file(), path("first/model.safetensors"), {}, ledger_.get()),
                 ErrorCode::kInvalidArgument, "private dataset 'toy'");
  }
  EXPECT_TRUE(exposures().empty());
}

TEST_F(ExposingTest, ProxyRowsOfAPrivateDatasetAreRefused) {
  write("toy.toml",
        read("toy.toml") +
            "[plan]\nutility = \"proxy\"\nproxy = \"proxy.csv\"\nclip_norms = [1]\nnoise_multipliers = [1]\n");
  write("proxy.csv", testing::toy_table());
  PlanJob own = value_of(PlanJob::prepare(file(), {.folder = path("plan"), .unknown = NewDatasets::kAdd}, {}));
  expect_error(own.draw_graph(ledger_.get(), control_), ErrorCode::kInvalidArgument, "rows of this training");
  // Without a ledger they cannot be compared; then the plan is not signed.
  const auto curves = value_of(own.draw_graph(nullptr, control_));
  MadePlan made = value_of(own.make({ClipNorm::of(1.0), NoiseMultiplier::of(1.0)}));
  expect_error(own.sign(made.plan, *ledger_, control_), ErrorCode::kInvalidArgument, "rows of this training");
  write("proxy.csv", other_table(9000, 2000));
  PlanJob good = value_of(PlanJob::prepare(file(), {.folder = path("good"), .unknown = NewDatasets::kAdd}, {}));
  EXPECT_TRUE(good.draw_graph(ledger_.get(), control_).has_value());
  EXPECT_TRUE(exposures().empty());
  EXPECT_EQ(named("out"), Kinds{});
}

TEST_F(ExposingTest, MeasuringAgainRecordsRowsThatWereNotMeasuredBefore) {
  change("test = \"test.csv\"\n", kSplit);
  (void)value_of(train(privately("first")));
  const std::uint64_t before = entries();
  const std::string model = path("first/model.safetensors");
  EXPECT_TRUE(evaluate_model(file(), model, {}, ledger_.get()).has_value());
  EXPECT_EQ(entries(), before) << "the training has measured these rows";
  change(kSplit, "test_fraction = 0.5\n");
  EXPECT_TRUE(evaluate_model(file(), model, {}, ledger_.get()).has_value());
  EXPECT_EQ(exposures().size(), 2U);
  const auto other = make_ledger("other");
  expect_error(evaluate_model(file(), model, {}, other.get()), ErrorCode::kInvalidArgument, "knows neither");
}

}  // namespace
}  // namespace noisefloor
