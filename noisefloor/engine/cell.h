// One value of a table in an engine, and the types that columns have.
//
// Thread safety: plain data; pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace noisefloor::engine {

enum class Type : std::uint8_t {
  kInteger,  // 64 bits
  kNumber,   // a double; NaN and infinities are missing values
  kText,     // UTF-8
  kDate,     // days since 1970-01-01; a time of day is left out
  kTruth,    // 0 or 1
};

[[nodiscard]] std::string_view name_of(Type type);  // "integer", "number", "text", "date", "truth"

// A key of a group: NULL, an integer (also a date or a truth value), or a text. Numbers are no keys: put them on a
// grid.
using Cell = std::variant<std::monostate, std::int64_t, std::string>;

}  // namespace noisefloor::engine
