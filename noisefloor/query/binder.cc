#include "noisefloor/query/binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/query/bound_parts.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Type;

constexpr std::size_t kMostTables = 32;

// The engine's column under a column that replaces missing values.
const std::string& raw_name(const Bound& bound) {
  return bound.expression.function == engine::Function::kColumn ? bound.expression.name
                                                                : bound.expression.arguments[0].name;
}

Bound bound_of(const DescribedColumn& column, const std::string& id) {
  Bound bound{.expression = engine::column(id, column.type)};
  if (column.type == Type::kDate) bound.integers = any_day();
  if (column.type == Type::kTruth) bound.integers = between(0, 1);
  if (column.lower.has_value() && (column.type == Type::kInteger || column.type == Type::kDate)) {
    bound.integers = between(static_cast<Int128>(*column.lower), static_cast<Int128>(*column.upper));
    if (column.type == Type::kDate) bound.integers = within(bound.integers, any_day());
    bound.clamp = true;
  }
  if (column.lower.has_value() && column.type == Type::kNumber) bound.numbers = {*column.lower, *column.upper};
  bound.step = column.step;
  bound.public_range = column.public_range;
  bound.key_length = column.max_length;
  if (column.missing.has_value() && column.type == Type::kNumber) {
    bound.expression =
        normal_call(engine::Function::kCoalesce, Type::kNumber, {bound.expression, engine::constant(*column.missing)});
    bound.nullable = false;
    bound.numbers.lower = std::min(bound.numbers.lower, *column.missing);
    bound.numbers.upper = std::max(bound.numbers.upper, *column.missing);
  }
  if (column.missing.has_value() && column.type == Type::kInteger) {
    const auto value = static_cast<std::int64_t>(*column.missing);
    bound.expression =
        normal_call(engine::Function::kCoalesce, Type::kInteger, {bound.expression, engine::constant(value)});
    bound.nullable = false;
    bound.integers = either(bound.integers, exactly(value));
  }
  return bound;
}

Error unknown_table(const DescribedTables& policy, const std::string& name) {
  std::string known;
  for (const DescribedTable& table : policy.tables.tables)
    if (known.size() < 400) known += (known.empty() ? "" : ", ") + table.name;
  return invalid_argument(fmt::format("the description of the dataset has no table {}: it has {}", shown(name),
                                      known.empty() ? "none" : known));
}

}  // namespace

void Binder::add_note(std::string note) {
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(std::move(note));
}

std::string Binder::fresh(const std::string& prefix) {
  const std::size_t count = ++occurrences_[prefix];
  return count == 1 ? prefix : fmt::format("{}~{}", prefix, count);
}

Result<void> Binder::count_tables() {
  if (++tables_ > kMostTables)
    return invalid_argument(fmt::format("the query reads more than {} tables: ask it in parts", kMostTables));
  return success();
}

Result<void> Binder::apply_options(const std::string& table, const std::string& name, bool from_policy, Bound& bound) {
  auto found = options_.bounds.find(table + "." + name);
  if (found == options_.bounds.end()) found = options_.bounds.find(name);
  if (found == options_.bounds.end()) return success();
  options_used_[found->first] = true;
  const double lower = found->second.first;
  const double upper = found->second.second;
  const std::string shown_name = shown(found->first);
  if (!(lower <= upper) || !(upper - lower < 1e300))
    return invalid_argument(fmt::format("the bounds of {} must be two finite numbers that increase", shown_name));
  const auto wider = [&](double low, double high) {
    return invalid_argument(
        fmt::format("the bounds {} to {} of {} are wider than those of the policy, {} to {}: "
                    "state bounds within them",
                    lower, upper, shown_name, low, high));
  };
  if (bound.type() == Type::kNumber) {
    if (from_policy && bound.numbers.stated() && (lower < bound.numbers.lower || upper > bound.numbers.upper))
      return wider(bound.numbers.lower, bound.numbers.upper);
    bound.numbers = {std::max(lower, bound.numbers.lower), std::min(upper, bound.numbers.upper)};
    if (bound.numbers.lower > bound.numbers.upper)
      return invalid_argument(fmt::format("the bounds of {} leave no value: state others", shown_name));
    return success();
  }
  if (bound.type() != Type::kInteger)
    return invalid_argument(fmt::format("{} is no number, and takes no bounds: leave them out", shown_name));
  if (lower != std::floor(lower) || upper != std::floor(upper) || std::abs(lower) > 0x1p53 || std::abs(upper) > 0x1p53)
    return invalid_argument(fmt::format("the bounds of {} must be whole numbers within 2^53", shown_name));
  const IntegerRange range = between(static_cast<Int128>(lower), static_cast<Int128>(upper));
  if (from_policy && bound.integers.stated() && (range.low < bound.integers.low || range.high > bound.integers.high))
    return wider(static_cast<double>(bound.integers.low), static_cast<double>(bound.integers.high));
  bound.integers = within(bound.integers, range);
  if (bound.integers.low > bound.integers.high)
    return invalid_argument(fmt::format("the bounds of {} leave no value: state others", shown_name));
  bound.clamp = true;
  return success();
}

