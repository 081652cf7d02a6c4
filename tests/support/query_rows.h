// Arbitrary rows for the tables of a policy: odd cells, rows of nobody, persons with far too many rows at the edge of
// what is allowed. What a policy states about keys and units holds; what it states about numbers does not. And the rows
// without one unit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/engine/days.h"
#include "noisefloor/query/policy.h"
#include "tests/support/random_measurement.h"

namespace noisefloor::testing {

using TextTables = std::vector<TextTable>;

inline std::size_t column_at(const TextTable& table, const std::string& name) {
  const auto at = std::ranges::find(table.columns, name, &NamedColumn::name);
  return static_cast<std::size_t>(at - table.columns.begin());
}

inline Value cell_at(const TextTable& table, std::size_t row, std::size_t column) {
  return engine::parse_cell(table.columns[column].type, table.rows[row][column]);
}

// Whose each row is, by table and row. Rows of nobody, and those of public tables, have no entry.
class Owners {
 public:
  Owners(const query::DescribedTables& policy, const TextTables& tables) {
    for (const TextTable& table : tables) {
      const DescribedTable* described = query::find_table(policy, table.name);
      if (described->is_public) continue;
      const auto path = query::unit_path(policy, *described).value();
      for (std::size_t row = 0; row < table.rows.size(); ++row) {
        std::optional<Value> owner =
            path.empty() ? Value{static_cast<std::int64_t>(row)} : follow(path, tables, table, row);
        if (owner)
          owners_[table.name][row] = path.empty() ? std::pair{table.name, *owner} : std::pair{std::string(), *owner};
      }
    }
  }

  using Unit = std::pair<std::string, Value>;  // the table's name where its rows are units of their own

  [[nodiscard]] std::optional<Unit> of(const std::string& table, std::size_t row) const {
    const auto in = owners_.find(table);
    if (in == owners_.end()) return std::nullopt;
    const auto at = in->second.find(row);
    return at == in->second.end() ? std::nullopt : std::optional<Unit>(at->second);
  }
  // All units, those with most rows first.
  [[nodiscard]] std::vector<Unit> all() const {
    std::map<Unit, std::size_t> counts;
    for (const auto& [table, rows] : owners_)
      for (const auto& [row, unit] : rows) ++counts[unit];
    std::vector<Unit> units;
    for (const auto& [unit, count] : counts) units.push_back(unit);
    std::ranges::stable_sort(units, [&](const Unit& a, const Unit& b) { return counts[a] > counts[b]; });
    return units;
  }

 private:
  static std::optional<Value> follow(const std::vector<query::UnitStep>& path, const TextTables& tables,
                                     const TextTable& table, std::size_t row) {
    const TextTable* at = &table;
    for (std::size_t i = 0;; ++i) {
      const Value value = cell_at(*at, row, column_at(*at, path[i].column));
      if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
      if (i + 1 == path.size()) return value;
      const TextTable& next = *std::ranges::find(tables, path[i + 1].table->name, &TextTable::name);
      const std::size_t key = column_at(next, path[i].refers);
      std::size_t found = 0;
      while (found < next.rows.size() && cell_at(next, found, key) != value) ++found;
      if (found == next.rows.size()) return std::nullopt;
      at = &next;
      row = found;
    }
  }

  std::map<std::string, std::map<std::size_t, Unit>> owners_;
};

// The rows that `keeps(table, row)` accepts.
template <class Keeps>
TextTables kept_rows(const TextTables& tables, const Keeps& keeps) {
  TextTables kept;
  for (const TextTable& table : tables) {
    TextTable& out = kept.emplace_back(TextTable{table.name, table.columns, {}});
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if (keeps(table, row)) out.rows.push_back(table.rows[row]);
    }
  }
  return kept;
}

inline TextTables without(const TextTables& tables, const Owners& owners, const Owners::Unit& unit) {
  return kept_rows(tables, [&](const TextTable& table, std::size_t row) {
    const auto owner = owners.of(table.name, row);
    return !owner || *owner != unit;
  });
}

inline TextTables without_rows_of_nobody(const query::DescribedTables& policy, const TextTables& tables,
                                         const Owners& owners) {
  return kept_rows(tables, [&](const TextTable& table, std::size_t row) {
    return query::find_table(policy, table.name)->is_public || owners.of(table.name, row).has_value();
  });
}

class RandomRows {
 public:
  RandomRows(const query::DescribedTables& policy, std::uint64_t seed) : policy_(policy), choices_(seed) {}

  // About `rows` rows in each table with several a unit.
  TextTables tables(std::size_t persons, std::size_t rows) {
    persons_ = persons;
    made_.clear();
    std::vector<const DescribedTable*> left;
    for (const DescribedTable& table : policy_.tables.tables) left.push_back(&table);
    while (!left.empty()) {  // those first that others refer to
      const auto ready = std::ranges::find_if(left, [&](const DescribedTable* table) {
        return !table->unit || table->unit->table.empty() ||
               std::ranges::find(made_, table->unit->table, &TextTable::name) != made_.end();
      });
      made_.push_back(table(**ready, rows));
      left.erase(ready);
    }
    TextTables ordered;
    for (const DescribedTable& table : policy_.tables.tables) {
      ordered.push_back(*std::ranges::find(made_, table.name, &TextTable::name));
    }
    return ordered;
  }

 private:
  enum class Mode { kAny, kHigh, kLow };

