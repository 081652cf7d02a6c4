#include "noisefloor/numerics/gaussian_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>

#include "noisefloor/numerics/bisect.h"

namespace noisefloor {
namespace {

using Wide = boost::multiprecision::cpp_bin_float_50;

// Mills' ratio P(N(0, 1) > x)/φ(x). Requires x ≥ −8.
Wide mills_ratio(const Wide& x) {
  if (x < 8)
    return sqrt(boost::math::constants::half_pi<Wide>()) * exp(x * x / 2) * boost::math::erfc(x / sqrt(Wide(2)));
  // Laplace's continued fraction 1/(x + 1/(x + 2/(x + …))), whose error falls like e^(−2x √(2n)): 2^-250 at 60 terms.
  Wide tail = x;
  for (int n = 60; n >= 1; --n) tail = x + n / tail;
  return 1 / tail;
}

// P(N(0, 1) > x).
long double normal_tail(long double x) {
  // Beyond this erfc is 0 in any case; Boost reports the underflow as an error instead.
  if (x > 150) return 0;
  return boost::math::erfc(x / std::sqrt(2.0L)) / 2;
}

Result<void> check_positive(Delta delta) {
  if (delta.value() > 0) return success();
  return invalid_argument("Gaussian noise needs a delta above 0; got 0. For pure DP use the Laplace mechanism");
}

}  // namespace

Interval gaussian_delta(NoiseMultiplier multiplier, PrivacyLoss epsilon) {
  const long double z = multiplier.value();
  const long double e = epsilon.value();
  const long double first = normal_tail(e * z - 0.5L / z);
  const long double tail = normal_tail(e * z + 0.5L / z);
  // e^ε overflows only where the tail it multiplies is 0 or their product below the first term.
  const long double second = tail == 0 ? 0 : std::exp(e + std::log(tail));
  const long double difference = first - second;
  // Rounding of an argument x ≤ 40 moves its tail by x² 2^-63 < 2^-52 relatively; both terms, and exp and log, stay
  // below this. Where the second tail was cut to 0, nothing is known from below.
  const long double error = std::ldexp(first, -46);
  const double lower = tail == 0 ? 0 : std::nextafter(static_cast<double>(difference - error), -1.0);
  const double upper = std::nextafter(static_cast<double>(difference + error), 2.0);
  return {std::clamp(lower, 0.0, 1.0), std::clamp(upper, 0.0, 1.0)};
}

LogDeltaBounds gaussian_log_delta(double mu, PrivacyLoss epsilon) {
  const Wide m = mu;
  const Wide a = Wide(epsilon.value()) / m - m / 2;
  if (a > 0x1p40) {
    // δ ≤ P(N(0, 1) > a) ≤ e^(−a²/2). No double is so small, nor any long double; this says how small it is.
    const Wide bound = -a * a / 2;
    const long double largest = std::numeric_limits<long double>::max();
    return {-HUGE_VALL, bound < -Wide(largest) ? -largest : static_cast<long double>(bound) * (1 - 0x1p-60L)};
  }
  const auto around = [](const Wide& low, const Wide& high) {
    const auto lower = static_cast<long double>(low);
    const auto upper = static_cast<long double>(high);
    return LogDeltaBounds{lower - std::fabs(lower) * 0x1p-60L, std::min(0.0L, upper + std::fabs(upper) * 0x1p-60L)};
  };
  const Wide log_density = -a * a / 2 - log(boost::math::constants::two_pi<Wide>()) / 2;
  if (a < -8) {
    // Both error probabilities are tiny: δ = 1 − φ(a) (M(−a) + M(a + μ)).
    if (log_density < -11000) return {-0x1p-15800L, 0};
    const Wide value = log1p(-exp(log_density) * (mills_ratio(-a) + mills_ratio(a + m)));
    return around(value, value);
  }
  // δ = φ(a) (M(a) − M(a + μ)), and −M' = 1 − x M(x) decreases.
  if (mu < 0x1p-40) {
    const Wide low = log(m * (1 - (a + m) * mills_ratio(a + m)));
    const Wide high = log(m * (1 - a * mills_ratio(a)));
    return around(log_density + low, log_density + high);
  }
  // M(a) and M(a + μ) differ by 2^-81 of themselves at least, which leaves more than 2^-60 of the 168 bits.
  const Wide value = log_density + log(mills_ratio(a) - mills_ratio(a + m));
  return around(value, value);
}

Result<NoiseMultiplier> analytic_gaussian_multiplier(Epsilon epsilon, Delta delta) {
  NF_TRY_VOID(check_positive(delta));
  NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(epsilon.value()));
  const auto enough = [&](double z) {
    const Result<NoiseMultiplier> multiplier = NoiseMultiplier::make(z);
    return multiplier.has_value() && gaussian_delta(multiplier.value(), loss).upper <= delta.value();
  };
  double high = 1;
  while (!enough(high)) {
    high *= 2;
    if (high > 0x1p500) {
      return invalid_argument(
          fmt::format("no Gaussian noise reaches epsilon {} at delta {}", epsilon.value(), delta.value()));
    }
  }
  double low = high / 2;
  while (enough(low) && low > 0x1p-500) {
    high = low;
    low /= 2;
  }
  return NoiseMultiplier::make(bisect({.holds = high, .fails = low}, {.relative = 1e-13}, enough).holds);
}

Result<NoiseMultiplier> classical_gaussian_multiplier(Epsilon epsilon, Delta delta, bool beyond_its_proof) {
  NF_TRY_VOID(check_positive(delta));
  if (epsilon.value() >= 1 && !beyond_its_proof) {
    return invalid_argument(fmt::format(
        "the classical Gaussian formula is proved for epsilon below 1 only; got {}. Use the analytic calibration",
        epsilon.value()));
  }
  return NoiseMultiplier::make(std::sqrt(2 * std::log(1.25 / delta.value())) / epsilon.value());
}

}  // namespace noisefloor
