// Decides which examples take part in a step, and what that does for privacy: one object for both, so that batches of
// one kind cannot be accounted for as another.
//
// Guarantee:     draw() draws by law(), and event(z) is the event of one step that draws its batch by this law and adds
//                Gaussian noise of z times the clip norm to the sum over it (event/dp_sgd_event.h).
// Public number: rows() is a public number, from which the rate follows. Under Poisson sampling the data may have any
//                other number of rows, population(): each row joins a batch by its own coin with the probability
//                rate(), whatever the others are and however many. So the event is that of every pair of neighbours.
// Thread safety: const after creation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/event/dp_sgd_event.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/subset.h"

namespace noisefloor {

// "rows" or "people", for messages.
[[nodiscard]] std::string_view plural_of(PrivacyUnit unit);

class BatchSampler {
 public:
  // Fails if the batch is larger than the data; batches of fixed size also fail under add-remove. With
  // PrivacyUnit::kPerson, "rows" means people, here and below.
  [[nodiscard]] static Result<BatchSampler> create(Draw draw, Rows rows, Rows expected_batch, Adjacency adjacency,
                                                   PrivacyUnit unit = PrivacyUnit::kRow);
  [[nodiscard]] static Result<BatchSampler> poisson(Rows rows, Rows expected_batch, Adjacency adjacency,
                                                    PrivacyUnit unit = PrivacyUnit::kRow);
  [[nodiscard]] static Result<BatchSampler> fixed_size(Rows rows, Rows batch, Adjacency adjacency,
                                                       PrivacyUnit unit = PrivacyUnit::kRow);

  // The same sampler for data that have another number of rows than the public one. Fails for batches of fixed size
  // unless the numbers are equal.
  [[nodiscard]] Result<BatchSampler> with_population(std::uint64_t rows) const;

  // The same sampler for one of `size` workers that draw together: draw() then gives rows of the worker's part alone,
  // one contiguous stretch of them, by the same coins. Everything else describes the whole. Fails for batches of fixed
  // size if there are several workers, and unless rank < size.
  [[nodiscard]] Result<BatchSampler> shard(std::size_t rank, std::size_t size) const;

  // The rows of a batch, ascending; there may be none under Poisson.
  [[nodiscard]] std::vector<std::uint64_t> draw(BitStream& stream) const;

  // The unit that is drawn: rows, or people with their rows (people.h).
  [[nodiscard]] PrivacyUnit unit() const { return unit_; }
  // The public number of rows.
  [[nodiscard]] Rows rows() const { return rows_; }
  // How many rows it draws from, which may be private: for those who hold the rows, and never to be shown.
  [[nodiscard]] std::uint64_t population() const { return population_; }
  // The number that sums are divided by. It is never the realised size, which depends on the data under add-remove.
  [[nodiscard]] Rows expected_batch() const { return batch_; }
  [[nodiscard]] const BatchLaw& law() const { return law_; }
  [[nodiscard]] Adjacency adjacency() const { return law_.adjacency(); }
  [[nodiscard]] SamplingRate rate() const { return law_.rate(); }

  [[nodiscard]] DpEvent event(NoiseMultiplier noise) const { return law_.step(noise); }
  // The largest distance between neighbours' sums over the same draw, in clip norms.
  [[nodiscard]] int reach() const { return law_.reach(); }
  // The event of a step that adds noise in another way; `noise` is the event for sums that differ by reach() clip
  // norms.
  [[nodiscard]] DpEvent event(DpEvent noise) const { return law_.step_with(std::move(noise)); }

 private:
  BatchSampler(Rows rows, Rows batch, BatchLaw law, PrivacyUnit unit)
      : rows_(rows), batch_(batch), law_(law), unit_(unit), population_(rows.value()), end_(rows.value()) {}

  Rows rows_;
  Rows batch_;
  BatchLaw law_;
  PrivacyUnit unit_;
  std::uint64_t population_;
  // The rows that are drawn from.
  std::uint64_t begin_ = 0;
  std::uint64_t end_;
  std::optional<PoissonSubsampler> poisson_;  // none: batches of fixed size
};

}  // namespace noisefloor
