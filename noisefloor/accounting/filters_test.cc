#include "noisefloor/accounting/filters.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;
using Exact = boost::multiprecision::cpp_rational;

PrivacyLoss loss(double e) { return PrivacyLoss::make(e).value(); }
Delta delta(double d) { return Delta::make(d).value(); }
Rho rho(double r) { return Rho::make(r).value(); }
ApproxDp cost(double e, double d = 0) { return {loss(e), delta(d)}; }
ZcdpCost zcdp(double r, double d = 0) { return {rho(r), delta(d)}; }

Exact exact(const SumUp& sum) { return Exact(sum.high) + Exact(sum.low); }

TEST(SumUp, IsNeverBelowTheExactSumAndHardlyAbove) {
  SumUp sum;
  Exact truth = 0;
  for (int i = 0; i < 3000; ++i) {
    const double term = std::exp2(60 * std::sin(1.7 * i));
    sum = sum.plus(term);
    truth += Exact(term);
    EXPECT_GE(exact(sum), truth);
    EXPECT_LE(exact(sum), truth * (1 + Exact(0x1p-90)));
    EXPECT_EQ(sum.high + sum.low, sum.high);
    EXPECT_TRUE(sum.is_valid());
    EXPECT_GE(Exact(sum.value()), exact(sum));
  }
  const double budget = 2 * sum.high;
  EXPECT_LE(Exact(sum.remaining_of(budget)) + exact(sum), Exact(budget));
  EXPECT_EQ(SumUp{}.plus(std::numeric_limits<double>::max()).plus(std::numeric_limits<double>::max()).high, HUGE_VAL);
}

// What a budget promises: its decimal, and 2^-52 of it for the distance between decimals and doubles. The decimal is
// within 2^-53 of the double.
Exact promised(double budget) { return Exact(budget) * (1 + Exact(0x1p-53)) * (1 + Exact(0x1p-52)); }

// Today's rule accepts decimals that add up; that of version 0.1 refused the last one.
TEST(SumFilter, ATenthFitsAHundredTimesIntoTen) {
  for (const auto& [part, times, whole] :
       {std::tuple(0.1, 100, 10.0), {0.1, 3, 0.3}, {0.7, 10, 7.0}, {0.01, 300, 3.0}}) {
    SumFilter filter = SumFilter::create(cost(whole, part * 1e-3));
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(filter.try_spend(cost(part)).has_value()) << part << " " << i;
      EXPECT_LE(filter.spent_share(), 1);
    }
    EXPECT_EQ(filter.remaining().epsilon.value(), 0);
    EXPECT_FALSE(filter.try_spend(cost(1e-12)).has_value());
    filter.take_back(cost(part));
    EXPECT_EQ(filter.remaining().epsilon.value(), part);
    EXPECT_TRUE(filter.try_spend(cost(part)).has_value());
  }
  SumFilter failures = SumFilter::create(cost(1, 1e-5));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(failures.try_spend(cost(0.01, 1e-7)).has_value()) << i;
  EXPECT_FALSE(failures.try_spend(cost(0, 1e-20)).has_value());
  ApproxDpFilter advanced = ApproxDpFilter::create(Epsilon::of(10), delta(1e-6), delta(1e-6)).value();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(advanced.try_spend(cost(0.1, 1e-7)).has_value()) << i;
  EXPECT_FALSE(advanced.try_spend(cost(0, 1e-20)).has_value());
}

// What the rule of version 0.1 accepted, this one accepts, or an old ledger could not be read.
TEST(SumFilter, AcceptsWhateverTheSumOfDoublesAccepts) {
  int only_now = 0;
  for (int seed = 0; seed < 200; ++seed) {
    const double budget = 0.1 * (1 + seed % 40);
    SumFilter filter = SumFilter::create(cost(budget));
    SumUp before;
    for (int i = 0; i < 400; ++i) {
      double want = 0.1 * ((seed * 7 + i * 13) % 10 + 1) / (seed % 3 == 0 ? 3 : 1);
      if (seed % 2 == 1 && i % 50 == 49) want = before.remaining_of(budget);  // to the last bit
      const bool was_accepted = before.plus(want).within(budget);
      SumFilter now = filter;
      const bool is_accepted = now.try_spend(cost(want)).has_value();
      ASSERT_TRUE(is_accepted || !was_accepted) << seed << " " << i << " " << want;
      if (is_accepted && !was_accepted) ++only_now;
      if (!was_accepted) continue;  // the history is one of version 0.1
      filter = now;
      before = before.plus(want);
      if (i % 11 == 10) filter.take_back(cost(want)), before = before.minus(want);
    }
  }
  EXPECT_GT(only_now, 0);
}

