#include "noisefloor/random/skellam.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "noisefloor/random/wide_real.h"

namespace noisefloor {
namespace {

using internal::WideReal;

constexpr double kMaxTableVariance = 0x1p22;

// The first x with P(X ≥ x) ≤ 2^-320, by Chernoff: ln P(X ≥ x) ≤ −x asinh(x/v) + √(x² + v²) − v.
std::size_t table_size(double v) {
  double x = 1;
  while (-x * std::asinh(x / v) + x * x / (std::hypot(x, v) + v) > -320 * std::log(2.0)) x = std::ceil(x * 1.01 + 1);
  return static_cast<std::size_t>(x);
}

// P(|X| = x): proportional to I_0(v) at 0 and to 2 I_x(v) elsewhere.
internal::WideProbabilities magnitude_probabilities(double v) {
  // Miller's backward recurrence I_{x−1} = I_{x+1} + (2x/v) I_x, started far enough out that the start is forgotten.
  const std::size_t size = table_size(v);
  internal::WideProbabilities magnitudes{std::vector<WideReal>(size)};
  std::vector<WideReal>& p = magnitudes.p;
  const WideReal two_over_v = 2 / WideReal(v);
  WideReal above = 0;
  WideReal here = 1;
  WideReal sum = 0;
  for (std::size_t x = 2 * size + 100; x > 0; --x) {
    const WideReal below = above + two_over_v * x * here;
    above = here;
    here = below;
    if (x <= size) {
      p[x - 1] = x == 1 ? here / 2 : here;
      sum += p[x - 1];
    }
  }
  const WideReal normalise = 1 / sum;
  for (WideReal& one : p) one *= normalise;
  return magnitudes;
}

}  // namespace

Result<Skellam> Skellam::create(NoiseVariance variance) {
  const double value = variance.value();
  if (value < kMinVariance || value > kMaxVariance) {
    return invalid_argument(
        fmt::format("the variance of Skellam noise must be from {} to {}; got {}: use a coarser grid", kMinVariance,
                    kMaxVariance, value));
  }
  int parts_bits = 0;
  while (std::ldexp(value, -parts_bits) > kMaxTableVariance) ++parts_bits;
  return Skellam(variance, parts_bits);
}

Skellam::Skellam(NoiseVariance variance, int parts_bits)
    : variance_(variance),
      parts_bits_(parts_bits),
      magnitudes_(magnitude_probabilities(std::ldexp(variance.value(), -parts_bits))) {}

std::int64_t Skellam::sample(BitStream& stream) const {
  std::int64_t sum = 0;
  for (int part = 0; part < 1 << parts_bits_; ++part) {
    const auto [magnitude, negative] = magnitudes_.sample(stream);
    sum += negative ? -std::int64_t{magnitude} : std::int64_t{magnitude};
  }
  return sum;
}

void Skellam::fill(BitStream& stream, std::span<std::int64_t> out) const {
  for (std::int64_t& one : out) one = sample(stream);
}

}  // namespace noisefloor
