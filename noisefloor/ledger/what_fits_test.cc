#include "noisefloor/ledger/what_fits.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

DpEvent gaussian(double z) { return GaussianEvent{NoiseMultiplier::make(z).value()}; }

TEST(WhatFits, AddsNoiseToEveryPart) {
  const DpEvent tree =
      ComposedEvent{{gaussian(1), SelfComposedEvent{Steps::of(3), LaplaceEvent{NoiseMultiplier::of(2)}},
                     ExponentialEvent{Epsilon::of(1)}, PoissonSampledEvent{SamplingRate::of(0.1), gaussian(4)},
                     ZcdpEvent{Rho::of(1), Delta::of(0)}, ZeroCostEvent{}}};
  const DpEvent twice =
      ComposedEvent{{gaussian(2), SelfComposedEvent{Steps::of(3), LaplaceEvent{NoiseMultiplier::of(4)}},
                     ExponentialEvent{Epsilon::of(0.5)}, PoissonSampledEvent{SamplingRate::of(0.1), gaussian(8)},
                     ZcdpEvent{Rho::of(0.25), Delta::of(0)}, ZeroCostEvent{}}};
  EXPECT_EQ(with_more_noise(tree, 2), twice);
  EXPECT_EQ(with_more_noise(NonPrivateEvent{"x"}, 2), std::nullopt);
}

TEST(WhatFits, SpeaksInTheTermsOfTheRequest) {
  BudgetTerms terms{"b", Epsilon::of(1), Delta::of(1e-5), Adjacency::kAddRemove, PrivacyUnit::kRow, Rule::kBasic, 0};
  const Account account = Account::open(terms).value();
  const DpEvent box = EpsilonDeltaEvent{PrivacyLoss::of(2), Delta::of(0)};
  const std::vector<std::string> phrases = what_fits(terms, account, box, std::nullopt);
  ASSERT_EQ(phrases.size(), 1U);
  EXPECT_EQ(phrases[0].rfind("epsilon 0.999", 0), 0U) << phrases[0];
  // More noise does not help a use whose own δ is more than there is.
  EXPECT_TRUE(what_fits(terms, account, EpsilonDeltaEvent{PrivacyLoss::of(2), Delta::of(0.1)}, Delta::of(0.1)).empty());
}

// ε = 2.999999 of 3 is spent: only a noise multiplier of hundreds of thousands would fit, which no one wants.
TEST(WhatFits, OffersNothingAbsurdWhereAlmostNothingIsLeft) {
  BudgetTerms terms{"b",          Epsilon::of(3), Delta::of(1e-5), Adjacency::kAddRemove, PrivacyUnit::kRow,
                    Rule::kBasic, 0.999};
  const DpEvent step = PoissonSampledEvent{SamplingRate::of(0.01), gaussian(1)};
  const DpEvent training = SelfComposedEvent{Steps::of(1000), step};
  Account account = Account::open(terms).value();
  ASSERT_TRUE(account.spend(Charge{{2.999999}, 0}, {}).has_value());
  const auto fits = [&](const DpEvent& event) {
    const Result<Charge> charge = charge_for(terms, event, Delta::of(1e-6));
    return charge.has_value() && account.fits(charge.value(), {});
  };
  ASSERT_TRUE(fits(*with_more_noise(training, 1e7)));
  EXPECT_TRUE(what_fits(terms, account, training, Delta::of(1e-6)).empty());
  EXPECT_TRUE(what_fits(terms, account, EpsilonDeltaEvent{PrivacyLoss::of(1), Delta::of(0)}, std::nullopt).empty());
}

TEST(WhatFits, OffersEveryUsefulChangeWhereSomeIsLeft) {
  BudgetTerms terms{"b",          Epsilon::of(3), Delta::of(1e-5), Adjacency::kAddRemove, PrivacyUnit::kRow,
                    Rule::kBasic, 0.999};
  const DpEvent training = SelfComposedEvent{Steps::of(1000), PoissonSampledEvent{SamplingRate::of(0.01), gaussian(1)}};
  Account account = Account::open(terms).value();
  ASSERT_TRUE(account.spend(Charge{{2}, 0}, {}).has_value());
  const std::vector<std::string> phrases = what_fits(terms, account, training, Delta::of(1e-6));
  ASSERT_EQ(phrases.size(), 3U);
  EXPECT_EQ(phrases[0].rfind("noise multiplier ", 0), 0U) << phrases[0];
  EXPECT_EQ(phrases[1].rfind("at most ", 0), 0U) << phrases[1];
  EXPECT_EQ(phrases[2].rfind("sampling rate 0.00", 0), 0U) << phrases[2];
}

// A request that is far too large for an unused budget is answered with what the budget allows, however much smaller
// that is.
TEST(WhatFits, TellsWhatAnUnusedBudgetAllows) {
  BudgetTerms terms{"b", Epsilon::of(1), Delta::of(0), Adjacency::kAddRemove, PrivacyUnit::kRow, Rule::kBasic, 0};
  const Account account = Account::open(terms).value();
  const std::vector<std::string> phrases =
      what_fits(terms, account, EpsilonDeltaEvent{PrivacyLoss::of(1e30), Delta::of(0)}, std::nullopt);
  ASSERT_EQ(phrases.size(), 1U);
  EXPECT_EQ(phrases[0].rfind("epsilon 0.999", 0), 0U) << phrases[0];
}

TEST(WhatFits, CountsHowManyMore) {
  BudgetTerms terms{"b", Epsilon::of(1), Delta::of(0), Adjacency::kAddRemove, PrivacyUnit::kRow, Rule::kBasic, 0};
  const Account account = Account::open(terms).value();
  EXPECT_EQ(how_many_fit(account, Charge{{0.125}, 0}, {}, 100), 8U);
  EXPECT_EQ(how_many_fit(account, Charge{{0.125}, 0}, {}, 5), 5U);
  EXPECT_EQ(how_many_fit(account, Charge{{1.5}, 0}, {}, 5), 0U);
}

}  // namespace
}  // namespace noisefloor
