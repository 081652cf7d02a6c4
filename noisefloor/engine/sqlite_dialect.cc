#include "noisefloor/engine/sqlite_dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "noisefloor/engine/sqlite_functions.h"

namespace noisefloor::engine {
namespace {

using Arguments = std::vector<SqlArgument>;

std::string joined(const Arguments& arguments, std::string_view by, std::size_t from = 0) {
  std::vector<std::string> texts;
  for (std::size_t i = from; i < arguments.size(); ++i) texts.push_back(arguments[i].sql);
  return fmt::format("{}", fmt::join(texts, by));
}

std::string_view comparison_sign(Function function) {
  switch (function) {
    case Function::kEqual:
      return "=";
    case Function::kNotEqual:
      return "<>";
    case Function::kLess:
      return "<";
    case Function::kLessOrEqual:
      return "<=";
    case Function::kGreater:
      return ">";
    case Function::kGreaterOrEqual:
      return ">=";
    default:
      return "";
  }
}

}  // namespace

std::string SqliteDialect::constant(const Expression& e) const {
  if (const auto* whole = std::get_if<std::int64_t>(&e.value)) {
    // Read as a positive number that is negated afterwards, the lowest one would become a REAL.
    if (*whole == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807 - 1)";
    return *whole < 0 ? fmt::format("({})", *whole) : fmt::format("{}", *whole);
  }
  // SQLite does not round all decimals correctly.
  if (const auto* x = std::get_if<double>(&e.value))
    return fmt::format("nf_double({})", std::bit_cast<std::int64_t>(*x));
  if (const auto* truth = std::get_if<bool>(&e.value)) return *truth ? "1" : "0";
  if (const auto* text = std::get_if<std::string>(&e.value)) return quoted_text(*text);
  return "NULL";
}

std::string SqliteDialect::call(const Expression& e, const Arguments& given) const {
  const bool among_numbers =
      e.type == Type::kNumber ||
      std::ranges::any_of(e.arguments, [](const Expression& argument) { return argument.type == Type::kNumber; });
  const auto is_comparison = !comparison_sign(e.function).empty() || e.function == Function::kIn;
  const auto is_choice = e.function == Function::kCase || e.function == Function::kCoalesce;
  Arguments a = given;
  if ((is_comparison && among_numbers) || (is_choice && e.type == Type::kNumber)) {
    for (SqlArgument& argument : a) {
      if (argument.expression->type == Type::kInteger) argument.sql = fmt::format("CAST({} AS REAL)", argument.sql);
    }
  }
  const bool is_whole = e.type == Type::kInteger || e.type == Type::kDate;
  switch (e.function) {
    case Function::kAdd:
      if (is_whole) return fmt::format("({})", joined(a, " + "));
      break;
    case Function::kSubtract:
      if (is_whole) return fmt::format("({})", joined(a, " - "));
      break;
    case Function::kMultiply:
      if (is_whole) return fmt::format("({})", joined(a, " * "));
      break;
    case Function::kEqual:
    case Function::kNotEqual:
    case Function::kLess:
    case Function::kLessOrEqual:
    case Function::kGreater:
    case Function::kGreaterOrEqual:
      return fmt::format("({} {} {})", a[0].sql, comparison_sign(e.function), a[1].sql);
    case Function::kIn:
      return fmt::format("({} IN ({}))", a[0].sql, joined(a, ", ", 1));
    case Function::kAnd:
      return fmt::format("({})", joined(a, " AND "));
    case Function::kOr:
      return fmt::format("({})", joined(a, " OR "));
    case Function::kNot:
      return fmt::format("(NOT {})", a[0].sql);
    case Function::kIsNull:
      return fmt::format("({} IS NULL)", a[0].sql);
    case Function::kCase: {
      std::string text = "CASE";
      for (std::size_t i = 0; i + 1 < a.size(); i += 2) text += fmt::format(" WHEN {} THEN {}", a[i].sql, a[i + 1].sql);
      return fmt::format("{} ELSE {} END", text, a.back().sql);
    }
    case Function::kCoalesce:
      if (a.size() == 1) return fmt::format("({})", a[0].sql);
      return fmt::format("coalesce({})", joined(a, ", "));
    case Function::kLeast:
    case Function::kGreatest:
      if (is_whole && a.size() > 1) {
        return fmt::format("{}({})", e.function == Function::kLeast ? "min" : "max", joined(a, ", "));
      }
      break;
    case Function::kSteps:
      if (is_whole_clamp(e)) {
        return fmt::format("min(max({}, {}), {})", a[0].sql,
                           static_cast<std::int64_t>(std::get<double>(e.arguments[1].value)),
                           static_cast<std::int64_t>(std::get<double>(e.arguments[2].value)));
      }
      break;
    default:
      break;
  }
  return fmt::format("{}({})", sqlite_function(e.function, e.type), joined(a, ", "));
}

Result<std::string> SqliteDialect::scan(const Scan& scan) const {
  NF_TRY(const PlacedTable* const table, find_table(tables_, scan));
  std::vector<std::string> selected;
  for (const NamedColumn& column : scan.columns) {
    const std::string name = quoted_name(column.name);
    std::string cell = name;
    if (!table->is_fitted) {
      // A column of SQLite may hold anything. These forms also have no collation and no affinity.
      switch (column.type) {
        case Type::kInteger:
          cell = fmt::format("CASE WHEN typeof({0}) = 'integer' THEN {0} END", name);
          break;
        case Type::kNumber:
          cell = fmt::format("nf_number({})", name);
          break;
        case Type::kText:
          cell = fmt::format("nf_text({})", name);
          break;
        case Type::kDate:
          cell = fmt::format("nf_day({})", name);
          break;
        case Type::kTruth:
          cell = fmt::format("CASE WHEN typeof({0}) = 'integer' AND {0} IN (0, 1) THEN {0} END", name);
          break;
      }
    }
    selected.push_back(fmt::format("{} AS c{}", cell, selected.size()));
  }
  if (selected.empty()) selected.emplace_back("1 AS c0");
  return fmt::format("SELECT {} FROM {}", fmt::join(selected, ", "), table->from);
}

std::string SqliteDialect::saturated_sum(const std::string& column) const { return fmt::format("nf_sum({})", column); }

std::string SqliteDialect::exact_sum(const std::string& column, bool is_small) const {
  return is_small ? fmt::format("CAST(sum({}) AS TEXT)", column) : fmt::format("nf_exact_sum({})", column);
}

std::string SqliteDialect::fenced(const std::string& select) const {
  return fmt::format("WITH m AS MATERIALIZED ({}) SELECT * FROM m", select);
}

}  // namespace noisefloor::engine