// Costs far below the last digit of the sum. A plain sum would stay at 1 for ever.
TEST(SumFilter, TinyCostsAddUp) {
  const double tiny = 1e-18;
  const double budget = 1 + 0x1p-40;  // the decimal 1.0000000000009095
  SumFilter filter = SumFilter::create(cost(budget));
  ASSERT_TRUE(filter.try_spend(cost(1)).has_value());
  std::uint64_t accepted = 0;
  while (accepted < 10000000 && filter.try_spend(cost(tiny)).has_value()) ++accepted;
  EXPECT_EQ(accepted, 909'500U) << "the decimals are exact";
  EXPECT_LE(1 + Exact(accepted) * Exact(tiny), promised(budget));
  const SumFilter::State before = filter.state();
  const auto refused = filter.try_spend(cost(1e-15));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kBudgetExhausted);
  EXPECT_EQ(filter.state(), before);
}

TEST(SumFilter, ExactSumOfAcceptedCostsIsWithinThePromise) {
  for (int seed = 0; seed < 20; ++seed) {
    const double budget = 1 + 0.1 * seed;
    SumFilter filter = SumFilter::create(cost(budget, 1e-6));
    Exact epsilon = 0;
    Exact failures = 0;
    int accepted = 0;
    for (int i = 0; i < 2000; ++i) {
      const double e = std::exp2(-10 + 8 * std::sin(seed + 1.1 * i));
      const double d = std::exp2(-30 + 10 * std::sin(seed + 2.3 * i));
      const double want = i % 7 == 0 ? filter.remaining().epsilon.value() : e;
      if (!filter.try_spend(cost(want, d)).has_value()) continue;
      epsilon += Exact(want);
      failures += Exact(d);
      ++accepted;
      EXPECT_LE(epsilon, promised(budget));
      EXPECT_LE(failures, promised(1e-6));
    }
    EXPECT_GT(accepted, 0);
    EXPECT_GE(Exact(filter.spent_epsilon_at(delta(1e-6)).value().value()), epsilon);
  }
}

TEST(SumFilter, TheWholeBudgetCanBeSpentAndNoMore) {
  SumFilter filter = SumFilter::create(cost(1, 1e-6));
  ASSERT_TRUE(filter.try_spend(cost(0.7, 0)).has_value());
  const double left = filter.remaining().epsilon.value();
  EXPECT_EQ(left, 0.3);
  // The double above it, which is 1 − 0.7, fits by doubles. The one above that fits by neither.
  EXPECT_TRUE(SumFilter(filter).try_spend(cost(1 - 0.7)).has_value());
  EXPECT_FALSE(filter.try_spend(cost(std::nextafter(1 - 0.7, 1.0))).has_value());
  EXPECT_FALSE(filter.try_spend(cost(0, 1e-5)).has_value());
  ASSERT_TRUE(filter.try_spend(cost(left)).has_value());
  EXPECT_EQ(filter.remaining().epsilon.value(), 0);
  EXPECT_FALSE(filter.try_spend(cost(1e-16)).has_value()) << "by doubles 2^-54 is left";
  EXPECT_TRUE(filter.try_spend(cost(0)).has_value()) << "what costs nothing is always allowed";
  EXPECT_TRUE(filter.try_spend(cost(0, 1e-6)).has_value());
  EXPECT_EQ(filter.spent_epsilon_at(delta(1e-6)).value().value(), 1);
  expect_invalid(filter.spent_epsilon_at(delta(1e-7)).error(), "1e-06");
}