Result<void> Binder::check_options_used() const {
  for (const auto& [name, bounds] : options_.bounds)
    if (options_used_.count(name) == 0)
      return invalid_argument(
          fmt::format("bounds are stated for {}, which the query does not read: name a column of it", shown(name)));
  return success();
}

Result<Bound> Binder::bind_over(const Rows& rows, const Term& term) {
  return bind_term(term, [&](const Term& each) -> Result<std::optional<Bound>> {
    if (each.kind == Term::Kind::kColumn) {
      NF_TRY(Bound bound, find_column(rows, each.path));
      return std::optional<Bound>(std::move(bound));
    }
    if (each.kind == Term::Kind::kCall && each.over != nullptr)
      return invalid_argument(
          "window functions are understood in the list of a subquery alone, as row_number() OVER (PARTITION BY the "
          "column that tells units apart …)");
    if (is_aggregate(each))
      return invalid_argument(
          fmt::format("the aggregate {} may not stand here: WHERE, GROUP BY and the arguments of "
                      "aggregates are about single rows",
                      shown(each.name)));
    return std::optional<Bound>();
  });
}

Result<Rows> Binder::scan(const DescribedTable& table, const std::string& alias) {
  NF_TRY_VOID(count_tables());
  const std::string occurrence = fresh(table.name);
  Rows rows;
  rows.is_public = table.is_public;
  rows.max_rows = std::min(table.max_rows, kMostRows);
  rows.limits = {table.max_groups, table.max_rows_per_group, table.max_rows_per_unit};
  engine::Scan scan{table.name, {}};
  engine::Project project;
  for (const DescribedColumn& column : table.columns) {
    const std::string id = occurrence + "." + column.name;
    scan.columns.push_back({column.name, column.type});
    project.columns.push_back({id, engine::column(column.name, column.type)});
    Bound bound = bound_of(column, id);
    rows.facts[id] = {column.values, column.public_range && column.lower.has_value(), bound.integers};
    NF_TRY_VOID(apply_options(table.name, column.name, true, bound));
    bound.per_unit = !table.is_public && table.one_row_per_unit;
    rows.columns.push_back({alias, column.name, std::move(bound)});
    rows.origins[id] = &column;
    if (std::find(table.unique.begin(), table.unique.end(), column.name) != table.unique.end()) rows.unique.insert(id);
  }
  if (table.columns.empty())
    return invalid_argument(fmt::format("the description of table {} has no columns: add some", shown(table.name)));
  project.input = engine::relation(std::move(scan));
  rows.leaves.push_back(engine::relation(std::move(project)));
  if (!table.is_public) rows.tables.insert(table.name);
  return rows;
}

