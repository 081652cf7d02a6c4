#include "noisefloor/federated/coordinator.h"

#include <gtest/gtest.h>

#include "noisefloor/federated/run_test_pieces.h"
#include "tests/support/refusal.h"

namespace noisefloor::federated {
namespace {

using internal::test_key;
using noisefloor::testing::expect_invalid;

class CoordinatorTest : public ::testing::Test {
 protected:
  void begin(RunSpec spec) {
    spec_ = std::move(spec);
    coordinator_.emplace(open().value());
    take(coordinator_->start(random_));
  }
  [[nodiscard]] Result<Coordinator> open() {
    return Coordinator::open({.spec = &spec_, .key = &key_, .budget = &budget_},
                             std::vector<float>(spec_.upload.parameters), disk_);
  }
  Effects take(Effects effects) {
    internal::apply(effects, disk_);
    return effects;
  }
  [[nodiscard]] RunBytes upload(std::uint32_t site, std::uint64_t round, std::vector<float> lanes) const {
    return to_bytes(
        Upload{{.run = spec_.run, .epoch = 1, .round = round, .stage = 0, .client = site}, std::move(lanes)},
        test_key(static_cast<std::uint8_t>(site)));
  }
  Effects send(std::uint32_t site, std::vector<float> lanes, std::optional<std::uint64_t> round = {}) {
    return take(coordinator_->receive(upload(site, round.value_or(coordinator_->round()), std::move(lanes)), random_));
  }
  void restart() { coordinator_.emplace(open().value()); }

