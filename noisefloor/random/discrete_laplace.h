// The discrete Laplace law on ℤ: P(x) = (1 − r)/(1 + r) · r^|x| with r = exp(−1/scale).
//
// Implements:    Canonne, Kamath, Steinke 2020, Algorithm 2.
// Guarantee:     exact: `scale` is a double and hence a rational number, and only integer arithmetic follows. Results
//                beyond 64 bits (probability below exp(−100)) saturate.
// Requires:      2^-10 ≤ scale ≤ 2^56.
// Thread safety: const after construction.
#pragma once

#include <cstdint>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

class DiscreteLaplace {
 public:
  static constexpr double kMinScale = 0x1p-10;
  static constexpr double kMaxScale = 0x1p56;

  [[nodiscard]] static Result<DiscreteLaplace> create(NoiseScale scale);

  [[nodiscard]] std::int64_t sample(BitStream& stream) const;

  // A draw conditioned on |X| ≤ bound. It takes little time for every bound. Requires 0 ≤ bound < 2^62.
  [[nodiscard]] std::int64_t sample_within(BitStream& stream, std::int64_t bound) const;

  [[nodiscard]] NoiseScale scale() const { return scale_; }

  // The smallest m with P(|X| > m) ≤ 1 − confidence, up to rounding of the confidence.
  [[nodiscard]] std::int64_t quantile_of_magnitude(Confidence confidence) const;

 private:
  DiscreteLaplace(NoiseScale scale, std::uint64_t numerator, std::uint64_t denominator)
      : scale_(scale), numerator_(numerator), denominator_(denominator) {}

  NoiseScale scale_;
  std::uint64_t numerator_;  // scale = numerator / denominator
  std::uint64_t denominator_;
};

}  // namespace noisefloor
