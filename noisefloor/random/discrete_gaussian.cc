#include "noisefloor/random/discrete_gaussian.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "noisefloor/base/rounding.h"
#include "noisefloor/random/bernoulli_exp.h"
#include "noisefloor/random/discrete_laplace.h"
#include "noisefloor/random/wide_real.h"

namespace noisefloor {
namespace {

using internal::WideReal;

// With at least 1024/32 = 32 standard deviations in the table, what lies beyond has probability below 2^-700.
constexpr std::size_t kBlocks = 1024;
constexpr double kMaxSigmaInBlocks = 32;

Result<void> check_range(NoiseScale sigma) {
  const double value = sigma.value();
  if (value >= DiscreteGaussian::kMinSigma && value <= DiscreteGaussian::kMaxSigma) return success();
  return invalid_argument(fmt::format("the sigma of discrete Gaussian noise must be from {} to {}; got {}",
                                      DiscreteGaussian::kMinSigma, DiscreteGaussian::kMaxSigma, value));
}

// Probabilities ∝ exp(−j²/2s²) for j = 0, 1, …, where s is sigma in units of the block width. `weight_of_zero` is 1, or
// ½ where block 0 is the number 0 alone, which has one sign and not two.
internal::WideProbabilities block_probabilities(const WideReal& s, double weight_of_zero) {
  const WideReal inverse = 1 / (2 * s * s);
  WideReal step = exp(-inverse);  // density ratio of neighbouring block edges
  const WideReal shrink = step * step;
  internal::WideProbabilities blocks;
  std::vector<WideReal>& p = blocks.p;
  WideReal weight = 1;
  WideReal sum = 0;
  for (std::size_t j = 0; j < kBlocks; ++j) {
    p.push_back(j == 0 ? WideReal(weight_of_zero) : weight);
    sum += p.back();
    weight *= step;
    step *= shrink;
  }
  const WideReal normalise = 1 / sum;
  for (WideReal& one : p) one *= normalise;
  return blocks;
}

}  // namespace

Result<DiscreteGaussian> DiscreteGaussian::create(NoiseScale sigma, double margin) {
  NF_TRY_VOID(check_range(sigma));
  int width_bits = 0;
  while (std::ldexp(sigma.value(), -width_bits) >= kMaxSigmaInBlocks) ++width_bits;
  return DiscreteGaussian(sigma, width_bits, margin);
}

DiscreteGaussian::DiscreteGaussian(NoiseScale sigma, int width_bits, double margin)
    : sigma_(sigma),
      margin_(margin),
      width_bits_(width_bits),
      prefix_bits_(width_bits <= 32 ? 64 - width_bits : 63),
      prefix_unit_(std::ldexp(1.0, -prefix_bits_)),
      half_inverse_variance_(0.5 / (sigma.value() * sigma.value())),
      blocks_(block_probabilities(ldexp(WideReal(sigma.value()), -width_bits), width_bits == 0 ? 0.5 : 1)) {}

std::int64_t DiscreteGaussian::sample(BitStream& stream) const {
  for (;;) {
    const auto [block, negative] = blocks_.sample(stream);
    if (width_bits_ == 0) return negative ? -std::int64_t{block} : std::int64_t{block};

    // One word gives the place in the block and, if that leaves enough bits, the uniform number of the rejection.
    const std::uint64_t word = stream.next_u64();
    const std::uint64_t prefix = width_bits_ <= 32 ? word >> width_bits_ : stream.next_u64() >> 1;
    const auto low = static_cast<std::int64_t>(word & ((std::uint64_t{1} << width_bits_) - 1));
    const std::int64_t edge = std::int64_t{block} << width_bits_;
    const double uniform = static_cast<double>(static_cast<std::int64_t>(prefix)) * prefix_unit_;
    // The ratio of densities is exp(−γ) ≥ 1 − γ; the margin is far above all roundings.
    if (uniform + margin_ > 1 - exponent(edge, low) && !keep(stream, edge, low, prefix)) [[unlikely]] {
      continue;
    }
    const std::int64_t magnitude = edge + low;
    if (magnitude == 0 && negative) [[unlikely]] {
      continue;  // 0 has one sign only
    }
    return negative ? -magnitude : magnitude;
  }
}

double DiscreteGaussian::exponent(std::int64_t edge, std::int64_t low) const {
  return static_cast<double>(low) * static_cast<double>(2 * edge + low) * half_inverse_variance_;
}

bool DiscreteGaussian::keep(BitStream& stream, std::int64_t edge, std::int64_t low, std::uint64_t prefix) const {
  const double ratio = std::exp(-exponent(edge, low));
  const double uniform = static_cast<double>(static_cast<std::int64_t>(prefix)) * prefix_unit_;
  if (uniform + margin_ <= ratio) return true;
  if (uniform - margin_ >= ratio) return false;
  const WideReal sigma = sigma_.value();
  const WideReal wide_ratio = exp(-(WideReal(low) * (2 * WideReal(edge) + low)) / (2 * sigma * sigma));
  return internal::decided_at_least(wide_ratio, internal::wide_uniform(stream, prefix, prefix_bits_),
                                    ldexp(WideReal(1), -220));
}

void DiscreteGaussian::fill(BitStream& stream, std::span<std::int64_t> out) const {
  for (std::int64_t& one : out) one = sample(stream);
}

Result<std::int64_t> sample_discrete_gaussian(BitStream& stream, NoiseScale sigma) {
  using Wide = boost::multiprecision::uint512_t;
  NF_TRY_VOID(check_range(sigma));
  // σ² = square / unit² with integers.
  const auto [mantissa, exponent] = binary_fraction(sigma.value());
  const Wide numerator = Wide(mantissa) << std::max(exponent, 0);
  const Wide square = numerator * numerator;
  const Wide unit2 = Wide(1) << (2 * std::max(-exponent, 0));
  const std::uint64_t t = static_cast<std::uint64_t>(sigma.value()) + 1;
  NF_TRY(NoiseScale laplace_scale, NoiseScale::make(static_cast<double>(t)));
  NF_TRY(DiscreteLaplace laplace, DiscreteLaplace::create(laplace_scale));
  for (;;) {
    const std::int64_t y = laplace.sample(stream);
    if (y == std::numeric_limits<std::int64_t>::max() || y == -std::numeric_limits<std::int64_t>::max()) continue;
    // Keep y with probability exp(−(|y| − σ²/t)² / 2σ²), all multiplied out to integers.
    const Wide a = Wide(static_cast<std::uint64_t>(y < 0 ? -y : y)) * t * unit2;
    const Wide difference = a > square ? a - square : square - a;
    if (bernoulli_exp<Wide>(stream, difference * difference, 2 * square * t * t * unit2)) return y;
  }
}

}  // namespace noisefloor
