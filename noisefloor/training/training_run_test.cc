#include "noisefloor/training/training_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/training/model_release.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/memory_outlet.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::expect_good;
using testing::value_of;

// Gradients that pull each weight towards 1.
class Pull final : public GradientSource {
 public:
  [[nodiscard]] std::size_t examples() const override { return 100; }
  [[nodiscard]] std::size_t parameters() const override { return 3; }
  [[nodiscard]] std::size_t groups() const override { return 1; }
  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> rows, const ClipRule*,
                                        BitStream&, std::span<float> sum) override {
    if (failing) return internal_error("the source failed");
    ++calls;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<float>(rows.size()) * (at[i] - 1) * push;
    return rows.size();
  }
  int calls = 0;
  bool failing = false;
  float push = 0.1F;
};

class TrainingRunTest : public ::testing::Test {
 protected:
  TrainingRunTest()
      : ledger_(value_of(Ledger::create(folder_.path("ledger"), SigningKey::generate(), {}))),
        random_(value_of(SecureRandom::create())) {
    expect_good(ledger_->create_budget(testing::terms("b", 5, 1e-3, Rule::kBasic)));
  }

  DpSgd descent(std::optional<double> noise = 2.0, double rate = 0.5) {
    DpSgd::Options options;
    if (noise) options.noise = NoiseMultiplier::make(*noise).value();
    options.clip = value_of(ClipRule::create(FlatClip{ClipNorm::of(1.0)}));
    options.learning_rate = {.initial = rate};
    return value_of(DpSgd::create(options,
                                  value_of(BatchSampler::poisson(Rows::of(100), Rows::of(10), Adjacency::kAddRemove)),
                                  source_, {0, 0, 0}));
  }

  static RunTerms terms(std::uint64_t steps) {
    return {"toy", Steps::make(steps).value(), Delta::of(1e-5), "b", "key", {}, "1.2.3"};
  }

  static std::vector<NamedTensor> named(std::span<const float> weights) {
    return {{"weight", {weights.size()}, {weights.begin(), weights.end()}}};
  }

  Result<Sealed> train(const RunTerms& terms, DpSgd& sgd, const TrainingHooks& hooks = {}) {
    auto made = train_privately(terms, sgd, random_, *ledger_, named, hooks, outlet_);
    if (!made.has_value()) return made.error();
    return std::move(made).value().release;
  }

  // As if it was written to a file, signed, and read again.
  Checkpoint read_back(const Checkpoint& checkpoint) {
    return value_of(parse_checkpoint(to_bytes(checkpoint, value_of(sign_by(*ledger_)))));
  }

  double spent() { return 5 * value_of(ledger_->budget("b")).account.spent_share(); }

  testing::TemporaryFolder folder_;
  Pull source_;
  std::unique_ptr<Ledger> ledger_;
  SecureRandom random_;
  testing::MemoryOutlet outlet_;
};

TEST_F(TrainingRunTest, ReservesTrainsCertifiesPublishesAndCommits) {
  DpSgd sgd = descent();
  const Sealed model = value_of(train(terms(20), sgd));
  EXPECT_EQ(source_.calls, 20);
  const double epsilon = value_of(pld_epsilon(sgd.event(Steps::of(20)), Adjacency::kAddRemove, Delta::of(1e-5))).upper;
  EXPECT_EQ(model.certificate.epsilon.upper, epsilon);
  EXPECT_GE(spent(), epsilon * (1 - 1e-9));
  ASSERT_EQ(outlet_.published.size(), 1U);
  // The published file holds a certificate about its own weights.
  const TensorFile file = value_of(parse_safetensors(outlet_.published[0]));
  const auto json = nlohmann::json::parse(file.metadata.at("noisefloor.certificate"));
  EXPECT_EQ(json["epsilon"]["upper"], epsilon);
  EXPECT_EQ(json["steps"], 20);
  EXPECT_EQ(json["ledger"]["budget"], "b");
  EXPECT_EQ(model.certificate.released, digest_of(file.tensors));
  TensorFile other = file;
  other.tensors[0].values[0] += 1;
  EXPECT_NE(model.certificate.released, digest_of(other.tensors));
}