TEST(Filters, StateSurvivesSavingAndBadStateIsRefused) {
  ZcdpFilter filter = ZcdpFilter::create(zcdp(0.5, 1e-6));
  ASSERT_TRUE(filter.try_spend(zcdp(0.1, 1e-8)).has_value());
  ASSERT_TRUE(filter.try_spend(zcdp(0.2)).has_value());
  const ZcdpFilter again = ZcdpFilter::restore(zcdp(0.5, 1e-6), filter.state()).value();
  EXPECT_EQ(again.state(), filter.state());
  EXPECT_EQ(again.remaining().rho, filter.remaining().rho);
  expect_invalid(ZcdpFilter::restore(zcdp(0.2, 1e-6), filter.state()).error(), "budget it had");
  for (const SumUp& bad :
       {SumUp{-0.1, 0}, SumUp{NAN, 0}, SumUp{0.1, NAN}, SumUp{0.1, -0.1}, SumUp{HUGE_VAL, 0}, SumUp{0, -1e-300}}) {
    EXPECT_FALSE(ZcdpFilter::restore(zcdp(0.5, 1e-6), {bad, {}}).has_value());
    EXPECT_FALSE(SumFilter::restore(cost(0.5, 1e-6), {{bad, {}}, {}}).has_value());
    EXPECT_FALSE(RdpFilter::restore(Epsilon::of(1), delta(1e-5), {32}, {{bad}}).has_value());
  }
  RdpFilter renyi = RdpFilter::create(Epsilon::of(1), delta(1e-5), {16, 32}).value();
  ASSERT_TRUE(renyi.try_spend(std::vector<double>{HUGE_VAL, 0.1}).has_value());
  EXPECT_EQ(RdpFilter::restore(Epsilon::of(1), delta(1e-5), {16, 32}, renyi.state()).value().state(), renyi.state());
  expect_invalid(RdpFilter::restore(Epsilon::of(1), delta(1e-5), {16}, renyi.state()).error(), "budget it had");
}

// Whitehouse et al., Theorem 1: the condition itself, in exact and wide arithmetic.
TEST(ApproxDpFilter, HoldsTheTheoremsCondition) {
  using Wide = long double;
  for (double e : {0.01, 1.0, 10.0, 1e4}) {
    for (double d : {1e-300, 1e-9, 0.3}) {
      ApproxDpFilter filter = ApproxDpFilter::create(Epsilon::make(e).value(), delta(d), delta(1e-7)).value();
      Exact squares = 0;
      int accepted = 0;
      int refused = 0;
      for (int i = 0; i < 5000; ++i) {
        const double step = e / 50 * (1 + std::sin(1.9 * i));
        if (!filter.try_spend(cost(step)).has_value()) {
          ++refused;
          continue;
        }
        squares += Exact(step) * Exact(step);
        ++accepted;
      }
      const Wide sum = static_cast<Wide>(squares);
      const Wide at = std::sqrt(-2 * std::log(static_cast<Wide>(d)) * sum) + sum / 2;
      EXPECT_LE(at, static_cast<Wide>(e) * (1 + 1e-17L)) << e << " " << d;
      EXPECT_GT(accepted, 0);
      EXPECT_GT(refused, 0);
      // Fill up: the filter is not stricter than the theorem either.
      const double left = filter.remaining().epsilon.value();
      EXPECT_TRUE(filter.try_spend(cost(left)).has_value());
      EXPECT_FALSE(filter.try_spend(cost(0.01 * e)).has_value());
      const Wide full = sum + static_cast<Wide>(left) * left;
      EXPECT_NEAR(static_cast<double>((std::sqrt(-2 * std::log(static_cast<Wide>(d)) * full) + full / 2) / e), 1, 1e-9);
      EXPECT_FALSE(filter.try_spend(cost(0, 2e-7)).has_value());
      EXPECT_TRUE(filter.try_spend(cost(0, 1e-7)).has_value());
      EXPECT_FALSE(filter.try_spend(cost(1e300)).has_value());
    }
  }
  expect_invalid(ApproxDpFilter::create(Epsilon::of(1), delta(0), delta(0.1)).error(), "SumFilter");
  expect_invalid(ApproxDpFilter::create(Epsilon::of(1), delta(0.5), delta(0.5)).error(), "add up");
}

// A thousand equal queries: the fully adaptive filter costs what the textbook's advanced composition costs, or less.
TEST(ApproxDpFilter, MatchesAdvancedComposition) {
  const double e0 = 0.01;
  const ApproxDp textbook = advanced_composition(cost(e0), Steps::of(1000), delta(1e-5)).value();
  ApproxDpFilter filter =
      ApproxDpFilter::create(Epsilon::make(textbook.epsilon.value()).value(), delta(1e-5), delta(0)).value();
  int accepted = 0;
  while (filter.try_spend(cost(e0)).has_value()) ++accepted;
  EXPECT_GE(accepted, 1000);
  EXPECT_LT(accepted, 1200);
}

