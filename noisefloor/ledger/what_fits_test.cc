#include "noisefloor/ledger/what_fits.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/pld.h"

namespace noisefloor {
namespace {

DpEvent gaussian(double z) { return GaussianEvent{NoiseMultiplier::make(z).value()}; }

TEST(WhatFits, MoreNoiseReachesEveryPart) {
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

TEST(WhatFits, SaysWhatWasAskedForInItsOwnTerms) {
  BudgetTerms terms{"b", Epsilon::of(1), Delta::of(1e-5), Adjacency::kAddRemove, PrivacyUnit::kRow, Rule::kBasic, 0};
  const Account account = Account::open(terms).value();
  const DpEvent box = EpsilonDeltaEvent{PrivacyLoss::of(2), Delta::of(0)};
  const std::vector<std::string> phrases = what_fits(terms, account, box, std::nullopt);
  ASSERT_EQ(phrases.size(), 1U);
  EXPECT_EQ(phrases[0].rfind("epsilon 0.999", 0), 0U) << phrases[0];
  // δ of its own that is not there cannot be mended by noise.
  EXPECT_TRUE(what_fits(terms, account, EpsilonDeltaEvent{PrivacyLoss::of(2), Delta::of(0.1)}, Delta::of(0.1)).empty());
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
