// Rows that a query reads: a tree of tables, filters, joins and work on the rows of one unit.
//
// Guarantee:     as for expressions: no relation makes an engine fail whatever the rows hold, and all engines give the
//                same rows, in some order.
// Requires:      names of columns within one relation differ; every expression names columns of the relation below it.
// Thread safety: immutable once built.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "noisefloor/engine/expression.h"

namespace noisefloor::engine {

struct Relation;
using RelationPtr = std::shared_ptr<const Relation>;

struct NamedExpression {
  std::string name;
  Expression expression;
  friend bool operator==(const NamedExpression&, const NamedExpression&) = default;
};

struct NamedColumn {
  std::string name;
  Type type = Type::kInteger;
  friend bool operator==(const NamedColumn&, const NamedColumn&) = default;
};

// A table that the engine was given (source.h), with the columns that are read. A cell that does not fit the column's
// declared type is NULL.
struct Scan {
  std::string table;
  std::vector<NamedColumn> columns;
};
struct Filter {
  RelationPtr input;
  Expression condition;  // rows for which it is true
};
struct Project {
  RelationPtr input;
  std::vector<NamedExpression> columns;
};
enum class JoinKind : std::uint8_t { kInner, kLeft, kSemi, kAnti };
struct Join {
  JoinKind kind = JoinKind::kInner;
  RelationPtr left;
  RelationPtr right;
  // Pairs of columns that must be equal (NULL equals nothing). kSemi and kAnti keep columns of the left side alone.
  std::vector<std::pair<std::string, std::string>> equal;
};
struct UnionAll {
  std::vector<RelationPtr> inputs;  // with columns of the same names and types
};
// One row for each combination of keys. The planner sees to it that the unit is among the keys.
struct GroupRows {
  enum class Fold : std::uint8_t { kCountRows, kCount, kCountDistinct, kSum, kMin, kMax };
  struct Folded {
    std::string name;
    Fold fold = Fold::kCountRows;
    Expression argument;  // not for kCountRows; kSum takes integers
  };
  RelationPtr input;
  std::vector<NamedExpression> keys;
  std::vector<Folded> folds;
};
// Adds a column: the place of a row among those with equal `partition`, from 1. Rows that compare equal get their
// places in the order of all their columns, so that every engine agrees.
struct NumberRows {
  RelationPtr input;
  std::vector<Expression> partition;
  std::vector<std::pair<Expression, bool>> order;  // true: descending. NULL comes last
  std::string name;
};
struct Distinct {
  RelationPtr input;
};

struct Relation {
  std::variant<Scan, Filter, Project, Join, UnionAll, GroupRows, NumberRows, Distinct> node;
};

template <class Node>
[[nodiscard]] RelationPtr relation(Node node) {
  return std::make_shared<const Relation>(Relation{std::move(node)});
}

// The columns of the rows that a relation gives, in order.
[[nodiscard]] std::vector<NamedColumn> columns_of(const Relation& relation);

}  // namespace noisefloor::engine