  TextTable table(const DescribedTable& described, std::size_t rows) {
    TextTable table{described.name, {}, {}};
    for (const DescribedColumn& column : described.columns) table.columns.push_back({column.name, column.type});
    if (described.is_public) {
      add(described, table, 5, {}, Mode::kAny);
    } else if (!described.unit) {
      add(described, table, rows, {}, Mode::kAny);
    } else if (described.one_row_per_unit) {
      for (const std::string& key : keys_of(described)) add(described, table, 1, key, Mode::kAny);
    } else {
      const std::vector<std::string> keys = keys_of(described);
      for (std::size_t i = 0; i < rows; ++i) {
        const bool nobody = choices_.one_in(10);
        const std::string key = nobody ? choices_.of(odd_cells(type_of(described))) : choices_.of(keys);
        add(described, table, 1, key, Mode::kAny);
      }
      // Two persons with more rows than any bound allows, at the edges of what numbers may be.
      add(described, table, rows / 2, keys[0], Mode::kHigh);
      add(described, table, rows / 2, keys[1 % keys.size()], Mode::kLow);
    }
    for (std::size_t i = table.rows.size(); i > 1; --i) std::swap(table.rows[i - 1], table.rows[choices_.below(i)]);
    return table;
  }

  static Type type_of(const DescribedTable& table) { return query::find_column(table, table.unit->column)->type; }

  // What the column that leads to the unit may hold.
  std::vector<std::string> keys_of(const DescribedTable& table) {
    std::vector<std::string> keys;
    if (table.unit->table.empty()) {
      for (std::size_t i = 1; i <= persons_; ++i) {
        keys.push_back(type_of(table) == Type::kText ? "p" + std::to_string(i) : std::to_string(i));
      }
      return keys;
    }
    const TextTable& parent = *std::ranges::find(made_, table.unit->table, &TextTable::name);
    const std::size_t at = column_at(parent, table.unit->refers);
    const std::size_t unit = column_at(parent, query::find_table(policy_, parent.name)->unit->column);
    // The heavy persons of the parent first, so that they are heavy here too.
    for (const bool heavy : {true, false}) {
      for (const auto& row : parent.rows) {
        const bool is_heavy = row[unit] == "1" || row[unit] == "2";
        if (is_heavy == heavy && !row[at].empty()) keys.push_back(row[at]);
      }
    }
    if (keys.empty()) keys.emplace_back("1");
    return keys;
  }

  void add(const DescribedTable& described, TextTable& table, std::size_t count, const std::optional<std::string>& key,
           Mode mode) {
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<std::string>& row = table.rows.emplace_back();
      for (const DescribedColumn& column : described.columns) {
        const bool is_key = key && described.unit && column.name == described.unit->column;
        const bool is_unique = std::ranges::find(described.unique, column.name) != described.unique.end();
        if (is_key) {
          row.push_back(*key);
        } else if (is_unique && column.type == Type::kText) {
          row.push_back(words()[table.rows.size() % words().size()]);
        } else if (is_unique) {
          row.push_back(std::to_string(table.rows.size()));
        } else {
          row.push_back(cell(column, mode));
        }
      }
    }
  }

  static const std::vector<std::string>& words() {
    static const std::vector<std::string> list = {"a", "b", "c", "d", "e", "f", "g"};
    return list;
  }

  std::string text_of(const DescribedColumn& column, double value) const {
    if (column.type == Type::kDate) return engine::date_text(static_cast<std::int64_t>(value));
    return column.type == Type::kInteger ? fmt::format("{}", static_cast<std::int64_t>(value))
                                         : fmt::format("{}", value);
  }

  std::string cell(const DescribedColumn& column, Mode mode) {
    if (mode == Mode::kAny && choices_.one_in(8)) return choices_.of(odd_cells(column.type));
    if (column.values) return choices_.of(*column.values);
    if (column.lower) {
      if (mode != Mode::kAny) return text_of(column, mode == Mode::kHigh ? *column.upper : *column.lower);
      const double width = *column.upper - *column.lower;
      const double inside = *column.lower + width * static_cast<double>(choices_.below(65)) / 64;
      if (column.type == Type::kDate) return text_of(column, std::floor(inside));
      const std::vector<double> options = {*column.lower,
                                           *column.upper,
                                           *column.lower - width,
                                           *column.upper + width,
                                           *column.upper + 1,
                                           inside,
                                           inside,
                                           inside,
                                           inside,
                                           inside};
      const double value = choices_.of(options);
      return text_of(column, column.type == Type::kInteger ? std::floor(value) : value);
    }
    switch (column.type) {
      case Type::kInteger:
        return std::to_string(choices_.below(6));
      case Type::kNumber:
        return fmt::format("{}", static_cast<double>(choices_.below(40)) / 4 - 3);
      case Type::kText:
        // Heavy persons have many values of their own, and many times the same one.
        if (mode != Mode::kAny && choices_.one_in(3)) return fmt::format("w{}", choices_.below(1000));
        if (mode != Mode::kAny) return choices_.one_in(2) ? "w" : "v";
        return choices_.of(words());
      case Type::kDate:
        return fmt::format("2026-0{}-1{}", 1 + choices_.below(9), choices_.below(10));
      default:
        return choices_.one_in(2) ? "true" : "false";
    }
  }

  const query::DescribedTables& policy_;
  Choices choices_;
  std::size_t persons_ = 0;
  TextTables made_;
};

}  // namespace noisefloor::testing
