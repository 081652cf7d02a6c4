// Inner joins, and whose a joined row is.
#include <algorithm>
#include <utility>

#include "noisefloor/query/binder.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Function;

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(std::min(static_cast<Uint128>(a) * b, static_cast<Uint128>(kMostRows)));
}

bool is_link(const Rows& from, const Rows& to, const Bound& link, const Bound& target) {
  if (link.expression.function != Function::kColumn || target.expression.function != Function::kColumn) return false;
  for (const Link& each : from.links) {
    if (each.column != link.expression.name) continue;
    const auto origin = to.origins.find(target.expression.name);
    if (origin != to.origins.end() && origin->second == find_column(*each.table, each.refers) &&
        to.unique.count(target.expression.name) != 0)
      return true;
  }
  return false;
}

enum class Owner { kOne, kTwo };

// Who owns a row of two private sides: one unit if the sides are equal in it, or if one side refers to the other's row
// on the way to its unit.
Owner owner_of(const Rows& left, const Rows& right, const std::vector<JoinPair>& pairs) {
  for (const JoinPair& pair : pairs) {
    if (pair.left.is_unit && pair.right.is_unit) return Owner::kOne;
    if (is_link(left, right, pair.left, pair.right) || is_link(right, left, pair.right, pair.left)) return Owner::kOne;
  }
  return Owner::kTwo;
}

// Whether at most one row of `side` has the values of a pair.
bool finds_one(const Rows& side, const std::vector<JoinPair>& pairs, bool is_right) {
  for (const JoinPair& pair : pairs) {
    const Bound& bound = is_right ? pair.right : pair.left;
    if (bound.expression.function == Function::kColumn && side.unique.count(bound.expression.name) != 0) return true;
    if (bound.is_unit && side.rows_per_unit == 1u) return true;
  }
  return false;
}

// The name of the column that a pair joins on: a computed value becomes a column first.
std::string column_for(Rows& rows, const Bound& bound) {
  if (bound.expression.function == Function::kColumn) return bound.expression.name;
  collapse(rows);
  engine::Project project{rows.leaves[0], {}};
  for (const engine::NamedColumn& each : engine::columns_of(*rows.leaves[0]))
    project.columns.push_back({each.name, engine::column(each.name, each.type)});
  std::string name = "x." + std::to_string(project.columns.size());
  while (
      std::any_of(project.columns.begin(), project.columns.end(), [&](const auto& each) { return each.name == name; }))
    name += "x";
  name += "." + project.columns[0].name;
  project.columns.push_back({name, bound.expression});
  rows.leaves = {engine::relation(std::move(project))};
  return name;
}

// Where a unit has one row, all columns are the same in all rows of the unit, also after the join. So is the one row of
// a public table that such a column finds.
void mark_per_unit(Rows& left, Rows& right, const std::vector<JoinPair>& pairs) {
  for (Rows* side : {&left, &right})
    if (!side->is_public && side->rows_per_unit == 1u)
      for (Column& column : side->columns) column.bound.per_unit = true;
  for (const JoinPair& pair : pairs) {
    const auto finds = [](const Rows& side, const Bound& bound) {
      return side.is_public && bound.expression.function == Function::kColumn &&
             side.unique.count(bound.expression.name) != 0;
    };
    const bool left_fixed = pair.left.per_unit || (left.rows_per_unit == 1u && !left.is_public);
    const bool right_fixed = pair.right.per_unit || (right.rows_per_unit == 1u && !right.is_public);
    if (finds(right, pair.right) && left_fixed && !left.is_public)
      for (Column& column : right.columns) column.bound.per_unit = true;
    if (finds(left, pair.left) && right_fixed && !right.is_public)
      for (Column& column : left.columns) column.bound.per_unit = true;
  }
}

template <class Map>
void merge_into(Map& into, Map& from) {
  into.merge(from);
}

}  // namespace

bool right_is_found_once(const Rows& right, const std::vector<JoinPair>& pairs) {
  return finds_one(right, pairs, true);
}

