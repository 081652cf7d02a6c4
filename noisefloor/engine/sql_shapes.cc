#include "noisefloor/engine/sql_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/engine/evaluate.h"
#include "noisefloor/engine/partials.h"
#include "noisefloor/engine/sql_writer.h"

namespace noisefloor::engine {
namespace {

using Kind = Aggregate::Kind;

// Sums of such values over 2^33 rows stay below 2^62.
constexpr std::int64_t kSmallValue = std::int64_t{1} << 29;

Type type_in(const std::vector<NamedColumn>& columns, const std::string& name) {
  const auto at = std::ranges::find(columns, name, &NamedColumn::name);
  NF_CHECK(at != columns.end(), "a checked measurement names columns of its rows");
  return at->type;
}

struct Range {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

// What one row may add: the bounds of partials, and the norm.
Range allowed(const Measurement& m, std::size_t i) {
  Range range;
  const Aggregate& aggregate = m.aggregates[i];
  const bool has_bounds = aggregate.kind == Kind::kRows || aggregate.kind == Kind::kSum;
  if (has_bounds && aggregate.lower) range.low = *aggregate.lower;
  if (has_bounds && aggregate.upper) range.high = *aggregate.upper;
  if (!m.bounding.l2_norms.empty() && has_norm(aggregate.kind)) {
    const std::int64_t most = std::min(m.bounding.l2_norms[i], std::int64_t{1} << 53);
    range.low = std::clamp(range.low, -most, most);
    range.high = std::clamp(range.high, -most, most);
  }
  return range;
}

// The values that the expression can have, as far as its form shows them.
Range known(const Expression& e) {
  if (e.function != Function::kSteps) return {};
  const auto step_of = [&](std::size_t i) {
    const std::array<Value, 4> arguments = {e.arguments[i].value, e.arguments[1].value, e.arguments[2].value,
                                            e.arguments[3].value};
    return std::get<std::int64_t>(apply(Function::kSteps, Type::kInteger, arguments));
  };
  return {.low = step_of(1), .high = step_of(2)};
}

// The argument of a sum, bounded as one row's.
struct Summand {
  Expression value;
  bool is_small = false;
};

Summand summand(const Measurement& m, std::size_t i) {
  const Range bounds = allowed(m, i);
  Summand result{.value = *m.aggregates[i].argument};
  Range range = known(result.value);
  const std::int64_t of_nothing = std::clamp<std::int64_t>(0, bounds.low, bounds.high);
  if (of_nothing != 0) {
    result.value = call(Function::kCoalesce, Type::kInteger, {result.value, constant(std::int64_t{0})});
    range = {.low = std::min<std::int64_t>(range.low, 0), .high = std::max<std::int64_t>(range.high, 0)};
  }
  if (range.low < bounds.low) {
    result.value = call(Function::kGreatest, Type::kInteger, {result.value, constant(bounds.low)});
  }
  if (range.high > bounds.high) {
    result.value = call(Function::kLeast, Type::kInteger, {result.value, constant(bounds.high)});
  }
  result.is_small = std::max(range.low, bounds.low) >= -kSmallValue && std::min(range.high, bounds.high) <= kSmallValue;
  return result;
}

// Whether the column of the relation is one of a table that the engine keeps free of NULL.
bool is_never_null(const Relation& relation, const std::string& name, const SqlDialect& dialect) {
  if (const auto* scan = std::get_if<Scan>(&relation.node)) return dialect.is_never_null(*scan, name);
  if (const auto* filter = std::get_if<Filter>(&relation.node)) return is_never_null(*filter->input, name, dialect);
  const auto* project = std::get_if<Project>(&relation.node);
  if (project == nullptr) return false;
  const auto at = std::ranges::find(project->columns, name, &NamedExpression::name);
  return at != project->columns.end() && at->expression.function == Function::kColumn &&
         is_never_null(*project->input, at->expression.name, dialect);
}

// The unit, keys and arguments as c0, c1, …, of rows that have a unit on this server.
Result<SqlRows> measured_rows(const Measurement& m, const SqlDialect& dialect, bool with_unit, bool bounded) {
  NF_TRY(SqlRows input, sql_of(*m.rows, dialect));
  const std::vector<NamedColumn> columns = columns_of(*m.rows);
  std::vector<NamedExpression> wanted;
  if (m.unit && with_unit) wanted.push_back({*m.unit, column(*m.unit, type_in(columns, *m.unit))});
  for (const std::string& key : m.keys) wanted.push_back({key, column(key, type_in(columns, key))});
  for (std::size_t i = 0; i < m.aggregates.size(); ++i) {
    const Aggregate& aggregate = m.aggregates[i];
    if (!aggregate.argument) continue;
    if (bounded) {
      wanted.push_back({"", aggregate.kind == Kind::kSum ? summand(m, i).value : *aggregate.argument});
    } else {
      wanted.push_back({"", sent_argument(*aggregate.argument)});
    }
  }
  if (!m.unit) return sql_project(input, wanted, nullptr, dialect);
  const bool never_null = is_never_null(*m.rows, *m.unit, dialect);
  const Type unit_type = type_in(columns, *m.unit);
  const Expression has_unit =
      call(Function::kNot, Type::kTruth, {call(Function::kIsNull, Type::kTruth, {column(*m.unit, unit_type)})});
  const auto place = std::ranges::find(columns, *m.unit, &NamedColumn::name) - columns.begin();
  const std::string belongs = dialect.belongs(unit_type, fmt::format("c{}", place));
  if (!belongs.empty()) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < columns.size(); ++i) all.push_back(fmt::format("c{}", i));
    input.select = fmt::format("SELECT {} FROM ({}) AS s WHERE {}", fmt::join(all, ", "), input.select, belongs);
  }
  return sql_project(input, wanted, never_null ? nullptr : &has_unit, dialect);
}

std::vector<Type> types_of(const SqlRows& rows) {
  std::vector<Type> types;
  for (const NamedColumn& column : rows.columns) types.push_back(column.type);
  return types;
}

std::string key_list(std::size_t keys) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < keys; ++i) names.push_back(fmt::format("c{}", i));
  return fmt::format("{}", fmt::join(names, ", "));
}

