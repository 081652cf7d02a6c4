#include "noisefloor/sgd/sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

Result<void> check_size(Rows rows, Rows batch) {
  if (batch.value() <= rows.value()) return success();
  return invalid_argument(fmt::format("a batch of {} is larger than the data, {} rows; the largest batch is {}",
                                      batch.value(), rows.value(), rows.value()));
}

}  // namespace

Result<BatchSampler> BatchSampler::poisson(Rows rows, Rows expected_batch, Adjacency adjacency) {
  NF_TRY_VOID(check_size(rows, expected_batch));
  BatchSampler sampler(rows, expected_batch, adjacency);
  NF_TRY(const SamplingRate rate,
         SamplingRate::make(static_cast<double>(expected_batch.value()) / static_cast<double>(rows.value())));
  sampler.poisson_.emplace(rate);
  return sampler;
}

Result<BatchSampler> BatchSampler::fixed_size(Rows rows, Rows batch, Adjacency adjacency) {
  NF_TRY_VOID(check_size(rows, batch));
  if (adjacency != Adjacency::kReplaceOne) {
    return invalid_argument(
        "batches of fixed size are for replace-one neighbours: no batch of a given size exists with and without a row. "
        "Use "
        "adjacency \"replace-one\" or sampler \"poisson\"");
  }
  return BatchSampler(rows, batch, adjacency);
}

Result<BatchSampler> BatchSampler::shard(std::size_t rank, std::size_t size) const {
  if (rank >= size) {
    return invalid_argument(
        fmt::format("workers are numbered from 0: there is none of number {} among {}", rank, size));
  }
  if (size == 1) return *this;
  if (!poisson_) {
    return invalid_argument(
        "several workers cannot draw batches of fixed size: a uniform subset of all rows is not made of subsets of "
        "their parts. Use sampler \"poisson\", or one worker");
  }
  BatchSampler part = *this;
  const auto start = [&](std::uint64_t worker) {
    return rows_.value() / size * worker + std::min(worker, rows_.value() % size);
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

SamplingRate BatchSampler::rate() const {
  if (poisson_) return poisson_->rate();
  auto rate = SamplingRate::make(static_cast<double>(batch_.value()) / static_cast<double>(rows_.value()));
  NF_CHECK(rate.has_value(), "the batch is not larger than the data");
  return rate.value();
}

DpEvent BatchSampler::event(NoiseMultiplier noise) const {
  auto multiplier = NoiseMultiplier::make(noise.value() / reach());
  NF_CHECK(multiplier.has_value(), "half of a noise multiplier is one");
  return event(GaussianEvent{multiplier.value()});
}

DpEvent BatchSampler::event(DpEvent noise) const {
  if (poisson_) return PoissonSampledEvent{poisson_->rate(), std::move(noise)};
  return FixedSizeSampledEvent{batch_, rows_, std::move(noise)};
}

}  // namespace noisefloor