Result<Rows> joined_rows(Rows left, Rows right, const std::vector<JoinPair>& pairs) {
  const bool both_private = !left.is_public && !right.is_public;
  if (both_private && (left.row_unit || right.row_unit))
    return invalid_argument(
        "a join of private tables whose rows are units of their own gives rows with two owners: ask about each table "
        "by itself");
  if (both_private && owner_of(left, right, pairs) == Owner::kTwo)
    return invalid_argument(
        "this join of private tables gives rows with two owners: join them where their columns that tell units apart "
        "are equal, for instance with USING, or ask about each table by itself");
  for (const JoinPair& pair : pairs)
    if (pair.left.is_unit != pair.right.is_unit)
      return invalid_argument(
          "the column that tells units apart joins with the like of another table alone, and not with other columns");
  mark_per_unit(left, right, pairs);
  const bool right_once = finds_one(right, pairs, true);
  const bool left_once = finds_one(left, pairs, false);
  if ((left.row_unit && !right_once) || (right.row_unit && !left_once))
    return invalid_argument(
        "this join may give several rows for one private row, and every row is a unit of its own: join on a column of "
        "the public table that is stated to be unique");
  std::vector<std::pair<std::string, std::string>> equal;
  for (const JoinPair& pair : pairs) {
    const std::string a = column_for(left, pair.left);
    const std::string b = column_for(right, pair.right);
    equal.emplace_back(std::min(a, b), std::max(a, b));
  }
  Rows all;
  all.is_public = left.is_public && right.is_public;
  all.row_unit = left.row_unit || right.row_unit;
  all.unit = left.is_public ? right.unit : left.unit;
  all.max_rows = right_once ? left.max_rows : left_once ? right.max_rows : product(left.max_rows, right.max_rows);
  if (both_private) {
    // Rows of one row a unit add nothing to what a unit may contribute, so that their table sets no limit.
    const bool left_counts = left.rows_per_unit != 1u || right.rows_per_unit == 1u;
    const bool right_counts = right.rows_per_unit != 1u || left.rows_per_unit == 1u;
    all.limits = left_counts ? left.limits : right.limits;
    if (left_counts && right_counts) {
      all.limits.max_groups = std::min(left.limits.max_groups, right.limits.max_groups);
      all.limits.max_rows_per_group = std::min(left.limits.max_rows_per_group, right.limits.max_rows_per_group);
      for (const auto& other : {right.limits.max_rows_per_unit})
        if (other.has_value())
          all.limits.max_rows_per_unit = std::min(all.limits.max_rows_per_unit.value_or(*other), *other);
    }
    if (left.rows_per_unit.has_value() && right.rows_per_unit.has_value())
      all.rows_per_unit = product(*left.rows_per_unit, *right.rows_per_unit);
  } else {
    all.limits = left.is_public ? right.limits : left.limits;
    if (left.is_public && left_once) all.rows_per_unit = right.rows_per_unit;
    if (right.is_public && right_once) all.rows_per_unit = left.rows_per_unit;
  }
  if (right_once && !left.is_public) {
    if (!all.rows_per_unit.has_value()) all.rows_per_unit = left.rows_per_unit;
    all.unique_with_unit = std::move(left.unique_with_unit);
    all.row_numbers = std::move(left.row_numbers);
  } else if (left_once && !right.is_public) {
    if (!all.rows_per_unit.has_value()) all.rows_per_unit = right.rows_per_unit;
    all.unique_with_unit = std::move(right.unique_with_unit);
    all.row_numbers = std::move(right.row_numbers);
  }
  if (right_once) all.unique = left.unique;
  if (left_once) all.unique.insert(right.unique.begin(), right.unique.end());
  all.leaves = std::move(left.leaves);
  all.leaves.insert(all.leaves.end(), right.leaves.begin(), right.leaves.end());
  all.equal = std::move(left.equal);
  all.equal.insert(all.equal.end(), right.equal.begin(), right.equal.end());
  all.equal.insert(all.equal.end(), equal.begin(), equal.end());
  std::sort(all.equal.begin(), all.equal.end());
  all.conditions = std::move(left.conditions);
  all.conditions.insert(all.conditions.end(), right.conditions.begin(), right.conditions.end());
  all.columns = std::move(left.columns);
  all.columns.insert(all.columns.end(), right.columns.begin(), right.columns.end());
  all.tables = std::move(left.tables);
  all.tables.insert(right.tables.begin(), right.tables.end());
  all.facts = std::move(left.facts);
  merge_into(all.facts, right.facts);
  all.origins = std::move(left.origins);
  merge_into(all.origins, right.origins);
  all.links = std::move(left.links);
  all.links.insert(all.links.end(), right.links.begin(), right.links.end());
  all.integers = std::move(left.integers);
  merge_into(all.integers, right.integers);
  all.numbers = std::move(left.numbers);
  merge_into(all.numbers, right.numbers);
  all.listed = std::move(left.listed);
  merge_into(all.listed, right.listed);
  return all;
}

}  // namespace noisefloor::query
