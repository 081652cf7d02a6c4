#include "noisefloor/federated/site.h"

#include <gtest/gtest.h>

#include "noisefloor/federated/run_test_pieces.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor::federated {
namespace {

using internal::test_key;
using noisefloor::testing::expect_invalid;

class SiteTest : public ::testing::Test {
 protected:
  SiteTest() {
    spec_ = internal::test_spec(2, 2);
    spec_.rounds = 20;
    spec_.site_cost = DpStatement{Adjacency::kAddRemove, PrivacyUnit::kRow, GaussianEvent{NoiseMultiplier::of(1.0)}};
  }
  [[nodiscard]] Site::Parts parts() {
    return {.spec = &spec_, .number = 1, .key = &key_, .work = &work_, .budget = &budget_};
  }
  [[nodiscard]] RunBytes invitation(std::uint64_t round, float weight = 0, std::uint64_t last_heard = 0,
                                    std::uint64_t counted = 0) const {
    const std::vector<float> model{weight, weight};
    Invitation message{
        {.run = spec_.run, .epoch = spec_.epoch, .round = round, .stage = 0, .client = 1}, last_heard, counted, {}};
    for (const float value : model) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      for (unsigned i = 0; i < 4; ++i) message.broadcast.push_back(static_cast<std::uint8_t>(bits >> 8 * i));
    }
    return to_bytes(message, coordinator_);
  }
  // The step of a site that is kept on this disk.
  Effects step(Site& site, const RunBytes& message) {
    Effects effects = site.receive(message, random_);
    internal::apply(effects, disk_);
    return effects;
  }
  [[nodiscard]] std::optional<DeclineReason> declined(const Effects& effects) const {
    if (effects.messages.empty()) return std::nullopt;
    const auto decline = parse_decline(*parse_envelope(effects.messages.front().bytes, sizes_of(spec_)));
    return decline ? std::optional(decline->reason) : std::nullopt;
  }
  [[nodiscard]] RunBytes receipt(std::uint64_t round, const RunBytes& upload) const {
    return to_bytes(Receipt{{.run = spec_.run, .epoch = 1, .round = round, .stage = 0, .client = 1}, digest_of(upload)},
                    coordinator_);
  }

  RunSpec spec_;
  SigningKey key_ = test_key(1);
  SigningKey coordinator_ = test_key(255);
  internal::TestBudget budget_;
  internal::TestWork work_{{1, 2}};
  ReplayRandom random_ = ReplayRandom::create(1).value();
  Stored disk_;
};

TEST_F(SiteTest, AsksItsBudgetBeforeItsDataAreTouched) {
  Site site = Site::open(parts(), {}).value();
  budget_.limit = 0;
  EXPECT_EQ(declined(step(site, invitation(1))), DeclineReason::kBudget);
  EXPECT_EQ(work_.calls, 0);
  EXPECT_EQ(declined(step(site, invitation(2))), DeclineReason::kBudget) << "for good";
  EXPECT_EQ(budget_.asked.size(), 1U);
  Site again = Site::open(parts(), disk_).value();
  EXPECT_EQ(declined(step(again, invitation(3))), DeclineReason::kBudget) << "after a restart as well";
}

TEST_F(SiteTest, SendsTheSameBytesAgain) {
  Site site = Site::open(parts(), {}).value();
  const Effects first = step(site, invitation(1));
  ASSERT_EQ(first.messages.size(), 1U);
  EXPECT_EQ(step(site, invitation(1)).messages.front().bytes, first.messages.front().bytes);
  EXPECT_EQ(site.wake(first.wakes.front().tag, random_).messages.front().bytes, first.messages.front().bytes);
  Site again = Site::open(parts(), disk_).value();
  EXPECT_EQ(again.start(random_).messages.front().bytes, first.messages.front().bytes);
  EXPECT_EQ(work_.calls, 1);
}

// Killed between the grant and the write, or put back to an old copy: what was paid for is not drawn again.
TEST_F(SiteTest, SkipsARoundThatItPaidForAndLost) {
  Site site = Site::open(parts(), {}).value();
  (void)site.receive(invitation(1), random_);  // the write is lost
  Site again = Site::open(parts(), {}).value();
  EXPECT_EQ(declined(step(again, invitation(1))), DeclineReason::kSpent);
  EXPECT_EQ(work_.calls, 1);
  EXPECT_FALSE(declined(step(again, invitation(2))).has_value()) << "the next round goes on";
}