// --- The guarantee itself, by enumeration of an adaptive game --------------------------------------------------------
//
// An analyst asks randomized responses whose ε depends on all answers so far, until the filter refuses or `depth` is
// reached. Returned: Σ (P(path) − e^ε Q(path))⁺, the exact δ of everything.
template <class Filter, class Spend>
double true_delta(const Filter& filter, const Spend& spend, double epsilon, double loss_so_far, double log_p,
                  int depth) {
  // Answers for the truth push the loss up; the analyst chases it: bold when ahead, timid when behind.
  const double e0 = loss_so_far >= 0 ? 0.9 : 0.3;
  Filter next = filter;
  if (depth == 0 || !spend(next, e0)) {
    return std::max(0.0, std::exp(log_p) - std::exp(epsilon + log_p - loss_so_far));
  }
  const double log_truth = -std::log1p(std::exp(-e0));
  return true_delta(next, spend, epsilon, loss_so_far + e0, log_p + log_truth, depth - 1) +
         true_delta(next, spend, epsilon, loss_so_far - e0, log_p + log_truth - e0, depth - 1);
}

// RDP of randomized response.
double renyi(double e, double order) {
  const double p = 1 / (1 + std::exp(-e));
  return std::log(p * std::exp((order - 1) * e) + (1 - p) * std::exp(-(order - 1) * e)) / (order - 1);
}

TEST(Filters, AdaptiveGamesKeepTheBudget) {
  const auto spend_dp = [](ApproxDpFilter& filter, double e) { return filter.try_spend(cost(e)).has_value(); };
  const auto spend_sum = [](SumFilter& filter, double e) { return filter.try_spend(cost(e)).has_value(); };
  const auto spend_rho = [](ZcdpFilter& filter, double e) { return filter.try_spend(zcdp(e * e / 2)).has_value(); };
  const auto spend_renyi = [](RdpFilter& filter, double e) {
    std::vector<double> costs;
    for (double order : filter.orders()) costs.push_back(renyi(e, order));
    return filter.try_spend(costs).has_value();
  };
  for (double e : {2.0, 4.0}) {
    for (double d : {1e-3, 0.05, 0.3}) {
      const Epsilon epsilon = Epsilon::make(e).value();
      const ApproxDpFilter dp = ApproxDpFilter::create(epsilon, delta(d), delta(0)).value();
      EXPECT_LE(true_delta(dp, spend_dp, e, 0, 0, 16), d);
      const RdpFilter several = RdpFilter::create(epsilon, delta(d), {1.5, 2, 3, 5, 8, 13}).value();
      EXPECT_LE(true_delta(several, spend_renyi, e, 0, 0, 16), d);
      const RdpFilter one = RdpFilter::create(epsilon, delta(d), {4}).value();
      EXPECT_LE(true_delta(one, spend_renyi, e, 0, 0, 16), d);
      const ZcdpFilter concentrated = ZcdpFilter::create(zcdp(0.5 * d * e));
      const double its = concentrated.budget_epsilon_at(delta(d)).value().value();
      EXPECT_LE(true_delta(concentrated, spend_rho, its, 0, 0, 16), d);
      EXPECT_EQ(true_delta(SumFilter::create(cost(e)), spend_sum, e * (1 + 1e-12), 0, 0, 16), 0);
    }
  }
  // Mutants that must be caught: a filter that forgets, and one with three times the budget.
  const auto forget = [](ApproxDpFilter& filter, double e) {
    return ApproxDpFilter(filter).try_spend(cost(e)).has_value();
  };
  const ApproxDpFilter dp = ApproxDpFilter::create(Epsilon::of(4), delta(0.05), delta(0)).value();
  EXPECT_GT(true_delta(dp, forget, 4, 0, 0, 16), 0.05);
  const ApproxDpFilter larger = ApproxDpFilter::create(Epsilon::of(12), delta(0.05), delta(0)).value();
  EXPECT_GT(true_delta(larger, spend_dp, 4, 0, 0, 16), 0.05);
}

// P(at some time the loss exceeds what the odometer says). The analyst stops as soon as it does.
template <class Filter, class Spend, class Read>
double overtaken(const Filter& filter, const Spend& spend, const Read& read, double loss_so_far, double log_p,
                 int depth) {
  if (loss_so_far > read(filter) + 1e-12) return std::exp(log_p);
  const double e0 = loss_so_far >= 0 ? 0.9 : 0.05;
  Filter next = filter;
  if (depth == 0 || !spend(next, e0)) return 0;
  const double log_truth = -std::log1p(std::exp(-e0));
  return overtaken(next, spend, read, loss_so_far + e0, log_p + log_truth, depth - 1) +
         overtaken(next, spend, read, loss_so_far - e0, log_p + log_truth - e0, depth - 1);
}

