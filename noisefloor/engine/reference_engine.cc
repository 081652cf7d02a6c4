#include "noisefloor/engine/reference_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/engine/days.h"
#include "noisefloor/engine/keyed_order.h"
#include "noisefloor/engine/partials.h"
#include "noisefloor/engine/reference_relations.h"

namespace noisefloor::engine {
namespace {

using Kind = Aggregate::Kind;
using Key = std::vector<Cell>;

// A row of one unit: the group that it is in, and the values of all arguments.
struct UnitRow {
  Key key;
  ValueRow arguments;
};
struct Group {
  std::uint64_t units = 0;
  std::vector<Int128> totals;
  std::vector<std::set<Cell>> different;
  std::vector<std::map<std::int64_t, std::uint64_t>> values;
};

Cell cell_of(const Value& value) {
  return std::visit(Overloaded{[](std::monostate) { return Cell(); }, [](std::int64_t whole) { return Cell(whole); },
                               [](double) { return Cell(); }, [](const std::string& text) { return Cell(text); },
                               [](bool truth) { return Cell(std::int64_t{truth ? 1 : 0}); }},
                    value);
}

class Measuring {
 public:
  explicit Measuring(const Measurement& m) : m_(m), order_(m.order_key) {}

  void add(const Cell& unit, const std::vector<UnitRow>& all) {
    std::vector<UnitRow> rows = kept_rows(unit, all, m_.bounding.max_rows);
    std::map<Key, std::vector<UnitRow>> groups;
    for (const UnitRow& row : rows) groups[row.key].push_back(row);
    drop_groups(unit, groups);
    std::vector<std::vector<Int128>> partials(m_.aggregates.size());
    for (const auto& [key, in] : groups) {
      const std::vector<UnitRow> counted = kept_rows(unit, in, m_.bounding.max_rows_per_group);
      for (std::size_t i = 0; i < m_.aggregates.size(); ++i) {
        partials[i].push_back(partial(i, in, counted));
        collect(i, unit, group(key), in, counted);
      }
      ++group(key).units;
    }
    for (std::size_t i = 0; i < m_.aggregates.size(); ++i) {
      const bool scaled = !m_.bounding.l2_norms.empty() && has_norm(m_.aggregates[i].kind);
      if (scaled) scale_to_norm(partials[i], m_.bounding.l2_norms[i]);
      std::size_t at = 0;
      for (const auto& [key, in] : groups) group(key).totals[i] += partials[i][at++];
    }
  }

  Measured finish() {
    Measured measured;
    if (m_.listed) {
      for (const Key& key : *m_.listed) measured.groups.push_back(finished(key, group(key)));
    } else {
      if (m_.keys.empty()) group({});  // there is one group without keys, also of no rows
      for (const auto& [key, one] : groups_) measured.groups.push_back(finished(key, one));
    }
    return measured;
  }

 private:
  Group& group(const Key& key) {
    Group& group = groups_[key];
    group.totals.resize(m_.aggregates.size());
    group.different.resize(m_.aggregates.size());
    group.values.resize(m_.aggregates.size());
    return group;
  }

  MeasuredGroup finished(const Key& key, const Group& from) const {
    MeasuredGroup to{.keys = key, .units = m_.unit ? from.units : 0, .totals = from.totals};
    for (std::size_t i = 0; i < m_.aggregates.size(); ++i) {
      if (m_.aggregates[i].kind == Kind::kDistinct) to.totals[i] = static_cast<Int128>(from.different[i].size());
      if (m_.aggregates[i].kind == Kind::kValues) to.values.emplace_back(from.values[i].begin(), from.values[i].end());
    }
    return to;
  }

  KeyedOrder::Tag tag_of(const Cell& unit) const {
    const auto* text = std::get_if<std::string>(&unit);
    return text != nullptr ? order_.unit_tag(*text) : KeyedOrder::unit_tag(std::get<std::int64_t>(unit));
  }
  KeyedOrder::Tag tag_of(const Key& key) const {
    std::string text;
    for (const Cell& cell : key) append_cell(text, cell);
    return order_.tag(text);
  }

