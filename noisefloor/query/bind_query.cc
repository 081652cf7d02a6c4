// Subqueries that are rows again: plain ones, those that group by the unit, UNION ALL, and semi-joins.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/query/binder.h"
#include "noisefloor/query/bound_parts.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Type;

std::string name_of_target(const Target& target) {
  if (!target.name.empty()) return target.name;
  if (target.term.kind == Term::Kind::kColumn) return target.term.path.back();
  if (target.term.kind == Term::Kind::kCall) return target.term.name;
  return "column";
}

Result<void> check_ends(const Select& select) {
  if (select.limit.has_value() || select.offset != 0)
    return invalid_argument(
        "LIMIT and OFFSET in a subquery pick rows by what other people's rows hold: number the rows of each unit with "
        "row_number() OVER (PARTITION BY the column that tells units apart …) instead");
  return success();
}

// The targets with * written out.
std::vector<Target> expanded(const Select& select, const Rows& rows) {
  std::vector<Target> targets;
  for (const Target& target : select.targets) {
    if (target.term.kind != Term::Kind::kStar) {
      targets.push_back(target);
      continue;
    }
    for (const Column& column : rows.columns) {
      const bool wanted = target.term.path.empty() ? !column.merged : column.table == target.term.path[0];
      if (!wanted) continue;
      Target each;
      each.name = column.name;
      each.term.kind = Term::Kind::kColumn;
      each.term.path = {column.table, column.name};
      targets.push_back(std::move(each));
    }
  }
  return targets;
}

void find_windows(const Term& term, std::vector<const Term*>& windows) {
  if (term.kind == Term::Kind::kCall && term.over != nullptr) windows.push_back(&term);
  for (const Term& each : term.arguments) find_windows(each, windows);
}

}  // namespace

void Binder::open(const Select& select) {
  for (const CommonTable& table : select.with) scope_ = std::make_shared<const Scope>(Scope{&table, scope_});
}

Result<Rows> Binder::bind_query(const Select& select) {
  const std::shared_ptr<const Scope> outer = scope_;
  open(select);
  const auto bind = [&]() -> Result<Rows> {
    NF_TRY_VOID(check_ends(select));
    if (!select.all.empty()) return bind_union(select);
    const bool aggregates = std::any_of(select.targets.begin(), select.targets.end(),
                                        [](const Target& target) { return has_aggregate(target.term); });
    if (aggregates || !select.group.empty() || select.having.has_value() || select.distinct)
      return bind_grouped(select);
    return bind_plain(select);
  };
  Result<Rows> rows = bind();
  scope_ = outer;
  return rows;
}

Result<void> Binder::add_window(Rows& rows, const Term& term, std::map<const Term*, Bound>& windows) {
  if (term.name != "row_number" || !term.arguments.empty() || term.filter != nullptr || term.distinct || term.star)
    return invalid_argument(
        fmt::format("the window function {} is refused: it compares rows of different units or adds them up. Use "
                    "row_number(), or GROUP BY the column that tells units apart",
                    shown(term.name)));
  engine::NumberRows numbers;
  bool by_unit = rows.is_public;
  bool only_unit = true;
  for (const Term& each : term.over->partition) {
    NF_TRY(Bound bound, bind_over(rows, each));
    if (bound.type() == Type::kNumber) return invalid_argument("PARTITION BY takes no numbers: put them on a grid");
    by_unit = by_unit || bound.is_unit;
    only_unit = only_unit && bound.is_unit;
    numbers.partition.push_back(bound.expression);
  }
  if (!by_unit)
    return invalid_argument(
        "row_number() numbers rows of different units together, so that one unit moves the numbers of others: add the "
        "column that tells units apart to PARTITION BY");
  for (const SortTerm& each : term.over->order) {
    NF_TRY(Bound bound, bind_over(rows, each.term));
    if (each.nulls_first.value_or(false))
      return invalid_argument("NULLS FIRST is not understood here: NULL comes last");
    numbers.order.emplace_back(bound.expression, each.descending);
  }
  std::sort(numbers.partition.begin(), numbers.partition.end(),
            [](const Expression& a, const Expression& b) { return canonical_text(a) < canonical_text(b); });
  collapse(rows);
  numbers.input = rows.leaves[0];
  numbers.name = fresh("number") + ".row";
  Bound bound{.expression = engine::column(numbers.name, Type::kInteger), .nullable = false};
  bound.integers = {1, static_cast<Int128>(kMostRows), true, false};
  if (only_unit && !rows.is_public) {
    bound.row_number = true;
    rows.row_numbers.insert(numbers.name);
  }
  rows.facts[numbers.name] = {std::nullopt, false, bound.integers};
  rows.leaves = {engine::relation(std::move(numbers))};
  windows.emplace(&term, std::move(bound));
  return success();
}

