// Arbitrary tables, relations and measurements, for tests that compare engines: odd cells, every function, every bound.
// Integer arithmetic stays in ranges that a planner would prove.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/engine/evaluate.h"
#include "noisefloor/engine/measurement.h"
#include "noisefloor/engine/reference_engine.h"

namespace noisefloor::testing {

using engine::Expression;
using engine::Function;
using engine::Measurement;
using engine::NamedColumn;
using engine::RelationPtr;
using engine::Type;
using engine::Value;

// Choices that a seed decides.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 1) {}
  // Below `count`.
  std::size_t below(std::size_t count) {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t x = (state_ ^ (state_ >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<std::size_t>((x ^ (x >> 31U)) % count);
  }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::uint64_t state_;
};

// A table as the text of its cells, as a CSV file has them.
struct TextTable {
  std::string name;
  std::vector<NamedColumn> columns;
  std::vector<std::vector<std::string>> rows;
};

inline const std::vector<std::string>& odd_cells(Type type) {
  static const std::vector<std::string> integers = {"1",
                                                    "2",
                                                    "3",
                                                    "0",
                                                    "-7",
                                                    "12",
                                                    "007",
                                                    "",
                                                    "abc",
                                                    "1.5",
                                                    "+5",
                                                    "9223372036854775807",
                                                    "-9223372036854775808",
                                                    "99999999999999999999",
                                                    "4611686018427387904"};
  static const std::vector<std::string> numbers = {"0.1", "-0",   "1e-200", "1e200", "nan",    "inf",  "",       "5000",
                                                   "2.5", "-2.5", "0.005",  "1e149", "-1e149", "3.25", "1e-149", "7"};
  static const std::vector<std::string> texts = {
      "",        "A",          "b",   " a ",        "ä", "😀z", "10%", "x_y",          "12", "it's", "\"dq\"",
      "-12.5e3", "2026-03-05", "b\\", "two\nlines", "Z", "a",  "1e5", "2026-02-30 x", "-0", ".5"};
  static const std::vector<std::string> dates = {"2026-03-05", "2024-02-29", "0001-01-01",       "9999-12-31",
                                                 "2026-02-30", "",           "2025-12-29 10:00", "1969-12-31"};
  static const std::vector<std::string> truths = {"true", "0", "T", "maybe", "", "f", "1"};
  switch (type) {
    case Type::kInteger:
      return integers;
    case Type::kNumber:
      return numbers;
    case Type::kText:
      return texts;
    case Type::kDate:
      return dates;
    default:
      return truths;
  }
}

inline std::vector<TextTable> random_tables(Choices& choices, std::size_t visits) {
  TextTable people{
      "people", {{"id", Type::kInteger}, {"sex", Type::kText}, {"age", Type::kInteger}, {"joined", Type::kDate}}, {}};
  for (std::size_t id = 1; id <= 14; ++id) {
    people.rows.push_back({id == 9 ? "" : std::to_string(id), choices.of(odd_cells(Type::kText)),
                           choices.of(odd_cells(Type::kInteger)), choices.of(odd_cells(Type::kDate))});
  }
  TextTable table{"visits",
                  {{"pid", Type::kInteger},
                   {"dept", Type::kText},
                   {"ward", Type::kInteger},
                   {"cost", Type::kNumber},
                   {"day", Type::kDate},
                   {"flag", Type::kTruth},
                   {"note", Type::kText}},
                  {}};
  for (std::size_t i = 0; i < visits; ++i) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(choices.one_in(12) ? choices.of(odd_cells(Type::kInteger)) : std::to_string(1 + choices.below(12)));
    for (std::size_t c = 1; c < table.columns.size(); ++c) row.push_back(choices.of(odd_cells(table.columns[c].type)));
  }
  return {people, table};
}

inline engine::ReferenceTable reference_of(const TextTable& table) {
  engine::ReferenceTable reference{table.name, table.columns, {}};
  for (const auto& row : table.rows) {
    auto& values = reference.rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) values.push_back(engine::parse_cell(table.columns[i].type, row[i]));
  }
  return reference;
}

inline std::string csv_of(const TextTable& table) {
  std::string text;
  const auto add = [&](const std::string& cell, bool first) {
    if (!first) text += ',';
    text += '"';
    for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
    text += '"';
  };
  for (std::size_t i = 0; i < table.columns.size(); ++i) add(table.columns[i].name, i == 0);
  text += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) add(row[i], i == 0);
    text += '\n';
  }
  return text;
}

class RandomMeasurements {
 public:
  explicit RandomMeasurements(std::uint64_t seed) : choices_(seed) {}

