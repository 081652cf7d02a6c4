// Subqueries that group by the unit: one row for each unit and other keys, so that every row still has one owner.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/query/binder.h"
#include "noisefloor/query/bound_parts.h"
#include "noisefloor/query/canonical.h"
#include "noisefloor/query/grid.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Function;
using engine::Type;
using Fold = engine::GroupRows::Fold;

constexpr std::string_view kAggregates[] = {
    "count",   "sum",    "avg",         "min",        "max",    "variance",        "var_samp",
    "var_pop", "stddev", "stddev_samp", "stddev_pop", "median", "percentile_cont", "percentile_disc"};

// Where the folds of a subquery come together, each once.
class Folds {
 public:
  Folds(const Rows& rows, std::string prefix) : rows_(rows), prefix_(std::move(prefix)) {}

  Result<Bound> add(Binder& binder, const Term& term);
  [[nodiscard]] const std::vector<engine::GroupRows::Folded>& all() const { return folds_; }

 private:
  Expression fold(Fold kind, std::optional<Expression> argument, Type type) {
    const std::string text = fmt::format("{} {}", static_cast<int>(kind), argument ? canonical_text(*argument) : "");
    const auto [at, fresh] = names_.emplace(text, fmt::format("{}.{}", prefix_, names_.size()));
    if (fresh) folds_.push_back({at->second, kind, argument.value_or(engine::constant(std::int64_t{1}))});
    return engine::column(at->second, type);
  }
  Result<Bound> sum_of(const Bound& argument, const std::string& name);
  [[nodiscard]] Bound counted(Expression count) const {
    Bound bound{.expression = std::move(count), .nullable = false};
    bound.integers = {0, static_cast<Int128>(rows_.max_rows), true, false};
    return bound;
  }

  const Rows& rows_;
  std::string prefix_;
  std::map<std::string, std::string> names_;
  std::vector<engine::GroupRows::Folded> folds_;
};

Result<Bound> Folds::sum_of(const Bound& argument, const std::string& name) {
  NF_TRY(const Grid grid, grid_of(argument, name, rows_.max_rows));
  const Expression steps = fold(Fold::kSum, steps_of(argument, grid), Type::kInteger);
  Bound total{.expression = steps};
  const Int128 most = static_cast<Int128>(rows_.max_rows) * std::max(std::abs(grid.lower), std::abs(grid.upper));
  total.integers = {grid.lower < 0 ? -most : Int128{0}, grid.upper > 0 ? most : Int128{0}, grid.lower >= 0,
                    grid.upper <= 0};
  if (argument.type() == Type::kInteger) return total;
  NF_TRY(Bound number, bind_cast("float8", total));
  Bound step{.expression = engine::constant(grid.step), .nullable = false, .per_unit = true};
  step.numbers = {grid.step, grid.step};
  NF_TRY(Bound sum, bind_operator("*", {std::move(number), std::move(step)}));
  sum.step = grid.step;
  return sum;
}