TEST_F(SiteTest, KnowsThatItWasRestored) {
  Site site = Site::open(parts(), {}).value();
  (void)step(site, invitation(1));
  const Stored old = disk_;
  (void)step(site, invitation(2, 0, 1));
  Site restored = Site::open(parts(), old).value();
  const Effects effects = restored.receive(invitation(3, 0, 2), random_);
  EXPECT_EQ(declined(effects), DeclineReason::kRestored);
}

TEST_F(SiteTest, KnowsThatTheCoordinatorWasRestored) {
  Site site = Site::open(parts(), {}).value();
  const Effects first = step(site, invitation(3));
  (void)step(site, receipt(3, first.messages.front().bytes));
  EXPECT_EQ(declined(step(site, invitation(4, 0, 2))), DeclineReason::kCoordinatorRestored);
}

TEST_F(SiteTest, RefusesASecondStoryOfARound) {
  Site site = Site::open(parts(), {}).value();
  (void)step(site, invitation(1, 0.5F));
  EXPECT_EQ(declined(step(site, invitation(1, 0.25F))), DeclineReason::kOtherStory);
  EXPECT_EQ(declined(step(site, invitation(2, 0.25F))), DeclineReason::kOtherStory) << "for good";
  EXPECT_EQ(work_.calls, 1);
}

TEST_F(SiteTest, KeepsItsRestAndItsMostRounds) {
  spec_.rest = 3;
  Site::Parts limited = parts();
  limited.most_rounds = 2;
  Site site = Site::open(limited, {}).value();
  EXPECT_FALSE(declined(step(site, invitation(1))).has_value());
  EXPECT_EQ(declined(step(site, invitation(2, 0, 1))), DeclineReason::kResting);
  EXPECT_EQ(declined(step(site, invitation(3, 0, 1))), DeclineReason::kResting);
  EXPECT_FALSE(declined(step(site, invitation(4, 0, 1))).has_value());
  EXPECT_EQ(declined(step(site, invitation(7, 0, 4))), DeclineReason::kTooManyRounds);
  EXPECT_EQ(work_.calls, 2);
  EXPECT_EQ(budget_.granted.size(), 2U) << "what is declined costs nothing";
}

// What belongs to an upload moves on only if the upload was applied.
TEST_F(SiteTest, KeepsWhatBelongsToUploadsThatCounted) {
  Site site = Site::open(parts(), {}).value();
  (void)step(site, invitation(1));
  (void)step(site, invitation(2, 0, 1, 1));  // 1 counted
  (void)step(site, invitation(3, 0, 2, 1));  // 2 did not
  Site again = Site::open(parts(), disk_).value();
  (void)step(again, invitation(4, 0, 3, 3));
  EXPECT_EQ(work_.owns, (std::vector<std::vector<std::uint8_t>>{{}, {1}, {1}, {3}}));
}

TEST_F(SiteTest, BeginsAnewInALaterEpochAndRefusesAnEarlierOne) {
  Site site = Site::open(parts(), {}).value();
  (void)step(site, invitation(5));
  spec_.epoch = 2;
  Site next = Site::open(parts(), disk_).value();
  EXPECT_EQ(next.last_round(), 0U);
  EXPECT_TRUE(next.own().empty());
  (void)step(next, invitation(1));
  EXPECT_EQ(next.last_round(), 1U);
  spec_.epoch = 1;
  const auto earlier = Site::open(parts(), disk_);
  ASSERT_FALSE(earlier.has_value());
  EXPECT_EQ(earlier.error().code, ErrorCode::kVerificationFailed);
}

