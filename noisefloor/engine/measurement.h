// The one question that an engine answers about private rows: exact integers for each group, after every unit's part
// was bounded. Noise is added by whoever asked; nothing here is private or may be shown.
//
// Guarantee:     adding or removing all rows of one unit changes what is measured by at most the stated bounds: a unit
//                is counted in at most `max_groups` groups, with at most `max_rows_per_group` rows in each and
//                `max_rows` rows in all, and gives an aggregate of a group a value within [lower, upper]. Which groups
//                and rows of a unit are kept depends on the unit's own rows and the order key alone. All engines give
//                the same integers, to the last bit.
// Requires:      a fresh secret order key for each question, or one that is kept with a snapshot for its life.
// Thread safety: plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/crypto/secret.h"
#include "noisefloor/engine/cell.h"
#include "noisefloor/engine/relation.h"

namespace noisefloor::engine {

struct Aggregate {
  enum class Kind : std::uint8_t {
    kRows,      // rows for which `argument` is true; all rows without one
    kUnits,     // units with a row for which `argument` is true; without one: with any row. All rows of a unit that
                // `max_rows` and `max_groups` keep are looked at, whatever `max_rows_per_group` is
    kSum,       // the sum of `argument`, an integer; NULL counts as nothing
    kDistinct,  // different values of `argument` (integer, date, truth or text) in the group, over what is kept of each
                // unit: its `max_rows_per_group` values with the lowest hashes, of all its rows in the group
    kValues,    // how often each value of `argument`, an integer, occurs: for quantiles
  };
  Kind kind = Kind::kRows;
  std::optional<Expression> argument = {};
  // Bounds of what one unit adds to one group: its partial sum or count is clamped to them. For kRows and kSum.
  std::optional<std::int64_t> lower = {};
  std::optional<std::int64_t> upper = {};
};

// In this order: rows whose keys are not listed are left out, max_rows, max_groups, max_rows_per_group, partials are
// clamped, l2_norms.
struct Bounding {
  std::optional<std::uint64_t> max_groups = {};          // groups that a unit keeps: those with the lowest hashes
  std::optional<std::uint64_t> max_rows_per_group = {};  // rows that a unit keeps in a group: likewise
  std::optional<std::uint64_t> max_rows = {};            // rows that a unit keeps over all groups: likewise
  // For Gaussian noise instead of max_groups: the vector of a unit's partials of each aggregate of kind kSum, kRows or
  // kUnits over all groups is scaled to at most this L2 norm, towards zero, on the integers. One for each aggregate.
  // Partials are clamped to ±2^53 first.
  std::vector<std::int64_t> l2_norms = {};
};

struct Measurement {
  RelationPtr rows;
  // The column that says whose row it is; rows where it is NULL are nobody's and left out. None: every row is a unit of
  // its own, and no bounding is needed.
  std::optional<std::string> unit = {};
  // A unit has at most one row in `rows`, by a declared key of the table: then nothing has to be grouped by unit.
  bool one_row_per_unit = false;
  std::vector<std::string> keys;  // columns of `rows`: integers, dates, truth values or texts
  // Public keys: groups with other keys are left out before anything is bounded, and a listed group without rows is
  // given as zeros. None: the groups that occur (private: only selection may name them).
  std::optional<std::vector<std::vector<Cell>>> listed = {};
  std::vector<Aggregate> aggregates;
  Bounding bounding = {};
  Secret32 order_key;
};

// kInvalidArgument, for the caller's programmer, if the parts do not fit: a column that is not there, an argument of
// another type, a bound of 0, or no norm for each aggregate.
[[nodiscard]] Result<void> check_measurement(const Measurement& measurement);

struct MeasuredGroup {
  std::vector<Cell> keys;
  std::uint64_t units = 0;     // after bounding; 0 if every row is its own unit: use kRows
  std::vector<Int128> totals;  // one for each aggregate; 0 for kValues
  // For each aggregate of kind kValues, in order: value and how often, ascending.
  std::vector<std::vector<std::pair<std::int64_t, std::uint64_t>>> values = {};
};

struct Measured {
  std::vector<MeasuredGroup> groups;  // listed keys in their order, or by ascending keys
};

}  // namespace noisefloor::engine
