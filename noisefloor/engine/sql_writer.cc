#include "noisefloor/engine/sql_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/engine/evaluate.h"

namespace noisefloor::engine {
namespace {

constexpr std::size_t kHeavy = 400;  // parts of an expression: beyond, a subquery is computed as it stands

bool has_zero_byte(const Expression& e) {
  const auto* text = std::get_if<std::string>(&e.value);
  return (text != nullptr && text->find('\0') != std::string::npos) || std::ranges::any_of(e.arguments, has_zero_byte);
}

// Expressions over the rows of one SELECT. What is needed twice becomes a column t0, t1, … of a subquery.
class Layers {
 public:
  Layers(const SqlRows& input, const SqlDialect& dialect) : input_(input), dialect_(dialect) {}

  std::string add(const Expression& e, std::size_t& weight) {
    const Part part = part_of(folded(e));
    weight = part.weight;
    return part.sql;
  }

  // What the texts of add() select from.
  [[nodiscard]] std::string from() const {
    std::string select = input_.select;
    for (const std::vector<std::string>& layer : layers_) {
      select = dialect_.fenced(fmt::format("SELECT *, {} FROM ({}) AS s", fmt::join(layer, ", "), select));
    }
    return select;
  }

 private:
  struct Part {
    std::string sql;
    std::size_t level = 0;  // how many subqueries are below it
    bool is_short = true;   // a column or a constant
    std::size_t weight = 1;
  };

  Part bound(Part part) {
    if (part.is_short) return part;
    const auto [known, is_new] = names_.try_emplace({part.level, part.sql}, fmt::format("t{}", names_.size()));
    if (is_new) {
      if (layers_.size() <= part.level) layers_.resize(part.level + 1);
      layers_[part.level].push_back(fmt::format("{} AS {}", part.sql, known->second));
    }
    return {.sql = known->second, .level = part.level + 1};
  }

  Part part_of(const Expression& e) {
    if (e.function == Function::kConstant) return {.sql = dialect_.constant(e)};
    if (e.function == Function::kColumn) {
      const auto at = std::ranges::find(input_.columns, e.name, &NamedColumn::name);
      NF_CHECK(at != input_.columns.end(), "an expression names columns of the relation below it");
      const auto place = static_cast<std::size_t>(at - input_.columns.begin());
      return {.sql = fmt::format("c{}", place), .weight = input_.weights[place]};
    }
    const bool repeats = dialect_.repeats_arguments(e);
    Part whole{.sql = "", .is_short = false};
    std::vector<SqlArgument> arguments;
    for (const Expression& argument : e.arguments) {
      Part part = part_of(argument);
      if (repeats) part = bound(std::move(part));
      whole.level = std::max(whole.level, part.level);
      whole.weight += repeats ? 3 * part.weight : part.weight;
      arguments.push_back({std::move(part.sql), &argument});
    }
    whole.sql = dialect_.call(e, arguments);
    if (!dialect_.leaves_range(e)) return whole;
    Part result = bound(std::move(whole));
    result.sql = dialect_.normalised(result.sql);
    result.is_short = false;
    return result;
  }

  const SqlRows& input_;
  const SqlDialect& dialect_;
  std::vector<std::vector<std::string>> layers_;
  std::map<std::pair<std::size_t, std::string>, std::string> names_;
};

std::vector<NamedExpression> all_of(const std::vector<NamedColumn>& columns) {
  std::vector<NamedExpression> all;
  for (const NamedColumn& c : columns) all.push_back({c.name, column(c.name, c.type)});
  return all;
}

std::string names(std::size_t begin, std::size_t end, std::string_view before = "") {
  std::vector<std::string> list;
  for (std::size_t i = begin; i < end; ++i) list.push_back(fmt::format("{}c{}", before, i));
  return fmt::format("{}", fmt::join(list, ", "));
}

class Writer {
 public:
  explicit Writer(const SqlDialect& dialect) : dialect_(dialect) {}

