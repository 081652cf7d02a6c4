#include "noisefloor/accounting/noisy_argmax.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/rdp.h"

namespace noisefloor {
namespace {

TEST(NoisyArgmax, GaussianVotesHaveTheRenyiCurveOfThePaper) {
  const DpEvent answer = gaussian_noisy_argmax(NoiseScale::of(40)).value();
  for (double order : {1.5, 8.0, 100.0}) {
    const double divergence = renyi_bound(answer, Adjacency::kAddRemove, order).value().divergence;
    EXPECT_GE(divergence, order / 1600);
    EXPECT_NEAR(divergence, order / 1600, 1e-12 * order);
  }
  // A thousand answers: the certified ε is below what the Rényi curve gives.
  const DpEvent thousand = SelfComposedEvent{Steps::of(1000), answer};
  const double epsilon = pld_epsilon(thousand, Adjacency::kAddRemove, Delta::of(1e-5)).value().upper;
  EXPECT_LT(epsilon, renyi_epsilon(thousand, Adjacency::kAddRemove, Delta::of(1e-5)).value().epsilon);
  EXPECT_GT(epsilon, 4);
}

// Three classes, ten votes, one of which moves: by enumeration of a fine grid of noises the odds stay within e^{2/b}.
TEST(NoisyArgmax, LaplaceVotesKeepTheirOdds) {
  const double scale = 2;
  const DpEvent answer = laplace_noisy_argmax(NoiseScale::of(2)).value();
  EXPECT_NEAR(pld_epsilon(answer, Adjacency::kAddRemove, Delta::of(0)).value().upper, 2 / scale, 1e-12);
  const auto cdf = [&](double x) { return x < 0 ? 0.5 * std::exp(x / scale) : 1 - 0.5 * std::exp(-x / scale); };
  // P(class 0 wins) = ∫ density(x − n₀) cdf(x − n₁) cdf(x − n₂) dx.
  const auto wins = [&](double a, double b, double c) {
    double sum = 0;
    for (int i = -4000; i <= 6000; ++i) {
      const double x = i * 0.02;
      sum += 0.02 * std::exp(-std::fabs(x - a) / scale) / (2 * scale) * cdf(x - b) * cdf(x - c);
    }
    return sum;
  };
  const double largest = std::log(wins(5, 4, 1) / wins(4, 5, 1));
  EXPECT_LE(largest, 2 / scale);
  EXPECT_GT(largest, 0.5 * 2 / scale) << "the enumeration sees nothing";
}

}  // namespace
}  // namespace noisefloor
