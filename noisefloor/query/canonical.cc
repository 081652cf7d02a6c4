#include "noisefloor/query/canonical.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/engine/evaluate.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Function;
using engine::Relation;
using engine::Type;

// A text between quotes, in which a quote and a backslash are written with a backslash before them.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string text_of(const Expression::Value& value) {
  return std::visit(
      Overloaded{[](std::monostate) { return std::string("null"); },
                 [](std::int64_t v) { return fmt::format("{}", v); },
                 [](double v) { return fmt::format("{:.17g}", v); }, [](const std::string& v) { return in_quotes(v); },
                 [](bool v) { return std::string(v ? "true" : "false"); }},
      value);
}

std::string text_of(const engine::Cell& cell) {
  return std::visit(Overloaded{[](std::monostate) { return std::string("null"); },
                               [](std::int64_t v) { return fmt::format("{}", v); },
                               [](const std::string& v) { return in_quotes(v); }},
                    cell);
}

std::string text_of(const engine::RelationPtr& relation) { return canonical_text(*relation); }

std::string text_of(std::string_view name, const Expression& expression) {
  return fmt::format(" {}={}", in_quotes(name), canonical_text(expression));
}

std::string text_of_columns(const std::vector<engine::NamedColumn>& columns) {
  std::string text;
  for (const engine::NamedColumn& column : columns)
    text += fmt::format(" {}:{}", in_quotes(column.name), engine::name_of(column.type));
  return text;
}

std::string text_of_join(const engine::Join& join) {
  static constexpr std::string_view kinds[] = {"join", "left-join", "semi-join", "anti-join"};
  std::string text = fmt::format("({}", kinds[static_cast<std::size_t>(join.kind)]);
  for (const auto& [left, right] : join.equal) text += fmt::format(" {}={}", in_quotes(left), in_quotes(right));
  return text + " " + text_of(join.left) + " " + text_of(join.right) + ")";
}

std::string text_of_groups(const engine::GroupRows& groups) {
  static constexpr std::string_view folds[] = {"rows", "count", "distinct", "sum", "min", "max"};
  std::string text = "(group";
  for (const engine::NamedExpression& key : groups.keys) text += text_of(key.name, key.expression);
  text += " :";
  for (const engine::GroupRows::Folded& fold : groups.folds) {
    text += fmt::format(" {}={}", in_quotes(fold.name), folds[static_cast<std::size_t>(fold.fold)]);
    if (fold.fold != engine::GroupRows::Fold::kCountRows) text += " " + canonical_text(fold.argument);
  }
  return text + " " + text_of(groups.input) + ")";
}

std::string text_of_numbers(const engine::NumberRows& numbers) {
  std::string text = "(number " + in_quotes(numbers.name);
  for (const Expression& each : numbers.partition) text += " " + canonical_text(each);
  text += " :";
  for (const auto& [each, descending] : numbers.order) text += (descending ? " -" : " +") + canonical_text(each);
  return text + " " + text_of(numbers.input) + ")";
}

// a > b is b < a.
std::optional<Function> mirrored(Function function) {
  switch (function) {
    case Function::kEqual:
    case Function::kNotEqual:
      return function;
    case Function::kLess:
      return Function::kGreater;
    case Function::kLessOrEqual:
      return Function::kGreaterOrEqual;
    case Function::kGreater:
      return Function::kLess;
    case Function::kGreaterOrEqual:
      return Function::kLessOrEqual;
    default:
      return std::nullopt;
  }
}

// NOT (a < b) is a >= b, also where one of them is NULL.
std::optional<Function> opposite(Function function) {
  switch (function) {
    case Function::kEqual:
      return Function::kNotEqual;
    case Function::kNotEqual:
      return Function::kEqual;
    case Function::kLess:
      return Function::kGreaterOrEqual;
    case Function::kLessOrEqual:
      return Function::kGreater;
    case Function::kGreater:
      return Function::kLessOrEqual;
    case Function::kGreaterOrEqual:
      return Function::kLess;
    default:
      return std::nullopt;
  }
}

