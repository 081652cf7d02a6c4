#include "noisefloor/query/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Function;
using engine::RelationPtr;
using engine::Type;

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::vector<const Column*> matches(const Rows& rows, const std::vector<std::string>& path) {
  for (const bool exact : {true, false}) {
    const auto same = [exact](const std::string& a, const std::string& b) {
      return exact ? a == b : same_letters(a, b);
    };
    std::vector<const Column*> found;
    for (const Column& column : rows.columns) {
      if (path.size() == 1 ? column.merged : !same(column.table, path[0])) continue;
      if (same(column.name, path.back())) found.push_back(&column);
    }
    if (!found.empty()) return found;
  }
  return {};
}

std::optional<double> constant_number(const Expression& expression) {
  if (const auto* whole = std::get_if<std::int64_t>(&expression.value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&expression.value)) return *number;
  return std::nullopt;
}

// `value` op constant, where value is an integer or a date.
void note_integer(Rows& rows, const Expression& value, Function op, Int128 constant) {
  IntegerRange range;
  if (op == Function::kEqual) range = exactly(constant);
  if (op == Function::kLess) range = {range.low, constant - 1, false, true};
  if (op == Function::kLessOrEqual) range = {range.low, constant, false, true};
  if (op == Function::kGreater) range = {constant + 1, range.high, true, false};
  if (op == Function::kGreaterOrEqual) range = {constant, range.high, true, false};
  const auto [at, fresh] = rows.integers.emplace(canonical_text(value), range);
  if (!fresh) at->second = within(at->second, range);
}

void note_number(Rows& rows, const Expression& value, Function op, double constant) {
  NumberRange range;
  if (op != Function::kGreater && op != Function::kGreaterOrEqual) range.upper = constant;
  if (op != Function::kLess && op != Function::kLessOrEqual) range.lower = constant;
  const auto [at, fresh] = rows.numbers.emplace(canonical_text(value), range);
  if (!fresh) at->second = {std::max(at->second.lower, range.lower), std::min(at->second.upper, range.upper)};
}

void note_row_number(Rows& rows, const Expression& value, Function op, Int128 constant, std::uint64_t among) {
  if (value.function != Function::kColumn || rows.row_numbers.count(value.name) == 0) return;
  std::optional<Int128> most;
  if (op == Function::kEqual || op == Function::kIn) most = among;
  if (op == Function::kLess) most = constant - 1;
  if (op == Function::kLessOrEqual) most = constant;
  if (!most.has_value() || *most >= static_cast<Int128>(kMostRows)) return;
  const auto count = static_cast<std::uint64_t>(std::max(*most, Int128{1}));
  rows.rows_per_unit = std::min(rows.rows_per_unit.value_or(count), count);
}

void note(Rows& rows, const Expression& condition) {
  const Function op = condition.function;
  const bool compares = op == Function::kEqual || op == Function::kLess || op == Function::kLessOrEqual ||
                        op == Function::kGreater || op == Function::kGreaterOrEqual;
  if (op == Function::kIn) {
    std::vector<Expression> values(condition.arguments.begin() + 1, condition.arguments.end());
    note_row_number(rows, condition.arguments[0], op, 0, values.size());
    rows.listed.emplace(canonical_text(condition.arguments[0]), std::move(values));
    return;
  }
  if (!compares || !is_constant(condition.arguments[1]) || is_null(condition.arguments[1])) return;
  const Expression& value = condition.arguments[0];
  const Expression& constant = condition.arguments[1];
  if (op == Function::kEqual) rows.listed.emplace(canonical_text(value), std::vector<Expression>{constant});
  const auto number = constant_number(constant);
  if (!number.has_value()) return;
  if (value.type == Type::kNumber) note_number(rows, value, op, *number);
  if (value.type != Type::kInteger && value.type != Type::kDate) return;
  if (const auto* whole = std::get_if<std::int64_t>(&constant.value)) {
    note_integer(rows, value, op, *whole);
    note_row_number(rows, value, op, *whole, 1);
  } else if (std::abs(*number) < 0x1p53 && op != Function::kEqual) {
    const bool below = op == Function::kLess || op == Function::kLessOrEqual;
    const double edge = below ? std::ceil(*number) : std::floor(*number);
    note_integer(rows, value, below ? Function::kLessOrEqual : Function::kGreaterOrEqual, static_cast<Int128>(edge));
  }
}

