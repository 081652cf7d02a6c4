// Arbitrary queries over the tables of a policy, from the grammar of the dialect: joins, subqueries, grouping by the
// unit, row numbers, UNION ALL, every aggregate and function. Most are understood; none may do harm.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/query/planner.h"
#include "noisefloor/query/policy.h"
#include "tests/support/random_measurement.h"

namespace noisefloor::testing {

class RandomQueries {
 public:
  RandomQueries(const query::DescribedTables& policy, std::uint64_t seed) : policy_(policy), choices_(seed) {}

  std::string query() {
    names_ = 0;
    const From from = this->from(2);
    std::vector<std::string> keys;
    for (std::size_t i = choices_.below(3); i > 0; --i) keys.push_back(key(from));
    std::vector<std::string> list = keys;
    std::vector<std::string> aggregates;
    for (std::size_t i = 1 + choices_.below(3); i > 0; --i) aggregates.push_back(aggregate(from));
    for (const std::string& each : aggregates) list.push_back(choices_.one_in(6) ? each + " + 1" : each);
    std::string text = "SELECT " + joined(list) + " FROM " + from.text + where(from, 1);
    if (!keys.empty()) {
      const bool several = choices_.one_in(6);
      static const std::vector<std::string> forms = {"ROLLUP", "CUBE"};
      text += " GROUP BY " + (several ? choices_.of(forms) + " (" + joined(keys) + ")" : joined(keys));
    }
    if (choices_.one_in(6)) text += " HAVING " + aggregate(from) + " > " + std::to_string(choices_.below(20));
    if (choices_.one_in(6)) text += " ORDER BY " + std::to_string(1 + choices_.below(list.size())) + " DESC";
    if (choices_.one_in(8)) text += " LIMIT " + std::to_string(1 + choices_.below(4));
    return text;
  }

  query::PlanOptions options() {
    query::PlanOptions options;
    if (choices_.one_in(4)) options.max_groups = 1 + choices_.below(3);
    if (choices_.one_in(4)) options.max_rows_per_group = 1 + choices_.below(2);
    if (choices_.one_in(4)) options.max_rows_per_unit = 1 + choices_.below(5);
    return options;
  }

 private:
  struct Named {
    std::string name;  // with its table
    Type type;
    bool is_unit = false;
    bool is_bounded = false;  // an integer or a number with public bounds
  };
  struct From {
    std::string text;
    std::vector<Named> columns;
    std::vector<std::string> tables;  // that stand in it by themselves
  };

  static std::string joined(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }
  std::string fresh(const char* prefix) { return prefix + std::to_string(++names_); }
  static std::string last(const std::string& name) { return name.substr(name.find('.') + 1); }

  // --- what rows there are -------------------------------------------------------------------------------------------

  From table(const DescribedTable& described) {
    From from;
    const std::string alias = fresh("t");
    from.text = described.name + " AS " + alias;
    const bool has_unit =
        described.unit && query::unit_path(policy_, described).value().size() == 1;  // else it is another table's
    for (const DescribedColumn& column : described.columns) {
      from.columns.push_back({alias + "." + column.name, column.type, has_unit && described.unit->column == column.name,
                              column.lower.has_value()});
    }
    from.tables.push_back(described.name);
    return from;
  }
  From private_table() {
    std::vector<const DescribedTable*> tables;
    for (const DescribedTable& each : policy_.tables.tables)
      if (!each.is_public) tables.push_back(&each);
    return table(*choices_.of(tables));
  }

  const Named* unit_of(const From& from) {
    const auto at = std::ranges::find(from.columns, true, &Named::is_unit);
    return at == from.columns.end() ? nullptr : &*at;
  }

  From from(std::size_t depth) {
    From base = depth == 0 || choices_.one_in(3) ? private_table() : subquery(depth);
    if (choices_.one_in(3)) base = join(std::move(base), depth);
    return base;
  }