  // An expression over the columns. Integers are within ±10^6.
  Expression expression(Type type, const std::vector<NamedColumn>& columns, std::size_t depth) {
    switch (type) {
      case Type::kInteger:
        return integer(columns, depth);
      case Type::kNumber:
        return number(columns, depth);
      case Type::kText:
        return text(columns, depth);
      case Type::kDate:
        return date(columns, depth);
      default:
        return truth(columns, depth);
    }
  }

  // Rows in which the column "pid" is the unit.
  RelationPtr relation(std::size_t depth) {
    using namespace engine;
    if (depth == 0) {
      return engine::relation(Scan{"visits",
                                   {{"pid", Type::kInteger},
                                    {"dept", Type::kText},
                                    {"ward", Type::kInteger},
                                    {"cost", Type::kNumber},
                                    {"day", Type::kDate},
                                    {"flag", Type::kTruth},
                                    {"note", Type::kText}}});
    }
    const RelationPtr input = relation(depth - 1);
    const std::vector<NamedColumn> columns = columns_of(*input);
    switch (choices_.below(9)) {
      case 0:
        return engine::relation(Filter{input, truth(columns, 2)});
      case 1:
      case 2: {
        Project project{input, {{"pid", column("pid", Type::kInteger)}}};
        for (std::size_t i = 0; i < 4; ++i) project.columns.push_back({fresh(), any(columns, 3)});
        return engine::relation(std::move(project));
      }
      case 3: {
        Project people{
            engine::relation(
                Scan{"people",
                     {{"id", Type::kInteger}, {"sex", Type::kText}, {"age", Type::kInteger}, {"joined", Type::kDate}}}),
            {}};
        const std::string id = fresh();
        people.columns.push_back({id, column("id", Type::kInteger)});
        people.columns.push_back({fresh(), column("sex", Type::kText)});
        people.columns.push_back({fresh(), column("joined", Type::kDate)});
        const auto kind =
            std::vector{JoinKind::kInner, JoinKind::kLeft, JoinKind::kSemi, JoinKind::kAnti}[choices_.below(4)];
        return engine::relation(Join{kind, input, engine::relation(std::move(people)), {{"pid", id}}});
      }
      case 4:
        return engine::relation(UnionAll{{input, engine::relation(Filter{input, truth(columns, 2)})}});
      case 5: {
        GroupRows groups{input, {{"pid", column("pid", Type::kInteger)}, {fresh(), any(columns, 2)}}, {}};
        groups.folds.push_back({fresh(), GroupRows::Fold::kCountRows, {}});
        groups.folds.push_back({fresh(), GroupRows::Fold::kCount, any(columns, 2)});
        groups.folds.push_back({fresh(), GroupRows::Fold::kCountDistinct, any(columns, 2)});
        groups.folds.push_back({fresh(), GroupRows::Fold::kMin, any(columns, 2)});
        groups.folds.push_back({fresh(), GroupRows::Fold::kMax, any(columns, 2)});
        groups.folds.push_back({fresh(), GroupRows::Fold::kSum, any_integer(columns)});
        return engine::relation(std::move(groups));
      }
      case 6:
      case 7: {
        NumberRows numbered{input, {column("pid", Type::kInteger)}, {}, fresh()};
        if (choices_.one_in(2)) numbered.partition.push_back(any(columns, 1));
        numbered.order.emplace_back(any(columns, 2), choices_.one_in(2));
        const std::string name = numbered.name;
        return engine::relation(Filter{
            engine::relation(std::move(numbered)),
            call(Function::kLessOrEqual, Type::kTruth, {column(name, Type::kInteger), constant(std::int64_t{2})})});
      }
      default:
        return engine::relation(Distinct{input});
    }
  }