  std::vector<UnitRow> kept_rows(const Cell& unit, const std::vector<UnitRow>& rows,
                                 std::optional<std::uint64_t> most) const {
    if (!m_.unit || !most || rows.size() <= *most) return rows;
    std::map<std::pair<Key, std::string>, std::uint64_t> seen;
    std::vector<std::pair<KeyedOrder::Rank, UnitRow>> ranked;
    for (const UnitRow& row : rows) {
      std::string content;
      for (const Value& value : row.arguments) append_cell(content, cell_of(value));
      const std::uint64_t number = seen[{row.key, content}]++;
      ranked.emplace_back(order_.of_row(tag_of(unit), tag_of(row.key), order_.tag(content), number), row);
    }
    std::ranges::sort(ranked, {}, [](const auto& pair) { return pair.first; });
    std::vector<UnitRow> kept;
    for (std::size_t i = 0; i < *most; ++i) kept.push_back(ranked[i].second);
    return kept;
  }

  void drop_groups(const Cell& unit, std::map<Key, std::vector<UnitRow>>& groups) const {
    const auto& most = m_.bounding.max_groups;
    if (!m_.unit || !most || groups.size() <= *most) return;
    std::map<KeyedOrder::Rank, Key> ranked;
    for (const auto& [key, rows] : groups) ranked[order_.of_group(tag_of(unit), tag_of(key))] = key;
    auto dropped = std::next(ranked.begin(), static_cast<std::ptrdiff_t>(*most));
    for (; dropped != ranked.end(); ++dropped) groups.erase(dropped->second);
  }

  Int128 partial(std::size_t i, const std::vector<UnitRow>& in, const std::vector<UnitRow>& counted) const {
    const Aggregate& aggregate = m_.aggregates[i];
    const auto is_true = [&](const UnitRow& row) { return !aggregate.argument || row.arguments[i] == Value(true); };
    if (aggregate.kind == Kind::kUnits) return std::ranges::any_of(in, is_true) ? 1 : 0;
    if (aggregate.kind == Kind::kRows) return clamped(std::ranges::count_if(counted, is_true), aggregate);
    if (aggregate.kind != Kind::kSum) return 0;
    Int128 sum = 0;
    for (const UnitRow& row : counted) {
      if (const auto* value = std::get_if<std::int64_t>(&row.arguments[i])) sum += *value;
    }
    return clamped(sum, aggregate);
  }

  void collect(std::size_t i, const Cell& unit, Group& group, const std::vector<UnitRow>& in,
               const std::vector<UnitRow>& counted) const {
    const Kind kind = m_.aggregates[i].kind;
    if (kind == Kind::kValues) {
      for (const UnitRow& row : counted) {
        if (const auto* value = std::get_if<std::int64_t>(&row.arguments[i])) ++group.values[i][*value];
      }
    }
    if (kind != Kind::kDistinct) return;
    std::set<Cell> different;
    for (const UnitRow& row : in) different.insert(cell_of(row.arguments[i]));
    different.erase(Cell());
    const auto& most = m_.bounding.max_rows_per_group;
    if (m_.unit && most && different.size() > *most) {
      std::map<KeyedOrder::Rank, Cell> ranked;
      for (const Cell& value : different) {
        ranked[order_.of_value(tag_of(unit), tag_of(in.front().key), tag_of(Key{value}))] = value;
      }
      different.clear();
      for (auto at = ranked.begin(); different.size() < *most; ++at) different.insert(at->second);
    }
    group.different[i].insert(different.begin(), different.end());
  }