void sort_by_text(std::vector<Expression>::iterator begin, std::vector<Expression>::iterator end) {
  std::vector<std::pair<std::string, Expression>> keyed;
  for (auto at = begin; at != end; ++at) keyed.emplace_back(canonical_text(*at), std::move(*at));
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [text, expression] : keyed) *begin++ = std::move(expression);
}

// AND and OR: nested ones become one, in order, each operand once, without those that decide nothing.
Expression normal_logic(Function function, std::vector<Expression> arguments) {
  const bool neutral = function == Function::kAnd;  // AND true; OR false
  std::vector<Expression> flat;
  for (Expression& each : arguments) {
    if (each.function == function) {
      for (Expression& inner : each.arguments) flat.push_back(std::move(inner));
    } else {
      flat.push_back(std::move(each));
    }
  }
  std::vector<Expression> kept;
  for (Expression& each : flat) {
    const bool* truth = is_constant(each) ? std::get_if<bool>(&each.value) : nullptr;
    if (truth != nullptr && *truth == neutral) continue;
    if (truth != nullptr) return engine::constant_truth(!neutral);
    kept.push_back(std::move(each));
  }
  sort_by_text(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  if (kept.empty()) return engine::constant_truth(neutral);
  if (kept.size() == 1) return std::move(kept[0]);
  return engine::folded(engine::call(function, Type::kTruth, std::move(kept)));
}

Expression normal_comparison(Function function, std::vector<Expression> arguments) {
  const bool swap = is_constant(arguments[0]) != is_constant(arguments[1])
                        ? is_constant(arguments[0])
                        : canonical_text(arguments[1]) < canonical_text(arguments[0]);
  if (swap) {
    std::swap(arguments[0], arguments[1]);
    function = *mirrored(function);
  }
  return engine::folded(engine::call(function, Type::kTruth, std::move(arguments)));
}

// The first condition that is always true ends a CASE, and those that never are drop out.
Expression normal_case(Type type, std::vector<Expression> arguments) {
  std::vector<Expression> kept;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (is_constant(arguments[i])) {
      const bool* truth = std::get_if<bool>(&arguments[i].value);
      if (truth == nullptr || !*truth) continue;
      arguments.back() = std::move(arguments[i + 1]);
      break;
    }
    kept.push_back(std::move(arguments[i]));
    kept.push_back(std::move(arguments[i + 1]));
  }
  if (kept.empty() && arguments.back().type == type) return std::move(arguments.back());
  if (kept.empty()) {  // an integer that stands for a number
    std::vector<Expression> one;
    one.push_back(std::move(arguments.back()));
    return engine::folded(engine::call(Function::kToNumber, Type::kNumber, std::move(one)));
  }
  kept.push_back(std::move(arguments.back()));
  return engine::folded(engine::call(Function::kCase, type, std::move(kept)));
}

}  // namespace

bool is_constant(const Expression& expression) { return expression.function == Function::kConstant; }

bool is_null(const Expression& expression) {
  return is_constant(expression) && std::holds_alternative<std::monostate>(expression.value);
}

std::size_t size_of(const Expression& expression) {
  std::size_t size = 1;
  for (const Expression& each : expression.arguments) size += size_of(each);
  return size;
}

void add_columns(const Expression& expression, std::set<std::string>& names) {
  if (expression.function == Function::kColumn) names.insert(expression.name);
  for (const Expression& each : expression.arguments) add_columns(each, names);
}

std::vector<Expression> conjuncts_of(Expression condition) {
  if (condition.function == Function::kAnd) return std::move(condition.arguments);
  std::vector<Expression> one;
  const bool* truth = is_constant(condition) ? std::get_if<bool>(&condition.value) : nullptr;
  if (truth == nullptr || !*truth) one.push_back(std::move(condition));
  return one;
}

