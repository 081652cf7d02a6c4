#include "noisefloor/accounting/membership.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

namespace noisefloor {
namespace {

double phi(double x) { return boost::math::cdf(boost::math::normal(), x); }
double phi_inverse(double p) { return boost::math::quantile(boost::math::normal(), p); }

constexpr std::array<double, 4> kAlarms{0.0001, 0.001, 0.01, 0.1};

// One Gaussian release has the curve found = Φ(Φ⁻¹(α) + 1/σ) and the largest lead 2Φ(1/2σ) − 1.
TEST(Membership, AGaussianIsBoundedFromAboveAndTightly) {
  for (const double sigma : {0.5, 1.0, 3.0}) {
    const DpEvent event = GaussianEvent{NoiseMultiplier::make(sigma).value()};
    const auto bounds = membership_bounds(event, Adjacency::kAddRemove, Delta::of(1e-5), kAlarms);
    ASSERT_TRUE(bounds.has_value());
    const double lead = 2 * phi(1 / (2 * sigma)) - 1;
    EXPECT_GE(bounds.value().advantage, lead * (1 - 1e-12));
    EXPECT_NEAR(bounds.value().advantage, lead, 1e-9);
    for (const MembershipTest& test : bounds.value().tests) {
      const double exact = phi(phi_inverse(test.false_alarms) + 1 / sigma);
      EXPECT_GE(test.found, exact) << "sigma " << sigma << ", alpha " << test.false_alarms;
      EXPECT_NEAR(test.found, exact, 0.002) << "sigma " << sigma << ", alpha " << test.false_alarms;
    }
  }
}

TEST(Membership, MoreStepsAreEasierToAttack) {
  const auto steps = [](std::uint64_t count) {
    const DpEvent one = PoissonSampledEvent{SamplingRate::of(0.01), GaussianEvent{NoiseMultiplier::of(1)}};
    return membership_bounds(SelfComposedEvent{Steps::make(count).value(), one}, Adjacency::kAddRemove, Delta::of(1e-5),
                             kAlarms)
        .value();
  };
  const MembershipBounds few = steps(100);
  const MembershipBounds many = steps(2000);
  EXPECT_LT(few.advantage, many.advantage);
  for (std::size_t i = 0; i < kAlarms.size(); ++i) {
    EXPECT_LT(few.tests[i].found, many.tests[i].found);
    EXPECT_GE(few.tests[i].found, kAlarms[i]) << "guessing finds as many";
  }
}

// Where nothing but (ε, δ) is known the classical bounds remain.
TEST(Membership, HoldsForAnEpsilonAndADeltaAlone) {
  const double epsilon = 1.5;
  const DpEvent event = EpsilonDeltaEvent{PrivacyLoss::make(epsilon).value(), Delta::of(1e-6)};
  const auto bounds = membership_bounds(event, Adjacency::kReplaceOne, Delta::of(1e-6), kAlarms);
  ASSERT_TRUE(bounds.has_value());
  const double e = std::exp(epsilon);
  EXPECT_NEAR(bounds.value().advantage, (e - 1) / (e + 1), 2e-6);
  for (const MembershipTest& test : bounds.value().tests) {
    EXPECT_LE(test.found, (e * test.false_alarms + 1e-6) * (1 + 1e-9));
    EXPECT_GE(test.found, e * test.false_alarms * (1 - 1e-9));
  }
}

TEST(Membership, BeliefsGrowByAtMostTheOdds) {
  EXPECT_DOUBLE_EQ(belief_after(0.5, std::log(3)), 0.75);
  EXPECT_NEAR(belief_after(0.01, std::log(3)), 0.03 / 1.02, 1e-15);
  EXPECT_DOUBLE_EQ(belief_after(0.5, 0), 0.5);
  EXPECT_DOUBLE_EQ(belief_after(0.5, 1000), 1);
}

TEST(Membership, WithoutPrivacyNothingIsBounded) {
  EXPECT_FALSE(membership_bounds(NonPrivateEvent{"replay"}, Adjacency::kAddRemove, Delta::of(1e-5), kAlarms));
}

}  // namespace
}  // namespace noisefloor