  Measurement measurement(bool with_unit) {
    using namespace engine;
    Measurement m;
    m.rows = relation(choices_.below(4));
    if (with_unit) m.unit = "pid";
    if (with_unit && choices_.one_in(8)) {
      m.rows = engine::relation(Scan{
          "people", {{"id", Type::kInteger}, {"sex", Type::kText}, {"age", Type::kInteger}, {"joined", Type::kDate}}});
      m.unit = "id";
      m.one_row_per_unit = true;
    }
    const std::vector<NamedColumn> columns = columns_of(*m.rows);
    for (std::size_t i = choices_.below(3); i > 0; --i) {
      const NamedColumn& key = choices_.of(columns);
      const bool is_new = std::ranges::find(m.keys, key.name) == m.keys.end();
      if (key.type != Type::kNumber && is_new) m.keys.push_back(key.name);
    }
    if (choices_.one_in(3)) m.listed = listed(m, columns);
    for (std::size_t i = 1 + choices_.below(4); i > 0; --i) m.aggregates.push_back(aggregate(columns));
    Bounding& bounding = m.bounding;
    if (choices_.one_in(2)) bounding.max_groups = 1 + choices_.below(3);
    if (choices_.one_in(2)) bounding.max_rows_per_group = 1 + choices_.below(3);
    if (choices_.one_in(3)) bounding.max_rows = 1 + choices_.below(6);
    if (choices_.one_in(4)) {
      for (std::size_t i = 0; i < m.aggregates.size(); ++i) {
        bounding.l2_norms.push_back(static_cast<std::int64_t>(choices_.below(2000)));
      }
    }
    for (std::uint8_t& byte : m.order_key.bytes()) byte = static_cast<std::uint8_t>(choices_.below(256));
    return m;
  }

 private:
  std::string fresh() { return "n" + std::to_string(names_++); }

  Expression any(const std::vector<NamedColumn>& columns, std::size_t depth) {
    static const std::vector<Type> types = {Type::kInteger, Type::kNumber, Type::kText, Type::kDate, Type::kTruth};
    return expression(choices_.of(types), columns, depth);
  }
  Expression any_integer(const std::vector<NamedColumn>& columns) {
    if (choices_.one_in(2)) return raw(Type::kInteger, columns);
    return integer(columns, 2);
  }
  // A column of the type, with any cell, or NULL where there is none.
  Expression raw(Type type, const std::vector<NamedColumn>& columns) {
    std::vector<NamedColumn> fitting;
    for (const NamedColumn& column : columns) {
      if (column.type == type) fitting.push_back(column);
    }
    if (fitting.empty()) return engine::null_of(type);
    return engine::column(choices_.of(fitting).name, type);
  }
  static Expression whole(std::int64_t x) { return engine::constant(x); }
  static Expression bounded(Expression x) {
    return engine::call(Function::kModulo, Type::kInteger, {std::move(x), whole(1009)});
  }
  static Expression words(std::string word) { return engine::constant(std::move(word)); }

  Expression integer(const std::vector<NamedColumn>& columns, std::size_t depth) {
    using engine::call;
    const auto arithmetic = [&](Function f) {
      return bounded(call(f, Type::kInteger, {integer(columns, depth - 1), integer(columns, depth - 1)}));
    };
    const std::size_t choice = depth == 0 ? choices_.below(3) : choices_.below(16);
    switch (choice) {
      case 0:
        return whole(static_cast<std::int64_t>(choices_.below(12)) - 4);
      case 1:
        return bounded(raw(Type::kInteger, columns));
      case 2:
        return call(
            Function::kSteps, Type::kInteger,
            {raw(Type::kInteger, columns), engine::constant(-5.0), engine::constant(900.0), engine::constant(1.0)});
      case 3:
        return arithmetic(Function::kAdd);
      case 4:
        return arithmetic(Function::kSubtract);
      case 5:
        return arithmetic(Function::kMultiply);
      case 6:
        return call(Function::kModulo, Type::kInteger, {integer(columns, depth - 1), integer(columns, depth - 1)});
      case 7: {
        static const std::vector<Function> one = {Function::kNegate, Function::kAbsolute, Function::kFloor,
                                                  Function::kRound};
        return call(choices_.of(one), Type::kInteger, {integer(columns, depth - 1)});
      }
      case 8:
        return bounded(call(Function::kToInteger, Type::kInteger, {number(columns, depth - 1)}));
      case 9:
        return bounded(call(Function::kToInteger, Type::kInteger, {text(columns, depth - 1)}));
      case 10:
        return call(Function::kToInteger, Type::kInteger, {truth(columns, depth - 1)});
      case 11:
        return call(Function::kLength, Type::kInteger, {text(columns, depth - 1)});
      case 12: {
        static const std::vector<std::string> parts = {"year", "quarter", "month",  "week",
                                                       "day",  "dow",     "isodow", "doy"};
        return call(Function::kDatePart, Type::kInteger, {words(choices_.of(parts)), date(columns, depth - 1)});
      }
      case 13:
        return choice_of(Type::kInteger, columns, depth);
      case 14: {
        static const std::vector<std::array<double, 3>> grids = {{0, 5000, 0.01}, {-3, 3, 1}, {-2.5, 1e6, 7}};
        const auto& grid = choices_.of(grids);
        return call(Function::kSteps, Type::kInteger,
                    {choices_.one_in(3) ? integer(columns, depth - 1) : number(columns, depth - 1),
                     engine::constant(grid[0]), engine::constant(grid[1]), engine::constant(grid[2])});
      }
      default:
        return bounded(
            call(Function::kSubtract, Type::kInteger, {raw(Type::kDate, columns), raw(Type::kDate, columns)}));
    }
  }