// Other workers may begin when the budget is reserved, and not before; if they cannot, it stays spent.
TEST_F(TrainingRunTest, GivesTheStartSignalBetweenTheReservationAndTheFirstStep) {
  DpSgd sgd = descent();
  TrainingHooks hooks;
  double then_spent = 0;
  hooks.begin = [&]() -> Result<void> {
    EXPECT_EQ(source_.calls, 0);
    then_spent = spent();
    return success();
  };
  (void)value_of(train(terms(5), sgd, hooks));
  EXPECT_GT(then_spent, 0);
  DpSgd again = descent();
  RunTerms other = terms(5);
  other.key = "other";
  hooks.begin = []() -> Result<void> { return io_error("nobody came"); };
  const double before = spent();
  source_.calls = 0;
  expect_error(train(other, again, hooks), ErrorCode::kIo, "nobody came");
  EXPECT_EQ(source_.calls, 0);
  EXPECT_GT(spent(), before);
  EXPECT_EQ(outlet_.published.size(), 1U);
}

TEST_F(TrainingRunTest, LeavesABudgetThatIsTooSmallUntouched) {
  DpSgd sgd = descent(0.3);
  TrainingHooks hooks;
  hooks.begin = []() -> Result<void> {
    ADD_FAILURE() << "nothing was reserved";
    return success();
  };
  expect_error(train(terms(1000), sgd, hooks), ErrorCode::kBudgetExhausted, "");
  EXPECT_EQ(source_.calls, 0);
  EXPECT_EQ(sgd.steps(), 0U);
  EXPECT_EQ(spent(), 0);
  EXPECT_TRUE(outlet_.published.empty());
}

TEST_F(TrainingRunTest, TrainsOncePerKey) {
  DpSgd first = descent();
  ASSERT_TRUE(train(terms(5), first));
  const double before = spent();
  DpSgd second = descent();
  expect_error(train(terms(5), second), ErrorCode::kInvalidArgument, "another key");
  EXPECT_EQ(second.steps(), 0U);
  EXPECT_EQ(spent(), before);
}

TEST_F(TrainingRunTest, ReturnsTheModelSoFarIfStoppedAndCertifiesThePlan) {
  DpSgd sgd = descent();
  TrainingHooks hooks;
  hooks.stop = [&] { return sgd.steps() == 7; };
  const Sealed model = value_of(train(terms(20), sgd, hooks));
  EXPECT_EQ(model.certificate.steps, 7U);
  // Whoever stops may have looked at the model: the steps that were not taken count too.
  EXPECT_EQ(model.certificate.statement.event, sgd.event(Steps::of(20)));
  const double whole = value_of(pld_epsilon(sgd.event(Steps::of(20)), Adjacency::kAddRemove, Delta::of(1e-5))).upper;
  EXPECT_EQ(model.certificate.epsilon.upper, whole);
  EXPECT_GE(spent(), whole * (1 - 1e-9));
  expect_good(verify_in_ledger(value_of(verify_any_release(model.bytes)), *ledger_));
}

TEST_F(TrainingRunTest, CountsFailuresAsSpent) {
  DpSgd sgd = descent();
  source_.failing = true;
  expect_error(train(terms(5), sgd), ErrorCode::kInternal, "source failed");
  EXPECT_GT(spent(), 0);
  source_.failing = false;
  const double before = spent();
  DpSgd unpublished = descent();
  outlet_.no_room = true;
  RunTerms other = terms(5);
  other.key = "other";
  expect_error(train(other, unpublished), ErrorCode::kIo, "no room");
  EXPECT_GT(spent(), before);
}

TEST_F(TrainingRunTest, ReportsDivergence) {
  source_.push = 1e30F;
  DpSgd sgd = descent();
  expect_error(train(terms(10), sgd), ErrorCode::kInvalidArgument, "smaller learning rate");
  EXPECT_TRUE(outlet_.published.empty());
}

TEST_F(TrainingRunTest, RefusesToTrainPrivatelyWithoutPrivacy) {
  DpSgd noiseless = descent(std::nullopt);
  expect_error(train(terms(5), noiseless), ErrorCode::kInvalidArgument, "not private");
  DpSgd begun = descent();
  ASSERT_TRUE(begun.step(random_));
  expect_error(train(terms(5), begun), ErrorCode::kInvalidArgument, "first step");
  EXPECT_EQ(spent(), 0);
}

