// Operators, logic, CASE and CAST.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/engine/days.h"
#include "noisefloor/engine/evaluate.h"
#include "noisefloor/query/bound.h"
#include "noisefloor/query/bound_parts.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Function;
using engine::Type;

constexpr Int128 kWhole = Int128{1} << 53;

bool is_numeric(const Bound& bound) { return bound.type() == Type::kInteger || bound.type() == Type::kNumber; }

Error overflow(std::string_view name) {
  return invalid_argument(
      fmt::format("the result of {} may leave 64 bits by the public bounds: bound its operands with least(…) and "
                  "greatest(…), or compute with CAST(… AS float8)",
                  name));
}

std::optional<double> constant_number(const Expression& expression) {
  if (!is_constant(expression)) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&expression.value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&expression.value)) return *number;
  return std::nullopt;
}

std::optional<Function> comparison(std::string_view name) {
  if (name == "=") return Function::kEqual;
  if (name == "<>") return Function::kNotEqual;
  if (name == "<") return Function::kLess;
  if (name == "<=") return Function::kLessOrEqual;
  if (name == ">") return Function::kGreater;
  if (name == ">=") return Function::kGreaterOrEqual;
  return std::nullopt;
}

Result<Bound> bind_comparison(Function function, std::vector<Bound> both) {
  NF_TRY_VOID(adapt_texts(both));
  if (is_null(both[0].expression) && is_null(both[1].expression))
    return Bound{.expression = engine::null_of(Type::kTruth)};
  NF_TRY(const Type type, common_type(both, "a comparison"));
  static_cast<void>(type);
  return made(function, Type::kTruth, {both[0].expression, both[1].expression}, both);
}

// The grid of a sum or product of numbers: that of the operands, where it is one.
std::optional<double> grid_of(std::string_view name, const Bound& a, const Bound& b) {
  const auto step = [](const Bound& each) {
    return each.type() == Type::kInteger ? std::optional<double>(1.0) : each.step;
  };
  if (name == "*") {
    if (const auto factor = constant_number(b.expression); factor.has_value() && *factor != 0 && step(a).has_value())
      return *step(a) * std::abs(*factor);
    if (const auto factor = constant_number(a.expression); factor.has_value() && *factor != 0 && step(b).has_value())
      return *step(b) * std::abs(*factor);
    return std::nullopt;
  }
  if (name != "+" && name != "-") return std::nullopt;
  const auto on_grid = [](const Bound& constant, std::optional<double> grid) {
    const auto value = constant_number(constant.expression);
    return value.has_value() && grid.has_value() && std::floor(*value / *grid) == *value / *grid;
  };
  if (on_grid(a, step(b))) return step(b);
  if (on_grid(b, step(a)) || step(a) == step(b)) return step(a);
  return std::nullopt;
}

Result<Bound> bind_integers(std::string_view name, const std::vector<Bound>& both) {
  const IntegerRange& a = both[0].integers;
  const IntegerRange& b = both[1].integers;
  std::vector<Expression> arguments{guarded(both[0]), guarded(both[1])};
  if (name == "/") {  // towards 0, as integers divide in PostgreSQL
    if (a.farthest() > kWhole || b.farthest() > kWhole)
      return invalid_argument(
          "the operands of / may exceed 2^53 by the public bounds: bound them with least(…) and greatest(…), or divide "
          "CAST(… AS float8)");
    const Expression number = normal_call(Function::kDivide, Type::kNumber, std::move(arguments));
    const Expression negative = normal_call(Function::kLess, Type::kTruth, {number, engine::constant(std::int64_t{0})});
    const Expression whole = normal_call(Function::kCase, Type::kNumber,
                                         {negative, normal_call(Function::kCeiling, Type::kNumber, {number}),
                                          normal_call(Function::kFloor, Type::kNumber, {number})});
    NF_TRY(Bound bound, made(Function::kToInteger, Type::kInteger, {whole}, both));
    bound.integers = quotient(a, b);
    bound.nullable = bound.nullable || b.holds(0);
    return bound;
  }
  const IntegerRange range = name == "+" ? a + b : name == "-" ? a - b : name == "*" ? a * b : remainder(a, b);
  if (!range.fits()) return overflow(name);
  const Function function = name == "+"   ? Function::kAdd
                            : name == "-" ? Function::kSubtract
                            : name == "*" ? Function::kMultiply
                                          : Function::kModulo;
  NF_TRY(Bound bound, made(function, Type::kInteger, std::move(arguments), both));
  bound.integers = range;
  bound.public_range = both[0].public_range && both[1].public_range;
  bound.nullable = bound.nullable || (name == "%" && b.holds(0));
  return bound;
}