  From join(From left, std::size_t depth) {
    static const std::vector<std::string> words = {" JOIN ", " JOIN ", " LEFT JOIN "};
    From right;
    std::string on;
    const DescribedTable* shared = choices_.one_in(2) ? public_table_for(left, on) : nullptr;
    if (shared != nullptr) {
      right = table(*shared);
      const std::string column = on;
      on = column + " = " + right.columns[column_of(right, last(column))].name;
    } else {
      right = depth > 0 && choices_.one_in(2) ? subquery(depth - 1) : private_table();
      const Named* a = unit_of(left);
      const Named* b = unit_of(right);
      if (a == nullptr || b == nullptr) return left;
      on = a->name + " = " + b->name;
    }
    if (choices_.one_in(5)) on += " AND " + condition(right, 1);
    From both;
    both.text = left.text + choices_.of(words) + right.text + " ON " + on;
    both.columns = std::move(left.columns);
    for (Named& column : right.columns) {
      column.is_unit = false;  // the left one stands for both
      both.columns.push_back(std::move(column));
    }
    return both;
  }

  // A public table with a column of the same name and type as one of these; `column` becomes that one's name.
  const DescribedTable* public_table_for(const From& from, std::string& column) {
    for (const DescribedTable& each : policy_.tables.tables) {
      if (!each.is_public) continue;
      for (const DescribedColumn& there : each.columns) {
        for (const Named& here : from.columns) {
          if (last(here.name) != there.name || here.type != there.type || here.is_unit) continue;
          column = here.name;
          return &each;
        }
      }
    }
    return nullptr;
  }
  static std::size_t column_of(const From& from, const std::string& name) {
    const auto at = std::ranges::find_if(from.columns, [&](const Named& each) { return last(each.name) == name; });
    return static_cast<std::size_t>(at - from.columns.begin());
  }

  From subquery(std::size_t depth) {
    From inner = from(depth - 1);
    const Named* unit = unit_of(inner);
    switch (choices_.below(unit == nullptr ? 2 : 6)) {
      case 0:
      case 1:
        return plain(inner);
      case 2:
        return grouped(inner, *unit);
      case 3:
        return distinct(inner, *unit);
      case 4:
        return numbered(inner, *unit);
      default:
        return all_of_both(inner, *unit);
    }
  }

  // Names the list of a subquery, and gives its columns.
  struct List {
    std::vector<std::string> items;
    std::vector<Named> columns;
    void add(const std::string& value, const std::string& name, const Named& what) {
      items.push_back(value + " AS " + name);
      columns.push_back(what);
      columns.back().name = name;
    }
  };
  From named(const List& list, const std::string& rest) {
    From from;
    const std::string alias = fresh("s");
    from.text = "(SELECT " + joined(list.items) + rest + ") AS " + alias;
    from.columns = list.columns;
    for (Named& column : from.columns) column.name = alias + "." + column.name;
    return from;
  }
  List columns_of(const From& from, bool some) {
    List list;
    for (const Named& column : from.columns) {
      if (some && !column.is_unit && choices_.one_in(3)) continue;
      const bool twice = std::ranges::find(list.columns, last(column.name), &Named::name) != list.columns.end();
      if (!twice) list.add(column.name, last(column.name), column);
    }
    return list;
  }

  From plain(const From& inner) {
    List list = columns_of(inner, true);
    for (std::size_t i = choices_.below(3); i > 0; --i) {
      const Type type = any_type();
      list.add(expression(type, inner, 2), fresh("x"), {"", type});
    }
    if (list.items.empty()) list = columns_of(inner, false);
    return named(list, " FROM " + inner.text + where(inner, 1));
  }

  From grouped(const From& inner, const Named& unit) {
    List list;
    list.add(unit.name, last(unit.name), unit);
    std::vector<std::string> keys = {unit.name};
    for (std::size_t i = choices_.below(3); i > 0; --i) {
      static const std::vector<Type> types = {Type::kText, Type::kInteger, Type::kDate, Type::kTruth};
      const Type type = choices_.of(types);
      keys.push_back(expression(type, inner, 1));
      list.add(keys.back(), fresh("k"), {"", type});
    }
    for (std::size_t i = 1 + choices_.below(3); i > 0; --i) add_fold(list, inner);
    std::string rest = " FROM " + inner.text + where(inner, 1) + " GROUP BY " + joined(keys);
    if (choices_.one_in(5)) rest += " HAVING count(*) > 1";
    return named(list, rest);
  }

