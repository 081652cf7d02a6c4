#include "noisefloor/query/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/engine/days.h"
#include "noisefloor/engine/evaluate.h"
#include "noisefloor/query/bound_parts.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

using engine::Expression;
using engine::Function;
using engine::Type;

Bound bound_integer(std::int64_t value) {
  return {.expression = engine::constant(value), .integers = exactly(value), .nullable = false, .per_unit = true};
}

Bound bound_null() { return {.expression = engine::null_of(Type::kText), .per_unit = true}; }

Bound bound_truth(bool value) {
  return {.expression = engine::constant_truth(value), .integers = exactly(value), .nullable = false, .per_unit = true};
}

Expression guarded(const Bound& bound) {
  const IntegerRange& range = bound.integers;
  if (!bound.clamp || bound.type() != Type::kInteger || !range.fits() || range.low > range.high)
    return bound.expression;
  Expression low = normal_call(Function::kGreatest, Type::kInteger,
                               {bound.expression, engine::constant(static_cast<std::int64_t>(range.low))});
  return normal_call(Function::kLeast, Type::kInteger,
                     {std::move(low), engine::constant(static_cast<std::int64_t>(range.high))});
}

IntegerRange any_day() { return {engine::kFirstDay, engine::kLastDay, false, false}; }

NumberRange numbers_of(const Bound& bound) {
  return bound.type() == Type::kNumber ? bound.numbers : as_numbers(bound.integers);
}

Result<Bound> sized(Bound bound) {
  if (size_of(bound.expression) > kLargestExpression)
    return invalid_argument(
        fmt::format("an expression has more than {} parts: compute less in one query", kLargestExpression));
  return bound;
}

Result<Bound> made(Function function, Type type, std::vector<Expression> arguments, const std::vector<Bound>& from) {
  if (!engine::takes(function, type, arguments))
    return invalid_argument(
        fmt::format("{} does not take {}: convert one with CAST", name_of(function), types_of(from)));
  Bound bound;
  bound.expression = normal_call(function, type, std::move(arguments));
  bound.per_unit = std::all_of(from.begin(), from.end(), [](const Bound& each) { return each.per_unit; });
  bound.nullable = std::any_of(from.begin(), from.end(), [](const Bound& each) { return each.nullable; });
  if (type == Type::kTruth) bound.integers = between(0, 1);
  if (type == Type::kDate) bound.integers = any_day();
  return sized(std::move(bound));
}

std::string types_of(const std::vector<Bound>& arguments) {
  std::string text;
  for (const Bound& each : arguments)
    text += (text.empty() ? "" : " and ") + (is_null(each.expression) ? "NULL" : std::string(name_of(each.type())));
  return text.empty() ? "nothing" : text;
}

Result<void> check_not_unit(const std::vector<Bound>& arguments) {
  for (const Bound& each : arguments)
    if (each.is_unit)
      return invalid_argument(
          "the column that tells units apart may be joined, counted as count(DISTINCT …) and grouped by in a subquery, "
          "but not compared or computed with: no statistic of many units needs it");
  return success();
}

Result<Type> common_type(std::vector<Bound>& arguments, std::string_view what) {
  std::optional<Type> type;
  for (const Bound& each : arguments) {
    if (is_null(each.expression)) continue;
    if (!type.has_value() || *type == each.type()) {
      type = each.type();
    } else if ((*type == Type::kInteger || *type == Type::kNumber) &&
               (each.type() == Type::kInteger || each.type() == Type::kNumber)) {
      type = Type::kNumber;
    } else {
      return invalid_argument(
          fmt::format("{} mixes {} and {}: convert one with CAST", what, name_of(*type), name_of(each.type())));
    }
  }
  const Type common = type.value_or(Type::kText);
  for (Bound& each : arguments)
    if (is_null(each.expression)) each.expression = engine::null_of(common);
  return common;
}

