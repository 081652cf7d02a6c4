#include "noisefloor/engine/measurement.h"

#include <fmt/format.h>

#include <algorithm>

#include "noisefloor/engine/evaluate.h"

namespace noisefloor::engine {
namespace {

bool is_key_type(Type type) { return type != Type::kNumber; }

const NamedColumn* find(const std::vector<NamedColumn>& columns, const std::string& name) {
  const auto at = std::ranges::find(columns, name, &NamedColumn::name);
  return at == columns.end() ? nullptr : &*at;
}

Result<void> check_columns(const Expression& e, const std::vector<NamedColumn>& columns) {
  if (e.function == Function::kColumn) {
    const NamedColumn* column = find(columns, e.name);
    if (column == nullptr || column->type != e.type) {
      return invalid_argument(fmt::format("the measured rows have no column '{}' of this type", e.name));
    }
  }
  for (const Expression& argument : e.arguments) NF_TRY_VOID(check_columns(argument, columns));
  return success();
}

Result<void> check_aggregate(const Aggregate& aggregate, const std::vector<NamedColumn>& columns) {
  using Kind = Aggregate::Kind;
  const bool optional = aggregate.kind == Kind::kRows || aggregate.kind == Kind::kUnits;
  if (!aggregate.argument) {
    if (optional) return success();
    return invalid_argument("a sum, the different values and quantiles need an argument");
  }
  const Type type = aggregate.argument->type;
  const bool fits = optional                            ? type == Type::kTruth
                    : aggregate.kind == Kind::kDistinct ? is_key_type(type)
                                                        : type == Type::kInteger;
  if (!fits) return invalid_argument(fmt::format("an aggregate does not take a {}", name_of(type)));
  if (aggregate.lower && aggregate.upper && *aggregate.lower > *aggregate.upper) {
    return invalid_argument("the lower bound of an aggregate is above its upper bound");
  }
  return check_columns(*aggregate.argument, columns);
}

Result<void> check_bounding(const Measurement& m) {
  const auto none = [](const std::optional<std::uint64_t>& most) { return most && *most == 0; };
  if (none(m.bounding.max_groups) || none(m.bounding.max_rows_per_group) || none(m.bounding.max_rows)) {
    return invalid_argument("a bound on groups or rows is at least 1");
  }
  const std::vector<std::int64_t>& norms = m.bounding.l2_norms;
  const bool right = norms.empty() || norms.size() == m.aggregates.size();
  if (!right || std::ranges::any_of(norms, [](std::int64_t norm) { return norm < 0; })) {
    return invalid_argument("each aggregate needs an L2 norm of 0 or more, or none has one");
  }
  return success();
}

}  // namespace

Result<void> check_measurement(const Measurement& m) {
  if (m.rows == nullptr) return invalid_argument("a measurement needs rows");
  const std::vector<NamedColumn> columns = columns_of(*m.rows);
  std::vector<std::string> names = m.keys;
  if (m.unit) names.push_back(*m.unit);
  for (const std::string& name : names) {
    const NamedColumn* column = find(columns, name);
    if (column == nullptr || !is_key_type(column->type)) {
      return invalid_argument(fmt::format("'{}' is no column of integers, dates, truth values or texts", name));
    }
  }
  if (m.aggregates.size() > 31) return invalid_argument("a measurement has at most 31 aggregates");
  for (const Aggregate& aggregate : m.aggregates) NF_TRY_VOID(check_aggregate(aggregate, columns));
  if (m.listed) {
    for (const std::vector<Cell>& keys : *m.listed) {
      if (keys.size() != m.keys.size()) return invalid_argument("a listed group needs a cell for each key");
    }
    std::vector<std::vector<Cell>> sorted = *m.listed;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) return invalid_argument("a group is listed twice");
  }
  return check_bounding(m);
}

}  // namespace noisefloor::engine
