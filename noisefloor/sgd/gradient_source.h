// What DP-SGD needs of a model and its data: sums of clipped gradients of single examples.
//
// Guarantee:     (of every implementation) an example contributes factor · gradient with the factors of the rule, at the
//                given parameters, and nothing else; every trainable parameter belongs to exactly one group.
// Thread safety: none; an implementation may use threads inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/clip.h"
#include "noisefloor/sgd/gradient_grid.h"

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

  // sum += Σ over `rows` of the clipped gradients at `at`; unclipped if there is no rule. Returns how many norms were within
  // the rule's bound (0 without a rule). `stream` is for dropout and augmentation.
  // Requires: rows below examples(), spans of the number of parameters.
  [[nodiscard]] virtual Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> rows,
                                                const ClipRule* rule, BitStream& stream, std::span<float> sum) = 0;

  // The same in whole steps of a grid: each example's clipped gradient is rounded by itself, and whoever is longer than the
  // grid's bound then is left out. The sum is exact. Here one example after the other; a source may do better.
  [[nodiscard]] virtual Result<void> add_on_grid(std::span<const float> at, std::span<const std::uint64_t> rows,
                                                 const ClipRule& rule, const GradientGrid& grid, BitStream& stream,
                                                 std::span<std::int64_t> sum);
};

}  // namespace noisefloor
