#include "noisefloor/sgd/sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/check.h"

namespace noisefloor {

std::string_view plural_of(PrivacyUnit unit) { return unit == PrivacyUnit::kPerson ? "people" : "rows"; }

Result<BatchSampler> BatchSampler::create(Draw draw, Rows rows, Rows expected_batch, Adjacency adjacency,
                                          PrivacyUnit unit) {
  if (expected_batch.value() > rows.value()) {
    return invalid_argument(fmt::format("a batch of {} is larger than the data, {} {}; the largest batch is {}",
                                        expected_batch.value(), rows.value(), plural_of(unit), rows.value()));
  }
  NF_TRY(const BatchLaw law, BatchLaw::create(draw, rows, expected_batch, adjacency));
  BatchSampler sampler(rows, expected_batch, law, unit);
  if (draw == Draw::kPoisson) sampler.poisson_.emplace(law.rate());
  return sampler;
}

Result<BatchSampler> BatchSampler::poisson(Rows rows, Rows expected_batch, Adjacency adjacency, PrivacyUnit unit) {
  return create(Draw::kPoisson, rows, expected_batch, adjacency, unit);
}

Result<BatchSampler> BatchSampler::fixed_size(Rows rows, Rows batch, Adjacency adjacency, PrivacyUnit unit) {
  return create(Draw::kFixedSize, rows, batch, adjacency, unit);
}

Result<BatchSampler> BatchSampler::with_population(std::uint64_t rows) const {
  if (!poisson_ && rows != rows_.value()) {
    return invalid_argument(fmt::format(
        "batches of a fixed size are drawn from exactly as many {} as are stated, {}, and the data have another "
        "number: correct it, or draw with sampler = \"poisson\"",
        plural_of(unit_), rows_.value()));
  }
  BatchSampler other = *this;
  other.population_ = rows;
  other.begin_ = 0;
  other.end_ = rows;
  return other;
}

Result<BatchSampler> BatchSampler::shard(std::size_t rank, std::size_t size) const {
  if (rank >= size) {
    return invalid_argument(
        fmt::format("workers are numbered from 0: there is no number {} among {} workers", rank, size));
  }
  if (size == 1) return *this;
  if (!poisson_) {
    return invalid_argument(
        "several workers cannot draw batches of fixed size: a uniform subset of all rows does not consist of subsets "
        "of their parts. Use sampler \"poisson\", or one worker");
  }
  BatchSampler part = *this;
  const auto start = [&](std::uint64_t worker) {
    return population_ / size * worker + std::min<std::uint64_t>(worker, population_ % size);
  };
  part.begin_ = start(rank);
  part.end_ = start(rank + 1);
  return part;
}

std::vector<std::uint64_t> BatchSampler::draw(BitStream& stream) const {
  if (poisson_) {
    std::vector<std::uint64_t> drawn = poisson_->sample(stream, end_ - begin_);
    for (std::uint64_t& row : drawn) row += begin_;
    return drawn;
  }
  auto subset = uniform_subset(stream, batch_.value(), rows_.value());
  NF_CHECK(subset.has_value(), "the batch is not larger than the data");
  return std::move(subset).value();
}

}  // namespace noisefloor
