#include "noisefloor/numerics/gaussian_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

namespace noisefloor {
namespace {

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

DeltaBounds gaussian_delta(NoiseMultiplier multiplier, PrivacyLoss epsilon) {
  const long double z = multiplier.value();
  const long double e = epsilon.value();
  const long double first = normal_tail(e * z - 0.5L / z);
  const long double tail = normal_tail(e * z + 0.5L / z);
  // e^ε overflows only where the tail it multiplies is 0 or their product below the first term.
  const long double second = tail == 0 ? 0 : std::exp(e + std::log(tail));
  const long double difference = first - second;
  // Rounding of an argument x ≤ 40 moves its tail by x² 2^-63 < 2^-52 relatively; both terms, and exp and log, stay below
  // this. Where the second tail was cut to 0, nothing is known from below.
  const long double error = std::ldexp(first, -46);
  const double lower = tail == 0 ? 0 : std::nextafter(static_cast<double>(difference - error), -1.0);
  const double upper = std::nextafter(static_cast<double>(difference + error), 2.0);
  return {std::clamp(lower, 0.0, 1.0), std::clamp(upper, 0.0, 1.0)};
}

Result<NoiseMultiplier> analytic_gaussian_multiplier(Epsilon epsilon, Delta delta) {
  NF_TRY_VOID(check_positive(delta));
  NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(epsilon.value()));
  const auto enough = [&](double z) {
    const Result<NoiseMultiplier> multiplier = NoiseMultiplier::make(z);
    return multiplier.has_value() && gaussian_delta(multiplier.value(), loss).upper <= delta.value();
  };
  double low = 1;
  double high = 1;
  for (; !enough(high); high *= 2) {
    if (high > 0x1p500) {
      return invalid_argument(
          fmt::format("no Gaussian noise reaches epsilon {} at delta {}", epsilon.value(), delta.value()));
    }
  }
  for (low = high / 2; enough(low) && low > 0x1p-500; low /= 2) high = low;
  while (high - low > high * 1e-13) {
    const double middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return NoiseMultiplier::make(high);
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
