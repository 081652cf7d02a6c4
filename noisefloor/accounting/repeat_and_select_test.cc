#include "noisefloor/accounting/repeat_and_select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;
using Law = std::vector<long double>;

TruncatedNegativeBinomial negative_binomial(double eta, double gamma) {
  return TruncatedNegativeBinomial::create(eta, gamma).value();
}

// P(K = k) for k = 0, 1, …, until less than 1e-17 is left.
Law law_of(const TruncatedNegativeBinomial& runs) {
  Law law{0};
  const long double eta = runs.eta();
  const long double gamma = runs.gamma();
  long double total = 0;
  if (eta == 0) {
    for (int k = 1; total < 1 - 1e-17L && k < 100000; ++k) {
      law.push_back(std::pow(1 - gamma, k) / (k * -std::log(gamma)));
      total += law.back();
    }
    return law;
  }
  long double weight = 1 / (std::pow(gamma, -eta) - 1);
  for (int k = 1; total < 1 - 1e-17L && k < 100000; ++k) {
    weight *= (1 - gamma) * (k - 1 + eta) / k;
    law.push_back(weight);
    total += weight;
  }
  return law;
}

Law poisson(double mean) {
  Law law{std::exp(-static_cast<long double>(mean))};
  for (int k = 1; k < 400; ++k) law.push_back(law.back() * mean / k);
  return law;
}

// The exact law of the best of K draws from `base` (later outcomes are better); index 0 is "no run".
Law best_of(const Law& base, const Law& runs) {
  Law result(base.size() + 1, 0);
  result[0] = runs[0];
  long double below = 0;
  for (std::size_t y = 0; y < base.size(); ++y) {
    const long double up_to = below + base[y];
    long double power_below = 1;
    long double power_up_to = 1;
    for (std::size_t k = 1; k < runs.size(); ++k) {
      power_below *= below;
      power_up_to *= up_to;
      result[y + 1] += runs[k] * (power_up_to - power_below);
    }
    below = up_to;
  }
  return result;
}

long double divergence(const Law& p, const Law& q, long double order) {
  long double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] > 0) sum += std::exp(order * std::log(p[i]) + (1 - order) * std::log(q[i]));
  }
  return std::log(sum) / (order - 1);
}

double both_ways(const Law& p, const Law& q, double order) {
  return static_cast<double>(std::max(divergence(p, q, order), divergence(q, p, order)));
}

// Pairs of one run's laws for neighbours. The best outcome is rare, which is where selection costs most.
std::vector<std::pair<Law, Law>> mechanisms() {
  std::vector<std::pair<Law, Law>> result;
  for (long double rare : {0.3L, 0.01L, 1e-4L}) {
    for (long double e : {0.1L, 1.0L}) {
      const long double more = rare * std::exp(e);
      if (more < 1) result.push_back({{1 - rare, rare}, {1 - more, more}});
      result.push_back({{0.5L * (1 - rare), 0.5L * (1 - rare), rare},
                        {0.5L * (1 - rare) * (1 + e / 3), 0.5L * (1 - rare) * (1 - e / 3), rare}});
      result.push_back({{rare, 0.6L, 0.4L - rare}, {rare * std::exp(-e), 0.3L, 0.7L - rare * std::exp(-e)}});
    }
  }
  return result;
}

const std::vector<double> kOrders{1.01, 1.3, 2, 4, 10, 40};

TEST(RepeatAndSelect, MeansAreThoseOfTheLaw) {
  for (double eta : {-0.5, -1e-7, 0.0, 1e-9, 0.5, 1.0, 3.0}) {
    for (double gamma : {0.03, 0.2, 0.9}) {
      const Law law = law_of(negative_binomial(eta, gamma));
      long double mean = 0;
      long double total = 0;
      for (std::size_t k = 0; k < law.size(); ++k) {
        total += law[k];
        mean += static_cast<long double>(k) * law[k];
      }
      EXPECT_NEAR(static_cast<double>(total), 1, 1e-6);
      EXPECT_NEAR(static_cast<double>(std::log(mean) - negative_binomial(eta, gamma).log_mean()), 0, 1e-6) << eta;
    }
  }
  EXPECT_NEAR(static_cast<double>(negative_binomial(1, 0.01).log_mean()), std::log(100), 1e-12);
  EXPECT_TRUE(std::isfinite(static_cast<double>(negative_binomial(-0.999, 1e-300).log_mean())));
  EXPECT_TRUE(std::isfinite(static_cast<double>(negative_binomial(1e6, 1e-300).log_mean())));
}

