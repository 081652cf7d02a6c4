// Which values an expression may have, where that is public.
#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "noisefloor/engine/evaluate.h"
#include "noisefloor/query/canonical.h"
#include "noisefloor/query/rows.h"

namespace noisefloor::query {

namespace {

using engine::Cell;
using engine::Expression;
using engine::Function;
using engine::Type;
using engine::Value;
using Cells = std::set<Cell>;

std::optional<Cell> cell_of(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return Cell{};
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return Cell{*whole};
  if (const auto* text = std::get_if<std::string>(&value)) return Cell{*text};
  if (const auto* truth = std::get_if<bool>(&value)) return Cell{std::int64_t{*truth ? 1 : 0}};
  return std::nullopt;  // numbers are no keys
}

Value value_of(const Cell& cell, Type type) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell))
    return type == Type::kTruth ? Value{*whole != 0} : Value{*whole};
  if (const auto* text = std::get_if<std::string>(&cell)) return Value{*text};
  return Value{};
}

std::optional<std::vector<Cell>> of_range(const IntegerRange& range) {
  if (range.low > range.high || range.high - range.low >= static_cast<Int128>(kMostGroups)) return std::nullopt;
  std::vector<Cell> cells;
  for (Int128 at = range.low; at <= range.high; ++at) cells.emplace_back(static_cast<std::int64_t>(at));
  return cells;
}

std::optional<std::vector<Cell>> of_constants(const std::vector<Expression>& constants) {
  Cells cells;
  for (const Expression& each : constants) {
    std::optional<Cell> cell = cell_of(each.value);
    if (!cell.has_value()) return std::nullopt;
    cells.insert(std::move(*cell));
  }
  return std::vector<Cell>(cells.begin(), cells.end());
}

// Public values of a column of the engine's rows.
std::optional<std::vector<Cell>> of_column(const Rows& rows, const Expression& column, const IntegerRange& range) {
  const auto fact = rows.facts.find(column.name);
  const auto listed = rows.listed.find(canonical_text(column));
  std::optional<std::vector<Cell>> asked;
  if (listed != rows.listed.end()) asked = of_constants(listed->second);
  if (fact != rows.facts.end() && fact->second.values.has_value()) {
    Cells cells;
    for (const std::string& value : *fact->second.values) cells.insert(value);
    if (!asked.has_value()) return std::vector<Cell>(cells.begin(), cells.end());
    std::erase_if(*asked, [&](const Cell& cell) { return cells.count(cell) == 0; });
    return asked;
  }
  if (asked.has_value()) return asked;
  if (column.type == Type::kTruth) return of_range(between(0, 1));
  const bool is_public = fact != rows.facts.end() && fact->second.public_range;
  if (is_public && range.fits()) return of_range(range);
  // Both ends are written in the query: so is everything between them.
  const auto limits = rows.integers.find(canonical_text(column));
  if (limits != rows.integers.end() && limits->second.stated()) return of_range(within(range, limits->second));
  return std::nullopt;
}

IntegerRange range_of(const Rows& rows, const Expression& column) {
  const auto found = rows.facts.find(column.name);
  return found == rows.facts.end() ? IntegerRange{} : found->second.integers;
}

std::optional<Cells> by_columns(const Rows& rows, const Expression& expression) {
  std::map<std::string, Expression> columns;
  const std::function<void(const Expression&)> collect = [&](const Expression& each) {
    if (each.function == Function::kColumn) columns.emplace(each.name, each);
    for (const Expression& inner : each.arguments) collect(inner);
  };
  collect(expression);
  std::vector<std::pair<Expression, std::vector<Cell>>> values;
  std::size_t combinations = 1;
  for (const auto& [name, column] : columns) {
    IntegerRange range = range_of(rows, column);
    if (const auto limits = rows.integers.find(canonical_text(column)); limits != rows.integers.end())
      range = within(range, limits->second);
    std::optional<std::vector<Cell>> each = of_column(rows, column, range);
    if (!each.has_value() || each->empty()) return std::nullopt;
    combinations *= each->size() + 1;
    if (combinations > kMostGroups * 2) return std::nullopt;
    values.emplace_back(column, std::move(*each));
  }
  if (combinations * size_of(expression) > 5'000'000) return std::nullopt;
  Cells results;
  for (std::size_t i = 0; i < combinations; ++i) {
    std::map<std::string, Value, std::less<>> row;
    std::size_t rest = i;
    bool missing = false;
    for (const auto& [column, cells] : values) {
      const std::size_t at = rest % (cells.size() + 1);
      rest /= cells.size() + 1;
      missing = missing || at == cells.size();
      row.emplace(column.name, at == cells.size() ? Value{} : value_of(cells[at], column.type));
    }
    std::optional<Cell> cell =
        cell_of(engine::evaluate(expression, [&](std::string_view name) { return row.find(name)->second; }));
    if (!cell.has_value()) return std::nullopt;
    if (missing && std::holds_alternative<std::monostate>(*cell)) continue;
    results.insert(std::move(*cell));
  }
  return results;
}

// What an expression can give by its form alone: constants of a CASE, the parts of a date.
std::optional<Cells> by_form(const Expression& expression) {
  if (is_constant(expression)) {
    std::optional<Cell> cell = cell_of(expression.value);
    return cell.has_value() ? std::optional<Cells>(Cells{std::move(*cell)}) : std::nullopt;
  }
  if (expression.type == Type::kTruth) return Cells{Cell{std::int64_t{0}}, Cell{std::int64_t{1}}};
  if (expression.function != Function::kCase && expression.function != Function::kCoalesce) return std::nullopt;
  const bool is_case = expression.function == Function::kCase;
  Cells all;
  for (std::size_t i = 0; i < expression.arguments.size(); ++i) {
    if (is_case && i % 2 == 0 && i + 1 != expression.arguments.size()) continue;
    std::optional<Cells> each = by_form(expression.arguments[i]);
    if (!each.has_value()) return std::nullopt;
    all.merge(*each);
  }
  return all;
}

}  // namespace

std::optional<std::vector<Cell>> public_values(const Rows& rows, const Bound& bound) {
  const auto listed = rows.listed.find(canonical_text(bound.expression));
  if (listed != rows.listed.end() && bound.expression.function != Function::kColumn)
    return of_constants(listed->second);
  std::optional<Cells> cells = by_columns(rows, bound.expression);
  if (!cells.has_value()) cells = by_form(bound.expression);
  if (!cells.has_value() && bound.public_range && bound.integers.stated()) return of_range(bound.integers);
  if (!cells.has_value() || cells->size() > kMostGroups) return std::nullopt;
  return std::vector<Cell>(cells->begin(), cells->end());
}

}  // namespace noisefloor::query
