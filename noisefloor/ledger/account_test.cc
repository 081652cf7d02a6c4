#include "noisefloor/ledger/account.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/rdp.h"

namespace noisefloor {
namespace {

constexpr Adjacency kAddRemove = Adjacency::kAddRemove;

BudgetTerms terms(double epsilon, double delta, Rule rule) {
  BudgetTerms result{"b",  Epsilon::make(epsilon).value(), Delta::make(delta).value(), kAddRemove, PrivacyUnit::kRow,
                     rule, default_failures(rule)};
  if (rule == Rule::kRdp) result.orders = default_budget_orders();
  if (rule == Rule::kZcdp && delta > 0) result.rho = zcdp_budget_of(result).value().value();
  return result;
}

DpEvent gaussian(double z) { return GaussianEvent{NoiseMultiplier::make(z).value()}; }
DpEvent black_box(double epsilon, double delta) {
  return EpsilonDeltaEvent{PrivacyLoss::make(epsilon).value(), Delta::make(delta).value()};
}

// However many uses a rule admits, together they are within the total. The accountant for fixed uses checks this, and
// no valid filter can beat it.
TEST(Account, AdmitsNoMoreThanTheTotal) {
  for (Rule rule : {Rule::kZcdp, Rule::kRdp, Rule::kApproxDp, Rule::kBasic}) {
    for (const auto& [epsilon, delta] : {std::pair{0.5, 1e-6}, std::pair{3.0, 1e-5}, std::pair{10.0, 1e-9}}) {
      const BudgetTerms t = terms(epsilon, delta, rule);
      ASSERT_TRUE(check_terms(t).has_value());
      for (double z : {5.0, 50.0}) {
        const bool by_delta = rule == Rule::kApproxDp || rule == Rule::kBasic;
        const std::optional<Delta> own = by_delta ? std::optional(Delta::make(delta / 1000).value()) : std::nullopt;
        const Charge charge = charge_for(t, gaussian(z), own).value();
        Account account = Account::open(t).value();
        std::uint64_t count = 0;
        while (count < 100'000 && account.spend(charge, {}).has_value()) ++count;
        if (count == 0) continue;
        const DpEvent all = SelfComposedEvent{Steps::make(count).value(), gaussian(z)};
        EXPECT_LE(pld_epsilon(all, kAddRemove, t.delta).value().lower, epsilon) << name_of(rule) << " " << z;
        EXPECT_LE(account.spent_share(), 1);
        EXPECT_FALSE(account.fits(charge, {}));
      }
    }
  }
}

// Filters for Gaussian noise are not far from the best: a rule that admits almost nothing would be useless.
TEST(Account, IsNotWasteful) {
  const auto most = [](Rule rule) {
    const BudgetTerms t = terms(3, 1e-5, rule);
    const Charge charge = charge_for(t, gaussian(50), std::nullopt).value();
    Account account = Account::open(t).value();
    int count = 0;
    while (account.spend(charge, {}).has_value()) ++count;
    return count;
  };
  // If fixed in advance, 1437 uses cost ε = 3 at δ = 1e-5: 1/2ρ = 2500/count.
  EXPECT_GT(most(Rule::kZcdp), 1000);
  EXPECT_GT(most(Rule::kRdp), 700);
}

TEST(Account, FindsTheLargestZcdpBudget) {
  for (const auto& [epsilon, delta] : {std::pair{0.1, 1e-8}, std::pair{1.0, 1e-5}, std::pair{20.0, 0.01}}) {
    const BudgetTerms t = terms(epsilon, delta, Rule::kZcdp);
    const auto at = [&](double rho) {
      const Delta rest = Delta::make(delta * (1 - t.failures)).value();
      return renyi_epsilon(ZcdpEvent{Rho::make(rho).value(), Delta::of(0)}, kAddRemove, rest).value().epsilon;
    };
    EXPECT_LE(at(t.rho), epsilon * (1 + 1e-12));
    EXPECT_GT(at(t.rho * 1.0001), epsilon);
  }
}

TEST(Account, MakesRoomWhenAUseIsTakenBack) {
  for (Rule rule : {Rule::kZcdp, Rule::kRdp, Rule::kApproxDp, Rule::kBasic}) {
    const BudgetTerms t = terms(1, 1e-5, rule);
    const Charge charge = charge_for(t, black_box(0.1, 1e-9), Delta::of(1e-9)).value();
    Account account = Account::open(t).value();
    int count = 0;
    while (account.spend(charge, {}).has_value()) ++count;
    ASSERT_GT(count, 0) << name_of(rule);
    for (int i = 0; i < count; ++i) ASSERT_TRUE(account.take_back(charge, {}).has_value());
    EXPECT_NEAR(account.spent_share(), 0, 1e-12);
    for (int i = 0; i < count - 1; ++i) EXPECT_TRUE(account.spend(charge, {}).has_value());
  }
}

TEST(Account, LimitsTheDeltaOfUses) {
  for (Rule rule : {Rule::kZcdp, Rule::kRdp, Rule::kApproxDp, Rule::kBasic}) {
    const BudgetTerms t = terms(100, 1e-5, rule);
    Account account = Account::open(t).value();
    const double own = t.delta.value() * (rule == Rule::kBasic ? 1 : t.failures);
    const Charge most = charge_for(t, black_box(1e-6, own * 0.999), Delta::make(own * 0.999).value()).value();
    const Charge more = charge_for(t, black_box(1e-6, own * 0.002), Delta::make(own * 0.002).value()).value();
    EXPECT_TRUE(account.spend(most, {}).has_value()) << name_of(rule);
    EXPECT_EQ(account.spend(more, {}).error().code, ErrorCode::kBudgetExhausted) << name_of(rule);
    EXPECT_NEAR(account.failures_spent(), own * 0.999, 1e-18);
  }
}

TEST(Account, ChecksItsTerms) {
  const auto refused = [](const BudgetTerms& t, std::string_view part) {
    const Result<void> checked = check_terms(t);
    ASSERT_FALSE(checked.has_value());
    EXPECT_NE(checked.error().message.find(part), std::string::npos) << checked.error().message;
  };
  refused(terms(1, 0, Rule::kZcdp), "delta above 0");
  refused(terms(1, 0, Rule::kApproxDp), "delta above 0");
  BudgetTerms t = terms(1, 1e-5, Rule::kZcdp);
  t.failures = 1;
  refused(t, "[0, 1)");
  t = terms(1, 1e-5, Rule::kRdp);
  t.orders = {4, 2};
  refused(t, "increasing");
  t.orders = {0.5};
  refused(t, "above 1");
  t.orders = {};
  refused(t, "orders");
  t = terms(1, 1e-5, Rule::kPlanned);
  refused(t, "at least one item");
  t.plan = {{"a", gaussian(100), Steps::of(1)}, {"a", gaussian(100), Steps::of(1)}};
  refused(t, "two items");
  t.plan = {{"a", NonPrivateEvent{"x"}, Steps::of(1)}};
  refused(t, "not private");
  t = terms(1, 0, Rule::kBasic);
  t.from = 10;
  t.until = 10;
  refused(t, "begin before it ends");
}

TEST(Account, HasAnOdometerThatCoversAllSpending) {
  for (Rule rule : {Rule::kZcdp, Rule::kRdp, Rule::kApproxDp, Rule::kBasic}) {
    const BudgetTerms t = terms(8, 1e-5, rule);
    Account account = Account::open(t).value();
    const Charge charge = charge_for(t, black_box(0.05, 0), std::nullopt).value();
    for (int i = 1; i <= 20; ++i) {
      ASSERT_TRUE(account.spend(charge, {}).has_value());
      const DpEvent all = SelfComposedEvent{Steps::make(static_cast<std::uint64_t>(i)).value(), black_box(0.05, 0)};
      EXPECT_GE(account.odometer(t.delta).value().value(), pld_epsilon(all, kAddRemove, t.delta).value().lower);
    }
  }
}

}  // namespace
}  // namespace noisefloor