  Result<SqlRows> rows(const Relation& relation) const {
    NF_TRY(SqlRows rows, std::visit([&](const auto& node) { return rows_of(node); }, relation.node));
    rows.columns = columns_of(relation);
    rows.weights.resize(rows.columns.size(), 1);
    return rows;
  }

  Result<SqlRows> project(const SqlRows& input, const std::vector<NamedExpression>& expressions,
                          const Expression* condition) const {
    if (std::ranges::any_of(expressions, [](const NamedExpression& e) { return has_zero_byte(e.expression); }) ||
        (condition != nullptr && has_zero_byte(*condition))) {
      return invalid_argument("a text in a query must not hold a zero byte");
    }
    if (condition == nullptr && is_identity(input, expressions)) {
      SqlRows same = input;
      for (std::size_t i = 0; i < expressions.size(); ++i) same.columns[i].name = expressions[i].name;
      return same;
    }
    Layers layers(input, dialect_);
    SqlRows out;
    std::vector<std::string> selected;
    for (const NamedExpression& e : expressions) {
      selected.push_back(
          fmt::format("{} AS c{}", layers.add(e.expression, out.weights.emplace_back()), selected.size()));
      out.columns.push_back({e.name, e.expression.type});
    }
    if (selected.empty()) selected.emplace_back("1 AS c0");
    std::size_t condition_weight = 0;
    const std::string where =
        condition == nullptr ? "" : fmt::format(" WHERE {}", layers.add(*condition, condition_weight));
    out.select = fmt::format("SELECT {} FROM ({}) AS s{}", fmt::join(selected, ", "), layers.from(), where);
    std::size_t heaviest = condition_weight;
    for (const std::size_t weight : out.weights) heaviest = std::max(heaviest, weight);
    if (heaviest > kHeavy) {
      out.select = dialect_.fenced(out.select);
      out.weights.assign(out.weights.size(), 1);
    }
    return out;
  }

 private:
  // Whether the expressions are all columns of the input, in their order.
  static bool is_identity(const SqlRows& input, const std::vector<NamedExpression>& expressions) {
    return expressions.size() == input.columns.size() && !expressions.empty() &&
           std::ranges::equal(expressions, input.columns, [](const NamedExpression& e, const NamedColumn& column) {
             return e.expression.function == Function::kColumn && e.expression.name == column.name;
           });
  }

  Result<SqlRows> rows_of(const Scan& scan) const {
    NF_TRY(std::string select, dialect_.scan(scan));
    return SqlRows{std::move(select), {}, std::vector<std::size_t>(scan.columns.size(), 5)};
  }

  Result<SqlRows> rows_of(const Filter& filter) const {
    NF_TRY(const SqlRows input, rows(*filter.input));
    return project(input, all_of(input.columns), &filter.condition);
  }

  // With a filter below it, as one SELECT: engines take only so many subqueries within each other.
  Result<SqlRows> rows_of(const Project& node) const {
    const auto* filter = std::get_if<Filter>(&node.input->node);
    NF_TRY(const SqlRows input, rows(filter == nullptr ? *node.input : *filter->input));
    return project(input, node.columns, filter == nullptr ? nullptr : &filter->condition);
  }