TEST_F(TrainingRunTest, CertifiesThatARunWithoutPrivacyIsNotPrivate) {
  for (const std::optional<double> noise : {std::optional<double>(1.0), std::optional<double>()}) {
    DpSgd sgd = descent(noise);
    ReplayRandom replay = value_of(ReplayRandom::create(1));
    testing::MemoryOutlet outlet;
    const Sealed model = value_of(train_without_privacy(terms(5), sgd, replay, named, {}, outlet)).release;
    EXPECT_TRUE(std::isinf(model.certificate.epsilon.upper));
    const auto json = nlohmann::json::parse(model.signed_certificate);
    EXPECT_EQ(json["private"], false);
    EXPECT_TRUE(json["epsilon"]["upper"].is_null());
    EXPECT_FALSE(json.contains("ledger"));
  }
  EXPECT_EQ(spent(), 0);
}

TEST_F(TrainingRunTest, ChargesAgainAfterACheckpoint) {
  DpSgd sgd = descent();
  std::optional<Checkpoint> saved;
  TrainingHooks hooks;
  hooks.checkpoint_interval = std::chrono::milliseconds(0);
  hooks.checkpoint = [&](const Checkpoint& checkpoint) {
    if (checkpoint.state.steps == 12) saved = checkpoint;
  };
  ASSERT_TRUE(train(terms(20), sgd, hooks));
  ASSERT_TRUE(saved);
  const double first = spent();
  const auto left = [&](std::uint64_t steps) {
    return value_of(pld_epsilon(sgd.event(Steps::make(steps).value()), Adjacency::kAddRemove, Delta::of(1e-5))).upper;
  };
  RunTerms again = terms(20);
  again.from = read_back(*saved);
  DpSgd resumed = descent();
  // The key of the first run is used up.
  expect_error(train(again, resumed), ErrorCode::kInvalidArgument, "another request");
  EXPECT_EQ(spent(), first);
  again.key = "again";
  source_.calls = 0;
  DpSgd second = descent();
  const Sealed model = value_of(train(again, second));
  EXPECT_EQ(source_.calls, 8);
  EXPECT_EQ(model.certificate.steps, 20U);
  EXPECT_EQ(model.certificate.spend->reservations, (std::vector<std::uint64_t>{2, 4}));
  // All that was reserved: 20 steps, and the 8 that were drawn anew.
  const DpStatement both = value_of(compose({{Adjacency::kAddRemove, PrivacyUnit::kRow, sgd.event(Steps::of(20))},
                                             {Adjacency::kAddRemove, PrivacyUnit::kRow, sgd.event(Steps::of(8))}}));
  EXPECT_EQ(model.certificate.statement, both);
  EXPECT_EQ(model.certificate.epsilon.upper, value_of(certified_epsilon(both, Delta::of(1e-5))).upper);
  EXPECT_GT(model.certificate.epsilon.upper, left(20));
  expect_good(verify_in_ledger(value_of(verify_any_release(model.bytes)), *ledger_));
  EXPECT_GE(spent() - first, left(8) * (1 - 1e-9));
  // Continuing from it once more is charged once more.
  again.key = "once more";
  DpSgd third = descent();
  ASSERT_TRUE(train(again, third));
  EXPECT_GE(spent() - first, 2 * left(8) * (1 - 1e-9));
}

TEST_F(TrainingRunTest, RefusesACheckpointOfAnotherPlanOrLedger) {
  DpSgd sgd = descent();
  std::optional<Checkpoint> saved;
  TrainingHooks hooks;
  hooks.stop = [&] { return sgd.steps() == 3; };
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { saved = checkpoint; };
  ASSERT_TRUE(train(terms(6), sgd, hooks));
  ASSERT_TRUE(saved);
  const double before = spent();
  const auto refused = [&](const RunTerms& terms, DpSgd other, const std::string& why) {
    expect_error(train(terms, other), ErrorCode::kInvalidArgument, why);
    EXPECT_EQ(spent(), before) << why;
  };
  RunTerms again = terms(6);
  again.key = "again";
  again.from = read_back(*saved);
  refused(again, descent(3.0), "other settings");
  refused(again, descent(2.0, 0.4), "other settings");
  RunTerms longer = again;
  longer.steps = Steps::of(7);
  refused(longer, descent(), "other settings");
  RunTerms configured = again;
  configured.configuration = R"({"model":"other"})";
  refused(configured, descent(), "other settings");
  RunTerms elsewhere = again;
  elsewhere.from->ledger[0] ^= 1;
  refused(elsewhere, descent(), "another ledger");
  RunTerms unpaid = again;
  unpaid.from->reservations = {999};
  refused(unpaid, descent(), "another ledger");
  unpaid.from->reservations.clear();
  refused(unpaid, descent(), "another ledger");
  RunTerms known_noise = again;
  known_noise.from->state.replayed = true;
  refused(known_noise, descent(), "not private");
  RunTerms done = again;
  done.from->state.steps = done.from->state.optimizer.steps = 6;
  refused(done, descent(), "all of its 6 steps");
}

