#include "noisefloor/training/descent.h"

#include <gtest/gtest.h>

#include "noisefloor/release/certificate.h"
#include "noisefloor/training/session.h"
#include "tests/support/toy_job.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;

class DescentTest : public testing::ToyJob {
 protected:
  // The noise for the toy's file as it is now.
  [[nodiscard]] Result<Noise> noise(const NoiseWish& wish = {}) const {
    const TrainingFile read = file();
    const TrainingExamples examples = value_of(read_examples(read, 1));
    const TrainingSession session = value_of(begin_session(read, examples, {}));
    return noise_of(wish, read.training, session.sampler, session.steps, *session.model);
  }
};

TEST_F(DescentTest, PrefersWishesToTheFile) {
  const Noise by_file = value_of(noise());
  EXPECT_TRUE(by_file.calibrated);
  const Noise closer = value_of(noise({Epsilon::of(1.0), {}, {}}));
  EXPECT_GT(*closer.multiplier, *by_file.multiplier) << "half of epsilon takes more noise";
  const Noise stricter = value_of(noise({{}, Delta::of(1e-9), {}}));
  EXPECT_GT(*stricter.multiplier, *by_file.multiplier);
  const Noise given = value_of(noise({{}, {}, NoiseMultiplier::of(3.5)}));
  EXPECT_EQ(*given.multiplier, NoiseMultiplier::of(3.5));
  EXPECT_FALSE(given.calibrated);
  write("toy.toml", testing::toy_toml("steps = 40\nnoise = \"none\"\n"));
  EXPECT_FALSE(value_of(noise()).multiplier.has_value());
}

TEST_F(DescentTest, RefusesADeltaOfOneRowOrMore) {
  const auto sampler = [](PrivacyUnit unit) {
    return value_of(BatchSampler::poisson(Rows::of(1000), Rows::of(10), Adjacency::kAddRemove, unit));
  };
  EXPECT_TRUE(expect_small_delta(Delta::of(0.00099), sampler(PrivacyUnit::kRow)).has_value());
  expect_error(expect_small_delta(Delta::of(0.001), sampler(PrivacyUnit::kRow)), ErrorCode::kInvalidArgument, "1/rows");
  expect_error(expect_small_delta(Delta::of(0.001), sampler(PrivacyUnit::kPerson)), ErrorCode::kInvalidArgument,
               "1/people");
  expect_error(noise({{}, Delta::of(2e-5), {}}), ErrorCode::kInvalidArgument, "at most the budget's");
  expect_error(noise({{}, Delta::of(0.0), {}}), ErrorCode::kInvalidArgument, "above 0");
}

TEST_F(DescentTest, RefusesNoiseWithoutAClipNorm) {
  TrainingFile read = file();
  read.training.descent.clip.reset();
  const TrainingExamples examples = value_of(read_examples(read, 1));
  const TrainingSession session = value_of(begin_session(read, examples, {}));
  expect_error(noise_of({}, read.training, session.sampler, session.steps, *session.model), ErrorCode::kInvalidArgument,
               "clip_norm");
}

// A caller who makes a request by hand is held to the same rule.
TEST_F(DescentTest, HoldsARunToTheSameRule) {
  change("test_fraction = 0.2\n", "");
  const auto ledger = make_ledger();
  const TrainingFile read = file();
  const TrainingExamples examples = value_of(read_examples(read, 1));
  TrainingSession session = value_of(begin_session(read, examples, {}));
  const RunRequest request{.files = {path("out")},
                           .key = "k",
                           .noise = {NoiseMultiplier::of(5.0), false},
                           .delta = Delta::of(0.01),
                           .replay_seed = {},
                           .from = {}};
  expect_error(run_training(session, request, ledger.get(), control_), ErrorCode::kInvalidArgument, "1/rows");
  EXPECT_FALSE(exists("out"));
}

}  // namespace
}  // namespace noisefloor