Result<void> adapt_texts(std::vector<Bound>& arguments) {
  const bool dates =
      std::any_of(arguments.begin(), arguments.end(), [](const Bound& each) { return each.type() == Type::kDate; });
  if (!dates) return success();
  for (Bound& each : arguments) {
    if (!is_constant(each.expression) || each.type() != Type::kText || is_null(each.expression)) continue;
    NF_TRY(each, bind_cast("date", each));
  }
  return success();
}

namespace {

Result<Bound> bind_decimal(const Term& term) {
  const std::optional<double> value = parse_finite(term.text);
  const std::optional<double> normal = value.has_value() ? engine::normal(*value) : std::nullopt;
  if (!normal.has_value())
    return invalid_argument(fmt::format("the number {} is out of range: numbers go up to 1e150", shown(term.text)));
  Bound bound{.expression = engine::constant(*normal), .nullable = false, .per_unit = true};
  bound.numbers = {*normal, *normal};
  bound.whole = *normal == std::floor(*normal);
  return bound;
}

Result<Bound> bind_text(const Term& term) {
  if (term.text.size() > kLongestText)
    return invalid_argument(
        fmt::format("a text has {} bytes, and at most {} are understood", term.text.size(), kLongestText));
  return Bound{.expression = engine::constant(term.text), .nullable = false, .per_unit = true};
}

std::string refusal_of(const Term& term) {
  switch (term.kind) {
    case Term::Kind::kStar:
      return "* stands for no value: name the columns";
    case Term::Kind::kScalarQuery:
      return "a subquery as a value is refused: its value moves with other people's rows. Ask for it first, and write "
             "the released number here";
    case Term::Kind::kExists:
    case Term::Kind::kInQuery:
      return "a subquery may stand in WHERE alone, joined to the rest by AND";
    default:
      return "this expression is not understood here";
  }
}

}  // namespace

Result<Bound> bind_term(const Term& term, const BindLeaf& leaf) {
  NF_TRY(std::optional<Bound> known, leaf(term));
  if (known.has_value()) return std::move(*known);
  switch (term.kind) {
    case Term::Kind::kNull:
      return bound_null();
    case Term::Kind::kTruth:
      return bound_truth(term.truth);
    case Term::Kind::kInteger:
      return bound_integer(term.integer);
    case Term::Kind::kDecimal:
      return bind_decimal(term);
    case Term::Kind::kText:
      return bind_text(term);
    case Term::Kind::kColumn:
    case Term::Kind::kStar:
    case Term::Kind::kScalarQuery:
    case Term::Kind::kExists:
    case Term::Kind::kInQuery:
      return invalid_argument(refusal_of(term));
    default:
      break;
  }
  if (term.star || term.distinct || term.within_group || term.filter != nullptr || term.over != nullptr)
    return invalid_argument(fmt::format("{} is not an aggregate or window function of the dialect", shown(term.name)));
  std::vector<Bound> arguments;
  for (const Term& each : term.arguments) {
    NF_TRY(Bound argument, bind_term(each, leaf));
    arguments.push_back(std::move(argument));
  }
  NF_TRY_VOID(check_not_unit(arguments));
  switch (term.kind) {
    case Term::Kind::kOperator:
      return bind_operator(term.name, std::move(arguments));
    case Term::Kind::kAnd:
    case Term::Kind::kOr:
    case Term::Kind::kNot:
    case Term::Kind::kIsNull:
      return bind_logic(term.kind, std::move(arguments));
    case Term::Kind::kIn:
      return bind_in(std::move(arguments));
    case Term::Kind::kLike:
      return bind_like(std::move(arguments));
    case Term::Kind::kCase:
      return bind_case(std::move(arguments));
    case Term::Kind::kCast:
      return bind_cast(term.name, std::move(arguments[0]));
    default:
      return bind_function(term.name, std::move(arguments));
  }
}

}  // namespace noisefloor::query