Result<Bound> Folds::add(Binder& binder, const Term& term) {
  if (term.within_group || term.over != nullptr)
    return invalid_argument(
        fmt::format("{} is not understood in a subquery: use count, sum, avg, min or max there", shown(term.name)));
  std::optional<Bound> filter;
  if (term.filter != nullptr) {
    NF_TRY(filter, binder.bind_over(rows_, *term.filter));
    if (filter->type() != Type::kTruth) return invalid_argument("FILTER takes conditions");
  }
  const auto filtered = [&](Expression value) {
    if (!filter.has_value()) return value;
    const Type type = value.type;
    return normal_call(Function::kCase, type, {filter->expression, std::move(value), engine::null_of(type)});
  };
  if (term.star || (term.name == "count" && term.arguments.size() == 1 && !term.distinct)) {
    if (term.name != "count") return invalid_argument(fmt::format("{} takes a value, and not *", shown(term.name)));
    if (term.star && !filter.has_value()) return counted(fold(Fold::kCountRows, std::nullopt, Type::kInteger));
    Expression argument = engine::constant(std::int64_t{1});
    if (!term.star) {
      NF_TRY(const Bound bound, binder.bind_over(rows_, term.arguments[0]));
      if (!bound.nullable && !filter.has_value()) return counted(fold(Fold::kCountRows, std::nullopt, Type::kInteger));
      argument = bound.expression;
    }
    return counted(fold(Fold::kCount, filtered(argument), Type::kInteger));
  }
  if (term.arguments.size() != 1)
    return invalid_argument(
        fmt::format("{} is not understood in a subquery: use count, sum, avg, min or max there", shown(term.name)));
  NF_TRY(Bound argument, binder.bind_over(rows_, term.arguments[0]));
  NF_TRY_VOID(check_not_unit({argument}));
  argument.expression = filtered(argument.type() == Type::kInteger ? guarded(argument) : argument.expression);
  argument.nullable = argument.nullable || filter.has_value();
  // A condition may hold in some rows of a unit alone: then what it lets through differs between the unit's groups.
  argument.per_unit = argument.per_unit && (!filter.has_value() || filter->per_unit);
  if (term.distinct) {
    if (term.name != "count") return invalid_argument("DISTINCT is understood within count alone");
    if (argument.type() == Type::kNumber)
      return invalid_argument("count(DISTINCT …) takes no numbers: put them on a grid");
    return counted(fold(Fold::kCountDistinct, argument.expression, Type::kInteger));
  }
  if (term.name == "sum") return sum_of(argument, label_of(term));
  if (term.name == "avg") {
    NF_TRY(Bound sum, sum_of(argument, label_of(term)));
    NF_TRY(sum, bind_cast("float8", std::move(sum)));
    NF_TRY(Bound count, bind_cast("float8", counted(fold(Fold::kCount, argument.expression, Type::kInteger))));
    NF_TRY(Bound mean, bind_operator("/", {std::move(sum), std::move(count)}));
    mean.numbers = numbers_of(argument);
    mean.step.reset();
    return mean;
  }
  if (term.name == "min" || term.name == "max") {
    Bound bound = argument;
    bound.expression = fold(term.name == "min" ? Fold::kMin : Fold::kMax, argument.expression, argument.type());
    bound.clamp = true;
    bound.nullable = true;
    bound.row_number = false;
    return bound;
  }
  return invalid_argument(
      fmt::format("{} is not understood in a subquery: use count, sum, avg, min or max there", shown(term.name)));
}

// The terms of GROUP BY, where a number stands for a target and a name may be that of one.
Result<std::vector<Term>> group_terms(const Select& select, const Rows& rows) {
  std::vector<Term> terms;
  for (const GroupTerm& group : select.group) {
    if (group.kind != GroupTerm::Kind::kTerms)
      return invalid_argument("ROLLUP, CUBE and GROUPING SETS are not understood in a subquery: use them outside");
    for (const Term& term : group.terms) {
      const Term* meant = &term;
      if (term.kind == Term::Kind::kInteger) {
        if (term.integer < 1 || static_cast<std::size_t>(term.integer) > select.targets.size())
          return invalid_argument(fmt::format("GROUP BY {} names no column of the list", term.integer));
        meant = &select.targets[static_cast<std::size_t>(term.integer) - 1].term;
      } else if (term.kind == Term::Kind::kColumn && term.path.size() == 1 && !has_column(rows, term.path)) {
        for (const Target& target : select.targets)
          if (target.name == term.path[0]) meant = &target.term;
      }
      terms.push_back(*meant);
    }
  }
  if (select.distinct && select.group.empty())
    for (const Target& target : select.targets) terms.push_back(target.term);
  return terms;
}

}  // namespace

bool is_aggregate(const Term& term) {
  if (term.kind != Term::Kind::kCall || term.over != nullptr) return false;
  return std::find(std::begin(kAggregates), std::end(kAggregates), term.name) != std::end(kAggregates);
}

std::span<const std::string_view> aggregate_names() { return kAggregates; }

bool has_aggregate(const Term& term) {
  if (is_aggregate(term)) return true;
  return std::any_of(term.arguments.begin(), term.arguments.end(), has_aggregate);
}

