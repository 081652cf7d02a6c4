#include "noisefloor/pate/pate_job.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "noisefloor/base/file.h"
#include "noisefloor/release/verify_release.h"
#include "noisefloor/training/model_release.h"
#include "noisefloor/training/run_notes.h"
#include "tests/support/child_process.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_good;
using testing::value_of;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLimit = std::size_t{1} << 24;

// Points in a square; the class is the side of a line that they are on.
std::string table(int rows, int seed, bool labels = true) {
  std::string text = labels ? "x,y,kind\n" : "x,y\n";
  for (int i = 0; i < rows; ++i) {
    const double x = std::sin((i + 1000 * seed) * 12.9898);
    const double y = std::sin((i + 1000 * seed) * 78.233 + 1);
    text += std::to_string(x) + "," + std::to_string(y);
    text += labels ? std::string(",") + (x + y > 0 ? "yes" : "no") + "\n" : "\n";
  }
  return text;
}

constexpr const char* kToy = R"(name = "toy"
[budget]
epsilon = 8.0
delta = 1e-5
[data]
format = "csv"
train = "private.csv"
test = "test.csv"
rows = 1500
label = "kind"
classes = ["no", "yes"]
[[data.column]]
name = "x"
lower = -1
upper = 1
[[data.column]]
name = "y"
lower = -1
upper = 1
[model]
kind = "logistic"
[teachers]
count = 30
epochs = 20
learning_rate = 0.05
[public]
file = "public.csv"
[votes]
aggregator = "confident-gnmax"
noise = 5
threshold = 20
threshold_noise = 8
queries = 60
answers = 12
target_delta = 4e-6
[student]
components = 2
neighbours = 5
epochs = 20
learning_rate = 0.02
)";

