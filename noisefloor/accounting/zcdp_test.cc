#include "noisefloor/accounting/zcdp.h"

#include <gtest/gtest.h>

#include "noisefloor/accounting/rdp.h"

namespace noisefloor {
namespace {

constexpr Adjacency kAddRemove = Adjacency::kAddRemove;

DpEvent gaussian(double z) { return GaussianEvent{NoiseMultiplier::make(z).value()}; }

double rho(const DpEvent& event) { return zcdp_cost(event, kAddRemove).value().rho.value(); }

TEST(Zcdp, KnownCosts) {
  EXPECT_DOUBLE_EQ(rho(gaussian(2)), 0.125);
  EXPECT_DOUBLE_EQ(rho(SelfComposedEvent{Steps::of(10), gaussian(2)}), 1.25);
  EXPECT_DOUBLE_EQ(rho(LaplaceEvent{NoiseMultiplier::of(2)}), 0.125);
  EXPECT_DOUBLE_EQ(rho(ExponentialEvent{Epsilon::of(2)}), 0.5);
  EXPECT_DOUBLE_EQ(rho(ComposedEvent{{gaussian(1), ZeroCostEvent{}, gaussian(1)}}), 1);
  const ZcdpCost box = zcdp_cost(EpsilonDeltaEvent{PrivacyLoss::of(1), Delta::of(1e-6)}, kAddRemove).value();
  EXPECT_DOUBLE_EQ(box.rho.value(), 0.5);
  EXPECT_DOUBLE_EQ(box.delta.value(), 1e-6);
}

// ρ-zCDP bounds the Rényi divergence of every order α by ρα.
TEST(Zcdp, BoundsEveryRenyiDivergence) {
  const std::vector<DpEvent> events = {
      gaussian(0.7),
      LaplaceEvent{NoiseMultiplier::of(0.4)},
      ExponentialEvent{Epsilon::of(3)},
      RandomizedResponseEvent{Epsilon::of(1), Categories::of(4)},
      TreeAggregationEvent{NoiseMultiplier::of(3), Steps::of(1000)},
      PoissonSampledEvent{SamplingRate::of(0.1), gaussian(1)},
  };
  for (const DpEvent& event : events) {
    for (double order : {1.01, 2.0, 7.5, 100.0}) {
      EXPECT_GE(rho(event) * order * (1 + 1e-12), renyi_bound(event, kAddRemove, order).value().divergence)
          << kind_name(event) << " " << order;
    }
  }
}

TEST(Zcdp, RefusesWhatHasNoBound) {
  EXPECT_FALSE(zcdp_cost(NonPrivateEvent{}, kAddRemove).has_value());
  EXPECT_FALSE(zcdp_cost(PoissonSampledEvent{SamplingRate::of(0.1), gaussian(1)}, Adjacency::kReplaceOne).has_value());
  EXPECT_FALSE(zcdp_cost(ComposedEvent{{gaussian(1), NonPrivateEvent{}}}, kAddRemove).has_value());
  // A δ that adds up to 1 or more is no cost.
  EXPECT_FALSE(
      zcdp_cost(SelfComposedEvent{Steps::of(10), EpsilonDeltaEvent{PrivacyLoss::of(1), Delta::of(0.2)}}, kAddRemove)
          .has_value());
}

}  // namespace
}  // namespace noisefloor