Result<Bound> bind_numbers(std::string_view name, const std::vector<Bound>& both) {
  const NumberRange a = numbers_of(both[0]);
  const NumberRange b = numbers_of(both[1]);
  const Function function = name == "+"   ? Function::kAdd
                            : name == "-" ? Function::kSubtract
                            : name == "*" ? Function::kMultiply
                            : name == "/" ? Function::kDivide
                                          : Function::kPower;
  if (name == "%") return invalid_argument("% takes integers: convert with CAST(… AS integer)");
  NF_TRY(Bound bound, made(function, Type::kNumber, {guarded(both[0]), guarded(both[1])}, both));
  if (name == "+") bound.numbers = a + b;
  if (name == "-") bound.numbers = a - b;
  if (name == "*") bound.numbers = a * b;
  if (name == "/") bound.numbers = a / b;
  bound.step = grid_of(name, both[0], both[1]);
  bound.nullable = true;  // a result that is not finite is NULL
  return bound;
}

Result<std::optional<Bound>> bind_dates(std::string_view name, const std::vector<Bound>& both) {
  const Type a = both[0].type();
  const Type b = both[1].type();
  if (name == "-" && a == Type::kDate && b == Type::kDate) {
    NF_TRY(Bound bound, made(Function::kSubtract, Type::kInteger, {both[0].expression, both[1].expression}, both));
    bound.integers = both[0].integers - both[1].integers;
    bound.clamp = both[0].clamp || both[1].clamp;
    return std::optional<Bound>(std::move(bound));
  }
  if ((name == "+" || name == "-") && a == Type::kDate && b == Type::kInteger) {
    if (both[1].integers.farthest() > 10'000'000)
      return invalid_argument("a date moves by at most 10000000 days: bound the number of days with least(…)");
    const Function function = name == "+" ? Function::kAdd : Function::kSubtract;
    NF_TRY(Bound bound, made(function, Type::kDate, {both[0].expression, guarded(both[1])}, both));
    bound.integers =
        within(name == "+" ? both[0].integers + both[1].integers : both[0].integers - both[1].integers, any_day());
    bound.clamp = true;
    bound.nullable = true;
    return std::optional<Bound>(std::move(bound));
  }
  return std::optional<Bound>();
}

}  // namespace

Result<Bound> bind_operator(const std::string& name, std::vector<Bound> arguments) {
  if (arguments.size() == 1) {
    const Bound& only = arguments[0];
    if (!is_numeric(only)) return invalid_argument(fmt::format("- does not take {}", types_of(arguments)));
    const bool integer = only.type() == Type::kInteger;
    if (integer && !(-only.integers).fits()) return overflow("-");
    NF_TRY(Bound bound, made(Function::kNegate, only.type(), {guarded(only)}, arguments));
    bound.integers = -only.integers;
    bound.numbers = {-only.numbers.upper, -only.numbers.lower};
    bound.step = only.step;
    bound.whole = only.whole;
    bound.public_range = only.public_range;
    return bound;
  }
  if (const auto function = comparison(name); function.has_value())
    return bind_comparison(*function, std::move(arguments));
  if (name == "||") {
    static_cast<void>(common_type(arguments, "||"));
    NF_TRY(Bound bound,
           made(Function::kConcatenate, Type::kText, {arguments[0].expression, arguments[1].expression}, arguments));
    bound.key_length = std::min<std::uint64_t>(arguments[0].key_length + arguments[1].key_length, 4096);
    bound.nullable = true;
    return bound;
  }
  if (name == "+" && arguments[1].type() == Type::kDate) std::swap(arguments[0], arguments[1]);
  if (arguments[0].type() == Type::kDate) {
    if (name == "-" && arguments[1].type() == Type::kText) NF_TRY_VOID(adapt_texts(arguments));
    NF_TRY(std::optional<Bound> date, bind_dates(name, arguments));
    if (date.has_value()) return std::move(*date);
    return invalid_argument("dates take + and - with a number of days, and - with a date");
  }
  for (Bound& each : arguments)
    if (is_null(each.expression)) each.expression = engine::null_of(Type::kInteger);
  if (!is_numeric(arguments[0]) || !is_numeric(arguments[1]))
    return invalid_argument(fmt::format("{} does not take {}: convert with CAST", name, types_of(arguments)));
  const auto divisor = constant_number(arguments[1].expression);
  if ((name == "/" || name == "%") && divisor == 0.0)
    return invalid_argument(fmt::format("{} by the constant 0 has no value: write another divisor", name));
  const bool integers = arguments[0].type() == Type::kInteger && arguments[1].type() == Type::kInteger;
  if (integers && name != "^") return bind_integers(name, arguments);
  return bind_numbers(name, arguments);
}

