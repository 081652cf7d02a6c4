// The discrete Gaussian law on ℤ: P(x) ∝ exp(−x²/2σ²).
//
// Guarantee:     both samplers are exact: σ is a double and hence a rational number.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/random/alias_table.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

// For many draws: tens of millions a second on one core, after about a millisecond of set-up.
//
// The half-line is cut into blocks of a power-of-two width of at most σ/16. An alias table picks a block by the density
// at its left edge, a uniform number a place in it, and the place is kept with the ratio of its density to that of the
// edge: nearly always, decided by a bound on the ratio without computing it. Exact as internal::AliasTable is: up to an
// event of probability below 2^-200, on which the process ends. Requires: 2^-6 ≤ σ ≤ 2^52.
class DiscreteGaussian {
 public:
  static constexpr double kMinSigma = 0x1p-6;
  static constexpr double kMaxSigma = 0x1p52;

  // Above the resolution of 32 bits of a uniform number and above all roundings of γ (which is at most 4) and of
  // exp(−γ): where two numbers are closer than this, 320 bits decide. Tests widen it.
  static constexpr double kMargin = 0x1p-31;

  [[nodiscard]] static Result<DiscreteGaussian> create(NoiseScale sigma, double margin = kMargin);

  [[nodiscard]] std::int64_t sample(BitStream& stream) const;
  void fill(BitStream& stream, std::span<std::int64_t> out) const;

  [[nodiscard]] NoiseScale sigma() const { return sigma_; }

 private:
  DiscreteGaussian(NoiseScale sigma, int width_bits, double margin);

  // γ for the place `low` in the block that begins at `edge`: the place is kept with probability exp(−γ).
  [[nodiscard]] double exponent(std::int64_t edge, std::int64_t low) const;

  // Whether it is kept, given the first bits of a uniform number: decides what the quick bound in sample() does not.
  [[nodiscard]] bool keep(BitStream& stream, std::int64_t edge, std::int64_t low, std::uint64_t prefix) const;

  NoiseScale sigma_;
  double margin_;
  int width_bits_;
  int prefix_bits_;     // bits of the uniform number that are drawn at first
  double prefix_unit_;  // 2^-prefix_bits
  double half_inverse_variance_;
  internal::AliasTable blocks_;
};

// For one draw: no set-up, integer arithmetic only, microseconds.
// Implements: Canonne, Kamath, Steinke 2020, Algorithm 3. Requires: the same range of σ.
[[nodiscard]] Result<std::int64_t> sample_discrete_gaussian(BitStream& stream, NoiseScale sigma);

}  // namespace noisefloor
