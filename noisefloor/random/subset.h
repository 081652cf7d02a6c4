// Random subsets of {0, …, n − 1}, exactly uniform or exactly independent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/random/alias_table.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor {

// A uniform subset of `size` of the `population` indices, in ascending order. Requires size ≤ population.
[[nodiscard]] Result<std::vector<std::uint64_t>> uniform_subset(BitStream& stream, std::uint64_t size,
                                                                std::uint64_t population);

// Poisson subsampling: each index takes part independently with the same probability.
//
// Guarantee:     the probability is exactly `rate`, as the double it is; gaps between chosen indices are drawn exactly
// (as
//                internal::AliasTable does).
// Cost:          two or three words for each *chosen* index at rates below 1/16, one word a row above.
// Thread safety: const after construction.
class PoissonSubsampler {
 public:
  explicit PoissonSubsampler(SamplingRate rate);

  // The chosen indices below `population`, in ascending order. May be empty.
  [[nodiscard]] std::vector<std::uint64_t> sample(BitStream& stream, std::uint64_t population) const;

  [[nodiscard]] SamplingRate rate() const { return rate_; }

 private:
  // The number of indices passed over before the next choice; `limit` if that is as many or more.
  [[nodiscard]] std::uint64_t gap(BitStream& stream, std::uint64_t limit) const;

  // A gap is geometric: whole stretches without a choice, then the place of the choice within a stretch. Both are
  // independent.
  struct Gaps {
    internal::AliasTable stretches;
    internal::AliasTable places;
  };

  SamplingRate rate_;
  std::optional<Gaps> gaps_;  // at small rates only
};

}  // namespace noisefloor
