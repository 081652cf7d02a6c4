// Attacks on models of a training file: they find what is memorised, and leave traces where rows are private.
#include "noisefloor/training/membership_job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "noisefloor/training/inversion_job.h"
#include "tests/support/gzip.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

constexpr double kNone = std::numeric_limits<double>::infinity();

class MembershipJobTest : public testing::ToyJob {
 protected:
  // Labels that nothing explains, so that a network has to memorise them.
  MembershipJobTest() {
    std::string table = "a,b,c,d,kind\n";
    std::uint64_t state = 1;
    for (int i = 0; i < 160; ++i) {
      for (int j = 0; j < 4; ++j) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        table += std::to_string(static_cast<double>(state >> 40) / 8388608.0 - 1) + ",";
      }
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      table += (state >> 63) != 0 ? "yes\n" : "no\n";
    }
    write("data.csv", table);
    std::string toml = R"(name = "toy"
[budget]
epsilon = 8.0
delta = 1e-4
[data]
format = "csv"
train = "data.csv"
rows = 160
test_fraction = 0.25
label = "kind"
classes = ["no", "yes"]
[[data.column]]
name = ["a", "b", "c", "d"]
lower = -1
upper = 1
[model]
kind = "mlp"
hidden = [64]
[training]
batch_size = 20
steps = 400
clip_norm = 1.0
optimizer = "adam"
learning_rate = 0.01
)";
    write("toy.toml", toml);
  }

  [[nodiscard]] static MembershipWish small() {
    MembershipWish wish;
    wish.epsilons = {kNone, 0.5};
    wish.models = 8;
    wish.targets = 4;
    wish.attacks = {audit::Attack::kThreshold, audit::Attack::kLiraOffline, audit::Attack::kRmia};
    wish.unknown = NewDatasets::kAdd;
    return wish;
  }
};

TEST_F(MembershipJobTest, FindsWhatIsMemorisedAndNothingElse) {
  declare_public();
  MembershipJob job = value_of(MembershipJob::prepare(file(), small(), {.threads = 2}));
  EXPECT_FALSE(job.needs_ledger());
  const MembershipOutcome found = value_of(job.run(nullptr, control_));
  EXPECT_TRUE(found.public_rows);
  EXPECT_FALSE(found.exposure.has_value());
  ASSERT_EQ(found.attacked.size(), 2U);
  const AttackedModels& open = found.attacked[0];
  const AttackedModels& hidden = found.attacked[1];
  EXPECT_GT(open.accuracy_of_members, 0.85);
  EXPECT_LT(open.accuracy_of_others, 0.65);
  EXPECT_FALSE(open.event.has_value());
  EXPECT_EQ(open.most_auc, 1);
  EXPECT_LE(hidden.epsilon, 0.5);
  EXPECT_GT(hidden.epsilon, 0.49);
  EXPECT_LT(hidden.most_auc, 0.65);
  ASSERT_EQ(open.findings.size(), 3U);
  for (const MembershipFinding& finding : open.findings) EXPECT_GT(finding.result.median_auc, 0.7);
  for (const MembershipFinding& finding : hidden.findings) EXPECT_NEAR(finding.result.median_auc, 0.5, 0.12);
  EXPECT_FALSE(open.findings[0].at_thousandth.has_value()) << "too few rows to tell";
  // The same again, on one thread.
  MembershipJob again = value_of(MembershipJob::prepare(file(), small(), {.threads = 1}));
  EXPECT_EQ(value_of(again.run(nullptr, control_)).attacked[0].findings[1].result.auc, open.findings[1].result.auc);
}

// Private rows: nothing without a ledger, and a trace that later certificates name.
TEST_F(MembershipJobTest, LeavesATraceInTheLedger) {
  MembershipWish wish = small();
  wish.epsilons = {kNone};
  wish.models = 4;
  wish.targets = 1;
  MembershipJob job = value_of(MembershipJob::prepare(file(), wish, {}));
  EXPECT_TRUE(job.needs_ledger());
  expect_error(job.run(nullptr, control_), ErrorCode::kInvalidArgument, "not declared public");
  const auto ledger = make_ledger();
  const MembershipOutcome found = value_of(job.run(ledger.get(), control_));
  EXPECT_FALSE(found.public_rows);
  ASSERT_TRUE(found.exposure.has_value());
  TrainingWish training = this->wish();
  training.unknown = NewDatasets::kAdd;
  TrainingJob later = value_of(TrainingJob::prepare(file(), training, {}));
  const TrainingOutcome made = value_of(later.run(ledger.get(), control_));
  const std::vector<CertifiedExposure>& seen = made.run.model.certificate.exposures;
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(),
                          [&](const CertifiedExposure& one) { return one.entry == *found.exposure; }));
}

