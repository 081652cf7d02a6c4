#include "noisefloor/engine/evaluate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <limits>
#include <utility>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/base/printable.h"
#include "noisefloor/engine/days.h"
#include "noisefloor/engine/text_functions.h"

namespace noisefloor::engine {
namespace {

using Values = std::span<const Value>;

constexpr double kLargestExponent = 346;  // exp(346) is beyond the numbers, exp(-346) is 0 among them

bool is_null(const Value& value) { return std::holds_alternative<std::monostate>(value); }

Value number(std::optional<double> value) { return value ? Value(*value) : Value(); }
Value number(double value) { return number(normal(value)); }
template <class T>
Value maybe(std::optional<T> value) {
  return value ? Value(std::move(*value)) : Value();
}

double as_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::get<double>(value);
}

Value integer_arithmetic(Function function, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool overflow = function == Function::kAdd        ? __builtin_add_overflow(a, b, &result)
                        : function == Function::kSubtract ? __builtin_sub_overflow(a, b, &result)
                                                          : __builtin_mul_overflow(a, b, &result);
  return overflow ? Value() : Value(result);
}

Value arithmetic(Function function, Type type, const Value& a, const Value& b) {
  if (type != Type::kNumber) return integer_arithmetic(function, std::get<std::int64_t>(a), std::get<std::int64_t>(b));
  const double x = as_number(a);
  const double y = as_number(b);
  if (function == Function::kAdd) return number(x + y);
  return number(function == Function::kSubtract ? x - y : x * y);
}

Value modulo(std::int64_t a, std::int64_t b) {
  if (b == 0) return {};
  return b == -1 ? std::int64_t{0} : a % b;
}

Value power(double x, double y) {
  if (x == 0) return y < 0 ? Value() : Value(y == 0 ? 1.0 : 0.0);
  if (x < 0 && y != std::floor(y)) return {};
  const double exponent = y * std::log(std::fabs(x));
  if (exponent > kLargestExponent) return {};
  return exponent < -kLargestExponent ? Value(0.0) : number(std::pow(x, y));
}

Value exponential(double x) {
  if (x > kLargestExponent) return {};
  return x < -kLargestExponent ? Value(0.0) : number(std::exp(x));
}

Value of_integer(Function function, std::int64_t x) {
  const bool negated = function == Function::kNegate || (function == Function::kAbsolute && x < 0);
  if (!negated) return x;
  return x == std::numeric_limits<std::int64_t>::min() ? Value() : Value(-x);
}

Value of_number(Function function, double x) {
  switch (function) {
    case Function::kNegate:
      return number(-x);
    case Function::kAbsolute:
      return number(std::fabs(x));
    case Function::kFloor:
      return number(std::floor(x));
    case Function::kCeiling:
      return number(std::ceil(x));
    case Function::kRound:
      return number(std::floor(x + 0.5));
    case Function::kSqrt:
      return x < 0 ? Value() : number(std::sqrt(x));
    case Function::kLn:
      return x <= 0 ? Value() : number(std::log(x));
    default:
      return exponential(x);
  }
}

Value one_number(Function function, Type type, const Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (whole != nullptr && type == Type::kInteger) return of_integer(function, *whole);
  return of_number(function, as_number(value));
}

std::strong_ordering compare_values(const Value& a, const Value& b) {
  if (const auto* text = std::get_if<std::string>(&a)) {
    return text->compare(std::get<std::string>(b)) <=> 0;  // by unsigned bytes
  }
  if (const auto* truth = std::get_if<bool>(&a)) return *truth <=> std::get<bool>(b);
  if (std::holds_alternative<std::int64_t>(a) && std::holds_alternative<std::int64_t>(b)) {
    return std::get<std::int64_t>(a) <=> std::get<std::int64_t>(b);
  }
  const double x = as_number(a);
  const double y = as_number(b);
  return x < y ? std::strong_ordering::less : x > y ? std::strong_ordering::greater : std::strong_ordering::equal;
}

bool comparison(Function function, const Value& a, const Value& b) {
  const std::strong_ordering order = compare_values(a, b);
  switch (function) {
    case Function::kEqual:
      return order == 0;
    case Function::kNotEqual:
      return order != 0;
    case Function::kLess:
      return order < 0;
    case Function::kLessOrEqual:
      return order <= 0;
    case Function::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

// AND: a false argument decides, then NULL. OR: a true argument decides, then NULL.
Value junction(bool decides, Values arguments) {
  bool unknown = false;
  for (const Value& value : arguments) {
    if (is_null(value)) {
      unknown = true;
    } else if (std::get<bool>(value) == decides) {
      return decides;
    }
  }
  return unknown ? Value() : Value(!decides);
}

// The value in the type of the call: an integer among numbers becomes one.
Value become(Type type, Value value) {
  if (type == Type::kNumber && std::holds_alternative<std::int64_t>(value)) return as_number(value);
  return value;
}

Value extreme(Function function, Type type, Values arguments) {
  std::optional<Value> best;
  for (const Value& argument : arguments) {
    Value value = become(type, argument);
    if (!best || (function == Function::kLeast ? compare_values(value, *best) < 0 : compare_values(value, *best) > 0)) {
      best = std::move(value);
    }
  }
  return *best;
}

Value choose(Type type, Values arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (!is_null(arguments[i]) && std::get<bool>(arguments[i])) return become(type, arguments[i + 1]);
  }
  return become(type, arguments.back());
}

Value to_number(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return maybe(parse_cell_number(*text));
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1.0 : 0.0;
  return as_number(value);
}

Value to_integer(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return maybe(parse_cell_integer(*text));
  if (const auto* truth = std::get_if<bool>(&value)) return std::int64_t{*truth ? 1 : 0};
  const auto* x = std::get_if<double>(&value);
  if (x == nullptr) return value;
  return std::fabs(*x) <= kWholeNumbers && std::floor(*x) == *x ? Value(static_cast<std::int64_t>(*x)) : Value();
}

Value to_date(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? value : maybe(parse_date(*text));
}

Value concatenate(Values arguments) {
  std::string whole;
  for (const Value& value : arguments) {
    whole += std::get<std::string>(value);
    if (whole.size() > kMaxText) return {};
  }
  return whole;
}

Value steps(Values arguments) {
  const double x = as_number(arguments[0]);
  const double lower = std::get<double>(arguments[1]);
  const double upper = std::get<double>(arguments[2]);
  const double clamped = x < lower ? lower : x > upper ? upper : x;
  return static_cast<std::int64_t>(std::floor(clamped / std::get<double>(arguments[3]) + 0.5));
}

Value of_text(Function function, Values arguments) {
  const auto& text = std::get<std::string>(arguments[0]);
  switch (function) {
    case Function::kLength:
      return static_cast<std::int64_t>(characters_of(text));
    case Function::kLower:
      return lower_ascii(text);
    case Function::kUpper:
      return upper_ascii(text);
    case Function::kTrim:
      return std::string(trimmed(text));
    case Function::kLike:
      return is_like(text, std::get<std::string>(arguments[1]));
    default:
      return std::string(substring(text, static_cast<std::size_t>(std::get<std::int64_t>(arguments[1])),
                                   static_cast<std::size_t>(std::get<std::int64_t>(arguments[2]))));
  }
}

// Functions that are NULL if an argument is NULL.
Value strict(Function function, Type type, Values a) {
  switch (function) {
    case Function::kAdd:
    case Function::kSubtract:
    case Function::kMultiply:
      return arithmetic(function, type, a[0], a[1]);
    case Function::kDivide: {
      const double by = as_number(a[1]);
      return by == 0 ? Value() : number(as_number(a[0]) / by);
    }
    case Function::kModulo:
      return modulo(std::get<std::int64_t>(a[0]), std::get<std::int64_t>(a[1]));
    case Function::kPower:
      return power(as_number(a[0]), as_number(a[1]));
    case Function::kNegate:
    case Function::kAbsolute:
    case Function::kFloor:
    case Function::kCeiling:
    case Function::kRound:
    case Function::kSqrt:
    case Function::kLn:
    case Function::kExp:
      return one_number(function, type, a[0]);
    case Function::kLeast:
    case Function::kGreatest:
      return extreme(function, type, a);
    case Function::kEqual:
    case Function::kNotEqual:
    case Function::kLess:
    case Function::kLessOrEqual:
    case Function::kGreater:
    case Function::kGreaterOrEqual:
      return comparison(function, a[0], a[1]);
    case Function::kNot:
      return !std::get<bool>(a[0]);
    case Function::kIn:
      return std::ranges::any_of(a.subspan(1), [&](const Value& v) { return compare_values(a[0], v) == 0; });
    case Function::kToNumber:
      return to_number(a[0]);
    case Function::kToInteger:
      return to_integer(a[0]);
    case Function::kToText:
      return std::to_string(std::get<std::int64_t>(a[0]));
    case Function::kLength:
    case Function::kLower:
    case Function::kUpper:
    case Function::kTrim:
    case Function::kLike:
    case Function::kSubstring:
      return of_text(function, a);
    case Function::kConcatenate:
      return concatenate(a);
    case Function::kDateTrunc:
      return maybe(truncated_date(std::get<std::string>(a[0]), std::get<std::int64_t>(a[1])));
    case Function::kDatePart:
      return maybe(date_part(std::get<std::string>(a[0]), std::get<std::int64_t>(a[1])));
    case Function::kToDate:
      return to_date(a[0]);
    case Function::kSteps:
      return steps(a);
    default:
      NF_UNREACHABLE("the other functions are not strict");
  }
}

bool reads_columns(const Expression& e) {
  return e.function == Function::kColumn || std::ranges::any_of(e.arguments, reads_columns);
}

}  // namespace

std::optional<double> normal(double x) {
  const double magnitude = std::fabs(x);
  if (!(magnitude <= kLargestNumber)) return std::nullopt;  // NaN too
  return magnitude < kSmallestNumber ? 0.0 : x;
}

bool is_text(std::string_view cell) {
  if (cell.size() > kMaxText) return false;
  if (std::ranges::all_of(cell, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return true;
  while (!cell.empty()) {
    const TextCharacter next = next_character(cell);
    if (!next.code) return false;
    cell.remove_prefix(next.bytes);
  }
  return true;
}

Value fitted(Type type, Value value) {
  switch (type) {
    case Type::kInteger:
      return std::holds_alternative<std::int64_t>(value) ? value : Value();
    case Type::kNumber:
      if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
      if (const auto* x = std::get_if<double>(&value)) return number(*x);
      return {};
    case Type::kText: {
      const auto* text = std::get_if<std::string>(&value);
      return text != nullptr && is_text(*text) ? value : Value();
    }
    case Type::kDate: {
      const auto* days = std::get_if<std::int64_t>(&value);
      return days != nullptr && is_date(*days) ? value : Value();
    }
    case Type::kTruth:
      return std::holds_alternative<bool>(value) ? value : Value();
  }
  return {};
}

Value parse_cell(Type type, std::string_view cell) {
  if (cell.empty()) return {};
  switch (type) {
    case Type::kInteger: {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      return error == std::errc() && end == cell.data() + cell.size() ? Value(value) : Value();
    }
    case Type::kNumber: {
      double value = 0;
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
      return error == std::errc() && end == cell.data() + cell.size() ? number(value) : Value();
    }
    case Type::kText:
      return is_text(cell) ? Value(std::string(cell)) : Value();
    case Type::kDate:
      return maybe(parse_date(cell));
    case Type::kTruth: {
      const std::string word = lower_ascii(cell);
      if (word == "true" || word == "t" || word == "1") return true;
      return word == "false" || word == "f" || word == "0" ? Value(false) : Value();
    }
  }
  return {};
}

std::strong_ordering compare(const Value& a, const Value& b) {
  if (is_null(a) || is_null(b)) return is_null(a) <=> is_null(b);  // NULL comes last
  return compare_values(a, b);
}

std::optional<double> parse_cell_number(std::string_view text) {
  std::string_view rest = text;
  const auto take = [&](std::size_t most) {
    std::size_t count = 0;
    while (count < rest.size() && rest[count] >= '0' && rest[count] <= '9') ++count;
    rest.remove_prefix(std::min(count, most));
    return count <= most ? std::optional(count) : std::nullopt;
  };
  const auto take_sign = [&] {
    if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
  };
  take_sign();
  const auto whole = take(15);
  std::optional<std::size_t> fraction = 0;
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    fraction = take(15);
  }
  if (!whole || !fraction || *whole + *fraction == 0) return std::nullopt;
  if (!rest.empty() && (rest[0] == 'e' || rest[0] == 'E')) {
    rest.remove_prefix(1);
    take_sign();
    const auto exponent = take(2);
    if (!exponent || *exponent == 0) return std::nullopt;
  }
  if (!rest.empty()) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);  // from_chars takes none
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? normal(value) : std::nullopt;
}

std::optional<std::int64_t> parse_cell_integer(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return text[0] == '-' ? -value : value;
}

Value apply(Function function, Type type, std::span<const Value> arguments) {
  switch (function) {
    case Function::kAnd:
      return junction(false, arguments);
    case Function::kOr:
      return junction(true, arguments);
    case Function::kIsNull:
      return is_null(arguments[0]);
    case Function::kCase:
      return choose(type, arguments);
    case Function::kCoalesce: {
      const auto first = std::ranges::find_if_not(arguments, is_null);
      return first == arguments.end() ? Value() : become(type, *first);
    }
    default:
      return std::ranges::any_of(arguments, is_null) ? Value() : strict(function, type, arguments);
  }
}

Value evaluate(const Expression& expression, const Lookup& row) {
  if (expression.function == Function::kConstant) return expression.value;
  if (expression.function == Function::kColumn) return row(expression.name);
  std::vector<Value> arguments;
  arguments.reserve(expression.arguments.size());
  for (const Expression& argument : expression.arguments) arguments.push_back(evaluate(argument, row));
  return apply(expression.function, expression.type, arguments);
}

Expression folded(const Expression& expression) {
  if (expression.function == Function::kConstant || expression.function == Function::kColumn) return expression;
  if (!reads_columns(expression)) {
    return {.function = Function::kConstant,
            .type = expression.type,
            .value = evaluate(expression, [](std::string_view) { return Value(); })};
  }
  Expression result = expression;
  for (Expression& argument : result.arguments) argument = folded(argument);
  return result;
}

}  // namespace noisefloor::engine