TEST(RepeatAndSelect, TrueDivergenceIsWithinTheBound) {
  int near_the_bound = 0;
  int mutant_without_selection_fails = 0;
  for (const auto& pair : mechanisms()) {
    const Law& p = pair.first;
    const Law& q = pair.second;
    const RenyiCurve base = [&](double order) { return both_ways(p, q, order); };
    for (double eta : {-0.5, 0.0, 0.5, 1.0, 2.0}) {
      for (double gamma : {0.05, 0.3, 0.8}) {
        const auto runs = negative_binomial(eta, gamma);
        const Law law = law_of(runs);
        const Law a = best_of(p, law);
        const Law b = best_of(q, law);
        for (double order : kOrders) {
          const double truth = both_ways(a, b, order);
          const double bound = repeat_and_select_rdp(base, runs, order).value();
          EXPECT_LE(truth, bound + 1e-12) << "eta " << eta << " gamma " << gamma << " order " << order;
          mutant_without_selection_fails += truth > base(order) ? 1 : 0;
          near_the_bound += truth > 0.4 * bound ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(mutant_without_selection_fails, 100) << "selection costs something; a bound without it must not pass";
  EXPECT_GT(near_the_bound, 0) << "a bound of two fifths would have passed";
}

TEST(RepeatAndSelect, PoissonTrueDivergenceIsWithinTheBound) {
  int printed_form_fails = 0;
  for (const auto& pair : mechanisms()) {
    const Law& p = pair.first;
    const Law& q = pair.second;
    const RenyiCurve base = [&](double order) { return both_ways(p, q, order); };
    const DeltaProfile profile = [&](double epsilon) {
      long double one = 0;
      long double other = 0;
      for (std::size_t i = 0; i < p.size(); ++i) {
        one += std::max(0.0L, p[i] - std::exp(static_cast<long double>(epsilon)) * q[i]);
        other += std::max(0.0L, q[i] - std::exp(static_cast<long double>(epsilon)) * p[i]);
      }
      return static_cast<double>(std::max(one, other));
    };
    for (double mean : {0.05, 1.0, 12.0}) {
      const Law a = best_of(p, poisson(mean));
      const Law b = best_of(q, poisson(mean));
      for (double order : kOrders) {
        const double truth = both_ways(a, b, order);
        const double exact = repeat_and_select_rdp_poisson(base, profile, mean, order).value();
        EXPECT_LE(truth, exact + 1e-12) << "mean " << mean << " order " << order;
        if (order == 2 || order == 10) {
          const double from_curve = repeat_and_select_rdp_poisson(base, mean, order).value();
          EXPECT_LE(truth, from_curve + 1e-12) << "mean " << mean << " order " << order;
          EXPECT_LE(exact, from_curve * (1 + 1e-9));
        }
        const double printed = base(order) + mean * profile(std::log1p(1 / (order - 1))) + std::log(mean) / (order - 1);
        printed_form_fails += truth > printed ? 1 : 0;
      }
    }
  }
  EXPECT_GT(printed_form_fails, 0) << "without the outcome of no run it is no bound";
}

TEST(RepeatAndSelect, PureDp) {
  for (double eta : {-0.5, 0.0, 1.0, 2.0}) {
    for (long double rare : {1e-5L, 0.02L}) {
      const long double e = 0.7L;
      // (rare, the rest), with ratios e^e on the rare side; the rest is within it too.
      const Law p{1 - rare, rare};
      const Law q{1 - rare * std::exp(e), rare * std::exp(e)};
      const auto runs = negative_binomial(eta, 0.1);
      const Law a = best_of(p, law_of(runs));
      const Law b = best_of(q, law_of(runs));
      const double bound = repeat_and_select_pure(PrivacyLoss::of(0.7), runs).value().value();
      EXPECT_NEAR(bound, (2 + eta) * 0.7, 1e-12);
      for (std::size_t i = 1; i < a.size(); ++i) {
        EXPECT_LE(static_cast<double>(std::fabs(std::log(a[i] / b[i]))), bound);
      }
    }
  }
}

// One Gaussian run of ρ-zCDP, η = 0: a value to compare with by hand, and order near 1 does not blow up.
TEST(RepeatAndSelect, GaussianBaseAndEdges) {
  const double rho = 0.05;
  const RenyiCurve base = [&](double order) { return rho * order; };
  const auto runs = negative_binomial(0, 0.1);
  // (1 − 1/l) ρ l + L/l = ρ (l − 1) + L/l is least at l = √(L/ρ).
  const double log_inverse = std::log(10.0);
  const double selection = 2 * std::sqrt(log_inverse * rho) - rho;
  const double mean = std::log(9 / log_inverse);
  EXPECT_NEAR(repeat_and_select_rdp(base, runs, 30).value(), rho * 30 + selection + mean / 29, 1e-9);
  // ρ λ + c/(λ − 1) is least at 1 + √(c/ρ); below that order the bound stays at that value.
  const double best_order = 1 + std::sqrt(mean / rho);
  for (double order : {1 + 1e-12, 1.001, 2.0}) {
    EXPECT_NEAR(repeat_and_select_rdp(base, runs, order).value(), rho * best_order + selection + std::sqrt(mean * rho),
                1e-6);
  }
  for (double order : {1 + 1e-12, 2.0, 1e6, 1e12}) {
    for (double gamma : {1e-300, 0.5, 1 - 1e-15}) {
      EXPECT_TRUE(std::isfinite(repeat_and_select_rdp(base, negative_binomial(0.5, gamma), order).value()));
    }
    for (double mu : {1e-300, 1.0, 1e9}) {
      const double value = repeat_and_select_rdp_poisson(base, mu, order).value();
      EXPECT_TRUE(value >= 0 && std::isfinite(value)) << order << " " << mu;
    }
  }
  expect_invalid(TruncatedNegativeBinomial::create(-1, 0.5).error(), "-1");
  expect_invalid(TruncatedNegativeBinomial::create(1, 1).error(), "gamma");
  expect_invalid(repeat_and_select_rdp(base, runs, 1).error(), "order");
  expect_invalid(repeat_and_select_rdp_poisson(base, 0, 2).error(), "mean");
  expect_invalid(repeat_and_select_rdp([](double) { return -1.0; }, runs, 2).error(), "negative");
  expect_invalid(repeat_and_select_rdp_poisson([](double) { return NAN; }, 3, 2).error(), "NaN");
  const RenyiCurve unknown = [](double) { return HUGE_VAL; };
  EXPECT_EQ(repeat_and_select_rdp(unknown, runs, 2).value(), HUGE_VAL);
}

}  // namespace
}  // namespace noisefloor