Expression conjunction(std::vector<Expression> conditions) {
  if (conditions.empty()) return engine::constant_truth(true);
  return normal_logic(Function::kAnd, std::move(conditions));
}

Expression normal_call(Function function, Type type, std::vector<Expression> arguments) {
  switch (function) {
    case Function::kAnd:
    case Function::kOr:
      return normal_logic(function, std::move(arguments));
    case Function::kNot:
      if (arguments[0].function == Function::kNot) return std::move(arguments[0].arguments[0]);
      if (const auto other = opposite(arguments[0].function); other.has_value())
        return normal_comparison(*other, std::move(arguments[0].arguments));
      break;
    case Function::kEqual:
    case Function::kNotEqual:
    case Function::kLess:
    case Function::kLessOrEqual:
    case Function::kGreater:
    case Function::kGreaterOrEqual:
      return normal_comparison(function, std::move(arguments));
    case Function::kAdd:
      if (arguments[0].type == Type::kDate) break;
      [[fallthrough]];
    case Function::kMultiply:
    case Function::kLeast:
    case Function::kGreatest:
      sort_by_text(arguments.begin(), arguments.end());
      break;
    case Function::kIn:
      sort_by_text(arguments.begin() + 1, arguments.end());
      arguments.erase(std::unique(arguments.begin() + 1, arguments.end()), arguments.end());
      if (arguments.size() == 2) return normal_comparison(Function::kEqual, std::move(arguments));
      break;
    case Function::kCase:
      return normal_case(type, std::move(arguments));
    default:
      break;
  }
  return engine::folded(engine::call(function, type, std::move(arguments)));
}

Expression substituted(const Expression& expression, const std::map<std::string, Expression>& columns) {
  if (expression.function == Function::kColumn) {
    const auto found = columns.find(expression.name);
    return found == columns.end() ? expression : found->second;
  }
  if (is_constant(expression)) return expression;
  std::vector<Expression> arguments;
  for (const Expression& each : expression.arguments) arguments.push_back(substituted(each, columns));
  return normal_call(expression.function, expression.type, std::move(arguments));
}

std::string canonical_text(const Expression& expression) {
  const std::string_view type = engine::name_of(expression.type);
  if (expression.function == Function::kColumn) return fmt::format("{}:{}", in_quotes(expression.name), type);
  if (is_constant(expression)) return fmt::format("#{}:{}", text_of(expression.value), type);
  std::string text = fmt::format("({}:{}", name_of(expression.function), type);
  for (const Expression& each : expression.arguments) text += " " + canonical_text(each);
  return text + ")";
}

std::string canonical_text(const Relation& relation) {
  return std::visit(Overloaded{
                        [](const engine::Scan& scan) {
                          return fmt::format("(scan {}{})", in_quotes(scan.table), text_of_columns(scan.columns));
                        },
                        [](const engine::Filter& filter) {
                          return fmt::format("(filter {} {})", canonical_text(filter.condition), text_of(filter.input));
                        },
                        [](const engine::Project& project) {
                          std::string text = "(project";
                          for (const engine::NamedExpression& each : project.columns)
                            text += text_of(each.name, each.expression);
                          return text + " " + text_of(project.input) + ")";
                        },
                        [](const engine::Join& join) { return text_of_join(join); },
                        [](const engine::UnionAll& all) {
                          std::string text = "(union";
                          for (const engine::RelationPtr& each : all.inputs) text += " " + text_of(each);
                          return text + ")";
                        },
                        [](const engine::GroupRows& groups) { return text_of_groups(groups); },
                        [](const engine::NumberRows& numbers) { return text_of_numbers(numbers); },
                        [](const engine::Distinct& distinct) { return "(distinct " + text_of(distinct.input) + ")"; },
                    },
                    relation.node);
}