TEST(Filters, OdometersAreValidAtAllTimes) {
  const double d = 0.5;
  const auto spend = [](ZcdpFilter& filter, double e) { return filter.try_spend(zcdp(e * e / 2)).has_value(); };
  const auto read = [&](const ZcdpFilter& filter) { return filter.spent_epsilon_at(delta(d)).value().value(); };
  EXPECT_LE(overtaken(ZcdpFilter::create(zcdp(10)), spend, read, 0, 0, 14), d);
  const auto spend_renyi = [](RdpFilter& filter, double e) {
    std::vector<double> costs;
    for (double order : filter.orders()) costs.push_back(renyi(e, order));
    return filter.try_spend(costs).has_value();
  };
  const auto read_renyi = [&](const RdpFilter& filter) { return filter.spent_epsilon_at(delta(d)).value().value(); };
  EXPECT_LE(overtaken(RdpFilter::create(Epsilon::of(50), delta(d), {1.5, 2, 4, 8}).value(), spend_renyi, read_renyi, 0,
                      0, 16),
            d);
  // The mutant reads a tenth.
  const auto tenth = [&](const ZcdpFilter& filter) { return 0.1 * read(filter); };
  EXPECT_GT(overtaken(ZcdpFilter::create(zcdp(10)), spend, tenth, 0, 0, 14), d);
}

// Near the budget the odometer is not much worse than the filter, and it never decreases.
TEST(ZcdpFilter, OdometerIsUsable) {
  ZcdpFilter filter = ZcdpFilter::create(zcdp(0.1, 1e-7));
  EXPECT_EQ(filter.spent_epsilon_at(delta(1e-6)).value().value(), 0);
  double before = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(filter.try_spend(zcdp(0.000999)).has_value());
    const double now = filter.spent_epsilon_at(delta(1e-6)).value().value();
    EXPECT_GE(now, before);
    before = now;
  }
  const double all = filter.budget_epsilon_at(delta(1e-6)).value().value();
  EXPECT_LT(before, 1.05 * all);
  EXPECT_GT(before, all * 0.98);
  expect_invalid(filter.spent_epsilon_at(delta(1e-8)).error(), "above");
}

TEST(RdpFilter, RefusesWhatItCannotRead) {
  expect_invalid(RdpFilter::create(Epsilon::of(1), delta(0), {2}).error(), "SumFilter");
  expect_invalid(RdpFilter::create(Epsilon::of(1), delta(1e-5), {}).error(), "orders");
  expect_invalid(RdpFilter::create(Epsilon::of(1), delta(1e-5), {1}).error(), "above 1");
  expect_invalid(RdpFilter::create(Epsilon::of(1), delta(1e-5), {HUGE_VAL}).error(), "finite");
  expect_invalid(RdpFilter::create(Epsilon::of(0.1), delta(1e-5), {1.5, 2}).error(), "larger orders");
  RdpFilter filter = RdpFilter::create(Epsilon::of(1), delta(1e-5), {16, 64}).value();
  expect_invalid(filter.try_spend(std::vector<double>{0.1}).error(), "2 orders");
  expect_invalid(filter.try_spend(std::vector<double>{0.1, -1}).error(), "-1");
  expect_invalid(filter.try_spend(std::vector<double>{0.1, NAN}).error(), "0 or above");
  const RdpFilter::State before = filter.state();
  const auto refused = filter.try_spend(std::vector<double>{HUGE_VAL, HUGE_VAL});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kBudgetExhausted);
  EXPECT_EQ(filter.state(), before);
  // One order within its budget is enough, and orders near 1 and very large ones do no harm.
  EXPECT_TRUE(filter.try_spend(std::vector<double>{HUGE_VAL, 0.1}).has_value());
  EXPECT_TRUE(filter.try_spend(std::vector<double>{0, 0.1}).has_value());
  EXPECT_TRUE(RdpFilter::create(Epsilon::of(1), delta(1e-300), {1 + 1e-15, 1e6, 1e300}).has_value());
}

}  // namespace
}  // namespace noisefloor
