// Examples in memory, as training reads them.
//
// Guarantee:     every Dataset that a reader of this folder returns, or that take() makes of one, holds the invariants
//                of check_dataset().
// Thread safety: plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

// Dataset::people of a row that is nobody's: no person is protected by what happens to it, so it takes part in nothing.
inline constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

struct Dataset {
  std::size_t rows = 0;
  std::vector<std::size_t> shape;  // shape of one example: {40}, or {1, 28, 28}
  std::vector<float> features;     // example after example, the last index of `shape` fastest

  // The outcome to be predicted: one of `classes` classes,
  std::vector<std::int32_t> labels;
  std::int32_t classes = 0;
  // or, if `classes` is 0, a number.
  std::vector<float> targets;
  // Which examples are suggestions to one person, by number: for recall. Empty if recall is not measured.
  std::vector<std::uint32_t> groups = {};
  // The person that each example belongs to, by number, if whole people are protected; empty if single rows are.
  // Numbers are labels: they need not be dense, and their order means nothing.
  std::vector<std::uint32_t> people = {};
  // 1 for each null record, 0 for others; empty if there is none. A null record did not fit the public schema
  // (odd_records.h). It is a row of its person and is drawn like any other, and contributes nothing. Its features,
  // label and target are 0 and mean nothing.
  std::vector<std::uint8_t> nulls = {};
  // The most rows of one person that take part in a step. Public; 0 if single rows are protected.
  std::size_t rows_per_person = 0;

  // Requires row < rows.
  [[nodiscard]] bool is_null(std::uint64_t row) const { return !nulls.empty() && nulls[row] != 0; }
  // Those of the examples that are not null, in their order. Requires numbers below `rows`.
  [[nodiscard]] std::vector<std::uint64_t> without_nulls(std::span<const std::uint64_t> numbers) const;

  // Features of one example.
  [[nodiscard]] std::size_t width() const;
  // The unit that is protected, and how many of them there are: people, or rows. Null records count, and so do people
  // who have no others; rows of nobody do not. The number of private rows is private, too: see
  // training/public_count.h.
  [[nodiscard]] PrivacyUnit unit() const { return rows_per_person > 0 ? PrivacyUnit::kPerson : PrivacyUnit::kRow; }
  [[nodiscard]] std::size_t units() const;
  // Requires index < rows.
  [[nodiscard]] std::span<const float> example(std::size_t index) const;
  // The examples of these numbers, in their order; a number may come twice. Refused if one is not below `rows`.
  [[nodiscard]] Result<Dataset> take(std::span<const std::uint64_t> numbers) const;

  friend bool operator==(const Dataset&, const Dataset&) = default;
};

// The product of a shape's sizes. Fails for a shape without sizes, or with a 0, or beyond 2^48.
[[nodiscard]] Result<std::size_t> volume(std::span<const std::size_t> shape);

// Every vector is as long as `rows` and `shape` say (groups and nulls may be left out, and people together with
// rows_per_person);
// features and targets are finite; labels are in 0 … classes − 1. The refusal names the field, and no value of it.
[[nodiscard]] Result<void> check_dataset(const Dataset& dataset);

}  // namespace noisefloor
