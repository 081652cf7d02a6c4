// Examples in memory: what training reads.
//
// Guarantee:     what a reader of this folder returns, and what take() makes of it, holds the invariants of
//                check_dataset().
// Thread safety: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor {

struct Dataset {
  std::size_t rows = 0;
  std::vector<std::size_t> shape;  // of one example: {40}, or {1, 28, 28}
  std::vector<float> features;     // example after example, the last index of `shape` fastest

  // What is to be predicted: one of `classes` classes,
  std::vector<std::int32_t> labels;
  std::int32_t classes = 0;
  // or, if `classes` is 0, a number.
  std::vector<float> targets;
  // Which examples are suggestions to one person, by number: for recall. Empty if nobody asks.
  std::vector<std::uint32_t> groups = {};

  // Features of one example.
  [[nodiscard]] std::size_t width() const;
  // Requires index < rows.
  [[nodiscard]] std::span<const float> example(std::size_t index) const;
  // The examples of these numbers, in their order; a number may come twice. Refused if one is not below `rows`.
  [[nodiscard]] Result<Dataset> take(std::span<const std::uint64_t> numbers) const;

  friend bool operator==(const Dataset&, const Dataset&) = default;
};

// The product of a shape's sizes. Nothing is there for a shape without sizes, or with a 0, or beyond 2^48.
[[nodiscard]] Result<std::size_t> volume(std::span<const std::size_t> shape);

// Every vector is as long as `rows` and `shape` say (groups may be left out); features and targets are finite; labels are in 0 … classes − 1. The
// refusal names the field, and no value of it.
[[nodiscard]] Result<void> check_dataset(const Dataset& dataset);

}  // namespace noisefloor
