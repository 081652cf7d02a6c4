#include "noisefloor/query/whitelist.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>

#include "noisefloor/base/printable.h"
#include "noisefloor/base/text.h"

namespace noisefloor::query {

namespace {

using nlohmann::json;

enum class Shape {
  kIgnored,  // a position or the like: any scalar
  kText,
  kInteger,
  kTruth,
  kOneOf,    // a text among those of `inside`, separated by |
  kNode,     // {"Type": {…}}
  kNodes,    // a list of such
  kStruct,   // {…} of the type `inside`
  kAnything  // a list of empty objects (DISTINCT without ON)
};

struct Field {
  std::string_view name;
  Shape shape;
  std::string_view inside = {};
};

using Fields = std::vector<Field>;

const std::map<std::string_view, Fields>& listed() {
  static const auto* const table = new std::map<std::string_view, Fields>{
      {"SelectStmt",
       {{"distinctClause", Shape::kAnything},
        {"targetList", Shape::kNodes},
        {"fromClause", Shape::kNodes},
        {"whereClause", Shape::kNode},
        {"groupClause", Shape::kNodes},
        {"groupDistinct", Shape::kOneOf, ""},
        {"havingClause", Shape::kNode},
        {"sortClause", Shape::kNodes},
        {"limitOffset", Shape::kNode},
        {"limitCount", Shape::kNode},
        {"limitOption", Shape::kOneOf, "LIMIT_OPTION_DEFAULT|LIMIT_OPTION_COUNT"},
        {"withClause", Shape::kStruct, "WithClause"},
        {"op", Shape::kOneOf, "SETOP_NONE|SETOP_UNION"},
        {"all", Shape::kTruth},
        {"larg", Shape::kStruct, "SelectStmt"},
        {"rarg", Shape::kStruct, "SelectStmt"}}},
      {"ExplainStmt", {{"query", Shape::kNode}, {"options", Shape::kNodes}}},
      {"DefElem",
       {{"defname", Shape::kText}, {"defaction", Shape::kOneOf, "DEFELEM_UNSPEC"}, {"location", Shape::kIgnored}}},
      {"WithClause", {{"ctes", Shape::kNodes}, {"location", Shape::kIgnored}}},
      {"CommonTableExpr",
       {{"ctename", Shape::kText},
        {"aliascolnames", Shape::kNodes},
        {"ctematerialized", Shape::kOneOf, "CTEMaterializeDefault|CTEMaterializeAlways|CTEMaterializeNever"},
        {"ctequery", Shape::kNode},
        {"location", Shape::kIgnored}}},
      {"ResTarget", {{"name", Shape::kText}, {"val", Shape::kNode}, {"location", Shape::kIgnored}}},
      {"RangeVar",
       {{"catalogname", Shape::kText},
        {"schemaname", Shape::kText},
        {"relname", Shape::kText},
        {"inh", Shape::kTruth},
        {"relpersistence", Shape::kOneOf, "p"},
        {"alias", Shape::kStruct, "Alias"},
        {"location", Shape::kIgnored}}},
      {"Alias", {{"aliasname", Shape::kText}, {"colnames", Shape::kNodes}}},
      {"RangeSubselect", {{"subquery", Shape::kNode}, {"alias", Shape::kStruct, "Alias"}}},
      {"JoinExpr",
       {{"jointype", Shape::kOneOf, "JOIN_INNER|JOIN_LEFT|JOIN_RIGHT"},
        {"larg", Shape::kNode},
        {"rarg", Shape::kNode},
        {"usingClause", Shape::kNodes},
        {"quals", Shape::kNode}}},
      {"ColumnRef", {{"fields", Shape::kNodes}, {"location", Shape::kIgnored}}},
      {"String", {{"sval", Shape::kText}}},
      {"A_Star", {}},
      {"A_Const",
       {{"ival", Shape::kStruct, "Integer"},
        {"fval", Shape::kStruct, "Float"},
        {"boolval", Shape::kStruct, "Boolean"},
        {"sval", Shape::kStruct, "String"},
        {"isnull", Shape::kTruth},
        {"location", Shape::kIgnored}}},
      {"Integer", {{"ival", Shape::kInteger}}},
      {"Float", {{"fval", Shape::kText}}},
      {"Boolean", {{"boolval", Shape::kTruth}}},
      {"A_Expr",
       {{"kind", Shape::kOneOf,
         "AEXPR_OP|AEXPR_IN|AEXPR_LIKE|AEXPR_ILIKE|AEXPR_BETWEEN|AEXPR_NOT_BETWEEN|AEXPR_NULLIF"},
        {"name", Shape::kNodes},
        {"lexpr", Shape::kNode},
        {"rexpr", Shape::kNode},
        {"location", Shape::kIgnored}}},
      {"BoolExpr",
       {{"boolop", Shape::kOneOf, "AND_EXPR|OR_EXPR|NOT_EXPR"},
        {"args", Shape::kNodes},
        {"location", Shape::kIgnored}}},
      {"NullTest",
       {{"arg", Shape::kNode}, {"nulltesttype", Shape::kOneOf, "IS_NULL|IS_NOT_NULL"}, {"location", Shape::kIgnored}}},
      {"BooleanTest",
       {{"arg", Shape::kNode},
        {"booltesttype", Shape::kOneOf, "IS_TRUE|IS_NOT_TRUE|IS_FALSE|IS_NOT_FALSE|IS_UNKNOWN|IS_NOT_UNKNOWN"},
        {"location", Shape::kIgnored}}},
      {"CaseExpr",
       {{"arg", Shape::kNode}, {"args", Shape::kNodes}, {"defresult", Shape::kNode}, {"location", Shape::kIgnored}}},
      {"CaseWhen", {{"expr", Shape::kNode}, {"result", Shape::kNode}, {"location", Shape::kIgnored}}},
      {"CoalesceExpr", {{"args", Shape::kNodes}, {"location", Shape::kIgnored}}},
      {"MinMaxExpr",
       {{"op", Shape::kOneOf, "IS_GREATEST|IS_LEAST"}, {"args", Shape::kNodes}, {"location", Shape::kIgnored}}},
      {"FuncCall",
       {{"funcname", Shape::kNodes},
        {"args", Shape::kNodes},
        {"agg_order", Shape::kNodes},
        {"agg_filter", Shape::kNode},
        {"over", Shape::kStruct, "WindowDef"},
        {"agg_within_group", Shape::kTruth},
        {"agg_star", Shape::kTruth},
        {"agg_distinct", Shape::kTruth},
        {"funcformat", Shape::kOneOf, "COERCE_EXPLICIT_CALL|COERCE_SQL_SYNTAX"},
        {"location", Shape::kIgnored}}},
      {"WindowDef",
       {{"partitionClause", Shape::kNodes},
        {"orderClause", Shape::kNodes},
        {"frameOptions", Shape::kOneOf, "1058"},  // no frame is stated
        {"location", Shape::kIgnored}}},
      {"SortBy",
       {{"node", Shape::kNode},
        {"sortby_dir", Shape::kOneOf, "SORTBY_DEFAULT|SORTBY_ASC|SORTBY_DESC"},
        {"sortby_nulls", Shape::kOneOf, "SORTBY_NULLS_DEFAULT|SORTBY_NULLS_FIRST|SORTBY_NULLS_LAST"},
        {"location", Shape::kIgnored}}},
      {"TypeCast", {{"arg", Shape::kNode}, {"typeName", Shape::kStruct, "TypeName"}, {"location", Shape::kIgnored}}},
      {"TypeName", {{"names", Shape::kNodes}, {"typemod", Shape::kOneOf, "-1"}, {"location", Shape::kIgnored}}},
      {"SubLink",
       {{"subLinkType", Shape::kOneOf, "EXISTS_SUBLINK|ANY_SUBLINK|EXPR_SUBLINK"},
        {"testexpr", Shape::kNode},
        {"subselect", Shape::kNode},
        {"location", Shape::kIgnored}}},
      {"GroupingSet",
       {{"kind", Shape::kOneOf, "GROUPING_SET_EMPTY|GROUPING_SET_ROLLUP|GROUPING_SET_CUBE|GROUPING_SET_SETS"},
        {"content", Shape::kNodes},
        {"location", Shape::kIgnored}}},
      {"RowExpr",
       {{"args", Shape::kNodes}, {"row_format", Shape::kOneOf, "COERCE_IMPLICIT_CAST"}, {"location", Shape::kIgnored}}},
      {"List", {{"items", Shape::kNodes}}},
  };
  return *table;
}

// What people write and cannot have, in their words.
const std::map<std::string_view, std::string_view>& remedies() {
  static const auto* const table = new std::map<std::string_view, std::string_view>{
      {"SelectStmt.intoClause", "SELECT INTO writes a table; queries only read: leave out INTO"},
      {"SelectStmt.lockingClause", "FOR UPDATE and FOR SHARE lock rows; queries only read: leave it out"},
      {"SelectStmt.windowClause", "WINDOW is not understood: write the window after OVER (…)"},
      {"SelectStmt.valuesLists", "VALUES is not understood: select from a described table"},
      {"SelectStmt.groupDistinct", "GROUP BY DISTINCT is not understood: name each grouping once"},
      {"SelectStmt.limitOption", "WITH TIES is not understood: use LIMIT"},
      {"SelectStmt.op", "INTERSECT and EXCEPT are not understood: use EXISTS or NOT EXISTS on the unit column"},
      {"DISTINCT ON", "DISTINCT ON is not understood: number the rows of each unit with row_number() instead"},
      {"WithClause.recursive", "WITH RECURSIVE is not understood: leave out RECURSIVE"},
      {"CommonTableExpr.search_clause", "SEARCH is not understood: leave it out"},
      {"CommonTableExpr.cycle_clause", "CYCLE is not understood: leave it out"},
      {"RangeTableSample", "TABLESAMPLE is not understood: the sample would pick rows; count all rows instead"},
      {"RangeFunction", "functions after FROM are not understood: select from a described table"},
      {"RangeTableFunc", "XMLTABLE is not understood: select from a described table"},
      {"RangeSubselect.lateral", "LATERAL is not understood: join on the unit column instead"},
      {"RangeVar.inh", "ONLY is not understood: leave it out"},
      {"JoinExpr.isNatural", "NATURAL JOIN is not understood: name the columns with USING (…)"},
      {"JoinExpr.jointype", "FULL JOIN is not understood: use LEFT JOIN, or UNION ALL"},
      {"JoinExpr.join_using_alias", "USING (…) AS is not understood: leave out the alias"},
      {"JoinExpr.alias", "a join has no alias: give one to each of its tables"},
      {"FuncCall.agg_order", "ORDER BY within an aggregate is not understood: leave it out"},
      {"FuncCall.func_variadic", "VARIADIC is not understood: list the arguments"},
      {"WindowDef.frameOptions", "window frames are not understood: leave out ROWS or RANGE"},
      {"WindowDef.name", "named windows are not understood: write the window after OVER (…)"},
      {"WindowDef.refname", "named windows are not understood: write the window after OVER (…)"},
      {"SortBy.sortby_dir", "ORDER BY … USING is not understood: use ASC or DESC"},
      {"SortBy.useOp", "ORDER BY … USING is not understood: use ASC or DESC"},
      {"TypeName.typemod", "types with a length or precision are not understood: leave out the number"},
      {"TypeName.typmods", "types with a length or precision are not understood: leave out the number"},
      {"TypeName.arrayBounds", "arrays are not understood: use single values"},
      {"TypeName.setof", "SETOF is not understood: use single values"},
      {"A_ArrayExpr", "arrays are not understood: use single values"},
      {"A_Indirection", "parts of values (a.b.c, a[1]) are not understood: name a column"},
      {"A_Const.bsval", "bit strings are not understood: use a whole number"},
      {"A_Expr.kind", "this comparison is not understood: use = <> < <= > >=, IN, BETWEEN, LIKE or IS NULL"},
      {"SubLink.subLinkType", "ALL, ANY and ARRAY with a subquery are not understood: use IN or EXISTS"},
      {"SubLink.operName", "ANY and ALL with a subquery are not understood: use IN or EXISTS"},
      {"CollateClause", "COLLATE is not understood: texts compare byte by byte; leave it out"},
      {"GroupingFunc", "GROUPING() is not understood: a grouping that is left out shows as an empty cell"},
      {"ParamRef", "parameters such as $1 are not understood: write the value"},
      {"SetToDefault", "DEFAULT has no meaning in a query: write the value"},
      {"CurrentOfExpr", "cursors are not understood: leave out CURRENT OF"},
      {"SQLValueFunction",
       "the current time, date or user is not understood: write a date such as DATE '2026-01-31', so that the same "
       "text is the same query"},
      {"RowExpr", "rows as values are not understood: compare single columns"},
      {"RowExpr.row_format", "rows as values are not understood: compare single columns"},
      {"XmlExpr", "XML is not understood: use single values"},
      {"InsertStmt", "INSERT writes; queries only read: use SELECT"},
      {"UpdateStmt", "UPDATE writes; queries only read: use SELECT"},
      {"DeleteStmt", "DELETE writes; queries only read: use SELECT"},
      {"MergeStmt", "MERGE writes; queries only read: use SELECT"},
      {"CopyStmt", "COPY reads or writes files; queries only read tables: use SELECT"},
  };
  return *table;
}

std::string remedy_for(std::string_view thing) {
  if (const auto found = remedies().find(thing); found != remedies().end()) return std::string(found->second);
  return fmt::format("{} is not part of the dialect: see the reference of the dialect for what is",
                     printable(thing.substr(0, 80)));
}

bool among(std::string_view list, std::string_view value) {
  while (!list.empty()) {
    const std::size_t bar = list.find('|');
    if (list.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) return false;
    list.remove_prefix(bar + 1);
  }
  return false;
}

Result<void> check_struct(std::string_view type, const json& value, int depth);

Result<void> check_node(const json& node, int depth) {
  if (!node.is_object() || node.size() != 1) return invalid_argument("the query holds an empty part: write it out");
  return check_struct(node.begin().key(), node.begin().value(), depth);
}

Result<void> check_field(const std::string& path, const Field& field, const json& value, int depth) {
  bool good = true;
  switch (field.shape) {
    case Shape::kIgnored:
      good = value.is_number();
      break;
    case Shape::kText:
      good = value.is_string();
      break;
    case Shape::kInteger:
      good = value.is_number_integer();
      break;
    case Shape::kTruth:
      good = value.is_boolean();
      break;
    case Shape::kOneOf:
      good = among(field.inside, value.is_string() ? value.get<std::string>() : value.dump());
      break;
    case Shape::kNode:
      return check_node(value, depth + 1);
    case Shape::kStruct:
      return check_struct(field.inside, value, depth + 1);
    case Shape::kNodes:
      good = value.is_array();
      if (good)
        for (const json& each : value) NF_TRY_VOID(check_node(each, depth + 1));
      break;
    case Shape::kAnything:
      if (!(value.is_array() && value.size() == 1 && value[0].empty()))
        return invalid_argument(remedy_for("DISTINCT ON"));
      break;
  }
  if (!good) return invalid_argument(remedy_for(path));
  return success();
}

Result<void> check_struct(std::string_view type, const json& value, int depth) {
  if (depth > kDeepestNode)
    return invalid_argument(fmt::format("the query is nested more than {} levels deep: simplify it", kDeepestNode));
  const auto found = listed().find(type);
  if (found == listed().end()) return invalid_argument(remedy_for(type));
  if (!value.is_object()) return invalid_argument(remedy_for(type));
  for (const auto& [name, inner] : value.items()) {
    const Field* field = nullptr;
    for (const Field& each : found->second)
      if (each.name == name) field = &each;
    const std::string path = fmt::format("{}.{}", type, name);
    if (field == nullptr) return invalid_argument(remedy_for(path));
    NF_TRY_VOID(check_field(path, *field, inner, depth));
  }
  return success();
}

}  // namespace

Result<void> check_tree(const json& statement) {
  if (!statement.is_object() || statement.size() != 1) return invalid_argument("there is no statement: write SELECT …");
  const std::string& type = statement.begin().key();
  if (type != "SelectStmt" && type != "ExplainStmt") {
    if (listed().count(type) == 0 && remedy_for(type).find("not part") == std::string::npos)
      return invalid_argument(remedy_for(type));
    return invalid_argument(
        "only SELECT, and EXPLAIN (PRIVACY) of one, are queries: this statement does something else");
  }
  return check_node(statement, 0);
}

std::vector<std::string> listed_nodes() {
  std::vector<std::string> names;
  for (const auto& [name, fields] : listed()) names.emplace_back(name);
  return names;
}

std::vector<std::string> listed_refusals() {
  std::set<std::string> texts;
  for (const auto& [thing, text] : remedies()) texts.emplace(text);
  return {texts.begin(), texts.end()};
}

}  // namespace noisefloor::query
