// Which examples take part in a step, and what that does for privacy: one object for both, so that batches of one kind
// cannot be accounted for as another.
//
// Guarantee:     event(z) is that of one step which draws its batch with draw() and adds Gaussian noise of z times the clip
//                norm to the sum over it.
//                  Poisson      each row by its own coin; for add-remove and replace-one neighbours
//                  fixed size   a uniform subset; for replace-one neighbours only: exchanging a row moves the sum by two
//                               clip norms, so the event has half the multiplier
// Thread safety: const after creation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/subset.h"

namespace noisefloor {

class BatchSampler {
 public:
  // Fails if the expected batch is larger than the data.
  [[nodiscard]] static Result<BatchSampler> poisson(Rows rows, Rows expected_batch, Adjacency adjacency);
  // Fails also under add-remove.
  [[nodiscard]] static Result<BatchSampler> fixed_size(Rows rows, Rows batch, Adjacency adjacency);

  // The same sampler for one of `size` workers that draw together: draw() then gives rows of the worker's part alone, one
  // contiguous stretch of them, by the same coins. All else is that of the whole. Fails for batches of fixed size if there
  // are several workers, and unless rank < size.
  [[nodiscard]] Result<BatchSampler> shard(std::size_t rank, std::size_t size) const;

  // Ascending; may be empty under Poisson.
  [[nodiscard]] std::vector<std::uint64_t> draw(BitStream& stream) const;

  [[nodiscard]] Rows rows() const { return rows_; }
  // What sums are divided by. Never the realised size, which depends on the data under add-remove.
  [[nodiscard]] Rows expected_batch() const { return batch_; }
  [[nodiscard]] Adjacency adjacency() const { return adjacency_; }
  [[nodiscard]] SamplingRate rate() const;

  [[nodiscard]] DpEvent event(NoiseMultiplier noise) const;
  // By how many clip norms neighbours' sums over the same draw differ at most: 1, or 2 where one row is exchanged for another.
  [[nodiscard]] int reach() const { return poisson_ ? 1 : 2; }
  // Of a step that adds noise in another way; `noise` is that of sums that differ by reach() clip norms.
  [[nodiscard]] DpEvent event(DpEvent noise) const;

 private:
  BatchSampler(Rows rows, Rows batch, Adjacency adjacency)
      : rows_(rows), batch_(batch), adjacency_(adjacency), end_(rows.value()) {}

  Rows rows_;
  Rows batch_;
  Adjacency adjacency_;
  // The rows that are drawn from.
  std::uint64_t begin_ = 0;
  std::uint64_t end_;
  std::optional<PoissonSubsampler> poisson_;  // or else of fixed size
};

}  // namespace noisefloor