  Result<SqlRows> rows_of(const Join& join) const {
    NF_TRY(const SqlRows left, rows(*join.left));
    NF_TRY(const SqlRows right, rows(*join.right));
    std::vector<std::string> pairs;
    std::vector<std::string> left_keys;
    std::vector<std::string> right_keys;
    for (const auto& [a, b] : join.equal) {
      left_keys.push_back(fmt::format("l.c{}", place_of(left.columns, a)));
      right_keys.push_back(fmt::format("r.c{}", place_of(right.columns, b)));
      pairs.push_back(fmt::format("{} = {}", left_keys.back(), right_keys.back()));
    }
    if (pairs.empty()) pairs.emplace_back("1 = 1");
    const std::size_t l = left.columns.size();
    const std::string on = fmt::format("{}", fmt::join(pairs, " AND "));
    std::vector<std::string> selected;
    for (std::size_t i = 0; i < l; ++i) selected.push_back(fmt::format("l.c{} AS c{}", i, i));
    if (join.kind == JoinKind::kSemi || join.kind == JoinKind::kAnti) {
      const bool semi = join.kind == JoinKind::kSemi;
      const std::string columns = fmt::format("{}", fmt::join(selected, ", "));
      if (dialect_.fences_joins() && !join.equal.empty()) {
        return SqlRows{fmt::format("SELECT {} FROM ({}) AS l WHERE (({}) IN (SELECT {} FROM ({}) AS r)) IS {}TRUE",
                                   columns, left.select, fmt::join(left_keys, ", "), fmt::join(right_keys, ", "),
                                   without_nulls(right, right_keys), semi ? "" : "NOT "),
                       {},
                       left.weights};
      }
      return SqlRows{fmt::format("SELECT {} FROM ({}) AS l WHERE {}EXISTS (SELECT 1 FROM ({}) AS r WHERE {})", columns,
                                 left.select, semi ? "" : "NOT ", right.select, on),
                     {},
                     left.weights};
    }
    std::vector<std::size_t> weights = left.weights;
    weights.insert(weights.end(), right.weights.begin(), right.weights.end());
    for (std::size_t i = 0; i < right.columns.size(); ++i) selected.push_back(fmt::format("r.c{} AS c{}", i, l + i));
    return SqlRows{fmt::format("SELECT {} FROM ({}) AS l {}JOIN ({}) AS r ON {}", fmt::join(selected, ", "),
                               left.select, join.kind == JoinKind::kLeft ? "LEFT " : "",
                               dialect_.fences_joins() ? dialect_.fenced(right.select) : right.select, on),
                   {},
                   std::move(weights)};
  }

  // NULL equals nothing; rows with NULL in a key would make NOT IN unknown.
  static std::string without_nulls(const SqlRows& right, const std::vector<std::string>& keys) {
    std::vector<std::string> conditions;
    for (const std::string& key : keys) conditions.push_back(fmt::format("{} IS NOT NULL", key));
    return fmt::format("SELECT {} FROM ({}) AS r WHERE {}", names(0, right.columns.size()), right.select,
                       fmt::join(conditions, " AND "));
  }

  Result<SqlRows> rows_of(const UnionAll& all) const {
    const std::vector<NamedColumn> first = columns_of(*all.inputs.front());
    std::vector<std::string> parts;
    std::vector<std::size_t> weights(first.size(), 1);
    for (const RelationPtr& input : all.inputs) {
      NF_TRY(const SqlRows part, rows(*input));
      std::vector<std::string> selected;
      for (std::size_t i = 0; i < first.size(); ++i) {
        const std::size_t place = place_of(part.columns, first[i].name);
        selected.push_back(fmt::format("c{} AS c{}", place, i));
        weights[i] = std::max(weights[i], part.weights[place]);
      }
      parts.push_back(fmt::format("SELECT {} FROM ({}) AS s", fmt::join(selected, ", "), part.select));
    }
    return SqlRows{fmt::format("{}", fmt::join(parts, " UNION ALL ")), {}, std::move(weights)};
  }