TEST_F(SiteTest, TurnsAwayWhatIsNotForIt) {
  Site site = Site::open(parts(), {}).value();
  RunBytes other = invitation(1);
  other.back() ^= 1;
  EXPECT_TRUE(step(site, other).messages.empty()) << "not signed by the coordinator";
  Invitation wrong{
      {.run = spec_.run, .epoch = 1, .round = 1, .stage = 0, .client = 0}, 0, 0, std::vector<std::uint8_t>(8)};
  EXPECT_TRUE(step(site, to_bytes(wrong, coordinator_)).messages.empty()) << "for another site";
  wrong.key.client = 1;
  wrong.key.run[0] = 1;
  EXPECT_TRUE(step(site, to_bytes(wrong, coordinator_)).messages.empty()) << "another run, which was not approved";
  wrong.key.run = spec_.run;
  wrong.key.round = 0;
  EXPECT_TRUE(step(site, to_bytes(wrong, coordinator_)).messages.empty());
  EXPECT_EQ(work_.calls, 0);
  EXPECT_TRUE(budget_.asked.empty());
}

TEST_F(SiteTest, DeclinesForNowWhenItsLedgerOrItsWorkFails) {
  Site site = Site::open(parts(), {}).value();
  budget_.failing = true;
  EXPECT_EQ(declined(step(site, invitation(1))), DeclineReason::kLedger);
  budget_.failing = false;
  work_.failing = true;
  EXPECT_EQ(declined(step(site, invitation(1))), DeclineReason::kWork);
  work_.failing = false;
  EXPECT_EQ(declined(step(site, invitation(1))), DeclineReason::kSpent) << "the descent had its grant";
  EXPECT_FALSE(declined(step(site, invitation(2))).has_value());
}

TEST_F(SiteTest, RefusesStoresThatAreNotItsOwn) {
  EXPECT_EQ(Site::open(parts(), {{"site", {9, 9}}}).error().code, ErrorCode::kVerificationFailed);
  Site site = Site::open(parts(), {}).value();
  (void)step(site, invitation(1));
  for (std::size_t size = 0; size < disk_["site"].size(); ++size) {
    Stored cut = disk_;
    cut["site"].resize(size);
    EXPECT_FALSE(Site::open(parts(), cut).has_value()) << size;
  }
  spec_.run[0] = 1;
  EXPECT_EQ(Site::open(parts(), disk_).error().code, ErrorCode::kVerificationFailed);
  const SigningKey other = test_key(0);
  Site::Parts wrong = parts();
  wrong.key = &other;
  expect_invalid(Site::open(wrong, {}).error(), "this key is not that of site 1");
  wrong = parts();
  wrong.budget = nullptr;
  expect_invalid(Site::open(wrong, {}).error(), "needs a budget");
}

// The same with a real ledger, which is opened anew after the site was killed.
TEST_F(SiteTest, SpendsFromARealLedgerOnceForARound) {
  const noisefloor::testing::TemporaryFolder folder;
  const std::string place = folder.path("site.ledger");
  const std::array<std::uint8_t, 32> seed{7};
  {
    auto made = Ledger::create(place, SigningKey::from_seed(seed), {}).value();
    // Each round costs ρ = 1/2: the budget is for three.
    auto terms = noisefloor::testing::terms("patients", 9.2, 1e-5, Rule::kZcdp);
    ASSERT_TRUE(made->create_budget(terms).has_value());
  }
  std::size_t granted = 0;
  std::optional<DeclineReason> end;
  for (std::uint64_t round = 1; round <= 20 && !end; ++round) {
    auto ledger = Ledger::open(place, SigningKey::from_seed(seed), {}).value();
    LedgerBudget budget(*ledger, "patients");
    Site::Parts real = parts();
    real.budget = &budget;
    Site site = Site::open(real, disk_).value();
    if (round % 2 == 0) {
      Site killed = Site::open(real, disk_).value();
      const Effects lost = killed.receive(invitation(round, 0, round - 1), random_);
      if (declined(lost).has_value()) {
        end = declined(lost);
        break;
      }
      ++granted;
      EXPECT_EQ(declined(step(site, invitation(round, 0, 0))), DeclineReason::kSpent);
      continue;
    }
    const Effects effects = step(site, invitation(round, 0, 0));
    end = declined(effects);
    if (!end) ++granted;
    const auto spent = ledger->budget("patients").value();
    EXPECT_EQ(spent.committed, granted) << "a use for each round that was granted, and none twice";
  }
  EXPECT_EQ(end, DeclineReason::kBudget);
  EXPECT_GE(granted, 2U);
  EXPECT_EQ(static_cast<std::size_t>(work_.calls), granted);
}

}  // namespace
}  // namespace noisefloor::federated