// Marks the column that tells units apart; or joins the tables that lead to it, whose columns stay hidden.
Result<void> Binder::add_unit(const DescribedTable& table, Rows& rows) {
  NF_TRY(const std::vector<UnitStep> path, unit_path(policy_, table));
  if (path.empty()) {
    rows.row_unit = true;
    return success();
  }
  const auto id_of = [](const Rows& in, const std::string& name) -> Column* {
    for (const Column& column : in.columns)
      if (column.name == name) return const_cast<Column*>(&column);
    return nullptr;
  };
  std::string how = table.name;
  Rows walked = rows;
  for (std::size_t i = 0; i < path.size(); ++i) {
    Column* at = id_of(i == 0 ? rows : walked, path[i].column);
    how += "." + path[i].column;
    if (i + 1 == path.size()) {
      const Expression unit = engine::column(raw_name(at->bound), at->bound.type());
      if (unit.type == Type::kNumber)
        return invalid_argument(
            fmt::format("the column {} tells units apart, and so cannot be a number: make it an "
                        "integer or a text",
                        shown(path[i].column)));
      rows.unit = unit;
      if (table.one_row_per_unit) rows.rows_per_unit = 1;
      if (i == 0) {
        at->bound = Bound{.expression = unit, .per_unit = true, .is_unit = true};
        if (unit.type == Type::kDate) at->bound.integers = any_day();
        if (table.one_row_per_unit) rows.unique.insert(unit.name);
      } else {
        how += " (joined)";
      }
      break;
    }
    const DescribedTable& next = *path[i + 1].table;
    NF_TRY(Rows step, scan(next, next.name));
    Column* target = id_of(step, path[i].refers);
    if (at->bound.type() != target->bound.type())
      return invalid_argument(fmt::format("{}.{} refers to {}.{}, which is of another type", shown(path[i].table->name),
                                          shown(path[i].column), shown(next.name), shown(path[i].refers)));
    if (i == 0) rows.links.push_back({raw_name(at->bound), &next, path[i].refers});
    rows.equal.push_back(std::minmax({raw_name(at->bound), raw_name(target->bound)}));
    rows.leaves.insert(rows.leaves.end(), step.leaves.begin(), step.leaves.end());
    rows.tables.insert(next.name);
    how += " = ";
    walked = std::move(step);
    how += next.name;
  }
  add_note(fmt::format("whose row: {}", how));
  return success();
}

Result<Rows> Binder::renamed(Rows rows, const std::string& alias, const std::vector<std::string>& names) {
  if (names.size() > rows.columns.size())
    return invalid_argument(
        fmt::format("{} names {} columns, and there are {}", shown(alias), names.size(), rows.columns.size()));
  for (std::size_t i = 0; i < rows.columns.size(); ++i) {
    rows.columns[i].table = alias;
    rows.columns[i].merged = false;
    if (i < names.size()) rows.columns[i].name = names[i];
  }
  return rows;
}

Result<Rows> Binder::bind_table(const From& from) {
  const std::string alias = from.alias.empty() ? from.table : from.alias;
  for (const Scope* at = scope_.get(); at != nullptr; at = at->outer.get()) {
    if (at->table->name != from.table) continue;
    const std::shared_ptr<const Scope> here = scope_;
    const CommonTable& common = *at->table;
    scope_ = at->outer;
    NF_TRY_VOID(count_tables());
    Result<Rows> rows = bind_query(*common.query);
    scope_ = here;
    if (!rows.has_value()) return rows;
    NF_TRY(Rows named, renamed(std::move(rows).value(), alias, common.columns));
    return renamed(std::move(named), alias, from.columns);
  }
  const DescribedTable* table = find_table(policy_, from.table);
  if (table == nullptr) return unknown_table(policy_, from.table);
  NF_TRY(Rows rows, scan(*table, alias));
  if (!table->is_public) NF_TRY_VOID(add_unit(*table, rows));
  return renamed(std::move(rows), alias, from.columns);
}

Result<Rows> Binder::bind_from(const From& from) {
  if (from.kind == From::Kind::kTable) return bind_table(from);
  if (from.kind == From::Kind::kQuery) {
    NF_TRY(Rows rows, bind_query(*from.query));
    return renamed(std::move(rows), from.alias, from.columns);
  }
  NF_TRY(Rows left, bind_from(from.sides[0]));
  NF_TRY(Rows right, bind_from(from.sides[1]));
  return join(from, std::move(left), std::move(right));
}