  Expression number(const std::vector<NamedColumn>& columns, std::size_t depth) {
    using engine::call;
    static const std::vector<double> constants = {0, 0.1, -2.5, 1e100, 1e-100, 3, 1e150, -1e-150, 345.9, 0.5};
    static const std::vector<Function> two = {Function::kAdd, Function::kSubtract, Function::kMultiply,
                                              Function::kDivide, Function::kPower};
    static const std::vector<Function> one = {Function::kNegate,  Function::kAbsolute, Function::kFloor,
                                              Function::kCeiling, Function::kRound,    Function::kSqrt,
                                              Function::kLn,      Function::kExp};
    switch (depth == 0 ? choices_.below(2) : choices_.below(8)) {
      case 0:
        return engine::constant(choices_.of(constants));
      case 1:
        return raw(Type::kNumber, columns);
      case 2:
      case 3:
        return call(choices_.of(two), Type::kNumber,
                    {number(columns, depth - 1),
                     choices_.one_in(4) ? integer(columns, depth - 1) : number(columns, depth - 1)});
      case 4:
      case 5:
        return call(choices_.of(one), Type::kNumber, {number(columns, depth - 1)});
      case 6:
        return call(Function::kToNumber, Type::kNumber, {any(columns, depth - 1)});
      default:
        return choice_of(Type::kNumber, columns, depth);
    }
  }

  Expression text(const std::vector<NamedColumn>& columns, std::size_t depth) {
    using engine::call;
    static const std::vector<Function> one = {Function::kLower, Function::kUpper, Function::kTrim};
    switch (depth == 0 ? choices_.below(2) : choices_.below(7)) {
      case 0:
        return words(choices_.of(odd_cells(Type::kText)));
      case 1:
        return raw(Type::kText, columns);
      case 2:
        return call(choices_.of(one), Type::kText, {text(columns, depth - 1)});
      case 3:
        return call(Function::kConcatenate, Type::kText, {text(columns, depth - 1), text(columns, depth - 1)});
      case 4:
        return call(Function::kSubstring, Type::kText,
                    {text(columns, depth - 1), whole(static_cast<std::int64_t>(1 + choices_.below(4))),
                     whole(static_cast<std::int64_t>(choices_.below(4)))});
      case 5:
        return call(Function::kToText, Type::kText,
                    {choices_.one_in(2) ? raw(Type::kInteger, columns) : integer(columns, depth - 1)});
      default:
        return choice_of(Type::kText, columns, depth);
    }
  }

  Expression date(const std::vector<NamedColumn>& columns, std::size_t depth) {
    using engine::call;
    switch (depth == 0 ? choices_.below(2) : choices_.below(6)) {
      case 0:
        return engine::constant_date(static_cast<std::int64_t>(choices_.below(40000)) - 9000);
      case 1:
        return raw(Type::kDate, columns);
      case 2: {
        static const std::vector<std::string> periods = {"day", "week", "month", "quarter", "year"};
        return call(Function::kDateTrunc, Type::kDate, {words(choices_.of(periods)), date(columns, depth - 1)});
      }
      case 3:
        return call(Function::kToDate, Type::kDate, {text(columns, depth - 1)});
      case 4:
        return call(Function::kAdd, Type::kDate, {date(columns, depth - 1), integer(columns, depth - 1)});
      default:
        return choice_of(Type::kDate, columns, depth);
    }
  }