Result<Rows> Binder::bind_plain(const Select& select) {
  NF_TRY(Rows rows, bind_source(select));
  const std::vector<Target> targets = expanded(select, rows);
  std::map<const Term*, Bound> windows;
  std::vector<const Term*> found;
  for (const Target& target : targets) find_windows(target.term, found);
  for (const Term* each : found) NF_TRY_VOID(add_window(rows, *each, windows));
  std::vector<Column> columns;
  for (const Target& target : targets) {
    NF_TRY(Bound bound, bind_term(target.term, [&](const Term& each) -> Result<std::optional<Bound>> {
             if (const auto window = windows.find(&each); window != windows.end())
               return std::optional<Bound>(window->second);
             if (each.kind != Term::Kind::kColumn) return std::optional<Bound>();
             NF_TRY(Bound column, query::find_column(rows, each.path));
             return std::optional<Bound>(std::move(column));
           }));
    const std::string name = name_of_target(target);
    NF_TRY_VOID(apply_options("", name, target.term.kind == Term::Kind::kColumn, bound));
    columns.push_back({"", name, std::move(bound)});
  }
  rows.columns = std::move(columns);
  return rows;
}

Result<Rows> Binder::bind_union(const Select& select) {
  std::vector<Rows> sides;
  for (const Select& each : select.all) {
    NF_TRY(Rows side, bind_query(each));
    sides.push_back(std::move(side));
  }
  const Rows& first = sides[0];
  const std::string prefix = fresh("union");
  Rows all;
  all.is_public = first.is_public;
  all.row_unit = first.row_unit;
  all.limits = first.limits;
  all.max_rows = 0;
  all.rows_per_unit = 0;
  std::vector<engine::RelationPtr> inputs;
  for (const Rows& side : sides) {
    if (side.is_public != all.is_public)
      return invalid_argument("UNION ALL mixes public and private rows: ask about each by itself");
    if (side.row_unit != all.row_unit || (side.unit.has_value() && side.unit->type != first.unit->type))
      return invalid_argument(
          "UNION ALL mixes rows whose units are told apart in different ways: ask about each by itself");
    if (side.columns.size() != first.columns.size())
      return invalid_argument(fmt::format("UNION ALL joins {} columns and {}: list as many on each side",
                                          first.columns.size(), side.columns.size()));
    for (const std::string& table : side.tables)
      if (!all.tables.insert(table).second && all.row_unit)
        return invalid_argument(
            "UNION ALL reads a table twice whose rows are units of their own, so that a row would count twice: read it "
            "once");
    all.max_rows = std::min(kMostRows, all.max_rows + side.max_rows);
    all.rows_per_unit = all.rows_per_unit.has_value() && side.rows_per_unit.has_value()
                            ? std::optional<std::uint64_t>(*all.rows_per_unit + *side.rows_per_unit)
                            : std::nullopt;
    all.limits.max_groups = std::max(all.limits.max_groups, side.limits.max_groups);
    all.limits.max_rows_per_group = std::max(all.limits.max_rows_per_group, side.limits.max_rows_per_group);
    if (all.limits.max_rows_per_unit.has_value())
      all.limits.max_rows_per_unit = side.limits.max_rows_per_unit.has_value()
                                         ? std::max(all.limits.max_rows_per_unit, side.limits.max_rows_per_unit)
                                         : std::nullopt;
  }
  std::vector<std::vector<engine::NamedExpression>> parts(sides.size());
  for (std::size_t i = 0; i < first.columns.size(); ++i) {
    const std::string id = fmt::format("{}.{}", prefix, i);
    std::vector<Bound> bounds;
    for (const Rows& side : sides) {
      Bound bound = narrowed(side, side.columns[i].bound);
      if (is_null(bound.expression)) bound.expression = engine::null_of(first.columns[i].bound.type());
      bounds.push_back(std::move(bound));
    }
    const bool is_unit = std::any_of(bounds.begin(), bounds.end(), [](const Bound& each) { return each.is_unit; });
    const bool all_units = std::all_of(bounds.begin(), bounds.end(), [](const Bound& each) { return each.is_unit; });
    if (is_unit != all_units)
      return invalid_argument("UNION ALL puts the column that tells units apart beside another column: line them up");
    NF_TRY(const Type type, common_type(bounds, "UNION ALL"));
    Bound bound = bounds[0];
    Fact fact{std::vector<std::string>{}, bound.public_range, {}};
    for (std::size_t j = 0; j < sides.size(); ++j) {
      Bound& each = bounds[j];
      if (each.type() != type) {
        NF_TRY(each, bind_cast("float8", each));
      }
      parts[j].push_back({id, each.expression});
      bound.integers = either(bound.integers, each.integers);
      bound.numbers = either(numbers_of(bound), numbers_of(each));
      bound.clamp = true;
      bound.nullable = bound.nullable || each.nullable;
      bound.public_range = bound.public_range && each.public_range;
      bound.key_length = std::max(bound.key_length, each.key_length);
      if (bound.step != each.step) bound.step.reset();
      const std::optional<std::vector<engine::Cell>> values = public_values(sides[j], each);
      if (type != Type::kText || !values.has_value()) fact.values.reset();
      if (fact.values.has_value())
        for (const engine::Cell& cell : *values)
          if (const auto* text = std::get_if<std::string>(&cell)) fact.values->push_back(*text);
    }
    bound.expression = engine::column(id, type);
    bound.per_unit = all_units;
    bound.row_number = false;
    fact.public_range = bound.public_range;
    fact.integers = bound.integers;
    all.facts[id] = std::move(fact);
    all.columns.push_back({"", first.columns[i].name, std::move(bound)});
  }
  for (std::size_t j = 0; j < sides.size(); ++j) {
    if (sides[j].unit.has_value()) parts[j].push_back({prefix + ".unit", *sides[j].unit});
    inputs.push_back(built(sides[j], parts[j]));
  }
  if (first.unit.has_value()) {
    all.unit = engine::column(prefix + ".unit", first.unit->type);
    for (std::size_t i = 0; i < first.columns.size(); ++i)
      if (all.columns[i].bound.is_unit) all.columns[i].bound.expression = *all.unit;
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const auto& a, const auto& b) { return canonical_text(*a) < canonical_text(*b); });
  all.leaves = {engine::relation(engine::UnionAll{std::move(inputs)})};
  return all;
}

