#include "noisefloor/ledger/audit.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

TEST(Audit, ReadsBackTimes) {
  EXPECT_EQ(show_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(show_time(1'772'366'400'123), "2026-03-01T12:00:00.123Z");
  EXPECT_EQ(show_time(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(parse_time("2026-03-01").value(), 1'772'323'200'000);
  EXPECT_EQ(parse_time("2026-03-01T12:00:00Z").value(), 1'772'366'400'000);
  for (const char* text :
       {"", "tomorrow", "2026-02-30", "2026-13-01", "2026-03-01T25:00:00Z", "2026-03-01T12:00:00", "2026-03-01 "}) {
    EXPECT_FALSE(parse_time(text).has_value()) << text;
  }
}

class AuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LedgerOptions options;
    options.clock = [this] { return now_ += 1000; };
    ledger_ = Ledger::create(folder_.path("l"), SigningKey::generate(), options).value();
    BudgetTerms terms{
        "trial", Epsilon::of(3), Delta::of(1e-5), Adjacency::kAddRemove, PrivacyUnit::kPerson, Rule::kBasic, 0};
    ASSERT_TRUE(ledger_->create_budget(terms).has_value());
  }
  std::uint64_t spend(const std::string& key, double epsilon, double delta) {
    const DpEvent event = EpsilonDeltaEvent{PrivacyLoss::make(epsilon).value(), Delta::make(delta).value()};
    ReserveRequest request{"trial",
                           key,
                           {Adjacency::kAddRemove, PrivacyUnit::kPerson, event},
                           Delta::make(delta).value(),
                           {},
                           {"p1", key, {"dp-aggregation"}, R"({"rows":100})"}};
    return ledger_->reserve(request).value().sequence();
  }

  testing::TemporaryFolder folder_;
  TimeMs now_ = 1'772'366'400'000;
  std::unique_ptr<Ledger> ledger_;
};

// The six queries of a trial cost ε = 1.4 by addition and 1.39966 at best. Advanced composition is no better than
// addition here.
TEST_F(AuditTest, SummarizesWithTheRightFigures) {
  for (int i = 0; i < 4; ++i) spend("q" + std::to_string(i), 0.1, 0);
  spend("histogram", 0.5, 1e-6);
  spend("regression", 0.5, 1e-6);
  const BudgetSummary summary = summarize(*ledger_, "trial", Delta::of(1.2e-5)).value();
  EXPECT_NEAR(summary.odometer, 1.4, 1e-12);
  EXPECT_NEAR(summary.if_planned.upper, 1.39966, 1e-5);
  EXPECT_NEAR(summary.if_planned.lower, 1.39966, 1e-5);
  ASSERT_EQ(summary.beside.size(), 2U);
  EXPECT_NEAR(summary.beside[0].epsilon, 1.4, 1e-12);
  EXPECT_NEAR(summary.beside[1].epsilon, 1.4, 1e-9);
  EXPECT_NE(summary.beside[1].how.find("no better than adding up"), std::string::npos);
}

TEST_F(AuditTest, ComputesSharesAmongOtherUses) {
  spend("earlier", 0.5, 0);
  const std::uint64_t first = spend("own", 1, 1e-6);
  spend("between", 0.25, 0);
  const std::uint64_t second = spend("own too", 0.5, 1e-6);
  const std::array<std::uint64_t, 2> own{first, second};
  const BudgetShares shares = shares_of(*ledger_, "trial", own).value().value();
  EXPECT_EQ(shares.terms->name, "trial");
  EXPECT_NEAR(shares.before, 0.5, 1e-12);
  EXPECT_NEAR(shares.own, 1.5, 1e-12);
  EXPECT_NEAR(shares.after, 0.25, 1e-12);
  EXPECT_NE(shares.left.find("0.75"), std::string::npos) << shares.left;
  EXPECT_FALSE(shares_of(*ledger_, "nobody", own).has_value());
}

TEST_F(AuditTest, TakesSharesOfAPartFromTheWhole) {
  spend("earlier", 0.5, 0);
  BudgetTerms part{"part", Epsilon::of(2), Delta::of(1e-6), Adjacency::kAddRemove, PrivacyUnit::kPerson, Rule::kBasic,
                   0};
  part.parent = "trial";
  ASSERT_TRUE(ledger_->create_budget(part).has_value());
  const BudgetShares shares = shares_of(*ledger_, "part", {}).value().value();
  EXPECT_EQ(shares.terms->name, "trial");
  EXPECT_NEAR(shares.before, 0.5, 1e-12);
  EXPECT_NEAR(shares.own, 2, 1e-12);
  EXPECT_NEAR(shares.after, 0, 1e-12);
}

TEST_F(AuditTest, RecordsWhatHappened) {
  const std::uint64_t first = spend("mean age", 0.5, 1e-6);
  ASSERT_TRUE(ledger_->commit(first, blake2b("x"), std::nullopt, 0.97).has_value());
  spend("open", 0.25, 0);
  std::vector<nlohmann::json> records;
  ASSERT_TRUE(for_each_record(*ledger_, std::nullopt, [&](const AuditRecord& r) {
                records.push_back(nlohmann::json::parse(to_json(r, "1.2.3")));
              }).has_value());
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0]["pipeline"], "p1");
  EXPECT_EQ(records[0]["status"], "committed");
  EXPECT_EQ(records[0]["accuracy"], 0.97);
  EXPECT_EQ(records[0]["configuration"]["rows"], 100);
  EXPECT_EQ(records[0]["events"][0]["kind"], "epsilon_delta");
  EXPECT_EQ(records[0]["techniques"][0], "dp-aggregation");
  EXPECT_EQ(records[0]["accounting"]["version"], "1.2.3");
  EXPECT_DOUBLE_EQ(records[0]["epsilon_spent"], 0.5);
  EXPECT_DOUBLE_EQ(records[0]["epsilon_left"], 2.5);
  EXPECT_DOUBLE_EQ(records[0]["delta_left"], 9e-6);
  EXPECT_EQ(records[1]["status"], "open");
  EXPECT_TRUE(records[1]["accuracy"].is_null());
  EXPECT_DOUBLE_EQ(records[1]["epsilon_spent"], 0.75);
}

TEST_F(AuditTest, ForecastsFromTheLastUses) {
  EXPECT_FALSE(forecast(*ledger_, "trial").value().has_value());
  spend("a", 0.25, 0);
  spend("b", 0.25, 0);
  const Forecast found = forecast(*ledger_, "trial").value().value();
  EXPECT_EQ(found.more, 10U);
  EXPECT_FALSE(found.at_least);
  // One use a second.
  EXPECT_EQ(found.exhausted.value(), now_ + 10'000);
  EXPECT_FALSE(forecast(*ledger_, "none").has_value());
}

}  // namespace
}  // namespace noisefloor