  Expression truth(const std::vector<NamedColumn>& columns, std::size_t depth) {
    using engine::call;
    static const std::vector<Function> comparisons = {Function::kEqual,   Function::kNotEqual,
                                                      Function::kLess,    Function::kLessOrEqual,
                                                      Function::kGreater, Function::kGreaterOrEqual};
    static const std::vector<Type> types = {Type::kInteger, Type::kNumber, Type::kText, Type::kDate, Type::kTruth};
    if (depth == 0) return choices_.one_in(3) ? engine::constant_truth(choices_.one_in(2)) : raw(Type::kTruth, columns);
    switch (choices_.below(9)) {
      case 0:
        return raw(Type::kTruth, columns);
      case 1:
      case 2: {
        const Type type = choices_.of(types);
        const bool mixed = type == Type::kNumber && choices_.one_in(2);
        return call(
            choices_.of(comparisons), Type::kTruth,
            {expression(type, columns, depth - 1), expression(mixed ? Type::kInteger : type, columns, depth - 1)});
      }
      case 3:
        return call(Function::kAnd, Type::kTruth, {truth(columns, depth - 1), truth(columns, depth - 1)});
      case 4:
        return call(Function::kOr, Type::kTruth,
                    {truth(columns, depth - 1), truth(columns, depth - 1), truth(columns, depth - 1)});
      case 5:
        return call(Function::kNot, Type::kTruth, {truth(columns, depth - 1)});
      case 6:
        return call(Function::kIsNull, Type::kTruth, {any(columns, depth - 1)});
      case 7: {
        const Type type = choices_.one_in(2) ? Type::kText : Type::kNumber;
        std::vector<Expression> list = {type == Type::kNumber && choices_.one_in(2)
                                            ? raw(Type::kInteger, columns)
                                            : expression(type, columns, depth - 1)};
        for (std::size_t i = 0; i < 3; ++i) list.push_back(expression(type, {}, 0));
        std::erase_if(list, [&](const Expression& e) {
          return &e != &list.front() && std::holds_alternative<std::monostate>(e.value) &&
                 e.function == Function::kConstant;
        });
        if (!engine::takes(Function::kIn, Type::kTruth, list)) return raw(Type::kTruth, columns);
        return call(Function::kIn, Type::kTruth, std::move(list));
      }
      default: {
        static const std::vector<std::string> patterns = {"%", "a%", "_", "%\\%", "%2_%", "", "%ä%", "10\\%", "__z%"};
        return call(Function::kLike, Type::kTruth, {text(columns, depth - 1), words(choices_.of(patterns))});
      }
    }
  }

  Expression choice_of(Type type, const std::vector<NamedColumn>& columns, std::size_t depth) {
    using engine::call;
    const auto branch = [&] {
      return type == Type::kNumber && choices_.one_in(3) ? integer(columns, depth - 1)
                                                         : expression(type, columns, depth - 1);
    };
    switch (choices_.below(4)) {
      case 0:
        return call(Function::kLeast, type, {branch(), branch()});
      case 1:
        return call(Function::kGreatest, type, {branch(), branch(), branch()});
      case 2:
        return call(Function::kCoalesce, type, {branch(), branch()});
      default:
        return call(Function::kCase, type,
                    {truth(columns, depth - 1), branch(), truth(columns, depth - 1), branch(), branch()});
    }
  }

  engine::Aggregate aggregate(const std::vector<NamedColumn>& columns) {
    using Kind = engine::Aggregate::Kind;
    engine::Aggregate a;
    a.kind = static_cast<Kind>(choices_.below(5));
    switch (a.kind) {
      case Kind::kRows:
      case Kind::kUnits:
        if (choices_.one_in(2)) a.argument = truth(columns, 2);
        break;
      case Kind::kSum:
        a.argument = any_integer(columns);
        break;
      case Kind::kDistinct: {
        static const std::vector<Type> types = {Type::kInteger, Type::kText, Type::kDate, Type::kTruth};
        a.argument = expression(choices_.of(types), columns, 2);
        break;
      }
      case Kind::kValues:
        a.argument = integer(columns, 2);
        break;
    }
    if (choices_.one_in(2)) a.lower = static_cast<std::int64_t>(choices_.below(20)) - 15;
    if (choices_.one_in(2)) a.upper = static_cast<std::int64_t>(5 + choices_.below(300));
    return a;
  }

  std::vector<std::vector<engine::Cell>> listed(const Measurement& m, const std::vector<NamedColumn>& columns) {
    std::vector<std::vector<engine::Cell>> all = {{}};
    for (const std::string& key : m.keys) {
      const Type type = std::ranges::find(columns, key, &NamedColumn::name)->type;
      std::vector<engine::Cell> cells = {engine::Cell()};
      if (type == Type::kText) {
        for (const char* text : {"A", "ä", "nowhere"}) cells.emplace_back(std::string(text));
      } else {
        for (const std::int64_t value : {0, 1, 2, 20517}) cells.emplace_back(value);
      }
      std::vector<std::vector<engine::Cell>> longer;
      for (const auto& one : all) {
        for (const engine::Cell& cell : cells) {
          longer.push_back(one);
          longer.back().push_back(cell);
        }
      }
      all = std::move(longer);
    }
    return all;
  }

  Choices choices_;
  std::size_t names_ = 0;
};

}  // namespace noisefloor::testing
