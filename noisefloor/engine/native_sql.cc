#include "noisefloor/engine/native_sql.h"

#include <fmt/format.h>

#include <algorithm>

#include "noisefloor/base/check.h"
#include "noisefloor/engine/days.h"
#include "noisefloor/engine/evaluate.h"

namespace noisefloor::engine {
namespace {

constexpr const char* kIntegerPattern = "^[-+]?[0-9]{1,18}$";
constexpr const char* kNumberPattern = "^[-+]?([0-9]{1,15}([.][0-9]{0,15})?|[.][0-9]{1,15})([eE][-+]?[0-9]{1,2})?$";

using Arguments = std::vector<SqlArgument>;

std::string joined(const Arguments& arguments, std::string_view by) {
  std::vector<std::string> texts;
  for (const SqlArgument& argument : arguments) texts.push_back(argument.sql);
  return fmt::format("({})", fmt::join(texts, by));
}

std::string_view sign_of(Function function) {
  switch (function) {
    case Function::kAdd:
      return "+";
    case Function::kSubtract:
      return "-";
    case Function::kMultiply:
      return "*";
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
    default:
      return ">=";
  }
}

std::string word_of(const Expression& e) { return std::get<std::string>(e.value); }

// Without this, an engine's LEAST and GREATEST pass over NULL.
std::string none_missing(const Arguments& arguments) {
  std::vector<std::string> tests;
  for (const SqlArgument& argument : arguments) {
    if (argument.expression->function != Function::kConstant) tests.push_back(argument.sql + " IS NOT NULL");
  }
  if (tests.empty()) return "TRUE";
  return fmt::format("{}", fmt::join(tests, " AND "));
}

bool is_missing(const Expression& e) {
  return e.function == Function::kConstant && std::holds_alternative<std::monostate>(e.value);
}

}  // namespace

std::string NativeSql::constant(const Expression& e) const {
  const std::string type = type_name(e.type);
  if (is_missing(e)) return fmt::format("CAST(NULL AS {})", type);
  if (const auto* truth = std::get_if<bool>(&e.value)) return *truth ? "TRUE" : "FALSE";
  if (const auto* whole = std::get_if<std::int64_t>(&e.value)) return typed(e.type, std::to_string(*whole));
  if (const auto* x = std::get_if<double>(&e.value)) return typed(e.type, decimal_of(*x));
  return typed(e.type, std::get<std::string>(e.value));
}

bool NativeSql::repeats_arguments(const Expression& e) const {
  switch (e.function) {
    case Function::kModulo:
    case Function::kPower:
    case Function::kSqrt:
    case Function::kLn:
    case Function::kExp:
    case Function::kLeast:
    case Function::kGreatest:
    case Function::kConcatenate:
    case Function::kDateTrunc:
    case Function::kDatePart:
    case Function::kSteps:
      return true;
    case Function::kToInteger:
      return e.arguments[0].type == Type::kNumber || e.arguments[0].type == Type::kText;
    case Function::kToNumber:
      return e.arguments[0].type == Type::kText;
    case Function::kToDate:
      return e.arguments[0].type == Type::kText;
    default:
      return false;
  }
}

bool NativeSql::leaves_range(const Expression& e) const {
  switch (e.function) {
    case Function::kAdd:
    case Function::kSubtract:
    case Function::kMultiply:
    case Function::kDivide:
    case Function::kPower:
    case Function::kExp:
      return e.type == Type::kNumber;
    default:
      return false;
  }
}

std::string NativeSql::normalised(const std::string& x) const {
  return fmt::format("CASE WHEN abs({0}) <= {1} THEN CASE WHEN abs({0}) < {2} THEN {3} ELSE {0} END END", x,
                     typed(Type::kNumber, decimal_of(kLargestNumber)),
                     typed(Type::kNumber, decimal_of(kSmallestNumber)), typed(Type::kNumber, "0"));
}

std::string NativeSql::saturated_sum(const std::string& column) const {
  const std::string wide = wide_type();
  return fmt::format(
      "CASE WHEN count({0}) > 0 THEN CAST(least(greatest(CAST(sum({0}) AS {1}), CAST('-9223372036854775808' AS {1})), "
      "CAST('9223372036854775807' AS {1})) AS {2}) END",
      column, wide, type_name(Type::kInteger));
}

std::string NativeSql::call(const Expression& e, const Arguments& given) const {
  // Integers among numbers become numbers.
  const bool among_numbers =
      e.type == Type::kNumber || (e.type == Type::kTruth && std::ranges::any_of(e.arguments, [](const Expression& a) {
                                    return a.type == Type::kNumber;
                                  }));
  const bool keeps_integers = e.function == Function::kToNumber || e.function == Function::kIsNull;
  Arguments a = given;
  for (SqlArgument& argument : a) {
    if (among_numbers && !keeps_integers && argument.expression->type == Type::kInteger) {
      argument.sql = fmt::format("CAST({} AS {})", argument.sql, type_name(Type::kNumber));
    }
  }
  const auto number = [&](double x) { return typed(Type::kNumber, decimal_of(x)); };
  const auto dates = [&](const std::string& days, const std::string& value) {
    return fmt::format("CASE WHEN {0} BETWEEN {1} AND {2} THEN {3} END", days,
                       typed(Type::kInteger, std::to_string(kFirstDay)),
                       typed(Type::kInteger, std::to_string(kLastDay)), value);
  };
  const auto safe_days = [&](const std::string& days) {
    return fmt::format("CAST(CASE WHEN {0} BETWEEN {1} AND {2} THEN {0} ELSE 0 END AS integer)", days, kFirstDay,
                       kLastDay);
  };
  switch (e.function) {
    case Function::kColumn:
    case Function::kConstant:
      break;
    case Function::kAdd:
    case Function::kSubtract:
    case Function::kMultiply:
      return fmt::format("({} {} {})", a[0].sql, sign_of(e.function), a[1].sql);
    case Function::kDivide:
      return fmt::format("({} / NULLIF({}, {}))", a[0].sql, a[1].sql, number(0));
    case Function::kModulo:
      return modulo(a[0].sql, a[1].sql);
    case Function::kNegate:
      if (e.type == Type::kNumber) return fmt::format("({} - {})", number(0), a[0].sql);
      return fmt::format("(- {})", a[0].sql);
    case Function::kAbsolute:
      return fmt::format("abs({})", a[0].sql);
    case Function::kFloor:
      return e.type == Type::kNumber ? fmt::format("floor({})", a[0].sql) : fmt::format("({})", a[0].sql);
    case Function::kCeiling:
      if (e.type != Type::kNumber) return fmt::format("({})", a[0].sql);
      return fmt::format("(ceil({}) + {})", a[0].sql, number(0));
    case Function::kRound:
      if (e.type != Type::kNumber) return fmt::format("({})", a[0].sql);
      return fmt::format("floor({} + {})", a[0].sql, number(0.5));
    case Function::kSqrt:
      return fmt::format("sqrt(CASE WHEN {0} >= {1} THEN {0} END)", a[0].sql, number(0));
    case Function::kLn:
      return fmt::format("ln(CASE WHEN {0} > {1} THEN {0} END)", a[0].sql, number(0));
    case Function::kExp:
      return fmt::format("CASE WHEN {0} < {1} THEN {2} ELSE exp(CASE WHEN {0} BETWEEN {1} AND {3} THEN {0} END) END",
                         a[0].sql, number(-346), number(0), number(346));
    case Function::kPower: {
      const std::string base = fmt::format("CASE WHEN {0} > {2} OR ({0} < {2} AND floor({1}) = {1}) THEN {0} END",
                                           a[0].sql, a[1].sql, number(0));
      const std::string exponent =
          fmt::format("({1} * ln(CASE WHEN {0} <> {2} THEN abs({0}) END))", a[0].sql, a[1].sql, number(0));
      return fmt::format(
          "CASE WHEN {0} = {2} THEN CASE WHEN {1} < {2} THEN NULL WHEN {1} = {2} THEN {3} WHEN {1} > {2} THEN {2} END "
          "WHEN {0} < {2} AND floor({1}) <> {1} THEN NULL WHEN {4} < {5} THEN {2} "
          "ELSE power(CASE WHEN {4} BETWEEN {5} AND {6} THEN {7} END, "
          "CASE WHEN {4} BETWEEN {5} AND {6} THEN {1} END) END",
          a[0].sql, a[1].sql, number(0), number(1), exponent, number(-346), number(346), base);
    }
    case Function::kLeast:
    case Function::kGreatest: {
      if (std::ranges::any_of(e.arguments, is_missing)) return fmt::format("CAST(NULL AS {})", type_name(e.type));
      std::vector<std::string> texts;
      for (const SqlArgument& x : a) texts.push_back(e.type == Type::kText ? by_bytes(x.sql) : x.sql);
      return fmt::format("CASE WHEN {} THEN {}({}) END", none_missing(a),
                         e.function == Function::kLeast ? "least" : "greatest", fmt::join(texts, ", "));
    }
    case Function::kEqual:
    case Function::kNotEqual:
    case Function::kLess:
    case Function::kLessOrEqual:
    case Function::kGreater:
    case Function::kGreaterOrEqual:
      return fmt::format("({} {} {})", e.arguments[0].type == Type::kText ? by_bytes(a[0].sql) : a[0].sql,
                         sign_of(e.function), a[1].sql);
    case Function::kAnd:
      return joined(a, " AND ");
    case Function::kOr:
      return joined(a, " OR ");
    case Function::kNot:
      return fmt::format("(NOT {})", a[0].sql);
    case Function::kIsNull:
      return fmt::format("({} IS NULL)", a[0].sql);
    case Function::kIn: {
      std::vector<std::string> list;
      for (std::size_t i = 1; i < a.size(); ++i) list.push_back(a[i].sql);
      return fmt::format("({} IN ({}))", e.arguments[0].type == Type::kText ? by_bytes(a[0].sql) : a[0].sql,
                         fmt::join(list, ", "));
    }
    case Function::kLike:
      return like(by_bytes(a[0].sql), a[1].sql);
    case Function::kCase: {
      std::string text = "CASE";
      for (std::size_t i = 0; i + 1 < a.size(); i += 2) text += fmt::format(" WHEN {} THEN {}", a[i].sql, a[i + 1].sql);
      return fmt::format("{} ELSE {} END", text, a.back().sql);
    }
    case Function::kCoalesce:
      return fmt::format("coalesce{}", joined(a, ", "));
    case Function::kToNumber: {
      const Type from = e.arguments[0].type;
      if (from == Type::kNumber) return fmt::format("({})", a[0].sql);
      if (from == Type::kTruth) {
        return fmt::format("CASE {} WHEN TRUE THEN {} WHEN FALSE THEN {} END", a[0].sql, number(1), number(0));
      }
      if (from != Type::kText) return fmt::format("CAST({} AS {})", a[0].sql, type_name(Type::kNumber));
      return fmt::format("CASE WHEN {} THEN {} + {} END", matches(a[0].sql, kNumberPattern), number_of(a[0].sql),
                         number(0));
    }
    case Function::kToInteger: {
      const Type from = e.arguments[0].type;
      if (from == Type::kInteger) return fmt::format("({})", a[0].sql);
      if (from == Type::kTruth) {
        return fmt::format("CASE {} WHEN TRUE THEN {} WHEN FALSE THEN {} END", a[0].sql, typed(Type::kInteger, "1"),
                           typed(Type::kInteger, "0"));
      }
      if (from == Type::kText) {
        return fmt::format("CASE WHEN {} THEN {} END", matches(a[0].sql, kIntegerPattern), integer_of(a[0].sql));
      }
      return fmt::format("CASE WHEN abs({0}) <= {1} AND floor({0}) = {0} THEN {2} END", a[0].sql, number(kWholeNumbers),
                         whole_of(a[0].sql));
    }
    case Function::kToText:
      return fmt::format("CAST({} AS {})", a[0].sql, type_name(Type::kText));
    case Function::kLength:
      return fmt::format("CAST({} AS {})", characters_of(a[0].sql), type_name(Type::kInteger));
    case Function::kLower:
      return fmt::format("translate({}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')", a[0].sql);
    case Function::kUpper:
      return fmt::format("translate({}, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')", a[0].sql);
    case Function::kTrim:
      return trimmed(a[0].sql);
    case Function::kConcatenate: {
      std::vector<std::string> lengths;
      for (const SqlArgument& x : a) lengths.push_back(bytes_of(x.sql));
      return fmt::format("CASE WHEN {} <= {} THEN {} END", fmt::join(lengths, " + "), kMaxText, joined(a, " || "));
    }
    case Function::kSubstring:
      return fmt::format("substr({}, {}, {})", a[0].sql, std::get<std::int64_t>(e.arguments[1].value),
                         std::get<std::int64_t>(e.arguments[2].value));
    case Function::kDateTrunc: {
      const std::string word = word_of(e.arguments[0]);
      return dates(a[1].sql, word == "day" ? a[1].sql : date_trunc(word, safe_days(a[1].sql)));
    }
    case Function::kDatePart:
      return dates(a[1].sql, date_part(word_of(e.arguments[0]), safe_days(a[1].sql)));
    case Function::kToDate:
      return e.arguments[0].type == Type::kText ? date_of(a[0].sql) : a[0].sql;
    case Function::kSteps: {
      const double lower = std::get<double>(e.arguments[1].value);
      const double upper = std::get<double>(e.arguments[2].value);
      if (is_whole_clamp(e)) {
        const auto whole = [&](double x) {
          return typed(Type::kInteger, std::to_string(static_cast<std::int64_t>(x)));
        };
        return fmt::format(
            "CASE WHEN {0} NOT BETWEEN {1} AND {2} THEN CASE WHEN {0} < {1} THEN {1} ELSE {2} END ELSE {0} END",
            a[0].sql, whole(lower), whole(upper));
      }
      const std::string x = e.arguments[0].type == Type::kNumber
                                ? a[0].sql
                                : fmt::format("CAST({} AS {})", a[0].sql, type_name(Type::kNumber));
      const std::string clamped = fmt::format("least(greatest({}, {}), {})", x, number(lower), number(upper));
      const std::string step =
          std::get<double>(e.arguments[3].value) == 1 ? clamped : fmt::format("{} / {}", clamped, a[3].sql);
      return fmt::format("CASE WHEN {} IS NOT NULL THEN {} END", a[0].sql,
                         whole_of(fmt::format("floor({} + {})", step, number(0.5))));
    }
  }
  NF_UNREACHABLE("columns and constants are no calls");
}

}  // namespace noisefloor::engine