namespace {

// A = B where A is a column of one side and B of the other.
std::optional<JoinPair> pair_of(const Rows& left, const Rows& right, const Term& term) {
  if (term.kind != Term::Kind::kOperator || term.name != "=" || term.arguments.size() != 2) return std::nullopt;
  const Term& a = term.arguments[0];
  const Term& b = term.arguments[1];
  if (a.kind != Term::Kind::kColumn || b.kind != Term::Kind::kColumn) return std::nullopt;
  for (const bool swap : {false, true}) {
    const Term& l = swap ? b : a;
    const Term& r = swap ? a : b;
    if (has_column(left, l.path) && has_column(right, r.path) && !has_column(right, l.path) &&
        !has_column(left, r.path)) {
      const Result<Bound> one = find_column(left, l.path);
      const Result<Bound> two = find_column(right, r.path);
      if (one.has_value() && two.has_value()) return JoinPair{one.value(), two.value()};
    }
  }
  return std::nullopt;
}

// A left join also gives rows of the left side that find no match: what was proved of the right side by itself is lost.
void keep_of_left_join(Rows& all, const Rows& left, const Rows& right, const std::vector<JoinPair>& pairs) {
  const bool once = right_is_found_once(right, pairs);
  all.rows_per_unit.reset();
  if (once) {
    all.rows_per_unit = left.rows_per_unit;
  } else if (left.rows_per_unit.has_value() && right.rows_per_unit.has_value()) {
    const Uint128 most = static_cast<Uint128>(*left.rows_per_unit) * *right.rows_per_unit;
    if (most < kMostRows) all.rows_per_unit = static_cast<std::uint64_t>(most);
  }
  all.unique_with_unit = once ? left.unique_with_unit : std::nullopt;
  all.row_numbers = once ? left.row_numbers : std::set<std::string>{};
  all.unique = once ? left.unique : std::set<std::string>{};
  // Whether a row finds a match must be the same for all rows of a unit.
  const bool all_or_none =
      std::all_of(pairs.begin(), pairs.end(), [](const JoinPair& pair) { return pair.left.per_unit; });
  for (std::size_t i = left.columns.size(); i < all.columns.size(); ++i)
    all.columns[i].bound.per_unit = all.columns[i].bound.per_unit && all_or_none;
}

}  // namespace

Result<void> check_pair_of_join(const JoinPair& pair) {
  const Type type = pair.left.type();
  if (type == pair.right.type() && type != Type::kNumber) return success();
  return invalid_argument(fmt::format("a join compares {} with {}: join on integers, dates or texts of one type",
                                      name_of(type), name_of(pair.right.type())));
}

std::vector<const Term*> conjuncts_of(const Term& term) {
  if (term.kind != Term::Kind::kAnd) return {&term};
  std::vector<const Term*> all;
  for (const Term& each : term.arguments)
    for (const Term* inner : conjuncts_of(each)) all.push_back(inner);
  return all;
}

Result<Rows> Binder::join(const From& from, Rows left, Rows right) {
  std::vector<JoinPair> pairs;
  std::vector<const Term*> rest;
  for (const std::string& name : from.common) {
    NF_TRY(Bound a, query::find_column(left, {name}));
    NF_TRY(Bound b, query::find_column(right, {name}));
    pairs.push_back({std::move(a), std::move(b)});
    for (Column& column : right.columns)
      if (column.name == name && !column.merged) column.merged = true;
  }
  if (from.on.has_value())
    for (const Term* each : conjuncts_of(*from.on)) {
      std::optional<JoinPair> pair = pair_of(left, right, *each);
      if (pair.has_value()) {
        pairs.push_back(std::move(*pair));
      } else {
        rest.push_back(each);
      }
    }
  for (const JoinPair& pair : pairs) NF_TRY_VOID(check_pair_of_join(pair));
  const bool outer = from.kind == From::Kind::kLeft && !left.is_public;
  if (from.kind == From::Kind::kLeft && left.is_public && !right.is_public)
    add_note("rows of a public table without a private row belong to nobody, and are left out");
  if (!outer && !(from.kind == From::Kind::kLeft && right.is_public)) {
    NF_TRY(Rows all, joined_rows(std::move(left), std::move(right), pairs));
    for (const Term* each : rest) {
      NF_TRY(Bound condition, bind_over(all, *each));
      if (condition.type() != Type::kTruth) return invalid_argument("ON takes conditions");
      add_condition(all, condition.expression);
    }
    return all;
  }
  for (const Term* each : rest) {  // what ON asks of the right side alone
    NF_TRY(Bound condition, bind_over(right, *each));
    if (condition.type() != Type::kTruth) return invalid_argument("ON takes conditions");
    add_condition(right, condition.expression);
  }
  // The right side becomes plain columns, so that a row without a match has NULL in all of them.
  const std::string prefix = fresh("left");
  std::vector<engine::NamedExpression> columns;
  Rows plain = right;
  plain.columns.clear();
  plain.facts.clear();
  plain.origins.clear();
  plain.unique.clear();
  plain.row_numbers.clear();
  plain.links.clear();
  plain.integers.clear();
  plain.numbers.clear();
  plain.listed.clear();
  plain.conditions.clear();
  plain.equal.clear();
  const auto is_unique = [&](const Expression& each) {
    return each.function == engine::Function::kColumn && right.unique.count(each.name) != 0;
  };
  for (std::size_t i = 0; i < right.columns.size(); ++i) {
    Column column = right.columns[i];
    Bound bound = narrowed(right, column.bound);
    const std::string id = fmt::format("{}.{}", prefix, i);
    columns.push_back({id, bound.expression});
    if (is_unique(bound.expression)) plain.unique.insert(id);
    plain.facts[id] = {std::nullopt, bound.public_range, bound.integers};
    if (const std::optional<std::vector<engine::Cell>> values = public_values(right, bound);
        values.has_value() && bound.type() == Type::kText) {
      plain.facts[id].values.emplace();
      for (const engine::Cell& cell : *values)
        if (const auto* text = std::get_if<std::string>(&cell)) plain.facts[id].values->push_back(*text);
    }
    for (JoinPair& pair : pairs)
      if (pair.right.expression == bound.expression) pair.right.expression = engine::column(id, bound.type());
    bound.expression = engine::column(id, bound.type());
    bound.nullable = true;
    bound.per_unit = bound.per_unit || (right.rows_per_unit == 1u && !right.is_public);
    column.bound = std::move(bound);
    plain.columns.push_back(std::move(column));
  }
  if (plain.unit.has_value()) {
    columns.push_back({prefix + ".unit", *plain.unit});
    plain.unit = engine::column(prefix + ".unit", plain.unit->type);
  }
  plain.leaves = {built(right, columns)};
  for (const JoinPair& pair : pairs)
    if (pair.right.expression.function != engine::Function::kColumn)
      return invalid_argument("a left join compares columns: compute what it compares in a subquery");
  NF_TRY(Rows all, joined_rows(left, plain, pairs));
  keep_of_left_join(all, left, plain, pairs);
  collapse(left);
  engine::Join node{engine::JoinKind::kLeft, left.leaves[0], plain.leaves[0], {}};
  for (const JoinPair& pair : pairs) {
    if (pair.left.expression.function != engine::Function::kColumn)
      return invalid_argument("a left join compares columns: compute what it compares in a subquery");
    node.equal.emplace_back(pair.left.expression.name, pair.right.expression.name);
  }
  std::sort(node.equal.begin(), node.equal.end());
  if (node.equal.empty()) return invalid_argument("a left join needs columns that are equal: add ON or USING");
  all.unit = left.unit;
  all.leaves = {engine::relation(std::move(node))};
  all.equal.clear();
  all.conditions.clear();
  all.max_rows = std::min(kMostRows, all.max_rows + left.max_rows);
  return all;
}