// A finished model is attacked by models of its kind.
TEST_F(MembershipJobTest, AttacksAFinishedModel) {
  declare_public();
  change("[training]\n", "[training]\nnoise = \"none\"\n");
  change("steps = 400", "steps = 2000");
  TrainingWish training = wish();
  training.unknown = NewDatasets::kAdd;
  TrainingJob made = value_of(TrainingJob::prepare(file(), training, {}));
  (void)value_of(made.run(nullptr, control_));
  MembershipWish wish = small();
  wish.epsilons = {kNone};
  wish.model = read("out/model.safetensors");
  const MembershipOutcome found = value_of(value_of(MembershipJob::prepare(file(), wish, {})).run(nullptr, control_));
  ASSERT_EQ(found.attacked.size(), 2U);
  const AttackedModels& finished = found.attacked[1];
  EXPECT_TRUE(finished.finished);
  EXPECT_EQ(found.pool, 160U);
  EXPECT_GT(finished.accuracy_of_members, 0.8);
  EXPECT_GT(finished.findings[0].result.median_auc, 0.65);
  wish.model = "nonsense";
  expect_error(value_of(MembershipJob::prepare(file(), wish, {})).run(nullptr, control_), ErrorCode::kInputData, "");
}

TEST_F(MembershipJobTest, RefusesWhatCannotBeAttacked) {
  declare_public();
  MembershipWish few = small();
  few.models = 3;
  expect_error(MembershipJob::prepare(file(), few, {}), ErrorCode::kInvalidArgument, "4 models");
  MembershipWish many = small();
  many.targets = 9;
  expect_error(MembershipJob::prepare(file(), many, {}), ErrorCode::kInvalidArgument, "targets");
  MembershipWish negative = small();
  negative.epsilons = {-1};
  expect_error(MembershipJob::prepare(file(), negative, {}), ErrorCode::kInvalidArgument, "-1");
}

class InversionJobTest : public testing::ToyJob {
 protected:
  InversionJobTest() {
    const testing::ToyImages toy = testing::toy_images(12);
    write("images", toy.images);
    write("labels", toy.labels);
    write("toy.toml", testing::toy_images_toml("kind = \"logistic\"", ""));
  }
};

TEST_F(InversionJobTest, BringsImagesBackAndStopsWithNoise) {
  declare_public();
  InversionWish wish{
      .network = AttackedNetwork::kDense, .pictures = 2, .clients = 5, .noise = {NoiseMultiplier::of(1)}};
  const InversionOutcome found = value_of(invert_updates(file(), wish, {}, nullptr));
  ASSERT_EQ(found.updates.size(), 3U);
  EXPECT_EQ(found.method, audit::Inversion::kAnalytic);
  EXPECT_TRUE(found.public_rows);
  EXPECT_EQ(found.labels_found, 2U);
  EXPECT_GT(found.updates[0].psnr, 100);
  EXPECT_LT(found.updates[1].psnr, found.updates[0].psnr);
  EXPECT_LT(found.updates[2].psnr, found.baseline_psnr);
  EXPECT_EQ(found.updates[1].truth.size(), 2U) << "as many are shown";
}

TEST_F(InversionJobTest, LooksAtPrivateImagesOnlyWithALedger) {
  expect_error(invert_updates(file(), {}, {}, nullptr), ErrorCode::kInvalidArgument, "the test images are private");
  declare_public();
  InversionWish many;
  many.pictures = 1000;
  expect_error(invert_updates(file(), many, {}, nullptr), ErrorCode::kInvalidArgument, "ask for 1 to");
}

}  // namespace
}  // namespace noisefloor
