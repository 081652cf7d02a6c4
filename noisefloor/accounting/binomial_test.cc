#include "noisefloor/accounting/binomial.h"

#include <gtest/gtest.h>

#include <boost/math/special_functions/gamma.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <vector>

namespace noisefloor {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_50;

Wide exact_log(std::uint64_t n, const Wide& p, std::uint64_t x) {
  const Wide result =
      boost::math::lgamma(Wide(n) + 1) - boost::math::lgamma(Wide(x) + 1) - boost::math::lgamma(Wide(n - x) + 1);
  return result + (x > 0 ? Wide(x * log(p)) : Wide(0)) + (n > x ? Wide((n - x) * log(1 - p)) : Wide(0));
}

TEST(Binomial, LogProbabilityIsWithinItsError) {
  for (double e : {1e-12, 0.01, 1.0, 20.0}) {
    const Wide p = 1 / (1 + exp(-Wide(e)));
    const auto success = static_cast<long double>(p);
    const auto failure = static_cast<long double>(Wide(1 - p));
    for (std::uint64_t n : {1ULL, 2ULL, 31ULL, 70ULL, 1000ULL, 1000000ULL, 1000000000ULL, 1ULL << 40}) {
      const BinomialLaw law{n, success, failure};
      const std::uint64_t mode = law.mode();
      const auto spread = static_cast<std::uint64_t>(std::sqrt(static_cast<long double>(n) * success * failure));
      std::vector<std::uint64_t> at{0, n, mode, n / 2, n / 3};
      for (std::uint64_t s : {1ULL, 3ULL, 30ULL}) {
        if (mode >= s * spread) at.push_back(mode - s * spread);
        if (mode + s * spread <= n) at.push_back(mode + s * spread);
      }
      for (std::uint64_t x : at) {
        const LogProbability got = log_probability(law, x);
        const Wide off = abs(Wide(got.value) - exact_log(n, p, x));
        EXPECT_LE(off, Wide(got.error)) << "n " << n << " e " << e << " x " << x;
        if (got.value > -2000 && n <= 1000000000) {
          EXPECT_LT(got.error, 1e-11) << n << " " << x;
        }
      }
    }
  }
}

TEST(Binomial, WindowLeavesOutNoMoreThanItSays) {
  for (std::uint64_t n : {1ULL, 5ULL, 100ULL, 3000ULL}) {
    for (long double p : {0.5L, 0.02L, 0.999L}) {
      const BinomialLaw law{n, p, 1 - p};
      const CountWindow window = window_of(law, -20);
      long double below = 0;
      long double above = 0;
      for (std::uint64_t x = 0; x < window.first; ++x) below += std::exp(log_probability(law, x).value);
      for (std::uint64_t x = window.last + 1; x <= n; ++x) above += std::exp(log_probability(law, x).value);
      EXPECT_LE(below, std::exp(-20.0L));
      EXPECT_LE(above, std::exp(-20.0L));
      EXPECT_LE(window.first, law.mode());
      EXPECT_GE(window.last, law.mode());
      if (n == 3000 && p == 0.5L) {
        EXPECT_LT(window.last - window.first, 500U) << "the window is no window";
      }
    }
  }
}

}  // namespace
}  // namespace noisefloor
