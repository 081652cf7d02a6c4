#include "noisefloor/accounting/binomial.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "noisefloor/base/check.h"
#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

constexpr long double kTwoPi = 2 * std::numbers::pi_v<long double>;

// ln n! − (n ln n − n + ½ ln 2πn), within 2^-57. Requires n ≥ 1.
long double stirling_remainder(std::uint64_t n) {
  const auto x = static_cast<long double>(n);
  if (n < 32) {
    long double factorial = 1;
    for (std::uint64_t i = 2; i <= n; ++i) factorial *= static_cast<long double>(i);
    return std::log(factorial) - (x * std::log(x) - x + 0.5L * std::log(kTwoPi * x));
  }
  // The series envelops its value: the error is below the first term left out, 691/360360 n^-11 < 2^-63.
  const long double y = 1 / (x * x);
  return (1.0L / 12 - y * (1.0L / 360 - y * (1.0L / 1260 - y * (1.0L / 1680 - y / 1188)))) / x;
}

// x ln(x/m) + m − x ≥ 0, within 2^-58 of itself plus 2^-61 |x − m| (what m's own error does). Requires x ≥ 1, m > 0.
long double deviance(long double x, long double m) {
  const long double d = (x - m) / m;
  if (std::fabs(d) >= 0.125L) return x * std::log(x / m) + m - x;
  // m ((1 + d) ln(1 + d) − d) = m Σ (−d)^i / i(i − 1) from i = 2. Terms fall by 8; 24 of them reach 2^-70.
  long double sum = 0;
  for (int i = 25; i >= 2; --i) sum = 1.0L / (static_cast<long double>(i) * static_cast<long double>(i - 1)) - d * sum;
  return m * d * d * sum;
}

}  // namespace

std::uint64_t BinomialLaw::mode() const {
  const long double at = static_cast<long double>(trials) * success;
  return std::min(trials, static_cast<std::uint64_t>(std::max(0.0L, at)));
}

LogProbability log_probability(const BinomialLaw& law, std::uint64_t successes) {
  NF_CHECK(law.trials <= kMaxTrials && successes <= law.trials, "count out of range");
  const auto n = static_cast<long double>(law.trials);
  const auto x = static_cast<long double>(successes);
  const long double y = n - x;
  if (successes == 0 || successes == law.trials) {
    const long double all = successes == 0 ? law.failure : law.success;
    const long double other = successes == 0 ? law.success : law.failure;
    const long double value = n * (other < 0.5L ? std::log1p(-other) : std::log(all));
    return {value, std::ldexp(std::fabs(value), -59)};
  }
  const long double first = deviance(x, n * law.success);
  const long double second = deviance(y, n * law.failure);
  const long double value = stirling_remainder(law.trials) - stirling_remainder(successes) -
                            stirling_remainder(law.trials - successes) - first - second +
                            0.5L * std::log(n / (kTwoPi * x * y));
  const long double error =
      std::ldexp(first + second, -57) + std::ldexp(std::fabs(x - n * law.success), -58) + 0x1p-54L;
  return {value, error};
}

CountWindow window_of(const BinomialLaw& law, long double log_mass) {
  const std::uint64_t mode = law.mode();
  const auto negligible = [&](std::uint64_t x) {
    const LogProbability p = log_probability(law, x);
    return p.value + p.error + std::log(static_cast<long double>(law.trials) + 1) <= log_mass;
  };
  CountWindow window{mode, mode};
  // The last x ≤ mode that is negligible with all below it, plus 1; or 0.
  const bool cut_left = mode > 0 && negligible(0);
  window.first = cut_left ? bisect_counts({.holds = 0, .fails = mode}, negligible).fails : 0;
  const bool cut_right = mode < law.trials && negligible(law.trials);
  window.last = cut_right ? bisect_counts({.holds = law.trials, .fails = mode}, negligible).fails : law.trials;
  return window;
}

}  // namespace noisefloor