Result<Rows> Binder::bind_source(const Select& select) {
  if (select.from.empty())
    return invalid_argument("the query reads no table: write FROM and a table of the dataset's description");
  std::vector<const Term*> conditions;
  if (select.where.has_value()) conditions = conjuncts_of(*select.where);
  NF_TRY(Rows rows, bind_from(select.from[0]));
  for (std::size_t i = 1; i < select.from.size(); ++i) {
    NF_TRY(Rows next, bind_from(select.from[i]));
    std::vector<JoinPair> pairs;
    std::vector<const Term*> rest;
    for (const Term* each : conditions) {
      std::optional<JoinPair> pair = pair_of(rows, next, *each);
      if (pair.has_value()) {
        NF_TRY_VOID(check_pair_of_join(*pair));
        pairs.push_back(std::move(*pair));
      } else {
        rest.push_back(each);
      }
    }
    conditions = std::move(rest);
    NF_TRY(rows, joined_rows(std::move(rows), std::move(next), pairs));
  }
  std::vector<Expression> bound;
  std::vector<std::pair<const Term*, bool>> semi_joins;
  for (const Term* each : conditions) {
    bool negated = false;
    const Term* inner = each;
    while (inner->kind == Term::Kind::kNot) {
      negated = !negated;
      inner = &inner->arguments[0];
    }
    if (inner->kind == Term::Kind::kInQuery || inner->kind == Term::Kind::kExists) {
      semi_joins.emplace_back(inner, negated);
      continue;
    }
    NF_TRY(Bound condition, bind_over(rows, *each));
    if (is_null(condition.expression)) condition.expression = engine::null_of(Type::kTruth);
    if (condition.type() != Type::kTruth)
      return invalid_argument(
          fmt::format("WHERE takes conditions, and not {}: compare it with something", name_of(condition.type())));
    bound.push_back(condition.expression);
  }
  for (const Expression& each : bound) add_condition(rows, each);
  for (const auto& [term, negated] : semi_joins) NF_TRY_VOID(add_semi_join(rows, *term, negated));
  return rows;
}

}  // namespace noisefloor::query