namespace {

// A = B of a subquery's WHERE where A is a column of the outer rows and B one of the inner rows.
std::optional<JoinPair> correlation(const Rows& outer, const Rows& inner, const Term& term) {
  if (term.kind != Term::Kind::kOperator || term.name != "=" || term.arguments.size() != 2) return std::nullopt;
  for (const bool swap : {false, true}) {
    const Term& a = term.arguments[swap ? 1 : 0];
    const Term& b = term.arguments[swap ? 0 : 1];
    if (a.kind != Term::Kind::kColumn || b.kind != Term::Kind::kColumn) continue;
    if (has_column(inner, a.path) || !has_column(outer, a.path) || !has_column(inner, b.path)) continue;
    const Result<Bound> left = find_column(outer, a.path);
    const Result<Bound> right = find_column(inner, b.path);
    if (left.has_value() && right.has_value()) return JoinPair{left.value(), right.value()};
  }
  return std::nullopt;
}

}  // namespace

Result<void> Binder::add_semi_join(Rows& rows, const Term& term, bool negated) {
  std::vector<JoinPair> pairs;
  std::optional<Rows> inner;
  if (term.kind == Term::Kind::kInQuery) {
    NF_TRY(inner, bind_query(*term.query));
    if (inner->columns.size() != 1) return invalid_argument("a subquery after IN must give one column");
    NF_TRY(Bound left, bind_over(rows, term.arguments[0]));
    Bound right = narrowed(*inner, inner->columns[0].bound);
    pairs.push_back({std::move(left), std::move(right)});
  } else {
    // What compares with the outer rows is taken out of WHERE, and becomes what the two are joined on.
    Select select = *term.query;
    if (!select.all.empty() || !select.group.empty() || select.having.has_value())
      return invalid_argument("EXISTS takes a SELECT without UNION, GROUP BY and HAVING: use IN with a subquery");
    NF_TRY_VOID(check_ends(select));
    Select source;
    source.from = select.from;
    const std::shared_ptr<const Scope> outer = scope_;
    open(*term.query);
    // Joins between several tables of the inner FROM need its WHERE too, except for what names outer rows.
    Result<Rows> probe = Result<Rows>(Rows{});
    std::vector<const Term*> own;
    if (select.where.has_value()) {
      Rows all_inner;
      if (select.from.size() == 1) {
        probe = bind_source(source);
        if (!probe.has_value()) {
          scope_ = outer;
          return probe.error();
        }
        all_inner = probe.value();
        for (const Term* each : conjuncts_of(*select.where)) {
          std::optional<JoinPair> pair = correlation(rows, all_inner, *each);
          if (pair.has_value()) {
            pairs.push_back(std::move(*pair));
          } else {
            own.push_back(each);
          }
        }
      } else {
        scope_ = outer;
        return invalid_argument("EXISTS takes one table or join after FROM: write JOIN instead of a comma");
      }
      Rows filtered = std::move(all_inner);
      for (const Term* each : own) {
        const Result<Bound> condition = bind_over(filtered, *each);
        if (!condition.has_value()) {
          scope_ = outer;
          return condition.error();
        }
        if (condition.value().type() != Type::kTruth) {
          scope_ = outer;
          return invalid_argument("WHERE takes conditions");
        }
        add_condition(filtered, condition.value().expression);
      }
      inner = std::move(filtered);
    }
    scope_ = outer;
    if (!inner.has_value() || pairs.empty())
      return invalid_argument(
          "EXISTS must compare a column of its table with one outside of it: add WHERE inner.column = outer.column");
  }
  for (const JoinPair& pair : pairs) {
    NF_TRY_VOID(check_pair_of_join(pair));
    if (pair.left.is_unit != pair.right.is_unit)
      return invalid_argument(
          "the column that tells units apart is compared with the like of another table alone, and not with other "
          "columns");
  }
  const bool by_unit = std::any_of(pairs.begin(), pairs.end(),
                                   [](const JoinPair& pair) { return pair.left.is_unit && pair.right.is_unit; });
  if (!inner->is_public && (!by_unit || rows.is_public))
    return invalid_argument(
        "this subquery picks rows by what other people's rows hold: compare the columns that tell units apart, or "
        "select from a public table");
  const std::string prefix = fresh("semi");
  std::vector<engine::NamedExpression> columns;
  engine::Join node{negated ? engine::JoinKind::kAnti : engine::JoinKind::kSemi, nullptr, nullptr, {}};
  std::sort(pairs.begin(), pairs.end(), [](const JoinPair& a, const JoinPair& b) {
    return canonical_text(a.left.expression) < canonical_text(b.left.expression);
  });
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].left.expression.function != engine::Function::kColumn)
      return invalid_argument("what stands before IN or in EXISTS must be a column: compute it in a subquery");
    const std::string id = fmt::format("{}.{}", prefix, i);
    columns.push_back({id, pairs[i].right.expression});
    node.equal.emplace_back(pairs[i].left.expression.name, id);
  }
  rows.tables.insert(inner->tables.begin(), inner->tables.end());
  node.right = built(*inner, columns);
  const std::vector<Expression> conditions = rows.conditions;
  rows.conditions.clear();
  collapse(rows);
  rows.conditions = conditions;
  node.left = rows.leaves[0];
  rows.leaves = {engine::relation(std::move(node))};
  if (negated && !inner->is_public)
    add_note("NOT IN and NOT EXISTS leave rows of the subquery out that belong to nobody");
  return success();
}

}  // namespace noisefloor::query
