// The keys of a query: GROUP BY, ROLLUP and alike, SELECT DISTINCT.
//
// Internal to query/.
//
// Thread safety: plain data; pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/query/binder.h"

namespace noisefloor::query {

struct Key {
  std::string label;
  Bound bound;              // as it is written
  engine::Expression cell;  // what the engine groups by: texts are cut, whole numbers are integers
  std::optional<std::vector<engine::Cell>> values = {};  // public ones
};

struct Grouping {
  std::vector<Key> keys;  // sorted by their canonical texts, each once
  // The keys of each grouping that is shown; empty if there is one alone, by all keys.
  std::vector<std::vector<std::size_t>> shown = {};
};

[[nodiscard]] Result<Grouping> bind_grouping(Binder& binder, const Rows& rows, const Select& select);

}  // namespace noisefloor::query
