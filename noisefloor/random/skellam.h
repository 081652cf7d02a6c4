// The Skellam law on ℤ: the difference of two independent Poisson(variance/2) counts, P(x) = exp(−v) I_|x|(v).
//
// Skellam noise is closed under addition: n contributors who each add variance v give a sum with variance n·v exactly.
// So it is the noise of choice inside secure sums.
//
// Guarantee:     exact, as internal::AliasTable is: up to an event of probability below 2^-200, on which the process
//                ends.
// Requires:      2^-10 ≤ variance ≤ 2^30. Up to 2^22 one table look-up a draw; beyond, the sum of several equal parts.
// Set-up:        grows with the standard deviation: 1 ms at variance 10², 0.1 s at 2^22.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/random/alias_table.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

class Skellam {
 public:
  static constexpr double kMinVariance = 0x1p-10;
  static constexpr double kMaxVariance = 0x1p30;

  [[nodiscard]] static Result<Skellam> create(NoiseVariance variance);

  [[nodiscard]] std::int64_t sample(BitStream& stream) const;
  void fill(BitStream& stream, std::span<std::int64_t> out) const;

  [[nodiscard]] NoiseVariance variance() const { return variance_; }

 private:
  Skellam(NoiseVariance variance, int parts_bits);

  NoiseVariance variance_;
  int parts_bits_;  // the noise is the sum of 2^parts_bits equal parts
  internal::AliasTable magnitudes_;
};

}  // namespace noisefloor
