// How many examples each round of a training takes, in expectation: the sequence s_0, …, s_{T-1} of Proactive DP.
//
// Implements:    van Dijk et al. 2024 (Proactive DP), section 3.1: K = Σ s_i, s̄ = K/T, θ = s_max/s̄.
// Thread safety: plain data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/event/dp_sgd_event.h"

namespace noisefloor {

class SampleSizes {
 public:
  // Equal rounds in a row.
  struct Stretch {
    std::uint64_t size;
    std::uint64_t rounds;
  };

  // T rounds of size s.
  [[nodiscard]] static Result<SampleSizes> constant(std::uint64_t size, std::uint64_t rounds);
  // Sizes that grow with the `power`-th power of the round up to `largest`: θ is about 1 + power. At most 2^20 rounds.
  [[nodiscard]] static Result<SampleSizes> polynomial(std::uint64_t largest, std::uint64_t rounds, double power);
  // Sizes for `epochs` of the rows, to within a round or 1 %: constant, or growing with a power of the round. Fails
  // unless epochs is finite and above 0.
  [[nodiscard]] static Result<SampleSizes> for_epochs(Rows rows, double epochs, std::uint64_t largest, double power);
  // The smallest `largest` for which for_epochs stays within the largest number of rounds.
  [[nodiscard]] static std::uint64_t smallest_for_epochs(Rows rows, double epochs, double power);
  // The given stretches. Fails if a stretch has no size or no rounds, or K is above 2^53.
  [[nodiscard]] static Result<SampleSizes> of(std::vector<Stretch> stretches);

  [[nodiscard]] std::span<const Stretch> stretches() const { return stretches_; }
  [[nodiscard]] std::uint64_t total() const { return total_; }    // K
  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }  // T
  [[nodiscard]] std::uint64_t largest() const { return largest_; }
  [[nodiscard]] double mean() const { return static_cast<double>(total_) / static_cast<double>(rounds_); }
  [[nodiscard]] double theta() const { return static_cast<double>(largest_) / mean(); }

  // The event of a training with these samples of the rows and this noise (event/dp_sgd_event.h). Fails if a size is
  // above the number of rows.
  [[nodiscard]] Result<DpEvent> event(Rows rows, NoiseMultiplier noise, Adjacency adjacency, Draw draw) const;

 private:
  explicit SampleSizes(std::vector<Stretch> stretches);

  std::vector<Stretch> stretches_;
  std::uint64_t total_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace noisefloor