Int128 whole_in(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  Int128 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

std::int64_t count_in(const BatchColumn& column, std::size_t row) { return column.has(row) ? column.whole[row] : 0; }

}  // namespace

Result<Statement> rows_statement(const Measurement& m, const SqlDialect& dialect) {
  NF_TRY(SqlRows rows, measured_rows(m, dialect, true, false));
  std::vector<Type> types = types_of(rows);
  return Statement{std::move(rows.select), std::move(types)};
}

bool is_added_by_servers(const Measurement& m, const SqlDialect& dialect, std::size_t servers) {
  if (m.unit && !m.one_row_per_unit) return false;
  if (!m.keys.empty() && dialect.groups_by_sorting()) return false;
  // A value may be on two servers.
  return servers == 1 || std::ranges::none_of(m.aggregates, [](const Aggregate& aggregate) {
           return aggregate.kind == Kind::kDistinct;
         });
}

Result<std::vector<Statement>> total_statements(const Measurement& m, const SqlDialect& dialect) {
  NF_TRY(const SqlRows rows, measured_rows(m, dialect, false, true));
  const std::size_t keys = m.keys.size();
  const std::string by = keys == 0 ? "" : " GROUP BY " + key_list(keys);
  std::vector<std::string> selected;
  std::vector<Type> types;
  for (std::size_t i = 0; i < keys; ++i) {
    selected.push_back(fmt::format("c{}", i));
    types.push_back(rows.columns[i].type);
  }
  selected.emplace_back("count(*)");
  types.push_back(Type::kInteger);
  std::vector<Statement> statements(1);
  std::size_t next = keys;
  for (std::size_t i = 0; i < m.aggregates.size(); ++i) {
    const Aggregate& aggregate = m.aggregates[i];
    if (!aggregate.argument) continue;
    const std::string argument = fmt::format("c{}", next++);
    switch (aggregate.kind) {
      case Kind::kRows:
      case Kind::kUnits:
        selected.push_back(fmt::format("count(*) FILTER (WHERE {})", argument));
        break;
      case Kind::kSum:
        selected.push_back(dialect.exact_sum(argument, summand(m, i).is_small));
        break;
      case Kind::kDistinct:
        selected.push_back(fmt::format("count(DISTINCT {})", argument));
        break;
      case Kind::kValues: {
        const std::string list = keys == 0 ? argument : fmt::format("{}, {}", key_list(keys), argument);
        Statement values{fmt::format("SELECT {0}, count(*) FROM ({1}) AS s WHERE {2} IS NOT NULL GROUP BY {0}", list,
                                     rows.select, argument),
                         {types.begin(), types.begin() + static_cast<std::ptrdiff_t>(keys)}};
        values.types.insert(values.types.end(), {Type::kInteger, Type::kInteger});
        statements.push_back(std::move(values));
        continue;
      }
    }
    types.push_back(aggregate.kind == Kind::kSum ? Type::kText : Type::kInteger);
  }
  statements.front() = {fmt::format("SELECT {} FROM ({}) AS s{}", fmt::join(selected, ", "), rows.select, by),
                        std::move(types)};
  return statements;
}

