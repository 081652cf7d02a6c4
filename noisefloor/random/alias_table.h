// Sampling from any finite law in constant time, exactly.
//
// Each probability is split into a multiple of 2^-63, which an integer alias table (Walker 1977, Vose 1991) samples
// from one word, and a rest. All the rests together have probability n · 2^-63; that event is resolved from the 320-bit
// probabilities with 256 further random bits.
//
// Guarantee:     outcome i has probability p[i] exactly, up to an event of probability below 2^-200, on which the
//                process ends.
// Requires:      the p[i] are within wide_error() of the intended probabilities; at most 2^20 of them.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "noisefloor/random/bit_stream.h"

namespace noisefloor::internal {

struct WideProbabilities;  // wide_real.h, which is costly to include: samplers do so in their .cc files only

class AliasTable {
 public:
  // If the probabilities sum to less than 1, what is missing is the probability of one more outcome, p.size().
  // `unit_bits` is 63 except in tests: a coarser table leaves more to the rest.
  explicit AliasTable(const WideProbabilities& given, int unit_bits = 63);

  // An outcome, and one spare random bit.
  struct Draw {
    std::uint32_t outcome;
    bool bit;
  };

  [[nodiscard]] Draw sample(BitStream& stream) const {
    const std::uint64_t word = stream.next_u64();
    const std::uint64_t column = word >> column_shift_;
    const std::uint64_t height = (word >> height_shift_) & height_mask_;
    const Column& c = columns_[column];
    const std::uint32_t outcome = height < c.threshold ? static_cast<std::uint32_t>(column) : c.alias;
    if (outcome == rest_) [[unlikely]] {
      return {sample_rest(stream), (word & 1) != 0};
    }
    return {outcome, (word & 1) != 0};
  }

 private:
  struct Column {
    std::uint64_t threshold;
    std::uint32_t alias;
  };

  [[nodiscard]] std::uint32_t sample_rest(BitStream& stream) const;

  std::vector<Column> columns_;
  // What each outcome has beyond its multiple of the unit, in units; all together, the weight of the rest outcome.
  std::shared_ptr<const WideProbabilities> rests_;
  std::uint64_t rest_total_ = 0;
  std::uint32_t rest_ = 0;  // the column that stands for "one of the rests"
  int column_shift_ = 0;
  int height_shift_ = 0;
  std::uint64_t height_mask_ = 0;
};

}  // namespace noisefloor::internal
