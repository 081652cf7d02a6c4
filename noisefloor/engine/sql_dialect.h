// Internal to engine/: how one engine writes each function, so that it is total and equal to evaluate.h.
//
// In SQL, integers, dates (as days) and steps are 64-bit integers, numbers are doubles, texts compare byte by byte, and
// truth values are the engine's own.
//
// Thread safety: const after creation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/relation.h"

namespace noisefloor::engine {

// An argument as SQL, which may stand more than once in a text if it is short: a column or a constant.
struct SqlArgument {
  std::string sql;
  const Expression* expression;  // what it is: for its type, and for constants
};

class SqlDialect {
 public:
  SqlDialect() = default;
  SqlDialect(const SqlDialect&) = delete;
  SqlDialect& operator=(const SqlDialect&) = delete;
  virtual ~SqlDialect() = default;

  // A literal that cannot be taken for anything else. Texts have no zero byte (checked before).
  [[nodiscard]] virtual std::string constant(const Expression& e) const = 0;
  // Whether call() writes arguments more than once: then they are columns or constants.
  [[nodiscard]] virtual bool repeats_arguments(const Expression& e) const = 0;
  [[nodiscard]] virtual std::string call(const Expression& e, const std::vector<SqlArgument>& arguments) const = 0;
  // Whether the result of call() still has to be brought into the range of numbers, by normalised().
  [[nodiscard]] virtual bool leaves_range(const Expression& e) const = 0;
  [[nodiscard]] virtual std::string normalised(const std::string& column) const = 0;

  // SELECT … AS c0, … AS c1 FROM the table.
  [[nodiscard]] virtual Result<std::string> scan(const Scan& scan) const = 0;
  // A text as an operand of an order or a comparison by bytes.
  [[nodiscard]] virtual std::string by_bytes(const std::string& text) const { return text; }
  [[nodiscard]] virtual std::string minimum(Type type, const std::string& column) const;
  [[nodiscard]] virtual std::string maximum(Type type, const std::string& column) const;
  // The sum of integers, saturated at 64 bits; NULL of none.
  [[nodiscard]] virtual std::string saturated_sum(const std::string& column) const = 0;
  // The exact sum of integers as a decimal text. `is_small`: every value is within ±2^29.
  [[nodiscard]] virtual std::string exact_sum(const std::string& column, bool is_small) const = 0;
  // A subquery that the engine computes as it stands.
  [[nodiscard]] virtual std::string fenced(const std::string& select) const = 0;
  // Whether a join is fast only if its right side is computed first.
  [[nodiscard]] virtual bool fences_joins() const { return false; }
  // Whether the engine groups by sorting, so that it takes longer than streaming the rows to the kernel.
  [[nodiscard]] virtual bool groups_by_sorting() const { return false; }
  // Whether a column of a scan is never NULL, because the engine itself sees to it.
  [[nodiscard]] virtual bool is_never_null(const Scan& /*scan*/, const std::string& /*column*/) const { return false; }
  // Rows of one server among several: those whose unit has this remainder. Empty if the engine has one server.
  [[nodiscard]] virtual std::string belongs(Type /*unit*/, const std::string& /*column*/) const { return ""; }
};

// "name", with quotes inside doubled.
[[nodiscard]] std::string quoted_name(std::string_view name);
// 'text', with quotes inside doubled.
[[nodiscard]] std::string quoted_text(std::string_view text);
// The shortest decimal that reads back as the same double.
[[nodiscard]] std::string decimal_of(double value);

// Whether steps of this call are computed on integers alone with the same result: an integer and whole bounds, step 1.
[[nodiscard]] bool is_whole_clamp(const Expression& steps);
// The bounds of such a call. The kernel clamps its integers itself, and engines send them as they are: sent_argument().
struct WholeClamp {
  std::int64_t lower;
  std::int64_t upper;
};
[[nodiscard]] std::optional<WholeClamp> clamp_of(const Expression& expression);
[[nodiscard]] inline const Expression& sent_argument(const Expression& argument) {
  return is_whole_clamp(argument) ? argument.arguments[0] : argument;
}

}  // namespace noisefloor::engine