MeasuredGroup* Totals::group(const Batch& batch, std::size_t row) {
  std::vector<Cell> keys;
  for (std::size_t i = 0; i < m_.keys.size(); ++i) {
    const BatchColumn& column = batch.columns[i];
    if (!column.has(row)) {
      keys.emplace_back();
    } else if (column.type == Type::kText) {
      keys.emplace_back(std::string(column.texts[row]));
    } else {
      keys.emplace_back(column.whole[row]);
    }
  }
  if (m_.listed && listed_.count(keys) == 0) return nullptr;
  MeasuredGroup& group = groups_[keys];
  if (group.totals.empty()) group = {.keys = keys, .totals = std::vector<Int128>(m_.aggregates.size())};
  return &group;
}

Result<void> Totals::add(std::size_t statement, const Batch& batch) {
  const std::size_t keys = m_.keys.size();
  for (std::size_t row = 0; row < batch.rows; ++row) {
    MeasuredGroup* to = group(batch, row);
    if (to == nullptr) continue;
    if (statement > 0) {
      auto& values = values_[to->keys];
      values.resize(std::max(values.size(), statement));
      values[statement - 1][batch.columns[keys].whole[row]] +=
          static_cast<std::uint64_t>(batch.columns[keys + 1].whole[row]);
      continue;
    }
    const std::int64_t rows = batch.columns[keys].whole[row];
    if (m_.unit) to->units += static_cast<std::uint64_t>(rows);
    std::size_t next = keys + 1;
    for (std::size_t i = 0; i < m_.aggregates.size(); ++i) {
      const Aggregate& aggregate = m_.aggregates[i];
      const Range range = allowed(m_, i);
      const auto one = [&](std::int64_t value) -> Int128 { return std::clamp(value, range.low, range.high); };
      if (aggregate.kind == Kind::kRows || aggregate.kind == Kind::kUnits) {
        const std::int64_t hits = aggregate.argument ? count_in(batch.columns[next++], row) : rows;
        to->totals[i] += hits * one(1) + (rows - hits) * (aggregate.kind == Kind::kRows ? one(0) : 0);
      } else if (aggregate.kind == Kind::kSum) {
        const BatchColumn& column = batch.columns[next++];
        if (column.has(row)) to->totals[i] += whole_in(column.texts[row]);
      } else if (aggregate.kind == Kind::kDistinct) {
        to->totals[i] += count_in(batch.columns[next++], row);
      }
    }
  }
  return success();
}

Measured Totals::finish() {
  const auto histograms = static_cast<std::size_t>(std::ranges::count(m_.aggregates, Kind::kValues, &Aggregate::kind));
  const auto finished = [&](const std::vector<Cell>& keys) {
    const auto at = groups_.find(keys);
    MeasuredGroup group = at != groups_.end()
                              ? at->second
                              : MeasuredGroup{.keys = keys, .totals = std::vector<Int128>(m_.aggregates.size())};
    group.values.resize(histograms);
    const auto values = values_.find(keys);
    if (values == values_.end()) return group;
    for (std::size_t i = 0; i < values->second.size(); ++i) {
      group.values[i].assign(values->second[i].begin(), values->second[i].end());
    }
    return group;
  };
  Measured measured;
  if (m_.listed) {
    for (const std::vector<Cell>& keys : *m_.listed) measured.groups.push_back(finished(keys));
    return measured;
  }
  for (const auto& [keys, group] : groups_) measured.groups.push_back(finished(keys));
  if (m_.keys.empty() && measured.groups.empty()) measured.groups.push_back(finished({}));
  return measured;
}

}  // namespace noisefloor::engine