  Result<SqlRows> rows_of(const GroupRows& groups) const {
    NF_TRY(const SqlRows input, rows(*groups.input));
    std::vector<NamedExpression> wanted = groups.keys;
    for (const GroupRows::Folded& fold : groups.folds) {
      if (fold.fold != GroupRows::Fold::kCountRows) wanted.push_back({fold.name, fold.argument});
    }
    NF_TRY(const SqlRows rows, project(input, wanted, nullptr));
    std::vector<std::string> selected;
    for (std::size_t i = 0; i < groups.keys.size(); ++i) selected.push_back(fmt::format("c{} AS c{}", i, i));
    std::size_t at = groups.keys.size();
    for (const GroupRows::Folded& fold : groups.folds) {
      const bool has_argument = fold.fold != GroupRows::Fold::kCountRows;
      const std::string argument = has_argument ? fmt::format("c{}", at++) : "";
      selected.push_back(fmt::format("{} AS c{}", fold_of(fold, argument), selected.size()));
    }
    const std::string by = groups.keys.empty() ? "" : " GROUP BY " + names(0, groups.keys.size(), "s.");
    return SqlRows{fmt::format("SELECT {} FROM ({}) AS s{}", fmt::join(selected, ", "), rows.select, by), {}, {}};
  }

  std::string fold_of(const GroupRows::Folded& fold, const std::string& argument) const {
    using Fold = GroupRows::Fold;
    switch (fold.fold) {
      case Fold::kCountRows:
        return "count(*)";
      case Fold::kCount:
        return fmt::format("count({})", argument);
      case Fold::kCountDistinct:
        return fmt::format("count(DISTINCT {})", argument);
      case Fold::kSum:
        return dialect_.saturated_sum(argument);
      case Fold::kMin:
        return dialect_.minimum(fold.argument.type, argument);
      case Fold::kMax:
        return dialect_.maximum(fold.argument.type, argument);
    }
    NF_UNREACHABLE("there are six folds");
  }

  Result<SqlRows> rows_of(const NumberRows& numbered) const {
    NF_TRY(const SqlRows input, rows(*numbered.input));
    const std::size_t width = input.columns.size();
    std::vector<NamedExpression> wanted = all_of(input.columns);
    for (const Expression& e : numbered.partition) wanted.push_back({"", e});
    for (const auto& [e, descending] : numbered.order) wanted.push_back({"", e});
    NF_TRY(const SqlRows rows, project(input, wanted, nullptr));
    const auto operand = [&](std::size_t i) {
      const std::string name = fmt::format("c{}", i);
      return rows.columns[i].type == Type::kText ? dialect_.by_bytes(name) : name;
    };
    std::vector<std::string> order;
    std::size_t at = width + numbered.partition.size();
    for (const auto& [e, descending] : numbered.order) {
      order.push_back(fmt::format("{} {} NULLS LAST", operand(at++), descending ? "DESC" : "ASC"));
    }
    for (std::size_t i = 0; i < width; ++i) order.push_back(fmt::format("{} ASC NULLS LAST", operand(i)));
    const std::string partition =
        numbered.partition.empty() ? "" : "PARTITION BY " + names(width, width + numbered.partition.size());
    return SqlRows{fmt::format("SELECT {}, row_number() OVER ({} ORDER BY {}) AS c{} FROM ({}) AS s", names(0, width),
                               partition, fmt::join(order, ", "), width, rows.select),
                   {},
                   {}};
  }

  Result<SqlRows> rows_of(const Distinct& distinct) const {
    NF_TRY(const SqlRows input, rows(*distinct.input));
    return SqlRows{
        fmt::format("SELECT DISTINCT {} FROM ({}) AS s", names(0, input.columns.size()), input.select), {}, {}};
  }

  static std::size_t place_of(const std::vector<NamedColumn>& columns, const std::string& name) {
    const auto at = std::ranges::find(columns, name, &NamedColumn::name);
    NF_CHECK(at != columns.end(), "a join and a union name columns of their inputs");
    return static_cast<std::size_t>(at - columns.begin());
  }

  const SqlDialect& dialect_;
};

}  // namespace

Result<SqlRows> sql_of(const Relation& relation, const SqlDialect& dialect) { return Writer(dialect).rows(relation); }

Result<SqlRows> sql_project(const SqlRows& input, const std::vector<NamedExpression>& expressions,
                            const Expression* condition, const SqlDialect& dialect) {
  return Writer(dialect).project(input, expressions, condition);
}

}  // namespace noisefloor::engine