  void add_fold(List& list, const From& inner) {
    const std::string filter = choices_.one_in(3) ? " FILTER (WHERE " + condition(inner, 1) + ")" : "";
    switch (choices_.below(5)) {
      case 0:
        return list.add("least(count(*)" + filter + ", 5)", fresh("n"), {"", Type::kInteger, false, true});
      case 1:
        return list.add("count(DISTINCT " + expression(Type::kText, inner, 1) + ")" + filter, fresh("n"),
                        {"", Type::kInteger});
      case 2:
        return list.add("sum(" + bounded(inner) + ")" + filter, fresh("n"), {"", Type::kNumber});
      case 3:
        return list.add("avg(" + bounded(inner) + ")" + filter, fresh("n"), {"", Type::kNumber});
      default: {
        const Type type = any_type();
        static const std::vector<std::string> words = {"min", "max"};
        return list.add(choices_.of(words) + "(" + expression(type, inner, 1) + ")" + filter, fresh("m"), {"", type});
      }
    }
  }

  From distinct(const From& inner, const Named& unit) {
    List list;
    list.add("DISTINCT " + unit.name, last(unit.name), unit);
    for (std::size_t i = 1 + choices_.below(2); i > 0; --i) {
      const Named& column = choices_.of(inner.columns);
      const std::string name = last(column.name);
      if (column.type == Type::kNumber || std::ranges::find(list.columns, name, &Named::name) != list.columns.end())
        continue;
      list.add(column.name, name, column);
    }
    return named(list, " FROM " + inner.text + where(inner, 1));
  }

  From numbered(const From& inner, const Named& unit) {
    List list = columns_of(inner, true);
    std::string partition = unit.name;
    if (choices_.one_in(2)) partition += ", " + expression(Type::kText, inner, 0);
    const std::string number = fresh("n");
    list.add("row_number() OVER (PARTITION BY " + partition + " ORDER BY " + choices_.of(inner.columns).name +
                 (choices_.one_in(2) ? " DESC" : "") + ")",
             number, {"", Type::kInteger});
    From all = named(list, " FROM " + inner.text + where(inner, 1));
    const std::string full = all.columns.back().name;
    const std::string most = std::to_string(1 + choices_.below(3));
    static const std::vector<std::string> signs = {" <= ", " < 1 + ", " = "};
    List again = columns_of(all, false);
    return named(again, " FROM " + all.text + " WHERE " + full + choices_.of(signs) + most);
  }

  From all_of_both(const From& inner, const Named& unit) {
    List list = columns_of(inner, true);
    From both = named(list, " FROM " + inner.text + where(inner, 2) + " UNION ALL SELECT " + joined(list.items) +
                                " FROM " + inner.text + where(inner, 2));
    static_cast<void>(unit);
    for (Named& column : both.columns) column.is_bounded = column.is_bounded && !column.is_unit;
    return both;
  }

  // --- which rows are kept -------------------------------------------------------------------------------------------

  std::string where(const From& from, std::size_t one_in) {
    if (!choices_.one_in(1 + one_in)) return "";
    std::string text = " WHERE " + condition(from, 2);
    if (const Named* unit = unit_of(from); unit != nullptr && choices_.one_in(4)) {
      const From other = private_table();
      if (const Named* there = unit_of(other); there != nullptr && there->type == unit->type) {
        const std::string inner = " FROM " + other.text + " WHERE ";
        const std::string name = there->name;
        const std::string no = choices_.one_in(2) ? "NOT " : "";
        text += choices_.one_in(2)
                    ? " AND " + unit->name + " " + no + "IN (SELECT " + name + inner + condition(other, 1) + ")"
                    : " AND " + no + "EXISTS (SELECT 1" + inner + name + " = " + unit->name + ")";
      }
    }
    return text;
  }

  // --- values --------------------------------------------------------------------------------------------------------

  Type any_type() {
    static const std::vector<Type> types = {Type::kInteger, Type::kNumber, Type::kText, Type::kDate, Type::kTruth};
    return choices_.of(types);
  }

