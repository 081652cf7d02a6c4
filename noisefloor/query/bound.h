// An expression whose names were looked up, with what is publicly known of its values.
//
// Internal to query/.
//
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/expression.h"
#include "noisefloor/query/ranges.h"
#include "noisefloor/query/syntax.h"

namespace noisefloor::query {

struct Bound {
  engine::Expression expression;
  IntegerRange integers = {};  // of an integer, a date (its days) or a truth value
  NumberRange numbers = {};    // of a number
  // The rows may hold values beyond the range: arithmetic and sums clamp them first, comparisons and keys do not.
  bool clamp = false;
  std::optional<double> step = {};  // of a number's grid
  bool whole = false;               // a number without a fraction
  bool public_range = false;        // every integer of the range may be named
  bool nullable = true;
  bool per_unit = false;          // the same in all rows of a unit
  bool is_unit = false;           // tells units apart, and is good for nothing else
  bool row_number = false;        // 1, 2, … in the rows of a unit
  std::uint64_t key_length = 64;  // characters of a text that is a group name

  [[nodiscard]] engine::Type type() const { return expression.type; }
};

[[nodiscard]] Bound bound_integer(std::int64_t value);
[[nodiscard]] Bound bound_null();
[[nodiscard]] Bound bound_truth(bool value);

// The expression, clamped to its range where rows may hold other integers.
[[nodiscard]] engine::Expression guarded(const Bound& bound);
// The range as that of a number, for integers too.
[[nodiscard]] NumberRange numbers_of(const Bound& bound);

// A function or operator of one row by its name, in lower case. Refuses what the dialect does not have.
[[nodiscard]] Result<Bound> bind_function(const std::string& name, std::vector<Bound> arguments);
[[nodiscard]] Result<Bound> bind_operator(const std::string& name, std::vector<Bound> arguments);
[[nodiscard]] Result<Bound> bind_cast(const std::string& type, Bound argument);
[[nodiscard]] Result<Bound> bind_case(std::vector<Bound> parts);
[[nodiscard]] Result<Bound> bind_logic(Term::Kind kind, std::vector<Bound> arguments);  // kAnd, kOr, kNot, kIsNull
[[nodiscard]] Result<Bound> bind_in(std::vector<Bound> arguments);
[[nodiscard]] Result<Bound> bind_like(std::vector<Bound> arguments);

// A term whose leaves are handled by `leaf`: it is asked about every term first, and gives nothing for those that it
// leaves to the functions above.
using BindLeaf = std::function<Result<std::optional<Bound>>(const Term& term)>;
[[nodiscard]] Result<Bound> bind_term(const Term& term, const BindLeaf& leaf);

// The functions of the dialect, as Markdown rows: name, arguments, what it gives.
struct FunctionEntry {
  std::string_view name;
  std::string_view arguments;
  std::string_view meaning;
};
[[nodiscard]] const std::vector<FunctionEntry>& listed_functions();

}  // namespace noisefloor::query
