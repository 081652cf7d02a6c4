#include "noisefloor/query/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/text.h"

namespace noisefloor::query {

namespace {

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

template <class Named>
const Named* find_named(const std::vector<Named>& all, std::string_view name) {
  for (const Named& one : all)
    if (one.name == name) return &one;
  const Named* found = nullptr;
  for (const Named& one : all) {
    if (!same_name(one.name, name)) continue;
    if (found != nullptr) return nullptr;  // two names that differ in case alone: the query must quote the right one
    found = &one;
  }
  return found;
}

Result<void> check_column(const DescribedTable& table, const DescribedColumn& column) {
  const std::string name = fmt::format("column {} of table {}", shown(column.name), shown(table.name));
  if (column.lower.has_value() != column.upper.has_value())
    return invalid_argument(fmt::format("{} states one bound: state lower and upper, or none", name));
  if (column.lower.has_value()) {
    if (!std::isfinite(*column.lower) || !std::isfinite(*column.upper) || *column.lower > *column.upper)
      return invalid_argument(fmt::format("the bounds of {} are no interval: state lower <= upper, both finite", name));
    const bool whole = column.type == engine::Type::kInteger || column.type == engine::Type::kDate;
    if (whole && (*column.lower != std::floor(*column.lower) || *column.upper != std::floor(*column.upper) ||
                  std::abs(*column.lower) > 0x1p53 || std::abs(*column.upper) > 0x1p53))
      return invalid_argument(fmt::format("the bounds of {} must be whole numbers within 2^53", name));
    if (column.type == engine::Type::kText || column.type == engine::Type::kTruth)
      return invalid_argument(fmt::format("{} is a {}, and has no bounds: leave them out", name,
                                          column.type == engine::Type::kText ? "text" : "truth value"));
  }
  if (column.step.has_value() && (!std::isfinite(*column.step) || !(*column.step > 0)))
    return invalid_argument(fmt::format("the step of {} must be a finite number above 0", name));
  if (column.missing.has_value() && !std::isfinite(*column.missing))
    return invalid_argument(fmt::format("the value for missing cells of {} must be finite", name));
  if (column.max_length == 0 || column.max_length > 4096)
    return invalid_argument(fmt::format("the longest group name of {} must have 1 to 4096 characters", name));
  return success();
}

}  // namespace

const DescribedTable* find_table(const DescribedTables& policy, std::string_view name) {
  return find_named(policy.tables.tables, name);
}

const DescribedColumn* find_column(const DescribedTable& table, std::string_view name) {
  return find_named(table.columns, name);
}

Result<std::vector<UnitStep>> unit_path(const DescribedTables& policy, const DescribedTable& table) {
  std::vector<UnitStep> path;
  if (table.is_public) return path;
  if (policy.unit == PrivacyUnit::kRow) {
    if (!table.unit.has_value()) return path;
    return invalid_argument(fmt::format(
        "table {} tells units apart by a column, but the dataset protects single rows: state the unit person, or "
        "leave out the column",
        shown(table.name)));
  }
  const DescribedTable* at = &table;
  while (true) {
    if (!at->unit.has_value())
      return invalid_argument(fmt::format(
          "table {} does not say whose rows it holds, but the dataset protects persons: state its unit column",
          shown(at->name)));
    const UnitPath& step = *at->unit;
    if (find_column(*at, step.column) == nullptr)
      return invalid_argument(
          fmt::format("the unit column {} of table {} is not described", shown(step.column), shown(at->name)));
    if (step.table.empty()) {
      path.push_back({at, step.column, ""});
      return path;
    }
    const DescribedTable* next = find_table(policy, step.table);
    if (next == nullptr || next->is_public || find_column(*next, step.refers) == nullptr)
      return invalid_argument(fmt::format("table {} refers to {}.{}, which is not a described private column",
                                          shown(at->name), shown(step.table), shown(step.refers)));
    // The value is that of the next table's own unit column: there is no need to visit that table.
    if (next->unit.has_value() && next->unit->table.empty() && next->unit->column == step.refers) {
      path.push_back({at, step.column, ""});
      return path;
    }
    const bool unique = std::find(next->unique.begin(), next->unique.end(), step.refers) != next->unique.end();
    if (!unique)
      return invalid_argument(fmt::format("table {} refers to {}.{}, which is not stated to be unique", shown(at->name),
                                          shown(step.table), shown(step.refers)));
    path.push_back({at, step.column, step.refers});
    if (path.size() > 8)
      return invalid_argument(fmt::format("the path from table {} to its unit has no end", shown(table.name)));
    at = next;
  }
}

Result<void> check_policy(const DescribedTables& policy) {
  for (const DescribedTable& table : policy.tables.tables) {
    for (const DescribedColumn& column : table.columns) NF_TRY_VOID(check_column(table, column));
    for (const std::string& name : table.unique)
      if (find_column(table, name) == nullptr)
        return invalid_argument(
            fmt::format("table {} states that {} is unique, but has no such column", shown(table.name), shown(name)));
    if (table.max_rows == 0 || table.max_rows > (std::uint64_t{1} << 40))
      return invalid_argument(fmt::format("table {} must state at most 2^40 rows", shown(table.name)));
    const auto bad = [](std::uint64_t n) { return n == 0 || n > (std::uint64_t{1} << 32); };
    if (bad(table.max_groups) || bad(table.max_rows_per_group) ||
        (table.max_rows_per_unit.has_value() && bad(*table.max_rows_per_unit)))
      return invalid_argument(
          fmt::format("the contribution bounds of table {} must be between 1 and 2^32", shown(table.name)));
    if (table.is_public && table.unit.has_value())
      return invalid_argument(fmt::format("table {} is public, and so has no unit", shown(table.name)));
    NF_TRY(const std::vector<UnitStep> path, unit_path(policy, table));
    static_cast<void>(path);
  }
  return success();
}

}  // namespace noisefloor::query
