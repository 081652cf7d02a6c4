// SELECT, FROM and GROUP BY of the parse tree.
#include <fmt/format.h>

#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/query/parse_term.h"

namespace noisefloor::query {

namespace {

using nlohmann::json;

Result<std::shared_ptr<const Select>> read_inner(const json& node) {
  if (!node.is_object() || !node.contains("SelectStmt"))
    return invalid_argument("a subquery must be a SELECT: queries only read");
  NF_TRY(Select inner, read_select(node["SelectStmt"]));
  return std::make_shared<const Select>(std::move(inner));
}

Result<void> read_alias(const json& alias, From& from) {
  if (alias.is_null()) return success();
  from.alias = text_field(alias, "aliasname");
  if (!field(alias, "colnames").is_null()) {
    NF_TRY(from.columns, read_names(field(alias, "colnames")));
  }
  return success();
}

Result<From> read_from(const json& node) {
  From from;
  const std::string& type = node.begin().key();
  const json& value = node.begin().value();
  if (type == "RangeVar") {
    if (!truth_field(value, "inh")) return invalid_argument("ONLY is not understood: leave it out");
    for (const char* part : {"catalogname", "schemaname"})
      if (const std::string name = text_field(value, part); !name.empty()) from.table += name + ".";
    from.table += text_field(value, "relname");
    NF_TRY_VOID(read_alias(field(value, "alias"), from));
    return from;
  }
  if (type == "RangeSubselect") {
    from.kind = From::Kind::kQuery;
    NF_TRY(from.query, read_inner(field(value, "subquery")));
    NF_TRY_VOID(read_alias(field(value, "alias"), from));
    return from;
  }
  if (type != "JoinExpr")
    return invalid_argument(fmt::format("{} is not understood after FROM: name a described table", shown(type)));
  const std::string join = text_field(value, "jointype");
  from.kind = join == "JOIN_INNER" ? From::Kind::kInner : From::Kind::kLeft;
  NF_TRY(From left, read_from(field(value, "larg")));
  NF_TRY(From right, read_from(field(value, "rarg")));
  if (join == "JOIN_RIGHT") std::swap(left, right);
  from.sides.push_back(std::move(left));
  from.sides.push_back(std::move(right));
  if (!field(value, "usingClause").is_null()) {
    NF_TRY(from.common, read_names(field(value, "usingClause")));
  }
  if (!field(value, "quals").is_null()) {
    NF_TRY(from.on, read_term(field(value, "quals")));
  }
  return from;
}

Result<GroupTerm> read_group(const json& node) {
  GroupTerm group;
  if (!node.contains("GroupingSet")) {
    NF_TRY(Term term, read_term(node));
    group.terms.push_back(std::move(term));
    return group;
  }
  const json& set = node["GroupingSet"];
  const std::string kind = text_field(set, "kind");
  const json& content = field(set, "content");
  if (kind == "GROUPING_SET_ROLLUP" || kind == "GROUPING_SET_CUBE") {
    group.kind = kind == "GROUPING_SET_CUBE" ? GroupTerm::Kind::kCube : GroupTerm::Kind::kRollup;
    NF_TRY(group.terms, read_terms(content));
    return group;
  }
  group.kind = GroupTerm::Kind::kSets;
  if (kind == "GROUPING_SET_EMPTY") {
    group.sets.emplace_back();
    return group;
  }
  for (const json& each : content) {
    std::vector<Term> terms;
    if (each.contains("RowExpr")) {
      NF_TRY(terms, read_terms(field(each["RowExpr"], "args")));
    } else if (each.contains("GroupingSet")) {
      if (text_field(each["GroupingSet"], "kind") != "GROUPING_SET_EMPTY")
        return invalid_argument("grouping sets within grouping sets are not understood: list them side by side");
    } else {
      NF_TRY(Term term, read_term(each));
      terms.push_back(std::move(term));
    }
    group.sets.push_back(std::move(terms));
  }
  return group;
}

Result<std::optional<std::uint64_t>> read_count(const json& node, std::string_view what) {
  if (node.is_null()) return std::optional<std::uint64_t>{};
  NF_TRY(const Term term, read_term(node));
  if (term.kind == Term::Kind::kNull) return std::optional<std::uint64_t>{};
  if (term.kind != Term::Kind::kInteger || term.integer < 0)
    return invalid_argument(fmt::format("{} takes a whole number, 0 or above", what));
  return std::optional<std::uint64_t>(static_cast<std::uint64_t>(term.integer));
}

Result<void> read_ends(const json& value, Select& select) {
  if (!field(value, "sortClause").is_null()) {
    NF_TRY(select.order, read_sort(field(value, "sortClause")));
  }
  NF_TRY(select.limit, read_count(field(value, "limitCount"), "LIMIT"));
  NF_TRY(const std::optional<std::uint64_t> offset, read_count(field(value, "limitOffset"), "OFFSET"));
  select.offset = offset.value_or(0);
  return success();
}

}  // namespace

Result<Select> read_select(const json& value) {
  Select select;
  if (const json& with = field(value, "withClause"); !with.is_null()) {
    for (const json& each : field(with, "ctes")) {
      if (!each.contains("CommonTableExpr")) return invalid_argument("WITH takes name AS (SELECT …)");
      const json& table = each["CommonTableExpr"];
      CommonTable common;
      common.name = text_field(table, "ctename");
      if (!field(table, "aliascolnames").is_null()) {
        NF_TRY(common.columns, read_names(field(table, "aliascolnames")));
      }
      NF_TRY(common.query, read_inner(field(table, "ctequery")));
      select.with.push_back(std::move(common));
    }
  }
  if (text_field(value, "op") == "SETOP_UNION") {
    if (!truth_field(value, "all"))
      return invalid_argument("UNION without ALL compares rows of different units: write UNION ALL");
    for (const char* side : {"larg", "rarg"}) {
      NF_TRY(Select inner, read_select(field(value, side)));
      const bool plain = !inner.all.empty() && inner.order.empty() && !inner.limit.has_value() && inner.offset == 0 &&
                         inner.with.empty();
      if (plain) {
        for (Select& each : inner.all) select.all.push_back(std::move(each));
      } else {
        select.all.push_back(std::move(inner));
      }
    }
    NF_TRY_VOID(read_ends(value, select));
    return select;
  }
  select.distinct = !field(value, "distinctClause").is_null();
  for (const json& each : field(value, "targetList")) {
    if (!each.contains("ResTarget")) return invalid_argument("SELECT takes expressions, each with a name or without");
    Target target;
    target.name = text_field(each["ResTarget"], "name");
    NF_TRY(target.term, read_term(field(each["ResTarget"], "val")));
    select.targets.push_back(std::move(target));
  }
  for (const json& each : field(value, "fromClause")) {
    NF_TRY(From from, read_from(each));
    select.from.push_back(std::move(from));
  }
  if (!field(value, "whereClause").is_null()) {
    NF_TRY(select.where, read_term(field(value, "whereClause")));
  }
  for (const json& each : field(value, "groupClause")) {
    NF_TRY(GroupTerm group, read_group(each));
    select.group.push_back(std::move(group));
  }
  if (!field(value, "havingClause").is_null()) {
    NF_TRY(select.having, read_term(field(value, "havingClause")));
  }
  NF_TRY_VOID(read_ends(value, select));
  return select;
}

}  // namespace noisefloor::query