class PateJobs : public ::testing::Test {
 protected:
  PateJobs() {
    write("private.csv", table(1500, 1));
    write("test.csv", table(300, 5));
    write("public.csv", table(400, 9, false));
    write("toy.toml", kToy);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  [[nodiscard]] std::string read(const std::string& name) const { return value_of(read_file(path(name), kLimit)); }
  void change(const std::string& from, const std::string& to) const {
    std::string text = read("toy.toml");
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write("toy.toml", text.replace(at, from.size(), to));
  }
  [[nodiscard]] std::unique_ptr<Ledger> ledger() const {
    if (exists("ledger")) return value_of(Ledger::open(path("ledger"), key(), {}));
    return value_of(Ledger::create(path("ledger"), key(), {}));
  }
  [[nodiscard]] SigningKey key() const {
    if (!exists("key")) {
      expect_good(SigningKey::generate().save(path("key")));
    }
    return value_of(SigningKey::load(path("key")));
  }
  [[nodiscard]] Result<PateJob> prepare(const std::string& name = {}, const std::string& out = "out") const {
    NF_TRY(PateFile file, read_pate_file(path("toy.toml")));
    return PateJob::prepare(std::move(file), {path(out), name, NewDatasets::kAdd, {}},
                            {.threads = 2, .version = "test"});
  }
  [[nodiscard]] static double spent(Ledger& ledger) { return 8 * value_of(ledger.budget("toy")).account.spent_share(); }

  testing::TemporaryFolder folder_;
};

TEST_F(PateJobs, MakesAStudentThatItsCertificateIsTrueOf) {
  const auto paying = ledger();
  PateJob job = value_of(prepare());
  const PateCost cost = value_of(job.cost());
  EXPECT_LE(cost.epsilon.upper, 8);
  EXPECT_EQ(cost.votes.count.answers, Steps::of(12));
  EXPECT_FALSE(exists("out")) << "preparing writes nothing";
  std::size_t told = 0;
  const PateOutcome made =
      value_of(job.run(*paying, {}, {.teaching = [&](const TeachingProgress& p) { told = p.taught; }}, "the command"));
  EXPECT_EQ(told, 30);
  EXPECT_EQ(made.answered, 12);
  EXPECT_LE(made.asked, 60);
  EXPECT_GT(*made.test->accuracy, 0.7);
  EXPECT_NEAR(spent(*paying), cost.epsilon.upper, 1e-9) << "the student costs nothing more";
  EXPECT_EQ(made.student->epsilon.upper, cost.epsilon.upper);
  EXPECT_EQ(made.votes->statement, cost.spend.statement);
  for (const char* name :
       {"out/labels.json", "out/model.safetensors", "out/labels.certificate.json", "out/certificate.json"}) {
    const VerifiedRelease verified = value_of(verify_any_release(read(name)));
    expect_good(verify_in_ledger(verified, *paying));
    EXPECT_NEAR(verified.certificate.certificate.epsilon.upper, cost.epsilon.upper, 1e-12) << name;
  }
  const Json notes = Json::parse(read("out/run.json"));
  EXPECT_EQ(notes["answered"], 12);
  EXPECT_EQ(notes["command"], "the command");
  // Nothing that is public says how teachers agree: neither votes nor what follows from them.
  for (const char* name : {"out/run.json", "out/labels.json", "out/certificate.json"}) {
    const std::string text = read(name);
    for (const char* word : {"agreement", "data_dependent", "plurality", "margin"}) {
      EXPECT_EQ(text.find(word), std::string::npos) << name << " " << word;
    }
  }
  struct stat about {};
  ASSERT_EQ(::stat(path("out/ballots.private").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600);
}

TEST_F(PateJobs, VotesOnceForOneKey) {
  const auto paying = ledger();
  (void)value_of(value_of(prepare()).run(*paying, {}, {}));
  const double before = spent(*paying);
  const std::string labels = read("out/labels.json");
  const std::string model = read("out/model.safetensors");
  const PateOutcome again = value_of(value_of(prepare()).run(*paying, {}, {}));
  EXPECT_TRUE(again.labels_again);
  EXPECT_TRUE(again.student_again);
  // Elsewhere, without the ballots: the ledger has the labels.
  const PateOutcome elsewhere = value_of(value_of(prepare({}, "elsewhere")).run(*paying, {}, {}));
  EXPECT_TRUE(elsewhere.labels_again);
  EXPECT_EQ(read("elsewhere/labels.json"), labels);
  EXPECT_FALSE(exists("elsewhere/ballots.private")) << "no teacher was needed";
  EXPECT_EQ(read("out/labels.json"), labels);
  EXPECT_EQ(read("out/model.safetensors"), model);
  EXPECT_EQ(spent(*paying), before);
  // Another student of the same labels is free.
  change("neighbours = 5", "neighbours = 6");
  const PateOutcome other = value_of(value_of(prepare({}, "other")).run(*paying, {}, {}));
  EXPECT_TRUE(other.labels_again);
  EXPECT_FALSE(other.student_again);
  EXPECT_EQ(spent(*paying), before);
  expect_good(verify_in_ledger(value_of(verify_any_release(read("other/model.safetensors"))), *paying));
  // Another question under the same key is refused, and a new key does not fit what is left.
  change("noise = 5", "noise = 6");
  EXPECT_FALSE(value_of(prepare({}, "third")).run(*paying, {}, {}).has_value());
  EXPECT_EQ(spent(*paying), before);
}

TEST_F(PateJobs, RefusesBeforeAnybodyTeaches) {
  const auto paying = ledger();
  (void)value_of(value_of(prepare("first", "first")).run(*paying, {}, {}));
  const double before = spent(*paying);
  const Result<PateOutcome> second = value_of(prepare("second", "second")).run(*paying, {}, {});
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kBudgetExhausted);
  EXPECT_FALSE(exists("second"));
  EXPECT_EQ(spent(*paying), before);
}

TEST_F(PateJobs, RefusesPublicExamplesThatArePrivateRows) {
  std::string rows = table(1500, 1, false);
  write("public.csv", rows.substr(0, rows.size() / 3));
  const Result<PateJob> job = prepare();
  ASSERT_FALSE(job.has_value());
  EXPECT_NE(job.error().message.find("rows of the private data"), std::string::npos) << job.error().message;
}

TEST_F(PateJobs, RefusesADeltaThatIsNotSmall) {
  change("delta = 1e-5", "delta = 2e-3");
  change("target_delta = 4e-6", "target_delta = 1e-3");
  const Result<PateJob> job = prepare();
  ASSERT_FALSE(job.has_value());
  EXPECT_NE(job.error().message.find("1/rows"), std::string::npos);
}

// Killed at any moment while teachers learn, and then asked again: the teachers that have voted are not taught again,
// and there is one vote, one charge and one student.
TEST_F(PateJobs, GoesOnAfterItWasKilled) {
  change("epochs = 20\nlearning_rate = 0.05", "epochs = 60\nlearning_rate = 0.05");
  { const auto made = ledger(); }
  for (const std::size_t wanted : {3U, 11U}) {
    const auto killed = testing::ChildProcess::run([&]() -> int {
      const auto paying = ledger();
      Result<PateJob> job = prepare();
      if (!job.has_value()) return 1;
      // After that many ballots are on the disk the process is killed at once, in the middle of the others.
      const JobControl control{nullptr, [&] {
                                 std::error_code ignored;
                                 const auto size = std::filesystem::file_size(path("out/ballots.private"), ignored);
                                 if (!ignored && size > 300 + wanted * (8 + 120 + 32)) (void)::raise(SIGKILL);
                                 return false;
                               }};
      return job.value().run(*paying, control, {}).has_value() ? 0 : 2;
    });
    ASSERT_TRUE(killed.was_killed());
  }
  const auto paying = ledger();
  std::size_t first = 100;
  const PateOutcome made = value_of(value_of(prepare()).run(
      *paying, {}, {.teaching = [&](const TeachingProgress& p) { first = std::min(first, p.taught); }}));
  EXPECT_GE(first, 11);
  EXPECT_FALSE(made.labels_again);
  EXPECT_NEAR(spent(*paying), made.votes->epsilon.upper, 1e-9);
  expect_good(verify_in_ledger(value_of(verify_any_release(read("out/model.safetensors"))), *paying));
}

// Killed after the labels were released, before there is a student.
TEST_F(PateJobs, TakesReleasedLabelsAfterItWasKilled) {
  { const auto made = ledger(); }
  const auto killed = testing::ChildProcess::run([&]() -> int {
    const auto paying = ledger();
    Result<PateJob> job = prepare();
    if (!job.has_value()) return 1;
    std::thread([&] {
      while (!exists("out/labels.json")) std::this_thread::yield();
      (void)::raise(SIGKILL);
    }).detach();
    (void)job.value().run(*paying, {}, {});
    for (;;) std::this_thread::yield();
  });
  ASSERT_TRUE(killed.was_killed());
  const std::string labels = read("out/labels.json");
  const auto paying = ledger();
  const double before = spent(*paying);
  const PateOutcome made = value_of(value_of(prepare()).run(*paying, {}, {}));
  EXPECT_TRUE(made.labels_again);
  EXPECT_EQ(read("out/labels.json"), labels);
  EXPECT_EQ(spent(*paying), before);
}

TEST_F(PateJobs, StopsBeforeTheVoteAndSpendsNothing) {
  const auto paying = ledger();
  const Result<PateOutcome> stopped = value_of(prepare()).run(*paying, {nullptr, [] { return true; }}, {});
  ASSERT_FALSE(stopped.has_value());
  EXPECT_NE(stopped.error().message.find("nothing was spent"), std::string::npos);
  EXPECT_EQ(spent(*paying), 0);
  EXPECT_FALSE(exists("out/labels.json"));
  EXPECT_FALSE(value_of(value_of(prepare()).run(*paying, {}, {})).labels_again);
}

TEST_F(PateJobs, RefusesBallotsOfOtherRows) {
  const auto paying = ledger();
  (void)value_of(prepare()).run(*paying, {nullptr, [] { return true; }}, {});
  ASSERT_TRUE(exists("out/ballots.private"));
  std::string rows = table(1500, 1);
  write("private.csv", rows.substr(0, rows.rfind('\n', rows.size() - 2) + 1));
  const Result<PateOutcome> mixed = value_of(prepare()).run(*paying, {}, {});
  ASSERT_FALSE(mixed.has_value());
  EXPECT_EQ(spent(*paying), 0);
}

TEST_F(PateJobs, RecordsWhenTheCustodianLooks) {
  const auto paying = ledger();
  PateJob job = value_of(prepare());
  EXPECT_FALSE(job.own_figures(*paying).has_value()) << "nobody has voted";
  (void)value_of(job.run(*paying, {}, {}));
  const OwnFigures figures = value_of(job.own_figures(*paying));
  EXPECT_GT(figures.agreement, 0.5);
  EXPECT_GT(figures.data_dependent_epsilon, 0);
  EXPECT_NE(read("out/own-figures.private.json").find("not for release"), std::string::npos);
  struct stat about {};
  ASSERT_EQ(::stat(path("out/own-figures.private.json").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600);
  // Later certificates name it.
  change("noise = 5", "noise = 20");
  change("threshold_noise = 8", "threshold_noise = 30");
  change("answers = 12", "answers = 2");
  change("queries = 60", "queries = 10");
  change("threshold = 20", "threshold = 1");
  const PateOutcome later = value_of(value_of(prepare("later", "later")).run(*paying, {}, {}));
  ASSERT_EQ(later.votes->exposures.size(), 1);
  EXPECT_EQ(later.votes->exposures.front().kind, ExposureKind::kEvaluation);
}

TEST_F(PateJobs, AsksInteractivelyInRounds) {
  change("confident-gnmax", "interactive-gnmax");
  change("threshold = 20", "rounds = 3\nown_confidence = 0.9\nthreshold = 15");
  const auto paying = ledger();
  const PateOutcome made = value_of(value_of(prepare()).run(*paying, {}, {}));
  EXPECT_GT(made.own, 0) << "the student labels what it knows";
  EXPECT_LE(made.answered, 12);
  EXPECT_GT(*made.test->accuracy, 0.7);
  expect_good(verify_in_ledger(value_of(verify_any_release(read("out/model.safetensors"))), *paying));
}

TEST_F(PateJobs, ReleasesTheSanitisedCostIfItIsAskedFor) {
  change("[student]", "[votes.sanitised]\norder = 4\nnoise = 30\ndelta = 1e-6\n[student]");
  change("noise = 5", "noise = 12");
  change("epsilon = 8.0", "epsilon = 30.0");
  const auto paying = ledger();
  const PateOutcome made = value_of(value_of(prepare()).run(*paying, {}, {}));
  ASSERT_TRUE(made.sanitised.has_value());
  EXPECT_TRUE((contains<EpsilonDeltaEvent>(made.votes->statement.event)));
  EXPECT_NE(read("out/labels.json").find("data_dependent_divergence"), std::string::npos);
}

TEST_F(PateJobs, TestsOnRowsThatAreHeldOut) {
  write("public.csv", table(400, 9));
  change("test = \"test.csv\"", "test = \"public.csv\"");
  EXPECT_FALSE(prepare().has_value()) << "the student would be tested on what it learned from";
  change("file = \"public.csv\"", "file = \"public.csv\"\nheld_out = 100");
  PateJob job = value_of(prepare());
  EXPECT_EQ(job.pool(), 300);
  const auto paying = ledger();
  const PateOutcome made = value_of(job.run(*paying, {}, {}));
  EXPECT_EQ(made.test->examples, 100);
  change("held_out = 100", "held_out = 400");
  EXPECT_FALSE(prepare().has_value());
}

}  // namespace
}  // namespace noisefloor
