#include "noisefloor/random/discrete_laplace.h"

#include <fmt/format.h>

#include <cmath>

#include "noisefloor/base/rounding.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/random/bernoulli_exp.h"

namespace noisefloor {

Result<DiscreteLaplace> DiscreteLaplace::create(NoiseScale scale) {
  const double value = scale.value();
  if (value < kMinScale || value > kMaxScale) {
    return invalid_argument(
        fmt::format("the scale of discrete Laplace noise must be from {} to {}; got {}", kMinScale, kMaxScale, value));
  }
  const auto [mantissa, exponent] = binary_fraction(value);
  if (exponent >= 0) return DiscreteLaplace(scale, mantissa << exponent, 1);
  return DiscreteLaplace(scale, mantissa, std::uint64_t{1} << -exponent);
}

std::int64_t DiscreteLaplace::sample(BitStream& stream) const {
  for (;;) {
    // Geometric on {0, 1, …} with ratio exp(−1/numerator), as a remainder below `numerator` and a count of e-folds.
    const std::uint64_t remainder = uniform_below(stream, numerator_);
    if (!bernoulli_exp_up_to_one<std::uint64_t>(stream, remainder, numerator_)) continue;
    std::uint64_t folds = 0;
    while (bernoulli_exp_up_to_one<std::uint64_t>(stream, 1, 1)) ++folds;
    const Uint128 geometric = Uint128{folds} * numerator_ + remainder;
    // Its quotient by `denominator` is geometric with ratio exp(−denominator/numerator) = exp(−1/scale).
    const std::int64_t magnitude = saturate_to_int64(static_cast<Int128>(geometric / denominator_));
    const bool negative = fair_coin(stream);
    if (negative && magnitude == 0) continue;  // 0 has one sign only
    return negative ? -magnitude : magnitude;
  }
}

std::int64_t DiscreteLaplace::sample_within(BitStream& stream, std::int64_t bound) const {
  const bool narrow = static_cast<double>(bound) < scale_.value();
  for (;;) {
    if (!narrow) {
      const std::int64_t x = sample(stream);
      if (x <= bound && x >= -bound) return x;
    } else {
      // Uniform on the range, kept with probability exp(−|x|/scale) ≥ 1/e.
      const auto width = 2 * static_cast<std::uint64_t>(bound) + 1;
      const auto x = static_cast<std::int64_t>(uniform_below(stream, width)) - bound;
      const auto magnitude = static_cast<std::uint64_t>(x < 0 ? -x : x);
      if (bernoulli_exp<Uint128>(stream, Uint128{magnitude} * denominator_, numerator_)) return x;
    }
  }
}

std::int64_t DiscreteLaplace::quantile_of_magnitude(Confidence confidence) const {
  // P(|X| > m) = 2 r^(m+1) / (1 + r).
  const double ratio = std::exp(-1 / scale_.value());
  const double tail = (1 - confidence.value()) * (1 + ratio) / 2;
  const double m = std::ceil(-std::log(tail) * scale_.value() - 1);
  return m > 0 ? static_cast<std::int64_t>(m) : 0;
}

}  // namespace noisefloor
