#include "noisefloor/random/discrete_gaussian.h"

#include <fmt/format.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "noisefloor/random/bernoulli_exp.h"
#include "noisefloor/random/discrete_laplace.h"

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

// Probabilities ∝ exp(−j²/2s²) for j = 0, 1, …, where s is sigma in units of the block width.
std::vector<WideReal> block_probabilities(const WideReal& s) {
  const WideReal inverse = 1 / (2 * s * s);
  WideReal step = exp(-inverse);  // density ratio of neighbouring block edges
  const WideReal shrink = step * step;
  std::vector<WideReal> p;
  WideReal weight = 1;
  WideReal sum = 0;
  for (std::size_t j = 0; j < kBlocks; ++j) {
    p.push_back(weight);
    sum += weight;
    weight *= step;
    step *= shrink;
  }
  for (WideReal& one : p) one /= sum;
  return p;
}

}  // namespace

Result<DiscreteGaussian> DiscreteGaussian::create(NoiseScale sigma) {
  NF_TRY_VOID(check_range(sigma));
  int width_bits = 0;
  while (std::ldexp(sigma.value(), -width_bits) >= kMaxSigmaInBlocks) ++width_bits;
  return DiscreteGaussian(sigma, width_bits);
}

DiscreteGaussian::DiscreteGaussian(NoiseScale sigma, int width_bits)
    : sigma_(sigma),
      width_bits_(width_bits),
      half_inverse_variance_(0.5 / (sigma.value() * sigma.value()) * (1 + 0x1p-50)),
      blocks_(block_probabilities(ldexp(WideReal(sigma.value()), -width_bits))) {}

std::int64_t DiscreteGaussian::sample(BitStream& stream) const {
  for (;;) {
    const auto [block, negative] = blocks_.sample(stream);
    auto magnitude = static_cast<std::int64_t>(block);
    if (width_bits_ > 0) {
      // One word gives the place in the block and, if that leaves enough bits, the uniform number of the rejection.
      const std::uint64_t word = stream.next_u64();
      const std::uint64_t low = word & ((std::uint64_t{1} << width_bits_) - 1);
      const bool shared = width_bits_ <= 32;
      const int known_bits = shared ? 64 - width_bits_ : 64;
      const std::uint64_t prefix = shared ? word >> width_bits_ : stream.next_u64();
      const std::uint64_t edge = std::uint64_t{block} << width_bits_;
      // ratio = exp(−γ) ≥ 1 − γ with γ = low (2 edge + low) / 2σ².
      const double gamma = static_cast<double>(low) * (2 * static_cast<double>(edge) + static_cast<double>(low)) *
                           half_inverse_variance_;
      const double uniform_above = std::ldexp(static_cast<double>(prefix) + 1, -known_bits) * (1 + 0x1p-50);
      if (uniform_above > 1 - gamma * (1 + 0x1p-48)) [[unlikely]] {
        if (!keep(stream, block, low, prefix, known_bits)) continue;
      }
      magnitude = static_cast<std::int64_t>(edge + low);
    }
    if (negative && magnitude == 0) continue;  // 0 has one sign only
    return negative ? -magnitude : magnitude;
  }
}

bool DiscreteGaussian::keep(BitStream& stream, std::uint64_t block, std::uint64_t low, std::uint64_t prefix,
                            int known_bits) const {
  const double edge = std::ldexp(static_cast<double>(block), width_bits_);
  const double gamma = static_cast<double>(low) * (2 * edge + static_cast<double>(low)) * half_inverse_variance_;
  const double ratio = std::exp(-gamma);
  constexpr double margin = 1e-12;  // above all roundings in gamma and exp, and below any gap that matters
  if (std::ldexp(static_cast<double>(prefix) + 1, -known_bits) <= ratio - margin) return true;
  if (std::ldexp(static_cast<double>(prefix), -known_bits) >= ratio + margin) return false;
  const WideReal wide_edge = ldexp(WideReal(block), width_bits_);
  const WideReal sigma = sigma_.value();
  const WideReal wide_ratio = exp(-(low * (2 * wide_edge + low)) / (2 * sigma * sigma));
  return internal::decided_at_least(wide_ratio, internal::wide_uniform(stream, prefix, known_bits),
                                    ldexp(WideReal(1), -220));
}

void DiscreteGaussian::fill(BitStream& stream, std::span<std::int64_t> out) const {
  for (std::int64_t& one : out) one = sample(stream);
}

Result<std::int64_t> sample_discrete_gaussian(BitStream& stream, NoiseScale sigma) {
  using Wide = boost::multiprecision::uint512_t;
  NF_TRY_VOID(check_range(sigma));
  // σ² = square / unit² with integers.
  int exponent = 0;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(sigma.value(), &exponent), 53));
  exponent -= 53;  // ≤ 0 since σ ≤ 2^52
  const Wide square = Wide(mantissa) * mantissa;
  const Wide unit2 = Wide(1) << (-2 * exponent);
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