  RunSpec spec_;
  SigningKey key_ = test_key(255);
  internal::TestBudget budget_;
  ReplayRandom random_ = ReplayRandom::create(1).value();
  Stored disk_;
  std::optional<Coordinator> coordinator_;
};

TEST_F(CoordinatorTest, MovesTheModelByTheMean) {
  begin(internal::test_spec(2, 2));
  (void)send(0, {1, 2});
  (void)send(1, {3, -2});
  EXPECT_EQ(coordinator_->model(), (std::vector<float>{2, 0}));
  EXPECT_EQ(coordinator_->counted(), 1U);
  (void)send(0, {0, 0});
  const Effects last = send(1, {0, 2});
  EXPECT_EQ(coordinator_->state(), RunState::kComplete);
  EXPECT_EQ(coordinator_->model(), (std::vector<float>{2, 1}));
  EXPECT_TRUE(parse_finish(*parse_envelope(last.messages.back().bytes, sizes_of(spec_)))->complete);
}

TEST_F(CoordinatorTest, WeighsByCount) {
  RunSpec spec = internal::test_spec(2, 1);
  spec.upload.weighting = Weighting::kByCount;
  spec.upload.max_weight = 300;
  begin(spec);
  const UploadLayout layout = UploadLayout::create(spec_.upload).value();
  (void)send(0, layout.lanes_of(std::vector<float>{1}, 100, 1));
  (void)send(1, layout.lanes_of(std::vector<float>{5}, 300, 1));
  EXPECT_NEAR(static_cast<double>(coordinator_->model()[0]), (100.0 * 1 + 300.0 * 5) / 400, 1e-6);
}

TEST_F(CoordinatorTest, AppliesAnUploadOnceAndKeepsTheFirstStory) {
  begin(internal::test_spec(3, 1));
  const Effects first = send(0, {1});
  EXPECT_EQ(send(0, {1}).messages.front().bytes, first.messages.front().bytes) << "the same receipt";
  EXPECT_TRUE(send(0, {9}).messages.empty());
  EXPECT_EQ(coordinator_->second_stories(), 1U);
  restart();
  EXPECT_TRUE(send(0, {9}).messages.empty()) << "after a restart as well";
  (void)send(1, {1});
  (void)send(2, {1});
  EXPECT_EQ(coordinator_->model(), (std::vector<float>{1}));
  EXPECT_EQ(send(0, {1}, 1).messages.front().bytes, first.messages.front().bytes) << "a late repetition";
  EXPECT_EQ(coordinator_->round(), 2U);
}

TEST_F(CoordinatorTest, GoesOnAfterARestartWithTheSameBytes) {
  for (const bool restarts : {false, true}) {
    disk_.clear();
    random_ = ReplayRandom::create(1).value();
    begin(internal::test_spec(3, 2, StrategyKind::kFedAdam));
    for (std::uint32_t site = 0; site < 3; ++site) {
      if (restarts) restart();
      (void)send(site, {static_cast<float>(site), 1});
    }
    if (restarts) restart();
    static std::vector<float> without;
    if (!restarts) without = coordinator_->model();
    EXPECT_EQ(coordinator_->model(), without);
    EXPECT_EQ(coordinator_->round(), 2U);
  }
}

TEST_F(CoordinatorTest, VoidRoundsCostSpareOnes) {
  RunSpec spec = internal::test_spec(3, 1);
  spec.minimum_cohort = 2;
  spec.spare = 1;
  begin(spec);
  const auto limit = [&] { take(coordinator_->wake(coordinator_->round() * 2, random_)); };
  (void)send(0, {1});
  limit();
  EXPECT_EQ(coordinator_->round(), 2U);
  EXPECT_EQ(coordinator_->counted(), 0U);
  EXPECT_EQ(coordinator_->model(), (std::vector<float>{0})) << "a void round changes nothing";
  (void)send(0, {1});
  (void)send(1, {1});
  EXPECT_EQ(coordinator_->counted(), 1U) << "site 2 was silent: nobody waits";
  (void)send(0, {1});
  limit();
  EXPECT_EQ(coordinator_->state(), RunState::kIncomplete) << "the second void round";
}

TEST_F(CoordinatorTest, TakesNothingThatIsForgedOrOfAnotherRound) {
  begin(internal::test_spec(2, 1));
  RunBytes forged = upload(0, 1, {1});
  forged.back() ^= 1;
  EXPECT_TRUE(coordinator_->receive(forged, random_).writes.empty());
  const RunBytes other_key =
      to_bytes(Upload{{.run = spec_.run, .epoch = 1, .round = 1, .stage = 0, .client = 0}, {1}}, test_key(1));
  EXPECT_TRUE(coordinator_->receive(other_key, random_).writes.empty()) << "site 1 in the name of site 0";
  EXPECT_TRUE(send(0, {1}, 2).writes.empty()) << "a round that has not begun";
  EXPECT_TRUE(send(0, {std::nanf("")}).writes.empty());
  EXPECT_TRUE(send(0, {1e6F}).writes.empty()) << "more than a sum can hold";
  RunBytes of_other_run =
      to_bytes(Upload{{.run = {}, .epoch = 1, .round = 1, .stage = 0, .client = 0}, {1}}, test_key(0));
  EXPECT_TRUE(coordinator_->receive(of_other_run, random_).writes.empty());
}

// Central noise: granted once for a round; a grant without a result is a void round.
TEST_F(CoordinatorTest, CentralNoiseIsDrawnOnceForARound) {
  RunSpec spec = internal::test_spec(2, 1);
  spec.central = ClientSumOptions{.clip = ClipNorm::of(1.0), .noise = NoiseMultiplier::of(1.0), .denominator = 2};
  spec.spare = 2;
  begin(spec);
  (void)send(0, {1});
  const Stored before = disk_;
  (void)send(1, {1});
  EXPECT_EQ(coordinator_->counted(), 1U);
  EXPECT_EQ(budget_.granted.size(), 1U);
  // The process is killed before its write, or its disk is put back: the same sum would get a second noise.
  disk_ = before;
  restart();
  (void)send(1, {1});
  EXPECT_EQ(coordinator_->counted(), 0U);
  EXPECT_EQ(coordinator_->round(), 2U);
  EXPECT_EQ(coordinator_->model(), (std::vector<float>{0}));
}

TEST_F(CoordinatorTest, EndsWhenItsBudgetEnds) {
  RunSpec spec = internal::test_spec(2, 1);
  spec.central = ClientSumOptions{.clip = ClipNorm::of(1.0), .noise = NoiseMultiplier::of(1.0), .denominator = 2};
  budget_.limit = 1;
  begin(spec);
  for (int round = 0; round < 2; ++round) {
    (void)send(0, {1});
    (void)send(1, {1});
  }
  EXPECT_EQ(coordinator_->state(), RunState::kIncomplete);
  EXPECT_EQ(coordinator_->counted(), 1U);
}

TEST_F(CoordinatorTest, DrawsSitesByPoissonAndChargesForThat) {
  RunSpec spec = internal::test_spec(200, 1);
  spec.sampling = SamplingRate::of(0.1);
  spec.minimum_cohort = 0;
  spec.central = ClientSumOptions{.clip = ClipNorm::of(1.0), .noise = NoiseMultiplier::of(2.0), .denominator = 20};
  spec_ = spec;
  coordinator_.emplace(open().value());
  const Effects started = take(coordinator_->start(random_));
  EXPECT_GT(started.messages.size(), 5U);
  EXPECT_LT(started.messages.size(), 45U);
  EXPECT_EQ(central_cost(spec_)->event,
            DpEvent(PoissonSampledEvent{SamplingRate::of(0.1), GaussianEvent{NoiseMultiplier::of(2.0)}}));
  for (std::uint32_t site = 0; site < 200; ++site) {
    const bool invited = std::any_of(started.messages.begin(), started.messages.end(),
                                     [&](const Outgoing& message) { return message.to == site; });
    if (!invited) {
      EXPECT_TRUE(send(site, {1}, 1).writes.empty()) << "nobody comes uninvited";
      break;
    }
  }
}

TEST_F(CoordinatorTest, RefusesRunsThatCouldNotEndWell) {
  const auto refused = [&](const std::function<void(RunSpec&)>& change) {
    spec_ = internal::test_spec(5, 1);
    change(spec_);
    const auto opened = open();
    EXPECT_FALSE(opened.has_value());
    return opened.has_value() ? invalid_argument("") : opened.error();
  };
  expect_invalid(refused([](RunSpec& s) {
                   s.robust = {RobustRule::kKrum, 2, {}};
                 }),
                 "krum with 2 liars needs at least 7");
  expect_invalid(refused([](RunSpec& s) {
                   s.robust = {RobustRule::kMedian, 1, {}};
                   s.minimum_cohort = 3;
                   s.upload.weighting = Weighting::kByCount;
                 }),
                 "equal weights");
  expect_invalid(refused([](RunSpec& s) { s.minimum_cohort = 6; }), "above the number of sites");
  expect_invalid(refused([](RunSpec& s) { s.minimum_cohort = 0; }), "at least 1");
  expect_invalid(refused([](RunSpec& s) { s.sites[1] = s.sites[0]; }), "the same key");
  expect_invalid(refused([](RunSpec& s) { s.sampling = SamplingRate::of(0.5); }), "central noise only");
  expect_invalid(refused([](RunSpec& s) { s.upload.denominator = 4; }), "belongs to noise on the sum");
  expect_invalid(refused([](RunSpec& s) { s.coordinator = test_key(3).public_key(); }), "not that of the run's");
  begin(internal::test_spec(2, 1));
  spec_.run[0] = 7;
  EXPECT_EQ(open().error().code, ErrorCode::kVerificationFailed) << "another run's store";
}

}  // namespace
}  // namespace noisefloor::federated