std::string canonical_text(const engine::Measurement& measurement) {
  std::string text = "(measure " + canonical_text(*measurement.rows);
  text += " unit " + (measurement.unit.has_value() ? in_quotes(*measurement.unit) : std::string("row"));
  if (measurement.one_row_per_unit) text += " once";
  text += " keys";
  for (const std::string& key : measurement.keys) text += " " + in_quotes(key);
  if (measurement.listed.has_value()) {
    text += " listed";
    for (const std::vector<engine::Cell>& group : *measurement.listed) {
      text += " (";
      for (const engine::Cell& cell : group) text += text_of(cell) + ",";
      text += ")";
    }
  }
  for (const engine::Aggregate& aggregate : measurement.aggregates) {
    static constexpr std::string_view kinds[] = {"rows", "units", "sum", "distinct", "values"};
    text += fmt::format(" ({}", kinds[static_cast<std::size_t>(aggregate.kind)]);
    if (aggregate.argument.has_value()) text += " " + canonical_text(*aggregate.argument);
    if (aggregate.lower.has_value()) text += fmt::format(" from {}", *aggregate.lower);
    if (aggregate.upper.has_value()) text += fmt::format(" to {}", *aggregate.upper);
    text += ")";
  }
  const engine::Bounding& bounding = measurement.bounding;
  if (bounding.max_groups.has_value()) text += fmt::format(" groups {}", *bounding.max_groups);
  if (bounding.max_rows_per_group.has_value()) text += fmt::format(" rows-of-group {}", *bounding.max_rows_per_group);
  if (bounding.max_rows.has_value()) text += fmt::format(" rows {}", *bounding.max_rows);
  for (std::int64_t norm : bounding.l2_norms) text += fmt::format(" norm {}", norm);
  return text + ")";
}

std::string_view name_of(Function function) {
  switch (function) {
    case Function::kColumn:
      return "column";
    case Function::kConstant:
      return "constant";
    case Function::kAdd:
      return "add";
    case Function::kSubtract:
      return "subtract";
    case Function::kMultiply:
      return "multiply";
    case Function::kDivide:
      return "divide";
    case Function::kModulo:
      return "modulo";
    case Function::kNegate:
      return "negate";
    case Function::kAbsolute:
      return "absolute";
    case Function::kFloor:
      return "floor";
    case Function::kCeiling:
      return "ceiling";
    case Function::kRound:
      return "round";
    case Function::kSqrt:
      return "sqrt";
    case Function::kLn:
      return "ln";
    case Function::kExp:
      return "exp";
    case Function::kPower:
      return "power";
    case Function::kLeast:
      return "least";
    case Function::kGreatest:
      return "greatest";
    case Function::kEqual:
      return "equal";
    case Function::kNotEqual:
      return "not-equal";
    case Function::kLess:
      return "less";
    case Function::kLessOrEqual:
      return "less-or-equal";
    case Function::kGreater:
      return "greater";
    case Function::kGreaterOrEqual:
      return "greater-or-equal";
    case Function::kAnd:
      return "and";
    case Function::kOr:
      return "or";
    case Function::kNot:
      return "not";
    case Function::kIsNull:
      return "is-null";
    case Function::kIn:
      return "in";
    case Function::kLike:
      return "like";
    case Function::kCase:
      return "case";
    case Function::kCoalesce:
      return "coalesce";
    case Function::kToNumber:
      return "to-number";
    case Function::kToInteger:
      return "to-integer";
    case Function::kToText:
      return "to-text";
    case Function::kLength:
      return "length";
    case Function::kLower:
      return "lower";
    case Function::kUpper:
      return "upper";
    case Function::kTrim:
      return "trim";
    case Function::kConcatenate:
      return "concatenate";
    case Function::kSubstring:
      return "substring";
    case Function::kDateTrunc:
      return "date-trunc";
    case Function::kDatePart:
      return "date-part";
    case Function::kToDate:
      return "to-date";
    case Function::kSteps:
      return "steps";
  }
  return "unknown";
}

}  // namespace noisefloor::query