Result<Rows> Binder::bind_grouped(const Select& select) {
  NF_TRY(Rows rows, bind_source(select));
  for (const Target& target : select.targets)
    if (target.term.kind == Term::Kind::kStar)
      return invalid_argument("* with GROUP BY or DISTINCT is not understood: name the columns");
  if (select.distinct && !select.group.empty())
    return invalid_argument("DISTINCT with GROUP BY is not understood in a subquery: leave out DISTINCT");
  NF_TRY(const std::vector<Term> terms, group_terms(select, rows));
  const std::string prefix = fresh("group");
  std::map<std::string, Bound> keys;  // by canonical text: sorted, and each once
  bool by_unit = rows.is_public;
  for (const Term& term : terms) {
    NF_TRY(Bound bound, bind_over(rows, term));
    if (bound.type() == Type::kNumber)
      return invalid_argument("GROUP BY takes no numbers: put them on a grid, for instance with floor");
    by_unit = by_unit || bound.is_unit;
    keys.emplace(canonical_text(bound.expression), std::move(bound));
  }
  if (!by_unit)
    return invalid_argument(
        "an aggregate or DISTINCT in a subquery must keep rows of different units apart: add the column that tells "
        "units apart to GROUP BY or to the list; or ask for this aggregate first, and write the released number here");
  Rows result;
  engine::GroupRows groups;
  std::map<std::string, Bound> outside;  // a key's text: the column that it is from now on
  std::vector<Expression> others;
  for (const auto& [text, bound] : keys) {
    const std::string id = fmt::format("{}.{}", prefix, groups.keys.size());
    groups.keys.push_back({id, bound.expression});
    Bound column = bound;
    column.expression = engine::column(id, bound.type());
    column.row_number = false;
    if (bound.is_unit) {
      result.unit = column.expression;
    } else {
      others.push_back(column.expression);
    }
    Fact fact{std::nullopt, bound.public_range, bound.integers};
    if (const auto values = public_values(rows, bound); values.has_value() && bound.type() == Type::kText) {
      fact.values.emplace();
      for (const engine::Cell& cell : *values)
        if (const auto* value = std::get_if<std::string>(&cell)) fact.values->push_back(*value);
    }
    result.facts[id] = std::move(fact);
    outside.emplace(text, std::move(column));
  }
  Folds folds(rows, prefix + ".fold");
  const BindLeaf leaf = [&](const Term& term) -> Result<std::optional<Bound>> {
    if (is_aggregate(term)) {
      NF_TRY(Bound bound, folds.add(*this, term));
      return std::optional<Bound>(std::move(bound));
    }
    if (has_aggregate(term) || term.kind == Term::Kind::kStar) return std::optional<Bound>();
    const Result<Bound> bound = bind_over(rows, term);
    if (bound.has_value())
      if (const auto key = outside.find(canonical_text(bound.value().expression)); key != outside.end())
        return std::optional<Bound>(key->second);
    if (term.kind == Term::Kind::kColumn) {
      if (!bound.has_value()) return bound.error();
      return invalid_argument(
          fmt::format("the column {} must be in GROUP BY or within an aggregate", shown(term.path.back())));
    }
    return std::optional<Bound>();
  };
  for (const Target& target : select.targets) {
    NF_TRY(Bound bound, bind_term(target.term, leaf));
    std::string name = target.name;
    if (name.empty()) name = target.term.kind == Term::Kind::kColumn ? target.term.path.back() : target.term.name;
    NF_TRY_VOID(apply_options("", name, target.term.kind == Term::Kind::kColumn, bound));
    result.columns.push_back({"", name, std::move(bound)});
  }
  std::optional<Bound> having;
  if (select.having.has_value()) {
    NF_TRY(having, bind_term(*select.having, leaf));
    if (having->type() != Type::kTruth) return invalid_argument("HAVING takes conditions");
  }
  if (keys.empty())
    return invalid_argument("a subquery with an aggregate needs GROUP BY: name the columns to group by");
  result.is_public = rows.is_public;
  result.limits = rows.limits;
  result.max_rows = rows.max_rows;
  result.tables = rows.tables;
  const bool once = std::all_of(keys.begin(), keys.end(), [](const auto& key) { return key.second.per_unit; });
  if (!rows.is_public) {
    result.rows_per_unit = once ? std::optional<std::uint64_t>(1) : rows.rows_per_unit;
    result.unique_with_unit = std::move(others);
    if (once && result.unit.has_value()) result.unique.insert(result.unit->name);
  } else if (keys.size() == 1) {
    result.unique.insert(groups.keys[0].name);
  }
  groups.folds = folds.all();
  if (groups.folds.empty() && groups.keys.empty()) return internal_error("a grouping without columns");
  collapse(rows);
  groups.input = rows.leaves[0];
  result.leaves = {engine::relation(std::move(groups))};
  if (having.has_value()) add_condition(result, having->expression);
  return result;
}

}  // namespace noisefloor::query