Result<Bound> bind_logic(Term::Kind kind, std::vector<Bound> arguments) {
  if (kind == Term::Kind::kIsNull) {
    if (is_null(arguments[0].expression)) return bound_truth(true);
    if (!arguments[0].nullable) return bound_truth(false);
    NF_TRY(Bound bound, made(Function::kIsNull, Type::kTruth, {arguments[0].expression}, arguments));
    bound.nullable = false;
    return bound;
  }
  std::vector<Expression> operands;
  for (Bound& each : arguments) {
    if (is_null(each.expression)) each.expression = engine::null_of(Type::kTruth);
    if (each.type() != Type::kTruth)
      return invalid_argument(fmt::format(
          "AND, OR, NOT and WHERE take conditions, and not {}: compare it with something", types_of({each})));
    operands.push_back(each.expression);
  }
  const Function function = kind == Term::Kind::kAnd  ? Function::kAnd
                            : kind == Term::Kind::kOr ? Function::kOr
                                                      : Function::kNot;
  return made(function, Type::kTruth, std::move(operands), arguments);
}

Result<Bound> bind_in(std::vector<Bound> arguments) {
  if (arguments.size() < 2) return invalid_argument("IN takes at least one value");
  if (arguments.size() > 2000) return invalid_argument("IN takes at most 2000 values: join a public table instead");
  NF_TRY_VOID(adapt_texts(arguments));
  NF_TRY(const Type type, common_type(arguments, "IN"));
  static_cast<void>(type);
  std::vector<Expression> parts;
  bool constants = true;
  for (std::size_t i = 1; i < arguments.size(); ++i) constants = constants && is_constant(arguments[i].expression);
  if (constants) {
    parts.push_back(arguments[0].expression);
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      if (is_null(arguments[i].expression))
        return invalid_argument("NULL in a list after IN makes every other answer unknown: leave it out");
      parts.push_back(arguments[i].expression);
    }
    return made(Function::kIn, Type::kTruth, std::move(parts), arguments);
  }
  std::vector<Bound> equal;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    NF_TRY(Bound each, bind_comparison(Function::kEqual, {arguments[0], arguments[i]}));
    equal.push_back(std::move(each));
  }
  return bind_logic(Term::Kind::kOr, std::move(equal));
}

Result<Bound> bind_like(std::vector<Bound> arguments) {
  if (!is_constant(arguments[1].expression) || is_null(arguments[1].expression))
    return invalid_argument("the pattern of LIKE must be a text in quotes");
  const auto* pattern = std::get_if<std::string>(&arguments[1].expression.value);
  if (pattern != nullptr && pattern->find('\\') != std::string::npos)
    return invalid_argument("a backslash in a pattern of LIKE is not understood: % and _ are its only special signs");
  return made(Function::kLike, Type::kTruth, {arguments[0].expression, arguments[1].expression}, arguments);
}

Result<Bound> bind_case(std::vector<Bound> parts) {
  std::vector<Bound> values;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (i % 2 == 1 || i + 1 == parts.size()) values.push_back(parts[i]);
  NF_TRY_VOID(adapt_texts(values));
  NF_TRY(const Type type, common_type(values, "CASE"));
  std::vector<Expression> arguments;
  std::optional<Bound> all;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i % 2 == 0 && i + 1 != parts.size()) {
      if (is_null(parts[i].expression)) parts[i].expression = engine::null_of(Type::kTruth);
      arguments.push_back(parts[i].expression);
      continue;
    }
    const Bound& value = values[at++];
    arguments.push_back(guarded(value));
    if (is_null(value.expression)) continue;
    if (!all.has_value()) {
      all = value;
      all->numbers = numbers_of(value);
      if (value.type() == Type::kInteger) all->step = 1;
      continue;
    }
    all->integers = either(all->integers, value.integers);
    all->numbers = either(all->numbers, numbers_of(value));
    const std::optional<double> step = value.type() == Type::kInteger ? std::optional<double>(1.0) : value.step;
    if (all->step != step && !is_constant(value.expression)) all->step.reset();
    all->whole = all->whole && value.whole;
    all->key_length = std::max(all->key_length, value.key_length);
  }
  NF_TRY(Bound bound, made(Function::kCase, type, std::move(arguments), parts));
  if (all.has_value()) {
    bound.integers = all->integers;
    bound.numbers = all->numbers;
    bound.whole = all->whole;
    bound.key_length = all->key_length;
    if (type == Type::kNumber) bound.step = all->step;
    bound.clamp = type == Type::kDate;
  }
  bound.nullable = std::any_of(values.begin(), values.end(), [](const Bound& each) { return each.nullable; });
  return bound;
}