  std::string column_or(Type type, const From& from, const std::string& otherwise) {
    std::vector<std::string> fitting;
    for (const Named& column : from.columns)
      if (column.type == type && !column.is_unit) fitting.push_back(column.name);
    return fitting.empty() ? otherwise : choices_.of(fitting);
  }

  std::string expression(Type type, const From& from, std::size_t depth) {
    switch (type) {
      case Type::kInteger:
        return integer(from, depth);
      case Type::kNumber:
        return number(from, depth);
      case Type::kText:
        return text(from, depth);
      case Type::kDate:
        return date(from, depth);
      default:
        return condition(from, depth);
    }
  }

  std::string integer(const From& from, std::size_t depth) {
    const std::string constant = std::to_string(choices_.below(9));
    const auto inner = [&] { return integer(from, depth - 1); };
    switch (depth == 0 ? choices_.below(3) : choices_.below(11)) {
      case 0:
        return constant;
      case 1:
      case 2:
        return column_or(Type::kInteger, from, constant);
      case 3:
        return "least(greatest(" + inner() + ", -9), 9) + least(greatest(" + inner() + ", -9), 9)";
      case 4:
        return "least(greatest(" + inner() + ", -9), 9) * least(greatest(" + inner() + ", -9), 9)";
      case 5:
        return inner() + " % " + inner();
      case 6:
        return "length(" + text(from, depth - 1) + ")";
      case 7: {
        static const std::vector<std::string> parts = {"year", "month", "dow", "quarter"};
        return "extract(" + choices_.of(parts) + " FROM " + date(from, depth - 1) + ")";
      }
      case 8:
        return "CAST(" + number(from, depth - 1) + " AS integer)";
      case 9:
        return "width_bucket(" + number(from, depth - 1) + ", 0, 100, 4)";
      default:
        return choice(Type::kInteger, from, depth);
    }
  }

  std::string number(const From& from, std::size_t depth) {
    static const std::vector<std::string> constants = {"0.5", "1e10", "-2.5", "0.01", "3.0"};
    static const std::vector<std::string> signs = {" + ", " - ", " * ", " / "};
    static const std::vector<std::string> functions = {"abs", "floor", "round", "sqrt", "ln", "exp", "-"};
    const std::string constant = choices_.of(constants);
    const auto inner = [&] { return number(from, depth - 1); };
    switch (depth == 0 ? choices_.below(2) : choices_.below(6)) {
      case 0:
        return column_or(Type::kNumber, from, constant);
      case 1:
        return choices_.one_in(2) ? constant : column_or(Type::kNumber, from, constant);
      case 2:
        return "(" + inner() + choices_.of(signs) + inner() + ")";
      case 3:
        return choices_.of(functions) + "(" + inner() + ")";
      case 4:
        return "CAST(" + integer(from, depth - 1) + " AS float8)";
      default:
        return choice(Type::kNumber, from, depth);
    }
  }

  std::string text(const From& from, std::size_t depth) {
    static const std::vector<std::string> constants = {"'a'", "'A'", "''", "'it''s'", "'ICU'"};
    const std::string constant = choices_.of(constants);
    const auto inner = [&] { return text(from, depth - 1); };
    switch (depth == 0 ? choices_.below(2) : choices_.below(7)) {
      case 0:
      case 1:
        return column_or(Type::kText, from, constant);
      case 2:
        return "lower(" + inner() + ")";
      case 3:
        return "left(" + inner() + ", 1)";
      case 4:
        return inner() + " || " + constant;
      case 5:
        return "CAST(" + integer(from, depth - 1) + " AS text)";
      default:
        return choice(Type::kText, from, depth);
    }
  }

  std::string date(const From& from, std::size_t depth) {
    const std::string constant = "DATE '2026-03-05'";
    switch (depth == 0 ? choices_.below(2) : choices_.below(5)) {
      case 0:
      case 1:
        return column_or(Type::kDate, from, constant);
      case 2:
        return "date_trunc('month', " + date(from, depth - 1) + ")";
      case 3:
        return "CAST(" + text(from, depth - 1) + " AS date)";
      default:
        return choice(Type::kDate, from, depth);
    }
  }

