// The event of DP-SGD: noise on the sum of clipped gradients over a batch, step by step. Every front end builds it
// here, from how batches are drawn and from one meaning of the noise multiplier: σ divided by the clip norm.
//
// Guarantee:     the event describes a step that draws its batch as stated and adds Gaussian noise of
//                noise_multiplier · clip norm to each coordinate of the sum.
//                  Poisson      each row joins by its own coin; for add-remove and replace-one neighbours. A row is
//                               in the batch or not, under both, so that the event keeps the multiplier: the
//                               accountants know that under replace-one either of two rows may be there
//                               (PoissonSampledEvent).
//                  fixed size   a uniform subset; for replace-one neighbours only. Exchanging a row moves the sum by
//                               up to two clip norms, so that the event has half the multiplier.
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

// How a step draws its rows.
enum class Draw : std::uint8_t {
  kPoisson,    // each row by a coin of its own
  kFixedSize,  // a uniform subset of a fixed size, without replacement
};
[[nodiscard]] std::string_view name_of(Draw draw);  // "poisson", "fixed-size"

// How batches are drawn, and between which neighbours privacy is promised. A value of this type has an event.
class BatchLaw {
 public:
  [[nodiscard]] static BatchLaw poisson(SamplingRate rate, Adjacency adjacency);
  // The rate is expected_batch / rows. Fails if the batch is larger than the data.
  [[nodiscard]] static Result<BatchLaw> poisson(Rows rows, Rows expected_batch, Adjacency adjacency);
  // Fails if the batch is larger than the data, and under add-remove.
  [[nodiscard]] static Result<BatchLaw> fixed_size(Rows rows, Rows batch, Adjacency adjacency);
  // Makes either kind.
  [[nodiscard]] static Result<BatchLaw> create(Draw draw, Rows rows, Rows batch, Adjacency adjacency);

  [[nodiscard]] Draw draw() const;
  [[nodiscard]] Adjacency adjacency() const { return adjacency_; }
  // The probability that a row takes part in a step.
  [[nodiscard]] SamplingRate rate() const;
  // By how many clip norms the sums of neighbours over the same draw differ at most: 1, or 2 where one row is
  // exchanged for another.
  [[nodiscard]] int reach() const { return draw() == Draw::kPoisson ? 1 : 2; }

  // The events of one step and of many. `noise` is σ divided by the clip norm. Noise that is too small to be halved
  // exactly (below 1e-307) gets a non-private event.
  [[nodiscard]] DpEvent step(NoiseMultiplier noise) const;
  [[nodiscard]] DpEvent run(NoiseMultiplier noise, Steps steps) const;
  // The event of a step that adds other noise: `noise` is the event of a sum that neighbours move by reach() clip
  // norms.
  [[nodiscard]] DpEvent step_with(DpEvent noise) const;

  friend bool operator==(const BatchLaw&, const BatchLaw&) = default;

 private:
  struct FixedSize {
    Rows batch;
    Rows rows;
    friend bool operator==(const FixedSize&, const FixedSize&) = default;
  };
  using Kind = std::variant<SamplingRate, FixedSize>;

  BatchLaw(Kind kind, Adjacency adjacency) : kind_(kind), adjacency_(adjacency) {}

  Kind kind_;
  Adjacency adjacency_;
};

// The number of steps that make `epochs` passes over the data, rounded up. Fails unless epochs is above 0 and below
// 1e12.
[[nodiscard]] Result<Steps> steps_for_epochs(double epochs, SamplingRate rate);

}  // namespace noisefloor
