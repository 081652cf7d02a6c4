// What a query computes from one row: a tree of total functions, which every engine computes alike.
//
//   const Expression total = add(column("a", Type::kInteger), constant(std::int64_t{1}));
//
// Guarantee:     an expression has a value for every row of every table: NULL where mathematics has none (x/0, ln(0), a
//                text that is no number, a result beyond ±1e150). No expression makes an engine fail, whatever the rows
//                hold, and all engines give the same value, to the bit. evaluate.h defines every function.
// Requires:      that whoever builds integer arithmetic has proved from public bounds that no result leaves 64 bits
//                (query/ does so with ranges); an expression does not check it.
// Thread safety: immutable once built.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "noisefloor/engine/cell.h"

namespace noisefloor::engine {

enum class Function : std::uint8_t {
  // Leaves
  kColumn,    // `name`, a column of the relation below
  kConstant,  // `value`
  // Numbers. Integers stay integers, except in kDivide, kSqrt, kLn, kExp and kPower, whose arguments are numbers.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kNegate,
  kAbsolute,
  kFloor,
  kCeiling,
  kRound,  // of a number: a number without a fraction; kRound is floor(x + 1/2)
  kSqrt,
  kLn,
  kExp,
  kPower,
  kLeast,
  kGreatest,  // NULL if an argument is NULL
  // Truth, with three values as in SQL
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,  // texts compare byte by byte
  kAnd,
  kOr,
  kNot,
  kIsNull,
  kIn,    // kIn: the first argument is among the constants that follow
  kLike,  // (text, constant pattern with % and _), byte for byte, case matters
  // Choice
  kCase,      // condition, value, condition, value, …, value otherwise
  kCoalesce,  // the first that is not NULL
  // Conversion
  kToNumber,   // from an integer, a date's days, a truth value, or a text in the form -12.5e3; else NULL
  kToInteger,  // from a number without a fraction in ±2^53, or a text of digits; else NULL
  kToText,     // from an integer
  // Text. Letters are those of ASCII; others stay as they are.
  kLength,
  kLower,
  kUpper,
  kTrim,
  kConcatenate,  // kLength counts characters
  kSubstring,    // (text, constant start from 1, constant length)
  // Dates
  kDateTrunc,  // (constant 'day' | 'week' | 'month' | 'quarter' | 'year', date)
  kDatePart,   // (constant 'year' | 'quarter' | 'month' | 'week' | 'day' | 'dow' | 'isodow' | 'doy', date): an integer
  kToDate,     // from a text such as 2026-03-05, or with a time after it; else NULL
  // Bounds: (number or integer; constants lower, upper, step as numbers): the value clamped to [lower, upper], in whole
  // steps: floor(clamped / step + 1/2), an integer. NULL for NULL.
  kSteps,
};

struct Expression {
  using Value = std::variant<std::monostate, std::int64_t, double, std::string, bool>;

  Function function = Function::kConstant;
  Type type = Type::kInteger;
  std::vector<Expression> arguments = {};
  std::string name = {};  // of a column
  Value value = {};       // of a constant; a date is its days

  friend bool operator==(const Expression&, const Expression&) = default;
};

[[nodiscard]] Expression column(std::string name, Type type);
[[nodiscard]] Expression constant(std::int64_t value);
[[nodiscard]] Expression constant(double value);
[[nodiscard]] Expression constant(std::string value);
[[nodiscard]] Expression constant_truth(bool value);
[[nodiscard]] Expression constant_date(std::int64_t days);
[[nodiscard]] Expression null_of(Type type);
// Whether the function takes these arguments and gives this type.
//
// Where a number is wanted an integer will do; both sides of a comparison are of one type, or of these two. kAdd and
// kSubtract also move a date by an integer, and kSubtract counts the days between two dates. The values of kCase,
// kCoalesce, kLeast and kGreatest are of the call's type. kSteps takes bounds whose steps stay within 2^53.
[[nodiscard]] bool takes(Function function, Type type, std::span<const Expression> arguments);
// Requires takes(…) (checked).
[[nodiscard]] Expression call(Function function, Type type, std::vector<Expression> arguments);

}  // namespace noisefloor::engine