Result<Bound> bind_cast(const std::string& type, Bound argument) {
  const bool integer = type == "int2" || type == "int4" || type == "int8" || type == "integer" || type == "bigint";
  const bool number = type == "float8" || type == "float4" || type == "numeric";
  const bool text = type == "text" || type == "varchar" || type == "bpchar";
  if (!integer && !number && !text && type != "date" && type != "bool")
    return invalid_argument(
        fmt::format("the type {} is not part of the dialect: use integer, float8, text, date or boolean", shown(type)));
  const Type from = argument.type();
  const std::vector<Bound> one{argument};
  NF_TRY_VOID(check_not_unit(one));
  if (is_null(argument.expression)) {
    argument.expression = engine::null_of(integer          ? Type::kInteger
                                          : number         ? Type::kNumber
                                          : text           ? Type::kText
                                          : type == "date" ? Type::kDate
                                                           : Type::kTruth);
    return argument;
  }
  if (integer && from == Type::kInteger) return argument;
  if (integer && from == Type::kNumber) {
    const Expression whole = normal_call(Function::kRound, Type::kNumber, {argument.expression});
    NF_TRY(Bound bound, made(Function::kToInteger, Type::kInteger, {whole}, one));
    const NumberRange& range = argument.numbers;
    bound.integers = {-kWhole, kWhole, false, false};
    if (range.lower >= -0x1p53 && range.lower <= 0x1p53) {
      bound.integers.low = static_cast<Int128>(std::floor(range.lower + 0.5));
      bound.integers.low_stated = true;
    }
    if (range.upper >= -0x1p53 && range.upper <= 0x1p53) {
      bound.integers.high = static_cast<Int128>(std::floor(range.upper + 0.5));
      bound.integers.high_stated = true;
    }
    bound.clamp = true;  // the range of a number proves nothing
    bound.nullable = true;
    return bound;
  }
  if (integer && (from == Type::kText || from == Type::kTruth)) {
    NF_TRY(Bound bound, made(Function::kToInteger, Type::kInteger, {argument.expression}, one));
    if (from == Type::kTruth) bound.integers = between(0, 1);
    if (from == Type::kText) {
      constexpr Int128 digits = 999'999'999'999'999'999;  // 18 of them
      bound.integers = {-digits, digits, false, false};
      bound.nullable = true;
    }
    return bound;
  }
  if (number) {
    if (from == Type::kNumber) return argument;
    if (from == Type::kDate) return invalid_argument("a date is no number: subtract another date from it first");
    NF_TRY(Bound bound, made(Function::kToNumber, Type::kNumber, {guarded(argument)}, one));
    if (from != Type::kText) {
      bound.numbers = as_numbers(argument.integers);
      bound.step = 1;
      bound.whole = true;
    }
    bound.nullable = bound.nullable || from == Type::kText;
    return bound;
  }
  if (text) {
    if (from == Type::kText) return argument;
    if (from != Type::kInteger)
      return invalid_argument(fmt::format("{} does not become a text: use it as it is", types_of(one)));
    return made(Function::kToText, Type::kText, {argument.expression}, one);
  }
  if (type == "date") {
    if (from == Type::kDate) return argument;
    if (from != Type::kText) return invalid_argument(fmt::format("{} does not become a date", types_of(one)));
    NF_TRY(Bound bound, made(Function::kToDate, Type::kDate, {argument.expression}, one));
    bound.nullable = true;
    if (!is_constant(argument.expression)) return bound;
    if (is_null(bound.expression))
      return invalid_argument(fmt::format("{} is not a date: write it as DATE '2026-01-31'",
                                          shown(std::get<std::string>(argument.expression.value))));
    bound.integers = exactly(std::get<std::int64_t>(bound.expression.value));
    bound.nullable = false;
    return bound;
  }
  if (from == Type::kTruth) return argument;
  if (from != Type::kInteger)
    return invalid_argument(fmt::format("{} does not become a truth value: compare it", types_of(one)));
  return made(Function::kNotEqual, Type::kTruth, {argument.expression, engine::constant(std::int64_t{0})}, one);
}

}  // namespace noisefloor::query
