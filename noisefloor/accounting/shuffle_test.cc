#include "noisefloor/accounting/shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "tests/support/refusal.h"

namespace noisefloor {
namespace {

using testing::expect_invalid;

PrivacyLoss loss(double e) { return PrivacyLoss::make(e).value(); }
Delta delta(double d) { return Delta::make(d).value(); }
ShuffledReports any(double e, std::uint64_t n) {
  return ShuffledReports::of_any_randomizer(Epsilon::make(e).value(), Rows::make(n).value(), Adjacency::kReplaceOne)
      .value();
}
ShuffledReports response(double e, std::uint64_t k, std::uint64_t n) {
  return ShuffledReports::of_randomized_response(Epsilon::make(e).value(), Categories::make(k).value(),
                                                 Rows::make(n).value(), Adjacency::kReplaceOne)
      .value();
}

// The law of the histogram of shuffled k-ary randomized responses (k ≤ 3) for given true counts.
using Histogram = std::map<std::array<int, 3>, long double>;
Histogram shuffled(double e, int k, const std::array<int, 3>& truth) {
  const long double total = std::exp(static_cast<long double>(e)) + k - 1;
  Histogram law{{{0, 0, 0}, 1}};
  for (int value = 0; value < k; ++value) {
    for (int user = 0; user < truth[static_cast<std::size_t>(value)]; ++user) {
      Histogram next;
      for (const auto& [counts, p] : law) {
        for (int report = 0; report < k; ++report) {
          std::array<int, 3> more = counts;
          ++more[static_cast<std::size_t>(report)];
          next[more] += p * (report == value ? std::exp(static_cast<long double>(e)) : 1) / total;
        }
      }
      law = std::move(next);
    }
  }
  return law;
}

long double hockey_stick(const Histogram& p, const Histogram& q, double epsilon) {
  long double sum = 0;
  for (const auto& [counts, probability] : p) {
    sum += std::max(0.0L, probability - std::exp(static_cast<long double>(epsilon)) * q.at(counts));
  }
  return sum;
}

// The true δ: the worst data of the n − 1 others, one user's change from 0 to 1 (all pairs are alike).
double true_delta(double e, int k, int n, double epsilon) {
  long double worst = 0;
  for (int ones = 0; ones < n; ++ones) {
    for (int twos = 0; twos < (k == 2 ? 1 : n - ones); ++twos) {
      const int zeros = n - 1 - ones - twos;
      if (zeros < 0) continue;
      const Histogram p = shuffled(e, k, {zeros + 1, ones, twos});
      const Histogram q = shuffled(e, k, {zeros, ones + 1, twos});
      worst = std::max({worst, hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)});
    }
  }
  return static_cast<double>(worst);
}

TEST(Shuffle, RealRandomizedResponseIsWithinTheBounds) {
  int mutants_caught = 0;
  for (double e : {0.1, 0.7, 2.0, 4.0}) {
    for (int k : {2, 3}) {
      for (int n = 1; n <= (k == 2 ? 8 : 5); ++n) {
        const auto reports = static_cast<std::uint64_t>(n);
        for (double share : {0.0, 0.05, 0.3, 0.6, 0.9, 0.999}) {
          const double epsilon = share * e;
          const double truth = true_delta(e, k, n, epsilon);
          const double tight = response(e, static_cast<std::uint64_t>(k), reports).delta_at(loss(epsilon));
          const double general = any(e, reports).delta_at(loss(epsilon));
          EXPECT_LE(truth, tight * (1 + 1e-15)) << "e " << e << " k " << k << " n " << n << " eps " << epsilon;
          EXPECT_LE(truth, general * (1 + 1e-15)) << "e " << e << " k " << k << " n " << n << " eps " << epsilon;
          EXPECT_LE(tight, general * (1 + 1e-9)) << "knowing the randomizer does not hurt";
          // A mutant: as if there were four times the reports.
          mutants_caught +=
              truth > response(e, static_cast<std::uint64_t>(k), 4 * reports).delta_at(loss(epsilon)) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(mutants_caught, 100);
}

// The theorem's two laws, term by term.
long double theorem(double e, std::uint64_t n, long double clone, double epsilon) {
  const long double a = 1 / (1 + std::exp(-static_cast<long double>(e)));
  const auto m = static_cast<long double>(n - 1);
  const long double lift = std::exp(static_cast<long double>(epsilon));
  std::vector<long double> log_factorial{0};
  for (std::uint64_t i = 1; i <= n; ++i)
    log_factorial.push_back(log_factorial.back() + std::log(static_cast<long double>(i)));
  long double sum = 0;
  for (std::uint64_t c = 0; c < n; ++c) {
    const auto cl = static_cast<long double>(c);
    const long double of_c = std::exp(log_factorial[n - 1] - log_factorial[c] - log_factorial[n - 1 - c] +
                                      cl * std::log(clone) + (m - cl) * std::log1p(-clone));
    // P(Bin(c, ½) = x), of which x − 1 came before.
    long double before = 0;
    for (std::uint64_t x = 0; x <= c + 1; ++x) {
      const long double here =
          x > c ? 0 : std::exp(log_factorial[c] - log_factorial[x] - log_factorial[c - x] - cl * std::log(2.0L));
      sum += of_c * std::max(0.0L, a * before + (1 - a) * here - lift * ((1 - a) * before + a * here));
      before = here;
    }
  }
  return sum;
}

TEST(Shuffle, BoundIsTheTheoremsAndLittleMore) {
  for (double e : {0.05, 1.0, 3.0}) {
    for (std::uint64_t n : {1ULL, 2ULL, 17ULL, 100ULL, 400ULL}) {
      for (double share : {0.0, 0.1, 0.4, 0.8}) {
        const double epsilon = share * e;
        const auto general = static_cast<double>(theorem(e, n, std::exp(-static_cast<long double>(e)), epsilon));
        const auto binary =
            static_cast<double>(theorem(e, n, 2 / (1 + std::exp(static_cast<long double>(e))), epsilon));
        EXPECT_GE(any(e, n).delta_at(loss(epsilon)), general * (1 - 1e-12)) << e << " " << n << " " << epsilon;
        EXPECT_LE(any(e, n).delta_at(loss(epsilon)), general * 1.3 + 1e-17) << e << " " << n << " " << epsilon;
        EXPECT_GE(response(e, 2, n).delta_at(loss(epsilon)), binary * (1 - 1e-12)) << e << " " << n << " " << epsilon;
        EXPECT_LE(response(e, 2, n).delta_at(loss(epsilon)), binary * 1.3 + 1e-17) << e << " " << n << " " << epsilon;
      }
    }
  }
}

TEST(Shuffle, EpsilonReachesItsDeltaAndNeverExceedsTheLocalOne) {
  for (double e : {0.1, 1.0, 4.0, 9.0}) {
    for (std::uint64_t n : {1ULL, 10ULL, 1000ULL, 1000000ULL}) {
      for (double d : {1e-12, 1e-6, 0.1}) {
        const ShuffledReports reports = any(e, n);
        const PrivacyLoss got = reports.epsilon_at(delta(d));
        EXPECT_LE(got.value(), e);
        EXPECT_LE(reports.delta_at(got), d);
        if (got.value() > 0) {
          EXPECT_GT(reports.delta_at(loss(got.value() * (1 - 2e-6))), d);
        }
      }
      EXPECT_EQ(any(e, n).epsilon_at(delta(0)).value(), e);
    }
  }
  // More reports hide better, and the amplification is that of the paper: ε = O(√(e^ε₀ ln(1/δ)/n)).
  const double small = any(1, 10000).epsilon_at(delta(1e-6)).value();
  const double large = any(1, 1000000).epsilon_at(delta(1e-6)).value();
  EXPECT_GT(small / large, 10);
  EXPECT_LT(small / large, 14);
  EXPECT_LT(large, 0.02);
  EXPECT_LT(response(1, 2, 1000000).epsilon_at(delta(1e-6)).value(), large);
}

// In the limit, the difference of the two counts is Gaussian: P and Q are (2a − 1)/√(n c) standard deviations apart,
// twice half a count each, so ε at δ is that of a Gaussian mechanism.
TEST(Shuffle, AgreesWithTheGaussianLimitForManyReports) {
  const double e = 2;
  const double n = 1e8;
  const double mu = 2 * std::tanh(e / 2) / std::sqrt(n * std::exp(-e));
  for (double epsilon : {1e-4, 5e-4, 2e-3}) {
    const double x = epsilon / mu;
    const double limit = mu * (std::exp(-x * x / 2) / std::sqrt(2 * M_PI) - x * std::erfc(x / std::sqrt(2.0)) / 2);
    const double got = any(e, 100000000).delta_at(loss(epsilon));
    EXPECT_GT(got, limit * 0.99) << epsilon;
    EXPECT_LT(got, limit * 1.05) << epsilon;
  }
}

TEST(Shuffle, EdgesAndRefusals) {
  for (double e : {1e-300, 1e-9, 30.0, 2000.0, 1e5, 1e300}) {
    for (std::uint64_t n : {1ULL, 2ULL, 1000ULL, 10000000ULL}) {
      for (double share : {0.0, 0.5, 1.0}) {
        for (const ShuffledReports& reports : {any(e, n), response(e, 1000, n)}) {
          const double d = reports.delta_at(loss(share * e));
          EXPECT_TRUE(d >= 0 && d <= 1) << e << " " << n << " " << share;
          if (share == 1) {
            EXPECT_EQ(d, 0);
          }
        }
      }
    }
  }
  EXPECT_LE(any(20, ~0ULL).delta_at(loss(10)), 1);
  EXPECT_LE(any(3, 1000000000).epsilon_at(delta(1e-9)).value(), 0.01);
  expect_invalid(ShuffledReports::of_any_randomizer(Epsilon::of(1), Rows::of(10), Adjacency::kAddRemove).error(),
                 "replace-one");
}

}  // namespace
}  // namespace noisefloor