bool holds_column(const RelationPtr& relation, const std::string& name) {
  for (const engine::NamedColumn& column : engine::columns_of(*relation))
    if (column.name == name) return true;
  return false;
}

// All leaves as one relation: joined in the order of their texts, along the pairs.
RelationPtr joined(const Rows& rows) {
  std::vector<std::pair<std::string, RelationPtr>> leaves;
  for (const RelationPtr& leaf : rows.leaves) leaves.emplace_back(canonical_text(*leaf), leaf);
  std::sort(leaves.begin(), leaves.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  RelationPtr all = leaves[0].second;
  leaves.erase(leaves.begin());
  while (!leaves.empty()) {
    std::size_t best = 0;
    std::vector<std::pair<std::string, std::string>> pairs;
    for (std::size_t i = 0; i < leaves.size() && pairs.empty(); ++i) {
      for (const auto& [a, b] : rows.equal) {
        if (holds_column(all, a) && holds_column(leaves[i].second, b)) pairs.emplace_back(a, b);
        if (holds_column(all, b) && holds_column(leaves[i].second, a)) pairs.emplace_back(b, a);
      }
      if (!pairs.empty()) best = i;
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    all = engine::relation(engine::Join{engine::JoinKind::kInner, all, leaves[best].second, std::move(pairs)});
    leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return all;
}

}  // namespace

Bound narrowed(const Rows& rows, Bound bound) {
  const std::string text = canonical_text(bound.expression);
  if (const auto found = rows.integers.find(text); found != rows.integers.end()) {
    const IntegerRange both = within(bound.integers, found->second);
    if (both.low <= both.high && both != bound.integers) {
      bound.integers = both;
      bound.clamp = true;  // an engine may compute before it filters
    }
  }
  if (const auto found = rows.numbers.find(text); found != rows.numbers.end()) {
    const NumberRange both{std::max(bound.numbers.lower, found->second.lower),
                           std::min(bound.numbers.upper, found->second.upper)};
    if (both.lower <= both.upper) bound.numbers = both;
  }
  if (rows.rows_per_unit == 1u) bound.per_unit = true;
  return bound;
}

bool has_column(const Rows& rows, const std::vector<std::string>& path) { return !matches(rows, path).empty(); }

Result<Bound> find_column(const Rows& rows, const std::vector<std::string>& path) {
  const std::vector<const Column*> found = matches(rows, path);
  const std::string name = path.size() == 1 ? path[0] : path[0] + "." + path[1];
  if (found.empty())
    return invalid_argument(
        fmt::format("there is no column {} here: name one that the description of the dataset lists", shown(name)));
  if (found.size() > 1)
    return invalid_argument(fmt::format("the column {} is in more than one table: write table.column", shown(name)));
  return narrowed(rows, found[0]->bound);
}

void add_condition(Rows& rows, const Expression& condition) {
  for (Expression& each : conjuncts_of(condition)) {
    note(rows, each);
    rows.conditions.push_back(std::move(each));
  }
}

void collapse(Rows& rows) {
  RelationPtr all = joined(rows);
  if (Expression condition = conjunction(rows.conditions); !rows.conditions.empty())
    all = engine::relation(engine::Filter{all, std::move(condition)});
  rows.leaves = {all};
  rows.equal.clear();
  rows.conditions.clear();
}

RelationPtr built(const Rows& rows, const std::vector<engine::NamedExpression>& columns) {
  RelationPtr base = joined(rows);
  Expression condition = conjunction(rows.conditions);
  std::map<std::string, Expression> inlined;
  if (const auto* project = std::get_if<engine::Project>(&base->node)) {
    for (const engine::NamedExpression& each : project->columns) inlined.emplace(each.name, each.expression);
    base = RelationPtr(project->input);
  }
  if (!rows.conditions.empty())
    base = engine::relation(
        engine::Filter{base, inlined.empty() ? std::move(condition) : substituted(condition, inlined)});
  engine::Project result{base, {}};
  for (const engine::NamedExpression& each : columns)
    result.columns.push_back({each.name, inlined.empty() ? each.expression : substituted(each.expression, inlined)});
  return engine::relation(std::move(result));
}

}  // namespace noisefloor::query