  const Measurement& m_;
  KeyedOrder order_;
  std::map<Key, Group> groups_;
};

std::string text_of(Type type, const Value& value) {
  return std::visit(
      Overloaded{[](std::monostate) { return std::string(); },
                 [&](std::int64_t whole) {
                   return type == Type::kDate && is_date(whole) ? date_text(whole) : std::to_string(whole);
                 },
                 [](double x) { return fmt::format("{}", x); }, [](const std::string& text) { return text; },
                 [](bool truth) { return std::string(truth ? "true" : "false"); }},
      value);
}

}  // namespace

Result<std::vector<std::vector<Value>>> ReferenceEngine::rows_of(const Relation& relation) const {
  return reference_rows(relation, [&](const Scan& scan) -> Result<std::vector<ValueRow>> {
    const auto table = std::ranges::find(tables_, scan.table, &ReferenceTable::name);
    if (table == tables_.end()) return invalid_argument(fmt::format("there is no table '{}'", scan.table));
    std::vector<std::size_t> places;
    for (const NamedColumn& column : scan.columns) {
      const auto at = std::ranges::find(table->columns, column.name, &NamedColumn::name);
      if (at == table->columns.end()) return invalid_argument(fmt::format("there is no column '{}'", column.name));
      places.push_back(static_cast<std::size_t>(at - table->columns.begin()));
    }
    std::vector<ValueRow> rows;
    for (const ValueRow& row : table->rows) {
      ValueRow& out = rows.emplace_back();
      for (const std::size_t place : places) out.push_back(row[place]);
    }
    return rows;
  });
}

Result<Measured> ReferenceEngine::measure(const Measurement& m) {
  NF_TRY_VOID(check_measurement(m));
  NF_TRY(const std::vector<ValueRow> rows, rows_of(*m.rows));
  const std::vector<NamedColumn> columns = columns_of(*m.rows);
  const auto cell_in = [&](const std::string& name, const ValueRow& row) {
    const auto at = std::ranges::find(columns, name, &NamedColumn::name);
    return cell_of(row[static_cast<std::size_t>(at - columns.begin())]);
  };
  Measuring measuring(m);
  std::map<Cell, std::vector<UnitRow>> units;
  for (const ValueRow& row : rows) {
    UnitRow one;
    for (const std::string& key : m.keys) one.key.push_back(cell_in(key, row));
    if (m.listed && std::ranges::find(*m.listed, one.key) == m.listed->end()) continue;
    for (const Aggregate& aggregate : m.aggregates) {
      one.arguments.push_back(aggregate.argument ? value_in(*aggregate.argument, columns, row) : Value());
    }
    const Cell unit = m.unit ? cell_in(*m.unit, row) : Cell();
    if (!m.unit) {
      measuring.add(unit, {one});
    } else if (!std::holds_alternative<std::monostate>(unit)) {
      units[unit].push_back(std::move(one));
    }
  }
  for (const auto& [unit, its] : units) measuring.add(unit, its);
  return measuring.finish();
}

Result<std::vector<std::string>> ReferenceEngine::explain(const Measurement& /*measurement*/) {
  return std::vector<std::string>{};  // it sends no SQL
}

Result<std::vector<CatalogueTable>> ReferenceEngine::catalogue() {
  std::vector<CatalogueTable> tables;
  for (const ReferenceTable& table : tables_) {
    CatalogueTable& out = tables.emplace_back(CatalogueTable{.name = table.name, .columns = {}});
    for (const NamedColumn& column : table.columns) out.columns.push_back({column.name, column.type, true});
  }
  return tables;
}

Result<void> ReferenceEngine::read_rows(const std::string& name, const TakeRow& take) {
  const auto table = std::ranges::find(tables_, name, &ReferenceTable::name);
  if (table == tables_.end()) return invalid_argument(fmt::format("there is no table '{}'", name));
  for (const ValueRow& row : table->rows) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < row.size(); ++i) texts.push_back(text_of(table->columns[i].type, row[i]));
    NF_TRY_VOID(take(std::vector<std::string_view>(texts.begin(), texts.end())));
  }
  return success();
}

}  // namespace noisefloor::engine
