// The interface that DP-SGD needs from a model and its data: sums of clipped gradients, one of each example.
//
// Examples:      the units that are drawn and clipped, each as one vector: rows, or, if there are people(), people
//                (people.h).
// Guarantee:     (of every implementation) an example contributes factor · gradient with the factors of the rule, at
//                the given parameters, and nothing else; every trainable parameter belongs to exactly one group. A
//                null record (Dataset::nulls) contributes nothing, whatever the rule.
// Thread safety: none; an implementation may use threads inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/clip.h"
#include "noisefloor/sgd/gradient_grid.h"
#include "noisefloor/sgd/people.h"

namespace noisefloor {

class GradientSource {
 public:
  GradientSource() = default;
  GradientSource(const GradientSource&) = delete;
  GradientSource& operator=(const GradientSource&) = delete;
  virtual ~GradientSource() = default;

  [[nodiscard]] virtual std::size_t examples() const = 0;
  [[nodiscard]] virtual std::size_t parameters() const = 0;
  [[nodiscard]] virtual std::size_t groups() const = 0;

  // Which rows belong to whom, if people are drawn and clipped; null if rows are.
  [[nodiscard]] virtual const People* people() const { return nullptr; }
  [[nodiscard]] PrivacyUnit unit() const { return people() != nullptr ? PrivacyUnit::kPerson : PrivacyUnit::kRow; }

  // Adds the clipped gradients of `examples` at `at` to `sum`; unclipped if there is no rule. Returns how many norms
  // were within the rule's bound (0 without a rule). `stream` is for choosing a person's rows, dropout and
  // augmentation.
  // Requires: numbers below examples(), spans of the number of parameters.
  [[nodiscard]] virtual Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                                const ClipRule* rule, BitStream& stream, std::span<float> sum) = 0;

  // The same in whole steps of a grid: each example's clipped gradient is rounded by itself, and left out if it is then
  // longer than the grid's bound. The sum is exact. This default takes one example after the other; a source may be
  // faster.
  [[nodiscard]] virtual Result<void> add_on_grid(std::span<const float> at, std::span<const std::uint64_t> examples,
                                                 const ClipRule& rule, const GradientGrid& grid, BitStream& stream,
                                                 std::span<std::int64_t> sum);
};

}  // namespace noisefloor
