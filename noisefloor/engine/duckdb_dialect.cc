#include "noisefloor/engine/duckdb_dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "noisefloor/engine/evaluate.h"

namespace noisefloor::engine {
namespace {

constexpr auto kIntegers =
    std::to_array<std::string_view>({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"});
constexpr auto kWideIntegers = std::to_array<std::string_view>({"UBIGINT", "HUGEINT", "UHUGEINT"});

bool is_one_of(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool is_plain_integer(std::string_view held) { return is_one_of(kIntegers, held); }

std::string days_since_1970(const std::string& date) {
  return fmt::format(
      "CASE WHEN {0} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN date_diff('day', DATE '1970-01-01', {0}) END",
      date);
}

}  // namespace

std::string DuckdbDialect::type_name(Type type) const {
  switch (type) {
    case Type::kInteger:
    case Type::kDate:
      return "BIGINT";
    case Type::kNumber:
      return "DOUBLE";
    case Type::kText:
      return "VARCHAR";
    case Type::kTruth:
      return "BOOLEAN";
  }
  return "";
}

std::string DuckdbDialect::typed(Type type, const std::string& text) const {
  return fmt::format("CAST({} AS {})", quoted_text(text), type_name(type));
}

std::string DuckdbDialect::exact_sum(const std::string& column, bool /*is_small*/) const {
  return fmt::format("CAST(sum({}) AS VARCHAR)", column);
}

std::string DuckdbDialect::like(const std::string& text, const std::string& pattern) const {
  return fmt::format("({} LIKE {})", text, pattern);  // nothing escapes in DuckDB
}
std::string DuckdbDialect::matches(const std::string& text, const std::string& pattern) const {
  return fmt::format("regexp_matches({}, {})", text, quoted_text(pattern));
}
std::string DuckdbDialect::bytes_of(const std::string& text) const { return fmt::format("strlen({})", text); }
std::string DuckdbDialect::characters_of(const std::string& text) const { return fmt::format("length({})", text); }
std::string DuckdbDialect::trimmed(const std::string& text) const { return fmt::format("trim({}, ' ')", text); }
std::string DuckdbDialect::integer_of(const std::string& text) const {
  return fmt::format("TRY_CAST(ltrim({}, '+') AS BIGINT)", text);
}
std::string DuckdbDialect::number_of(const std::string& text) const {
  return fmt::format("TRY_CAST(ltrim({}, '+') AS DOUBLE)", text);
}
std::string DuckdbDialect::whole_of(const std::string& number) const {
  return fmt::format("TRY_CAST({} AS BIGINT)", number);
}
std::string DuckdbDialect::date_of(const std::string& text) const {
  return fmt::format("CASE WHEN {} THEN {} END", matches(text, "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T]|$)"),
                     days_since_1970(fmt::format("TRY_CAST(substr({}, 1, 10) AS DATE)", text)));
}
std::string DuckdbDialect::date_trunc(const std::string& word, const std::string& days) const {
  return fmt::format("date_diff('day', DATE '1970-01-01', CAST(date_trunc({}, DATE '1970-01-01' + {}) AS DATE))",
                     quoted_text(word), days);
}
std::string DuckdbDialect::date_part(const std::string& word, const std::string& days) const {
  return fmt::format("CAST(date_part({}, DATE '1970-01-01' + {}) AS BIGINT)", quoted_text(word), days);
}
std::string DuckdbDialect::modulo(const std::string& a, const std::string& b) const {
  return fmt::format("CASE WHEN {1} = -1 THEN {0} - {0} ELSE {0} % NULLIF({1}, 0) END", a, b);
}

std::string DuckdbDialect::cell(const PlacedColumn& column) const {
  const std::string name = quoted_name(column.name);
  const std::string& held = column.held;
  const bool is_integer = is_one_of(kIntegers, held);
  const bool is_wide = is_one_of(kWideIntegers, held);
  const bool is_real = held == "FLOAT" || held == "DOUBLE";
  const bool is_decimal = held.starts_with("DECIMAL");
  const bool is_name = held == "UUID" || held.starts_with("ENUM");
  switch (column.type) {
    case Type::kInteger:
      if (is_integer || held == "BOOLEAN") return fmt::format("CAST({} AS BIGINT)", name);
      if (is_wide) return fmt::format("TRY_CAST({} AS BIGINT)", name);
      if (is_decimal) return fmt::format("CASE WHEN {0} = floor({0}) THEN TRY_CAST({0} AS BIGINT) END", name);
      if (is_real) {
        return fmt::format(
            "CASE WHEN abs({0}) <= 9007199254740992 AND floor({0}) = {0} THEN TRY_CAST({0} AS BIGINT) END", name);
      }
      return "";
    case Type::kNumber:
      if (held == "DOUBLE") return normalised(name);
      if (is_real) return normalised(fmt::format("CAST({} AS DOUBLE)", name));
      if (is_integer || is_wide || is_decimal) return normalised(fmt::format("TRY_CAST({} AS DOUBLE)", name));
      return "";
    case Type::kText:
      if (held == "VARCHAR") return fmt::format("CASE WHEN strlen({0}) <= {1} THEN {0} END", name, kMaxText);
      return is_integer || is_wide || is_name || held == "BOOLEAN" ? fmt::format("CAST({} AS VARCHAR)", name) : "";
    case Type::kDate:
      if (held == "DATE") return days_since_1970(name);
      if (held.starts_with("TIMESTAMP")) return days_since_1970(fmt::format("TRY_CAST({} AS DATE)", name));
      return held == "VARCHAR" ? date_of(name) : "";
    case Type::kTruth:
      if (held == "BOOLEAN") return name;
      return is_integer ? fmt::format("CASE {} WHEN 0 THEN FALSE WHEN 1 THEN TRUE END", name) : "";
  }
  return "";
}

bool DuckdbDialect::is_never_null(const Scan& scan, const std::string& column) const {
  const auto table = find_table(tables_, scan);
  if (!table) return false;
  // A number or a date that does not fit becomes NULL when it is read.
  const PlacedColumn& placed = find_column(*table.value(), column);
  return placed.never_null && placed.type == Type::kInteger && is_plain_integer(placed.held);
}

Result<std::string> DuckdbDialect::scan(const Scan& scan) const {
  NF_TRY(const PlacedTable* const table, find_table(tables_, scan));
  std::vector<std::string> selected;
  for (const NamedColumn& column : scan.columns) {
    const std::string value = table->is_fitted ? quoted_name(column.name) : cell(find_column(*table, column.name));
    selected.push_back(fmt::format("{} AS c{}", value, selected.size()));
  }
  if (selected.empty()) selected.emplace_back("1 AS c0");
  return fmt::format("SELECT {} FROM {}", fmt::join(selected, ", "), table->from);
}

}  // namespace noisefloor::engine
