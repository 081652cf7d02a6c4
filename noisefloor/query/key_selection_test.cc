// Keys are kept at their exact rates (α = testing::kAlpha), neighbours are within (ε, δ), and thresholds are those of
// the literature.
#include "noisefloor/query/key_selection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>

#include "noisefloor/accounting/pld.h"
#include "tests/support/statistics.h"

namespace noisefloor::query {
namespace {

using noisefloor::testing::coin_p_value;
using noisefloor::testing::kAlpha;

constexpr KeyRule kRules[] = {KeyRule::kTruncatedGeometric, KeyRule::kLaplace, KeyRule::kGaussian};

KeyTerms terms(double epsilon, double delta, std::uint64_t groups, Adjacency adjacency = Adjacency::kAddRemove) {
  return {Epsilon::make(epsilon).value(), Delta::make(delta).value(), groups, adjacency};
}

KeySelection selection(const KeyTerms& asked, KeyRule rule) { return KeySelection::create(asked, rule).value(); }

// The fewest units for an even chance, computed independently (recursion of Desfontaines et al.; closed forms).
TEST(KeySelection, ThresholdsAreThoseOfTheLiterature) {
  struct Row {
    double epsilon;
    double delta;
    std::uint64_t groups;
    double geometric;
    double laplace;
    double gaussian;
  };
  for (const Row& row : {Row{1, 1e-6, 1, 14, 14.1, 22.3}, Row{1, 1e-6, 4, 53, 59, 46}, Row{1, 1e-6, 16, 211, 255, 95},
                         Row{1, 1e-6, 64, 841, 1107, 198}, Row{1, 1e-8, 4, 72, 78, 63}, Row{0.5, 1e-6, 4, 100, 117, 87},
                         Row{0.5, 1e-6, 64, 1592, 2213, 378}}) {
    const KeyTerms asked = terms(row.epsilon, row.delta, row.groups);
    EXPECT_NEAR(selection(asked, KeyRule::kTruncatedGeometric).threshold(), row.geometric, 1.01);
    EXPECT_NEAR(selection(asked, KeyRule::kLaplace).threshold(), row.laplace, 1.5);
    EXPECT_NEAR(selection(asked, KeyRule::kGaussian).threshold(), row.gaussian, 0.01 * row.gaussian + 0.5);
    EXPECT_EQ(KeySelection::best(asked).value().rule(),
              row.groups == 1 ? KeyRule::kTruncatedGeometric : KeyRule::kGaussian);
  }
}

// Both relations: the certified ε is at most what was asked for, and not much less.
TEST(KeySelection, EventsAreWithinTheirBudgetAndUseIt) {
  for (Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    for (std::uint64_t groups : {1U, 3U, 20U}) {
      for (double epsilon : {0.1, 1.0, 4.0}) {
        for (KeyRule rule : kRules) {
          const KeySelection made = selection(terms(epsilon, 1e-6, groups, adjacency), rule);
          const Interval certified = pld_epsilon(made.event(), adjacency, Delta::of(1e-6)).value();
          EXPECT_LE(certified.upper, epsilon) << name_of(rule) << groups;
          // Where δ is spent by the basic rule, optimal composition finds a smaller ε.
          if (groups < 20) {
            EXPECT_GE(certified.upper, epsilon * 0.99) << name_of(rule) << groups;
          }
        }
      }
    }
  }
}

// Detects thresholds off by one, noise that is not truncated, and a scale off by 10 %.
TEST(KeySelection, GroupsAreKeptAtTheirRate) {
  constexpr std::uint64_t draws = 100'000;
  for (KeyRule rule : kRules) {
    const KeySelection made = selection(terms(1, 0.01, 2), rule);
    ReplayRandom random = ReplayRandom::create(5).value();
    bool rejected_one_more = false;
    for (std::uint64_t units = 1; units <= made.fewest_units() + 6; units += 2) {
      std::uint64_t kept = 0;
      for (std::uint64_t i = 0; i < draws; ++i) kept += made.keep(units, random).has_value() ? 1U : 0U;
      const double p = made.keep_probability(units);
      EXPECT_GT(coin_p_value(kept, draws, p), kAlpha) << name_of(rule) << units;
      rejected_one_more |= coin_p_value(kept, draws, made.keep_probability(units + 1)) < kAlpha;
    }
    EXPECT_TRUE(rejected_one_more);
    EXPECT_FALSE(made.keep(0, random).has_value());
  }
}

// A unit alone in its groups is shown with a probability of at most δ; a threshold that is one lower breaks that.
TEST(KeySelection, OneUnitAloneIsHardlyEverShown) {
  for (std::uint64_t groups : {1U, 5U}) {
    for (KeyRule rule : kRules) {
      const KeySelection made = selection(terms(1, 1e-3, groups), rule);
      const auto shown = [&](double p) { return 1 - std::pow(1 - p, static_cast<double>(groups)); };
      EXPECT_LE(shown(made.keep_probability(1)), 1e-3 * (1 + 1e-9)) << name_of(rule);
      if (rule == KeyRule::kLaplace) {
        EXPECT_GT(shown(made.keep_probability(2)), 1e-3);
      }
      if (rule == KeyRule::kTruncatedGeometric) {
        EXPECT_GT(shown(made.keep_probability(3)), 1e-3);
      }
    }
  }
}

// The released pair of name and number, by exact probabilities: neighbours are within (ε, δ) for one group. The mutant
// releases the number of units without noise where the group is kept.
TEST(KeySelection, NumberOfUnitsIsCoveredByTheSameEvent) {
  const double epsilon = 1;
  const double delta = 0.01;
  const KeySelection made = selection(terms(epsilon, delta, 1), KeyRule::kTruncatedGeometric);
  constexpr std::uint64_t draws = 400'000;
  const auto law = [&](std::uint64_t units, bool mutant) {
    ReplayRandom random = ReplayRandom::create(units).value();
    std::map<std::int64_t, double> p;  // 0: not kept
    for (std::uint64_t i = 0; i < draws; ++i) {
      const auto kept = made.keep(units, random);
      p[kept ? mutant ? static_cast<std::int64_t>(units) : *kept : 0] += 1.0 / draws;
    }
    return p;
  };
  const auto divergence = [&](const std::map<std::int64_t, double>& p, std::map<std::int64_t, double> q) {
    double sum = 0;
    for (const auto& [outcome, mass] : p) sum += std::max(0.0, mass - std::exp(epsilon) * q[outcome]);
    return sum;
  };
  for (std::uint64_t units : {0U, 1U, 4U, 6U, 9U}) {
    for (bool mutant : {false, true}) {
      const double worst = std::max(divergence(law(units, mutant), law(units + 1, mutant)),
                                    divergence(law(units + 1, mutant), law(units, mutant)));
      if (!mutant) {
        EXPECT_LE(worst, delta + 0.004) << units;
      }
      if (mutant && units >= 6) {
        EXPECT_GT(worst, 0.3) << units;
      }
    }
  }
}

TEST(KeySelection, RefusesPureDpAndSharesOutOfRange) {
  EXPECT_FALSE(KeySelection::best(terms(1, 0, 1)).has_value());
  EXPECT_FALSE(KeySelection::best(terms(1, 1e-6, 0)).has_value());
  EXPECT_FALSE(KeySelection::best(terms(1e-12, 1e-6, 1)).has_value());
  EXPECT_FALSE(KeySelection::best(terms(1, 1e-6, std::uint64_t{1} << 40)).has_value());
}

}  // namespace
}  // namespace noisefloor::query
