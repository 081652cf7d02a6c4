// Real vectors as integers modulo 2^bits, and their sum back: clip, scale, round at random.
//
// Guarantee:     no sum of at most `clients` encoded vectors leaves [−2^(bits−1), 2^(bits−1)): the modulus never shows.
//                Rounding is unbiased (to 2^-53 of a step), so that a decoded sum is off by less than one step for each
//                client, and by nothing on average. NaN counts as 0, infinities as the bound: no
//                error depends on data.
// Weighted:      a client with weight w contributes w·x and w, both exactly as far; the weights' sum comes with the
//                sum.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/secagg/lane_vector.h"

namespace noisefloor::secagg {

struct FixedPointOptions {
  std::uint64_t dimension;
  double bound;  // coordinates are clipped to ± this
  double step;   // coordinates are then rounded to multiples of this
  std::uint32_t clients;
  std::uint32_t max_weight = 0;  // 0: not weighted
};

class FixedPoint {
 public:
  [[nodiscard]] static Result<FixedPoint> create(const FixedPointOptions& options);

  // The modulus is 2^bits: the smallest that holds every sum.
  [[nodiscard]] unsigned bits() const { return bits_; }
  // The dimension of the encoded vectors: one more for the weight.
  [[nodiscard]] std::uint64_t dimension() const { return options_.dimension + (is_weighted() ? 1 : 0); }

  // Requires values.size() == options.dimension (checked). The weight is clipped to max_weight, and ignored if there is
  // none.
  [[nodiscard]] LaneVector encode(BitStream& stream, std::span<const double> values, std::uint32_t weight = 1) const;

  struct Sum {
    std::vector<double> values;  // Σ w·x
    std::uint64_t weight;        // Σ w; 0 if not weighted
  };
  // Requires a vector of bits() and dimension() (checked).
  [[nodiscard]] Sum decode(const LaneVector& sum) const;

 private:
  FixedPoint(const FixedPointOptions& options, unsigned bits) : options_(options), bits_(bits) {}
  [[nodiscard]] bool is_weighted() const { return options_.max_weight > 0; }

  FixedPointOptions options_;
  unsigned bits_;
};

// value, a real number within ± 2^62, rounded to one of the integers next to it, unbiased.
[[nodiscard]] std::int64_t round_at_random(BitStream& stream, double value);

}  // namespace noisefloor::secagg
