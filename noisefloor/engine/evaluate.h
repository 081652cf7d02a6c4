// The value of an expression for one row. This is the definition of every function; engines compute the same.
//
//   const Expression twice = call(Function::kAdd, Type::kNumber, {column("x", Type::kNumber), …});
//   const Value value = evaluate(twice, [&](std::string_view name) { return cells.at(name); });
//
// Guarantee:     every expression has a value for every row: no exception, no trap, no undefined behaviour.
// Numbers:       are doubles that are 0 or lie between 1e-150 and 1e150 in magnitude: smaller results are 0 (there is
//                no -0), and larger ones are NULL, as is NaN. So no single operation leaves the range of a double, and
//                an engine that raises errors for overflow or underflow never meets one.
// ln, exp, power are those of the C library of the machine that evaluates. Those of GNU libc 2.28 and later give equal
//                bits everywhere; a PostgreSQL server on another C library may differ in the last bit of these three.
// Texts:         are UTF-8 of at most kMaxText bytes; kConcatenate gives NULL for more.
// Thread safety: pure functions.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "noisefloor/engine/expression.h"

namespace noisefloor::engine {

using Value = Expression::Value;

inline constexpr double kLargestNumber = 1e150;
inline constexpr double kSmallestNumber = 1e-150;
inline constexpr double kWholeNumbers = 9007199254740992.0;  // 2^53
inline constexpr std::size_t kMaxText = 65536;               // bytes

// The number that stands for x: 0 for what is too small, nothing for what is too large or no number.
[[nodiscard]] std::optional<double> normal(double x);

// Whether the cell is a text as expressions take it: UTF-8 of at most kMaxText bytes.
[[nodiscard]] bool is_text(std::string_view cell);

// A value as a column of the type holds it, or NULL: integers among numbers become numbers, and what is no number, text
// or date in the sense above is missing.
[[nodiscard]] Value fitted(Type type, Value value);

// The cell of a CSV file in a column of the type. Empty cells and those that do not fit are NULL. Dates are as in
// kToDate; truth values are true, t, 1, false, f and 0 in letters of any case.
[[nodiscard]] Value parse_cell(Type type, std::string_view cell);

// Texts by bytes, false before true, NULL after all others. Requires values of one type, or integers and numbers.
[[nodiscard]] std::strong_ordering compare(const Value& a, const Value& b);

// -12.5e3: at most 15 digits before the point and 15 after it, at most 2 in the exponent. "12", "-.5", "7.", "+3" are
// numbers; spaces are not part of one.
[[nodiscard]] std::optional<double> parse_cell_number(std::string_view text);
// -12: a sign or none, and 1 to 18 digits.
[[nodiscard]] std::optional<std::int64_t> parse_cell_integer(std::string_view text);

// The value of a function, for values of its arguments: kCase and all others but kColumn and kConstant. `type` is that
// of the call.
[[nodiscard]] Value apply(Function function, Type type, std::span<const Value> arguments);

// The value that a column of this name has in the row: of its type, or NULL.
using Lookup = std::function<Value(std::string_view name)>;
[[nodiscard]] Value evaluate(const Expression& expression, const Lookup& row);

// The expression in which every part that reads no column is a constant.
[[nodiscard]] Expression folded(const Expression& expression);

}  // namespace noisefloor::engine
