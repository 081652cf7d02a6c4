// Internal to engine/: functions in the SQL that DuckDB and PostgreSQL share, with the few words in which they differ.
//
// Every function is total. A value outside of the domain of an operation does not reach it: it is NULL before, in the
// operation's own argument, because CASE does not keep an engine from computing its other branch.
//
// Thread safety: const after creation.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/engine/sql_dialect.h"

namespace noisefloor::engine {

class NativeSql : public SqlDialect {
 public:
  [[nodiscard]] std::string constant(const Expression& e) const override;
  [[nodiscard]] bool repeats_arguments(const Expression& e) const override;
  [[nodiscard]] std::string call(const Expression& e, const std::vector<SqlArgument>& arguments) const override;
  [[nodiscard]] bool leaves_range(const Expression& e) const override;
  [[nodiscard]] std::string normalised(const std::string& column) const override;
  [[nodiscard]] std::string saturated_sum(const std::string& column) const override;

 protected:
  [[nodiscard]] virtual std::string type_name(Type type) const = 0;
  // A constant of the type from its text.
  [[nodiscard]] virtual std::string typed(Type type, const std::string& text) const = 0;
  [[nodiscard]] virtual std::string wide_type() const = 0;  // of sums of integers
  [[nodiscard]] virtual std::string like(const std::string& text, const std::string& pattern) const = 0;
  [[nodiscard]] virtual std::string matches(const std::string& text, const std::string& pattern) const = 0;
  [[nodiscard]] virtual std::string bytes_of(const std::string& text) const = 0;
  [[nodiscard]] virtual std::string characters_of(const std::string& text) const = 0;
  [[nodiscard]] virtual std::string trimmed(const std::string& text) const = 0;
  // Requires a text that the pattern of integers, or of numbers, matches.
  [[nodiscard]] virtual std::string integer_of(const std::string& text) const = 0;
  [[nodiscard]] virtual std::string number_of(const std::string& text) const = 0;
  [[nodiscard]] virtual std::string whole_of(const std::string& number) const = 0;  // a whole number within ±2^53
  [[nodiscard]] virtual std::string date_of(const std::string& text) const = 0;     // of any text
  // Of days that are a date.
  [[nodiscard]] virtual std::string date_trunc(const std::string& word, const std::string& days) const = 0;
  [[nodiscard]] virtual std::string date_part(const std::string& word, const std::string& days) const = 0;
  [[nodiscard]] virtual std::string modulo(const std::string& a, const std::string& b) const = 0;
};

}  // namespace noisefloor::engine
