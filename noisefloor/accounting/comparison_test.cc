#include "noisefloor/accounting/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

AccountantAnswer by(Accountant accountant, const DpEvent& event, Adjacency adjacency = Adjacency::kAddRemove) {
  return epsilon_by(accountant, event, adjacency, Delta::of(1e-5)).value();
}

// A thousand Gaussian steps with σ = 1: the exact ε is 633.93, Rényi over real orders gives 648.78.
TEST(Comparison, AThousandGaussianSteps) {
  const DpEvent steps = SelfComposedEvent{Steps::of(1000), GaussianEvent{NoiseMultiplier::of(1)}};
  EXPECT_NEAR(by(Accountant::kPld, steps).epsilon, 633.9298513356148, 1e-7);
  EXPECT_NEAR(by(Accountant::kGdp, steps).epsilon, 633.9298513356148, 1e-7);
  EXPECT_FALSE(by(Accountant::kGdp, steps).is_estimate);
  EXPECT_NEAR(by(Accountant::kRdp, steps).epsilon, 648.78, 0.01);
  EXPECT_NEAR(by(Accountant::kZcdp, steps).epsilon, 648.78, 0.01);
  EXPECT_GT(by(Accountant::kBasic, steps).epsilon, 4844.8) << "delta is divided as well";
  EXPECT_GT(by(Accountant::kAdvanced, steps).epsilon, 725'000);
}

TEST(Comparison, NoBoundIsBelowTheCertifiedLowerOne) {
  const std::vector<DpEvent> events = {
      SelfComposedEvent{Steps::of(1000),
                        PoissonSampledEvent{SamplingRate::of(0.01), GaussianEvent{NoiseMultiplier::of(1)}}},
      SelfComposedEvent{Steps::of(50), LaplaceEvent{NoiseMultiplier::of(10)}},
      SelfComposedEvent{Steps::of(50), ExponentialEvent{Epsilon::of(0.1)}},
      ComposedEvent{
          {GaussianEvent{NoiseMultiplier::of(2)}, RandomizedResponseEvent{Epsilon::of(1), Categories::of(3)}}},
      TreeAggregationEvent{NoiseMultiplier::of(5), Steps::of(1000)}};
  for (const DpEvent& event : events) {
    const AccountantAnswer certified = by(Accountant::kPld, event);
    int answers = 0;
    for (Accountant accountant : all_accountants()) {
      const auto answer = epsilon_by(accountant, event, Adjacency::kAddRemove, Delta::of(1e-5));
      if (!answer.has_value() || answer.value().is_estimate) continue;
      EXPECT_GE(answer.value().epsilon, certified.lower.value()) << kind_name(event) << " " << name_of(accountant);
      EXPECT_GE(answer.value().epsilon * (1 + 1e-6), certified.epsilon) << "an accountant beats the certified one";
      ++answers;
    }
    EXPECT_GE(answers, 4);
  }
}

// The central-limit form is below the truth here: that is why it must say what it is.
TEST(Comparison, TheCentralLimitFormIsLabelled) {
  const DpEvent steps = SelfComposedEvent{
      Steps::of(1000), PoissonSampledEvent{SamplingRate::of(0.01), GaussianEvent{NoiseMultiplier::of(1)}}};
  const AccountantAnswer gdp = by(Accountant::kGdp, steps);
  EXPECT_TRUE(gdp.is_estimate);
  EXPECT_LT(gdp.epsilon, by(Accountant::kPld, steps).lower.value());
}

TEST(Comparison, UnknownNamesAndEventsAreRefused) {
  expect_invalid(parse_accountant("magic").error(), "'magic'");
  for (Accountant accountant : all_accountants()) EXPECT_EQ(parse_accountant(name_of(accountant)).value(), accountant);
  const DpEvent skellam = SkellamEvent{NoiseVariance::of(100), L1Sensitivity::of(1), L2Sensitivity::of(1), kScalar};
  expect_invalid(epsilon_by(Accountant::kGdp, skellam, Adjacency::kAddRemove, Delta::of(1e-5)).error(), "skellam");
  EXPECT_TRUE(std::isinf(by(Accountant::kRdp, NonPrivateEvent{""}).epsilon));
  EXPECT_EQ(by(Accountant::kBasic, ZeroCostEvent{}).epsilon, 0);
}

}  // namespace
}  // namespace noisefloor
