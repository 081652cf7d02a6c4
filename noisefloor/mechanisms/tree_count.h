// Continual counting: a running total that is released after every step, over a stream of known length.
//
// Guarantee:     ε-DP (δ = 0, discrete Laplace) or (ε, δ)-DP (Gaussian) for all totals together, where one unit
//                contributes at most `sensitivity` to all steps together. Under replace-one a unit may move to other
//                steps. The error of each total grows with log(steps)^1.5, not with the number of steps.
// Implements:    the binary mechanism of Chan, Shi, Song 2011 and Dwork, Naor, Pitassi, Rothblum 2010: each step
//                enters the nodes of a binary tree above it, at most ⌊log₂ steps⌋ + 1 of them, and a total is the sum
//                of at most as many noised nodes. Noise is for the nodes that a unit can change: tree_nodes.h.
// Requires:      under replace-one, all contributions have one sign, as counts have.
// Memory:        one noised node a level.
// Thread safety: none; it is a stream.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "noisefloor/mechanisms/gaussian.h"
#include "noisefloor/mechanisms/geometric.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/mechanisms/sensitivity.h"

namespace noisefloor {

class TreeCounter {
 public:
  // A copy would release the same nodes again, with other noise.
  TreeCounter(const TreeCounter&) = delete;
  TreeCounter& operator=(const TreeCounter&) = delete;
  TreeCounter(TreeCounter&&) noexcept = default;
  TreeCounter& operator=(TreeCounter&&) noexcept = default;
  ~TreeCounter() = default;

  // `sensitivity` is whole for δ = 0. That of a count is right for rows and persons, wherever their rows are.
  [[nodiscard]] static Result<TreeCounter> create(const Sensitivity& sensitivity, Steps steps, Epsilon epsilon,
                                                  Delta delta);

  // Takes in the value of the next step and returns the noised total up to it. After the last step: kBudgetExhausted.
  // The statement is that of the whole stream, whatever number of totals has been released.
  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, double>> next(std::int64_t value, Source& source) {
    // A total holds the noise of earlier steps: one replayed step makes all later totals not private.
    constexpr bool replayed = std::same_as<Source, ReplayRandom>;
    if (has_replayed_ && !replayed) return invalid_argument("this counter holds replayed noise: start another");
    has_replayed_ = replayed;
    NF_TRY(const double total, advance(value, source));
    return Release<Source, double>(total, statement());
  }

  [[nodiscard]] const DpStatement& statement() const;

  // Standard deviation of a total's noise at most.
  [[nodiscard]] double worst_standard_deviation() const;

 private:
  using Noise = std::variant<GeometricMechanism, GaussianMechanism>;
  struct Node {
    Int128 sum = 0;
    double noised = 0;
  };

  TreeCounter(Steps steps, std::size_t levels, Noise noise) : steps_(steps), nodes_(levels), noise_(std::move(noise)) {}

  [[nodiscard]] Result<double> advance(std::int64_t value, BitStream& stream);
  [[nodiscard]] double noised(Int128 sum, BitStream& stream) const;

  Steps steps_;
  std::uint64_t done_ = 0;
  bool has_replayed_ = false;
  std::vector<Node> nodes_;  // by level; those whose bit is set in done_ are complete
  Noise noise_;
};

}  // namespace noisefloor