  std::string choice(Type type, const From& from, std::size_t depth) {
    const auto inner = [&] { return expression(type, from, depth - 1); };
    switch (choices_.below(3)) {
      case 0:
        return "coalesce(" + inner() + ", " + inner() + ")";
      case 1:
        return "CASE WHEN " + condition(from, depth - 1) + " THEN " + inner() + " END";
      default:
        return "CASE WHEN " + condition(from, depth - 1) + " THEN " + inner() + " ELSE " + inner() + " END";
    }
  }

  std::string condition(const From& from, std::size_t depth) {
    static const std::vector<std::string> signs = {" = ", " <> ", " < ", " <= ", " > ", " >= "};
    if (depth == 0 || choices_.one_in(3)) {
      const Type type = any_type();
      if (type == Type::kTruth) return column_or(type, from, "TRUE");
      return expression(type, from, 0) + choices_.of(signs) + expression(type, from, 0);
    }
    switch (choices_.below(7)) {
      case 0:
        return "(" + condition(from, depth - 1) + " AND " + condition(from, depth - 1) + ")";
      case 1:
        return "(" + condition(from, depth - 1) + " OR " + condition(from, depth - 1) + ")";
      case 2:
        return "NOT (" + condition(from, depth - 1) + ")";
      case 3:
        return "(" + expression(any_type(), from, depth - 1) + ") IS NULL";
      case 4:
        return text(from, 0) + " IN ('a', 'b', 'ICU', 'A')";
      case 5:
        return text(from, 0) + " LIKE '%a_'";
      default: {
        const Type type = any_type();
        return "(" + expression(type, from, depth - 1) + ")" + choices_.of(signs) + "(" +
               expression(type, from, depth - 1) + ")";
      }
    }
  }

  // A number with public bounds.
  std::string bounded(const From& from) {
    std::vector<std::string> fitting;
    for (const Named& column : from.columns)
      if (column.is_bounded && !column.is_unit && (column.type == Type::kInteger || column.type == Type::kNumber))
        fitting.push_back(column.name);
    if (!fitting.empty() && !choices_.one_in(3)) return choices_.of(fitting);
    static const std::vector<std::pair<std::string, std::string>> bounds = {
        {"0", "7"}, {"-3", "3"}, {"-20", "-2"}, {"2", "9"}};
    const auto& [low, high] = choices_.of(bounds);
    return "least(greatest(" + (choices_.one_in(2) ? integer(from, 2) : number(from, 2)) + ", " + low + "), " + high +
           ")";
  }

  std::string key(const From& from) {
    static const std::vector<Type> types = {Type::kText, Type::kText, Type::kInteger, Type::kDate, Type::kTruth};
    const Type type = choices_.of(types);
    const std::string column = column_or(type, from, "");
    return column.empty() || choices_.one_in(3) ? expression(type, from, 2) : column;
  }

  std::string aggregate(const From& from) {
    const std::string filter = choices_.one_in(5) ? " FILTER (WHERE " + condition(from, 1) + ")" : "";
    const Named* unit = unit_of(from);
    switch (choices_.below(10)) {
      case 0:
      case 1:
        return "count(*)" + filter;
      case 2:
        return "count(" + expression(any_type(), from, 1) + ")" + filter;
      case 3:
        return unit == nullptr ? "count(*)" + filter : "count(DISTINCT " + unit->name + ")" + filter;
      case 4:
        return "count(DISTINCT " + text(from, 1) + ")" + filter;
      case 5:
      case 6:
        return "sum(" + bounded(from) + ")" + filter;
      case 7: {
        static const std::vector<std::string> words = {"avg", "var_samp", "stddev_pop"};
        return choices_.of(words) + "(" + bounded(from) + ")" + filter;
      }
      case 8: {
        static const std::vector<std::string> words = {"min", "max", "median"};
        return choices_.of(words) + "(" + bounded(from) + ")" + filter;
      }
      default:
        return "percentile_cont(0.25) WITHIN GROUP (ORDER BY " + bounded(from) + ")";
    }
  }

  const query::DescribedTables& policy_;
  Choices choices_;
  std::size_t names_ = 0;
};

}  // namespace noisefloor::testing
