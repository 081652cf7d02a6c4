#include "noisefloor/summary/budget_summary.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "noisefloor/base/hex.h"
#include "tests/support/ledger_pieces.h"
#include "tests/support/summary_reading.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

using testing::expect_good;
using testing::expect_says;
using testing::fields_of;
using testing::names_of;
using testing::pure;
using testing::request;
using testing::says;
using testing::value_of;
using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

class BudgetSummaryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LedgerOptions options;
    options.clock = [this] { return now_ += 60'000; };
    ledger_ = value_of(Ledger::create(folder_.path("a.ledger"), SigningKey::from_seed({1}), options));
    expect_good(ledger_->create_budget(testing::terms("trial", 2, 1e-5, Rule::kBasic)));
  }
  [[nodiscard]] LedgerState::Budget budget(const std::string& name) { return value_of(ledger_->budget(name)); }

  testing::TemporaryFolder folder_;
  TimeMs now_ = 1'772'366'400'000;
  std::unique_ptr<Ledger> ledger_;
};

TEST(Bar, ShowsALittleAsSomething) {
  const auto filled = [](double share) {
    const std::string text = bar(share);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("█", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(filled(0), 0U);
  EXPECT_EQ(filled(1e-9), 1U) << "a little is not nothing";
  EXPECT_EQ(filled(0.5), 15U);
  EXPECT_EQ(filled(1), 30U);
  EXPECT_EQ(filled(1.5), 30U);
  EXPECT_TRUE(bar(0.5).ends_with(" 50.0 %")) << bar(0.5);
}

TEST_F(BudgetSummaryTest, ANewBudgetSaysItsTermsAndWhereItIs) {
  const Summary made = value_of(summary_of_new_budget(budget("trial"), {"a.ledger", "a.ledger.key", true}));
  expect_says(made, "Budget trial\n");
  expect_says(made, "  total       epsilon 2, delta 1e-05\n");
  expect_says(made, "  neighbours  one row added or removed\n");
  expect_says(made, "  uses        0 (0 committed, 0 open, 0 aborted)\n");
  expect_says(made, "A new ledger 'a.ledger' with the key 'a.ledger.key': keep the key apart from the ledger");
  const Json fields = fields_of(made);
  EXPECT_EQ(names_of(fields), (Names{"ledger", "new_ledger", "budget"}));
  EXPECT_EQ(fields["new_ledger"], true);
  EXPECT_EQ(fields["budget"]["epsilon"], 2);
  EXPECT_EQ(fields["budget"]["rule"], "basic");
  EXPECT_EQ(fields["budget"]["spent_share"], 0);
  const Summary beside = value_of(summary_of_new_budget(budget("trial"), {"a.ledger", "a.ledger.key", false}));
  EXPECT_FALSE(says(beside, "A new ledger"));
  EXPECT_EQ(fields_of(beside)["new_ledger"], false);
}

TEST_F(BudgetSummaryTest, APlannedBudgetSaysWhatItsPlanCosts) {
  BudgetTerms terms = testing::terms("fixed", 1, 1e-5, Rule::kPlanned);
  terms.plan = {{"count", pure(0.1), Steps::of(4)}};
  expect_good(ledger_->create_budget(terms));
  const Summary made = value_of(summary_of_new_budget(budget("fixed"), {"a.ledger", "a.ledger.key", false}));
  expect_says(made, "planned: 1 items fixed in advance");
  expect_says(made, "whole plan  epsilon 0.");
  const Json fields = fields_of(made);
  EXPECT_EQ(names_of(fields).front(), "plan_epsilon");
  EXPECT_NEAR(fields["plan_epsilon"]["upper"].get<double>(), 0.4, 0.01);
  EXPECT_EQ(fields["budget"]["plan"][0]["times"], 4);
}

TEST_F(BudgetSummaryTest, APartSaysWhatItLeaves) {
  const BudgetTerms team = testing::terms("team", 0.5, 1e-6, Rule::kBasic, "trial");
  const LedgerState after = value_of(ledger_->rehearse(team));
  const Summary rehearsed = summary_of_part(*after.find("team"), *after.find("trial"), true);
  expect_says(rehearsed, "Budget team, part of trial: it would fit\n");
  expect_says(rehearsed, "Nothing was made or spent. It would leave in trial: epsilon 1.5");
  EXPECT_EQ(names_of(fields_of(rehearsed)), (Names{"budget", "parent", "dry_run"}));
  expect_good(ledger_->create_budget(team));
  const Summary made = summary_of_part(budget("team"), budget("trial"), false);
  expect_says(made, "Budget team, part of trial\n");
  expect_says(made, "\nLeft in trial: epsilon 1.5");
  const Json fields = fields_of(made);
  EXPECT_EQ(names_of(fields), (Names{"budget", "parent"}));
  EXPECT_EQ(fields["budget"]["parent"], "trial");
  EXPECT_EQ(fields["parent"]["parts"], Json::array({"team"}));
  EXPECT_EQ(fields["parent"]["spent_share"], 0.25);
}

TEST_F(BudgetSummaryTest, AReservationSaysWhatIsSpent) {
  const ReserveRequest asked = request("trial", "age", pure(0.5));
  const Reservation reservation = value_of(ledger_->reserve(asked));
  const Summary spent = summary_of(reservation, asked, budget("trial"));
  expect_says(spent, "Reservation 2 of trial\n");
  expect_says(spent, "  event  {\"kind\":\"epsilon_delta\"");
  expect_says(spent, " 25.0 %\n");
  expect_says(spent, "  left   epsilon 1.5");
  const Json fields = fields_of(spent);
  EXPECT_EQ(names_of(fields), (Names{"reservation", "repeated", "budget", "statement"}));
  EXPECT_EQ(fields["reservation"], 2);
  EXPECT_EQ(fields["repeated"], false);
  EXPECT_EQ(fields["budget"]["uses"]["open"], 1);
  EXPECT_EQ(fields["statement"]["unit"], "row");
}

TEST_F(BudgetSummaryTest, TheSameRequestGetsTheAnswerOfBefore) {
  const ReserveRequest asked = request("trial", "age", pure(0.5));
  EXPECT_EQ(value_of(ledger_->reserve(asked)).sequence(), 2U);
  expect_good(ledger_->commit(2, blake2b("42"), "42"));
  const Summary again = summary_of(value_of(ledger_->reserve(asked)), asked, budget("trial"));
  expect_says(again, "  answered before  " + to_hex(blake2b("42")) + "\n");
  expect_says(again, "draw no new noise");
  EXPECT_FALSE(says(again, "spent"));
  const Json fields = fields_of(again);
  EXPECT_EQ(names_of(fields), (Names{"reservation", "repeated", "budget", "statement", "release", "answer_hex"}));
  EXPECT_EQ(fields["repeated"], true);
  EXPECT_EQ(fields["answer_hex"], "3432");
}

TEST_F(BudgetSummaryTest, ARehearsalSpendsNothing) {
  const ReserveRequest asked = request("trial", "age", pure(0.5));
  const Summary rehearsed = summary_of_rehearsal(asked, value_of(ledger_->rehearse(asked)));
  expect_says(rehearsed, "It would fit into trial\n");
  expect_says(rehearsed, "would be left   epsilon 1.5");
  const Json fields = fields_of(rehearsed);
  EXPECT_EQ(names_of(fields), (Names{"dry_run", "budget", "statement"}));
  EXPECT_EQ(fields["budget"]["spent_share"], 0.25);
  EXPECT_EQ(budget("trial").account.spent_share(), 0);
}

TEST(BudgetSummary, ACommitSaysWhetherTheBytesAreKept) {
  const Digest digest = blake2b("answer");
  const Summary kept = summary_of_commit(3, digest, 27);
  expect_says(kept, "Reservation 3 is committed\n");
  expect_says(kept, "27 bytes are kept for the same request");
  EXPECT_EQ(fields_of(kept), (Json{{"reservation", 3}, {"release", to_hex(digest)}, {"kept", true}}));
  const Summary dropped = summary_of_commit(3, digest, std::nullopt);
  EXPECT_FALSE(says(dropped, "bytes"));
  EXPECT_EQ(fields_of(dropped)["kept"], false);
}

TEST_F(BudgetSummaryTest, UsesAreShownBesideOtherWaysToAddThemUp) {
  EXPECT_TRUE(ledger_->reserve(request("trial", "age", pure(0.5))).has_value());
  const Summary shown = summary_of(value_of(summarize(*ledger_, "trial", std::nullopt)));
  expect_says(shown, "0.5 at delta 1e-05 (however the uses were chosen)\n");
  expect_says(shown, "had all been fixed before");
  expect_says(shown, "by basic composition");
  const Json fields = fields_of(shown);
  EXPECT_EQ(names_of(fields), (Names{"budget", "delta", "epsilon_spent", "epsilon_if_planned", "beside"}));
  EXPECT_NEAR(fields["epsilon_spent"].get<double>(), 0.5, 1e-9);
  EXPECT_NEAR(fields["beside"]["basic"].get<double>(), 0.5, 1e-9);
}

TEST_F(BudgetSummaryTest, AForecastNeedsARate) {
  const Summary none = summary_of_forecast(budget("trial"), value_of(forecast(*ledger_, "trial")));
  expect_says(none, "Nothing was spent yet, so that there is no rate to go by.");
  EXPECT_TRUE(fields_of(none)["more"].is_null());
  EXPECT_FALSE(fields_of(none).contains("like_reservation"));
  EXPECT_TRUE(ledger_->reserve(request("trial", "1", pure(0.5))).has_value());
  EXPECT_TRUE(ledger_->reserve(request("trial", "2", pure(0.5))).has_value());
  const Summary some = summary_of_forecast(budget("trial"), value_of(forecast(*ledger_, "trial")));
  expect_says(some, "Uses like the last one (reservation 3): 2 more, then it is exhausted.");
  expect_says(some, "At the rate of the last uses that is on 2026-03-01T12:");
  const Json fields = fields_of(some);
  EXPECT_EQ(names_of(fields), (Names{"budget", "spent_share", "left", "more", "exhausted", "like_reservation"}));
  EXPECT_EQ(fields["more"], 2);
  EXPECT_EQ(fields["like_reservation"], 3);
}

TEST_F(BudgetSummaryTest, ABudgetByBlocksSaysWhatEachHasLeftAndWhatComesNext) {
  BudgetTerms monthly = testing::terms("monthly", 1, 0, Rule::kBasic);
  monthly.blocks = BlockTerms{BlockKind::kDate, "visited", BlockPeriod::kMonth, 4};
  expect_good(ledger_->create_budget(monthly));
  const auto touch = [&](const std::string& key, double epsilon, std::vector<std::string> blocks) {
    ReserveRequest use = request("monthly", key, pure(epsilon));
    use.blocks = std::move(blocks);
    EXPECT_TRUE(ledger_->reserve(use).has_value()) << key;
  };
  touch("a", 0.125, {"2026-01..2026-03"});
  touch("b", 0.5, {"2026-01"});
  const Summary made = summary_of(value_of(summarize(*ledger_, "monthly", std::nullopt)));
  expect_says(made, "blocks by month of the column 'visited', unlocked over 4 of them: each has the total for itself");
  expect_says(made, "62.5 %, left: epsilon 0.125 and delta 0 of 3 parts of 4; the next one 2026-04-01T00:00:00.000Z");
  expect_says(made, "12.5 %, left: epsilon 0.125 and delta 0 of 1 parts of 4; the next one 2026-04-01T00:00:00.000Z");
  expect_says(made, "  spent at most ");
  const Json fields = fields_of(made)["budget"];
  EXPECT_EQ(fields["blocks"]["column"], "visited");
  EXPECT_EQ(fields["blocks"]["unlock"], 4);
  ASSERT_EQ(fields["blocks_touched"].size(), 3U);
  EXPECT_EQ(fields["blocks_touched"][0]["block"], "2026-01");
  EXPECT_EQ(fields["blocks_touched"][0]["spent_share"], 0.625);
  EXPECT_EQ(fields["blocks_touched"][0]["uses"], 2);
  EXPECT_EQ(fields["blocks_touched"][2]["next_part"], "2026-04-01T00:00:00.000Z");
  EXPECT_EQ(fields["spent_share"], 0.625) << "of the block that most was spent from";
  EXPECT_FALSE(
      fields_of(summary_of(value_of(summarize(*ledger_, "trial", std::nullopt))))["budget"].contains("blocks"));
}

}  // namespace
}  // namespace noisefloor
