// The statistics of audits against answers of independent programs, and against the laws that they promise.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "noisefloor/audit/exposure.h"
#include "noisefloor/audit/gaussian_curve.h"
#include "noisefloor/audit/one_run.h"
#include "noisefloor/audit/roc.h"
#include "noisefloor/audit/two_worlds.h"
#include "noisefloor/random/bit_stream.h"
#include "tests/support/golden_audit.h"

namespace noisefloor::audit {
namespace {

constexpr double kTolerance = 1e-9;

Guesses guesses(std::uint64_t found, std::uint64_t members, std::uint64_t alarms, std::uint64_t others) {
  return Guesses::make({found, members, alarms, others}).value();
}

void expect_close(double got, double want, const char* id, double tolerance = kTolerance) {
  if (std::isinf(want)) {
    EXPECT_EQ(got, want) << id;
    return;
  }
  EXPECT_NEAR(got, want, tolerance * std::max(1.0, std::fabs(want))) << id;
}

TEST(TwoWorlds, AgreesWithOtherPrograms) {
  for (const golden::TwoWorlds& row : golden::kTwoWorlds) {
    const Guesses counts = guesses(row.found, row.members, row.false_alarms, row.others);
    const Delta delta = Delta::make(row.delta).value();
    const Significance significance = Significance::make(row.significance).value();
    const GuessRates rates = rates_of(counts, significance);
    expect_close(rates.found.lower, row.found_lower, row.id);
    expect_close(rates.false_alarms.upper, row.false_alarms_upper, row.id);
    const EpsilonByWorld both = epsilon_by_world(counts, delta, significance);
    expect_close(both.of_members, row.by_members, row.id);
    expect_close(both.of_others, row.by_others, row.id);
    expect_close(epsilon_at_least(counts, delta, significance), row.epsilon, row.id);
    const GaussianEstimate gaussian = if_gaussian(counts, delta, significance);
    expect_close(gaussian.mu, row.mu, row.id);
    expect_close(gaussian.epsilon, row.epsilon_if_gaussian, row.id);
  }
}

TEST(OneRun, AgreesWithOtherPrograms) {
  for (const golden::OneRun& row : golden::kOneRun) {
    const CanaryGuesses counts{row.canaries, row.guesses, row.right};
    const Delta delta = Delta::make(row.delta).value();
    const Significance significance = Significance::make(row.significance).value();
    expect_close(one_run_epsilon(counts, delta, significance), row.epsilon, row.id);
    expect_close(one_run_p_value(counts, PrivacyLoss::of(1), delta), row.p_value_at_1, row.id);
    const GaussianEstimate gaussian = one_run_gaussian(counts, delta, significance);
    expect_close(gaussian.mu, row.mu, row.id);
    expect_close(gaussian.epsilon, row.epsilon_if_gaussian, row.id);
  }
}

TEST(GaussianCurve, AgreesWithOtherPrograms) {
  for (const golden::Curve& row : golden::kCurves) {
    const Epsilon epsilon = Epsilon::make(row.epsilon).value();
    const Delta delta = Delta::make(row.delta).value();
    const double mu = mu_of_gaussian(epsilon, delta);
    expect_close(mu, row.mu, row.id);
    expect_close(epsilon_of_gaussian(row.mu, delta), row.epsilon, row.id);
    expect_close(gaussian_auc(mu), row.auc, row.id);
    expect_close(gaussian_advantage(mu), row.advantage, row.id);
    expect_close(1 - gaussian_missed(mu, 0.001), row.found_at_a_thousandth, row.id);
    expect_close(1 - gaussian_missed(mu, 0.01), row.found_at_a_hundredth, row.id);
    expect_close(1 - gaussian_missed(mu, 0.1), row.found_at_a_tenth, row.id);
    expect_close(most_auc(epsilon, Delta::of(0)), row.pure_auc, row.id);
    expect_close(most_advantage(epsilon, Delta::of(0)), row.pure_advantage, row.id);
    expect_close(most_auc(epsilon, delta), row.auc_by_epsilon_and_delta, row.id);
    expect_close(gaussian_false_alarms(mu, 1 - gaussian_missed(mu, 0.1)), 0.1, row.id);
  }
}

TEST(TwoWorlds, RefusesCountsThatCannotBe) {
  EXPECT_FALSE(Guesses::make({1, 0, 0, 1}).has_value());
  EXPECT_FALSE(Guesses::make({1, 1, 0, 0}).has_value());
  EXPECT_FALSE(Guesses::make({2, 1, 0, 1}).has_value());
  EXPECT_FALSE(Guesses::make({1, 1, 2, 1}).has_value());
  EXPECT_FALSE(check_guesses({10, 0, 0}).has_value());
  EXPECT_FALSE(check_guesses({10, 11, 3}).has_value());
  EXPECT_FALSE(check_guesses({10, 5, 6}).has_value());
  EXPECT_TRUE(check_guesses({10, 5, 5}).has_value());
}

// A draw of a standard normal, good enough to simulate runs with.
double normal(BitStream& random) {
  const auto uniform = [&] { return (static_cast<double>(random.next_u64() >> 11) + 0.5) / 9007199254740992.0; };
  return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979323846 * uniform());
}

// Ideal attacks on a Gaussian mechanism whose μ is known: the bound is wrong no more often than it says. Ten thousand
// audits of a true ε of 1: at 5 % significance, more than 620 wrong ones would happen with probability below 1e-6.
struct Wrong {
  int by_counts = 0;
  int by_curve = 0;
};
Wrong audits_of(double true_mu, double claimed_mu, int audits) {
  ReplayRandom random = ReplayRandom::create(20261118).value();
  const Delta delta = Delta::of(1e-5);
  const double claimed = epsilon_of_gaussian(claimed_mu, delta);
  const Significance significance = Significance::of(0.05);
  Wrong wrong;
  for (int audit = 0; audit < audits; ++audit) {
    GuessCounts counts{0, 100, 0, 100};
    for (int run = 0; run < 100; ++run) {
      counts.found += normal(random) + true_mu > 1 ? 1U : 0U;
      counts.false_alarms += normal(random) > 1 ? 1U : 0U;
    }
    const Guesses made = Guesses::make(counts).value();
    wrong.by_counts += epsilon_at_least(made, delta, significance) > claimed ? 1 : 0;
    wrong.by_curve += refutes(
                          made, [&](double a) { return gaussian_missed(claimed_mu, a); }, significance)
                          ? 1
                          : 0;
  }
  return wrong;
}

TEST(TwoWorlds, IsWrongNoMoreOftenThanItSays) {
  const double mu = mu_of_gaussian(Epsilon::of(1), Delta::of(1e-5));
  const Wrong honest = audits_of(mu, mu, 10'000);
  EXPECT_LE(honest.by_counts, 620);
  EXPECT_LE(honest.by_curve, 620);
  // A mechanism with a twelfth of the noise that it claims is caught nearly always.
  const Wrong lying = audits_of(12 * mu, mu, 200);
  EXPECT_GE(lying.by_counts, 190);
  EXPECT_GE(lying.by_curve, 190);
}

std::vector<ScoredCanary> canaries(double mu, std::size_t count, BitStream& random) {
  std::vector<ScoredCanary> made;
  for (std::size_t i = 0; i < count; ++i) {
    const bool in = (random.next_u64() >> 63) != 0;
    made.push_back({normal(random) + (in ? mu : 0), in});
  }
  return made;
}

TEST(OneRun, IsWrongNoMoreOftenThanItSays) {
  ReplayRandom random = ReplayRandom::create(7).value();
  const Delta delta = Delta::of(1e-5);
  const double mu = mu_of_gaussian(Epsilon::of(1), delta);
  const Significance significance = Significance::of(0.05);
  int too_high = 0;
  int refuted = 0;
  int caught = 0;
  const auto curve_of = [](double m) { return [m](double found) { return gaussian_false_alarms(m, found); }; };
  for (int audit = 0; audit < 1000; ++audit) {
    const CanaryGuesses counts = guess(canaries(mu, 1000, random), 200).value();
    too_high += one_run_epsilon(counts, delta, significance) > 1 ? 1 : 0;
    refuted += refuted_in_one_run(counts, curve_of(mu), significance) ? 1 : 0;
    caught +=
        refuted_in_one_run(guess(canaries(4 * mu, 1000, random), 200).value(), curve_of(mu), significance) ? 1 : 0;
  }
  EXPECT_LE(too_high, 90);
  EXPECT_LE(refuted, 90);  // 50 are expected at most; 90 would happen with probability below 1e-6
  EXPECT_GE(caught, 900) << "a quarter of the noise is caught by a thousand ideal canaries";
}

TEST(OneRun, GuessesTheExtremesAndPaysForEachNumberOfGuesses) {
  std::vector<ScoredCanary> scored;
  for (int i = 0; i < 10; ++i) scored.push_back({static_cast<double>(i), i >= 5});
  EXPECT_EQ(guess(scored, 4).value().right, 4U);
  EXPECT_EQ(guess(scored, 10).value().right, 10U);
  scored[9].score = std::nan("");  // now the lowest: called out, and wrongly
  EXPECT_EQ(guess(scored, 4).value().right, 3U);
  EXPECT_FALSE(guess(scored, 1).has_value());
  EXPECT_FALSE(guess(scored, 11).has_value());

  ReplayRandom random = ReplayRandom::create(11).value();
  const std::vector<ScoredCanary> strong = canaries(3, 400, random);
  const std::vector<std::uint64_t> numbers = {50, 100, 200};
  const OneRunBound best = best_of_guesses(strong, numbers, Delta::of(1e-6), Significance::of(0.05)).value();
  EXPECT_GT(best.epsilon, 1);
  const double alone = one_run_epsilon(best.counts, Delta::of(1e-6), Significance::of(0.05));
  EXPECT_LT(best.epsilon, alone) << "trying three numbers has a price";
}

TEST(OneRun, ManyCanariesAndALargeDeltaSayLess) {
  const CanaryGuesses counts{100'000, 1000, 900};
  double before = 100;
  for (const double delta : {0.0, 1e-9, 1e-7, 1e-6, 1e-5}) {
    const double epsilon = one_run_epsilon(counts, Delta::make(delta).value(), Significance::of(0.05));
    EXPECT_LE(epsilon, before) << delta;
    before = epsilon;
  }
}

TEST(Roc, CountsTiesAHalf) {
  EXPECT_NEAR(Roc::make(std::vector<double>{3, 2, 1}, std::vector<double>{1, 0, -1}).value().auc(), 0.944444444444444,
              1e-12);
  EXPECT_NEAR(
      Roc::make(std::vector<double>{0.1, 0.4, 0.4, 0.9}, std::vector<double>{0.4, 0.3, 0.8, 0.05, 0.4}).value().auc(),
      0.6, 1e-12);
  const Roc same = Roc::make(std::vector<double>(50, 1.0), std::vector<double>(50, 1.0)).value();
  EXPECT_EQ(same.auc(), 0.5);
  EXPECT_EQ(same.balanced_accuracy(), 0.5);
  EXPECT_EQ(same.curve().size(), 2U) << "equal scores are one threshold";
  const Roc broken = Roc::make(std::vector<double>{std::nan(""), 1}, std::vector<double>{0, std::nan("")}).value();
  EXPECT_EQ(broken.auc(), 0.625);
  EXPECT_FALSE(Roc::make(std::vector<double>{}, std::vector<double>{1}).has_value());
}

TEST(Roc, FindsAtARateAndRefusesRatesThatItCannotSee) {
  std::vector<double> members;
  std::vector<double> others;
  for (int i = 0; i < 1000; ++i) {
    members.push_back(i + 100);
    others.push_back(i);
  }
  const Roc roc = Roc::make(members, others).value();
  const FoundAt at = roc.found_at(0.05, Confidence::of(0.95)).value();
  EXPECT_NEAR(at.found, 0.15, 1e-12);
  EXPECT_LT(at.between.lower, 0.15);
  EXPECT_GT(at.between.upper, 0.15);
  EXPECT_TRUE(roc.found_at(0.01, Confidence::of(0.95)).has_value());
  EXPECT_FALSE(roc.found_at(0.001, Confidence::of(0.95)).has_value()) << "one of the others would decide it";
}

TEST(Exposure, IsTheRankInBits) {
  EXPECT_NEAR(exposure(1, 1'000'000).value(), 19.9315685693242, kTolerance);
  EXPECT_NEAR(exposure(17, 1'000'000).value(), 15.8441057280738, kTolerance);
  EXPECT_NEAR(exposure(500'000, 1'000'000).value(), 1, kTolerance);
  EXPECT_NEAR(exposure(1, 1'000'000'000).value(), 29.8973528539863, kTolerance);
  EXPECT_FALSE(exposure(0, 10).has_value());
  EXPECT_FALSE(exposure(11, 10).has_value());
  EXPECT_NEAR(most_median_exposure(PrivacyLoss::of(1), Delta::of(0)), 1 + 1 / std::log(2.0), kTolerance);
}

}  // namespace
}  // namespace noisefloor::audit
