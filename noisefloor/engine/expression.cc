#include "noisefloor/engine/expression.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/engine/evaluate.h"

namespace noisefloor::engine {
namespace {

using Arguments = std::span<const Expression>;

bool is_numeric(Type type) { return type == Type::kInteger || type == Type::kNumber; }
bool are_comparable(Type a, Type b) { return a == b || (is_numeric(a) && is_numeric(b)); }
bool is_constant(const Expression& e) { return e.function == Function::kConstant; }
bool is_null(const Expression& e) { return is_constant(e) && std::holds_alternative<std::monostate>(e.value); }
bool all_are(Arguments arguments, Type type) {
  return std::ranges::all_of(arguments, [&](const Expression& e) { return e.type == type; });
}
bool all_become(Arguments arguments, Type type) {
  return std::ranges::all_of(arguments, [&](const Expression& e) {
    return e.type == type || (type == Type::kNumber && e.type == Type::kInteger);
  });
}
bool is_word_of(const Expression& e, std::span<const std::string_view> words) {
  const std::string* word = std::get_if<std::string>(&e.value);
  return is_constant(e) && word != nullptr && std::ranges::find(words, *word) != words.end();
}
bool is_count(const Expression& e, std::int64_t low) {
  const std::int64_t* count = std::get_if<std::int64_t>(&e.value);
  return is_constant(e) && count != nullptr && *count >= low && *count <= 1'000'000;
}

bool fits_arithmetic(Function function, Type type, Arguments a) {
  if (a.size() != 2) return false;
  if (type == Type::kNumber) return all_become(a, Type::kNumber);
  if (function == Function::kMultiply) return type == Type::kInteger && all_are(a, Type::kInteger);
  if (type == Type::kDate) return a[0].type == Type::kDate && a[1].type == Type::kInteger;
  if (type != Type::kInteger) return false;
  return all_are(a, Type::kInteger) || (function == Function::kSubtract && all_are(a, Type::kDate));
}

bool fits_steps(Arguments a) {
  if (a.size() != 4 || !is_numeric(a[0].type)) return false;
  const double* bounds[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    bounds[i] = std::get_if<double>(&a[i + 1].value);
    if (!is_constant(a[i + 1]) || bounds[i] == nullptr || !normal(*bounds[i]) || *normal(*bounds[i]) != *bounds[i]) {
      return false;
    }
  }
  const auto [lower, upper, step] = std::tuple(*bounds[0], *bounds[1], *bounds[2]);
  return lower <= upper && step > 0 && std::max(std::fabs(lower), std::fabs(upper)) / step <= kWholeNumbers;
}

constexpr std::string_view kTruncations[] = {"day", "week", "month", "quarter", "year"};
constexpr std::string_view kParts[] = {"year", "quarter", "month", "week", "day", "dow", "isodow", "doy"};

bool fits_case(Type type, Arguments a) {
  if (a.size() < 3 || a.size() % 2 == 0) return false;
  for (std::size_t i = 0; i + 1 < a.size(); i += 2) {
    if (a[i].type != Type::kTruth || !all_become(a.subspan(i + 1, 1), type)) return false;
  }
  return all_become(a.last(1), type);
}

bool fits(Function function, Type type, Arguments a) {
  switch (function) {
    case Function::kColumn:
    case Function::kConstant:
      return false;
    case Function::kAdd:
    case Function::kSubtract:
    case Function::kMultiply:
      return fits_arithmetic(function, type, a);
    case Function::kDivide:
    case Function::kPower:
      return type == Type::kNumber && a.size() == 2 && all_become(a, Type::kNumber);
    case Function::kSqrt:
    case Function::kLn:
    case Function::kExp:
      return type == Type::kNumber && a.size() == 1 && all_become(a, Type::kNumber);
    case Function::kModulo:
      return type == Type::kInteger && a.size() == 2 && all_are(a, Type::kInteger);
    case Function::kNegate:
    case Function::kAbsolute:
    case Function::kFloor:
    case Function::kCeiling:
    case Function::kRound:
      return a.size() == 1 && is_numeric(type) && all_become(a, type);
    case Function::kLeast:
    case Function::kGreatest:
    case Function::kCoalesce:
      return !a.empty() && all_become(a, type);
    case Function::kEqual:
    case Function::kNotEqual:
    case Function::kLess:
    case Function::kLessOrEqual:
    case Function::kGreater:
    case Function::kGreaterOrEqual:
      return type == Type::kTruth && a.size() == 2 && are_comparable(a[0].type, a[1].type);
    case Function::kAnd:
    case Function::kOr:
      return type == Type::kTruth && !a.empty() && all_are(a, Type::kTruth);
    case Function::kNot:
      return type == Type::kTruth && a.size() == 1 && all_are(a, Type::kTruth);
    case Function::kIsNull:
      return type == Type::kTruth && a.size() == 1;
    case Function::kIn:
      return type == Type::kTruth && a.size() >= 2 && std::ranges::all_of(a.subspan(1), [&](const Expression& e) {
               return is_constant(e) && !is_null(e) && e.type == a[1].type && are_comparable(a[0].type, e.type);
             });
    case Function::kLike:
      return type == Type::kTruth && a.size() == 2 && all_are(a, Type::kText) && is_constant(a[1]) && !is_null(a[1]);
    case Function::kCase:
      return fits_case(type, a);
    case Function::kToNumber:
      return type == Type::kNumber && a.size() == 1;
    case Function::kToInteger:
      return type == Type::kInteger && a.size() == 1 && a[0].type != Type::kDate;
    case Function::kToText:
      return type == Type::kText && a.size() == 1 && all_are(a, Type::kInteger);
    case Function::kLength:
      return type == Type::kInteger && a.size() == 1 && all_are(a, Type::kText);
    case Function::kLower:
    case Function::kUpper:
    case Function::kTrim:
      return type == Type::kText && a.size() == 1 && all_are(a, Type::kText);
    case Function::kConcatenate:
      return type == Type::kText && !a.empty() && all_are(a, Type::kText);
    case Function::kSubstring:
      return type == Type::kText && a.size() == 3 && a[0].type == Type::kText && is_count(a[1], 1) && is_count(a[2], 0);
    case Function::kDateTrunc:
      return type == Type::kDate && a.size() == 2 && is_word_of(a[0], kTruncations) && a[1].type == Type::kDate;
    case Function::kDatePart:
      return type == Type::kInteger && a.size() == 2 && is_word_of(a[0], kParts) && a[1].type == Type::kDate;
    case Function::kToDate:
      return type == Type::kDate && a.size() == 1 && (a[0].type == Type::kText || a[0].type == Type::kDate);
    case Function::kSteps:
      return type == Type::kInteger && fits_steps(a);
  }
  return false;
}

Expression leaf(Type type, Expression::Value value) {
  return {.function = Function::kConstant, .type = type, .value = std::move(value)};
}

}  // namespace

Expression column(std::string name, Type type) {
  return {.function = Function::kColumn, .type = type, .name = std::move(name)};
}
Expression constant(std::int64_t value) { return leaf(Type::kInteger, value); }
Expression constant(double value) {
  const std::optional<double> number = normal(value);
  NF_CHECK(number.has_value(), "a constant number is finite and within 1e150");
  return leaf(Type::kNumber, *number);
}
Expression constant(std::string value) { return leaf(Type::kText, std::move(value)); }
Expression constant_truth(bool value) { return leaf(Type::kTruth, value); }
Expression constant_date(std::int64_t days) { return leaf(Type::kDate, days); }
Expression null_of(Type type) { return leaf(type, std::monostate()); }

bool takes(Function function, Type type, std::span<const Expression> arguments) {
  return fits(function, type, arguments);
}

Expression call(Function function, Type type, std::vector<Expression> arguments) {
  NF_CHECK(fits(function, type, arguments), "a function is called with arguments of the types that it takes");
  return {.function = function, .type = type, .arguments = std::move(arguments)};
}

}  // namespace noisefloor::engine