// The attack: weights of another origin in a checkpoint whose other fields are right.
TEST_F(TrainingRunTest, ContinuesOnlyFromACheckpointThatTheLedgerSigned) {
  DpSgd sgd = descent();
  std::optional<Checkpoint> saved;
  TrainingHooks hooks;
  hooks.stop = [&] { return sgd.steps() == 3; };
  hooks.checkpoint = [&](const Checkpoint& checkpoint) { saved = checkpoint; };
  ASSERT_TRUE(train(terms(6), sgd, hooks));
  ASSERT_TRUE(saved);
  const double before = spent();
  Checkpoint forged = read_back(*saved);
  forged.state.parameters[0] = 0.123F;
  const SigningKey stranger = SigningKey::from_seed({1});
  const Sign by_stranger = [&](std::string_view text) { return std::pair(stranger.public_key(), stranger.sign(text)); };
  for (const Sign& sign : {Sign(), by_stranger}) {
    RunTerms again = terms(6);
    again.key = "again";
    again.from = value_of(parse_checkpoint(to_bytes(forged, sign)));
    DpSgd other = descent();
    expect_error(train(again, other), ErrorCode::kInvalidArgument, "not signed with the key of this ledger");
  }
  // The signature of the true checkpoint does not fit the forged one.
  TensorFile file = value_of(parse_safetensors(to_bytes(forged)));
  const TensorFile whole = value_of(parse_safetensors(to_bytes(*saved, value_of(sign_by(*ledger_)))));
  for (const char* key : {"noisefloor.public_key", "noisefloor.signature"}) file.metadata[key] = whole.metadata.at(key);
  expect_error(parse_checkpoint(to_safetensors(file)), ErrorCode::kInputData, "signature does not hold");
  EXPECT_EQ(spent(), before);
}

TEST_F(TrainingRunTest, ContinuesRepeatableNoiseToTheSameBits) {
  const auto run = [&](const RunTerms& terms, ReplayRandom random, const TrainingHooks& hooks) {
    DpSgd sgd = descent();
    testing::MemoryOutlet outlet;
    return train_without_privacy(terms, sgd, random, named, hooks, outlet);
  };
  std::optional<Checkpoint> saved;
  TrainingHooks hooks;
  hooks.checkpoint_interval = std::chrono::milliseconds(0);
  hooks.checkpoint = [&](const Checkpoint& checkpoint) {
    if (checkpoint.state.steps == 4) saved = checkpoint;
  };
  const Sealed whole = value_of(run(terms(9), value_of(ReplayRandom::create(5)), hooks)).release;
  ASSERT_TRUE(saved);
  RunTerms rest = terms(9);
  rest.from = saved;
  EXPECT_EQ(value_of(run(rest, value_of(ReplayRandom::create(5, saved->noise_position)), {})).release.bytes,
            whole.bytes);
  expect_error(run(rest, value_of(ReplayRandom::create(5)), {}), ErrorCode::kInvalidArgument, "must continue from");
}

TEST_F(TrainingRunTest, ReportsProgress) {
  DpSgd sgd = descent();
  std::vector<TrainingProgress> told;
  TrainingHooks hooks;
  hooks.interval = std::chrono::milliseconds(0);
  hooks.progress = [&](const TrainingProgress& progress) { told.push_back(progress); };
  ASSERT_TRUE(train(terms(10), sgd, hooks));
  ASSERT_EQ(told.size(), 10U);
  for (std::size_t i = 0; i < told.size(); ++i) {
    EXPECT_EQ(told[i].steps, i + 1);
    EXPECT_EQ(told[i].planned, 10U);
    if (i > 0) {
      EXPECT_GT(told[i].epsilon, told[i - 1].epsilon);
    }
  }
  EXPECT_EQ(told.back().seconds_left, 0);
}

}  // namespace
}  // namespace noisefloor
