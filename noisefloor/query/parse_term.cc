#include "noisefloor/query/parse_term.h"

#include <fmt/format.h>

#include <utility>

#include "noisefloor/base/text.h"

namespace noisefloor::query {

namespace {

using nlohmann::json;

Term leaf(Term::Kind kind) {
  Term term;
  term.kind = kind;
  return term;
}

Term combined(Term::Kind kind, std::vector<Term> arguments, std::string name = {}) {
  Term term;
  term.kind = kind;
  term.name = std::move(name);
  term.arguments = std::move(arguments);
  return term;
}

Term negated(Term term) {
  std::vector<Term> one;
  one.push_back(std::move(term));
  return combined(Term::Kind::kNot, std::move(one));
}

std::vector<Term> pair_of(Term a, Term b) {
  std::vector<Term> both;
  both.push_back(std::move(a));
  both.push_back(std::move(b));
  return both;
}

// Some spellings repeat a part, and repeated parts within repeated parts would grow without end.
std::size_t size_of(const Term& term) {
  std::size_t size = 1;
  for (const Term& each : term.arguments) size += size_of(each);
  for (const SortTerm& each : term.order) size += size_of(each.term);
  if (term.filter != nullptr) size += size_of(*term.filter);
  return size;
}

Result<void> check_size(const Term& repeated, std::size_t times) {
  if (size_of(repeated) * times > 20'000)
    return invalid_argument("BETWEEN, NULLIF or CASE repeats a part that is too long: name it in a subquery first");
  return success();
}

Result<Term> read_constant(const json& constant) {
  if (truth_field(constant, "isnull")) return leaf(Term::Kind::kNull);
  if (const json& value = field(constant, "ival"); !value.is_null()) {
    Term term = leaf(Term::Kind::kInteger);
    if (!field(value, "ival").is_null()) term.integer = field(value, "ival").get<std::int64_t>();
    return term;
  }
  if (const json& value = field(constant, "fval"); !value.is_null()) {
    Term term = leaf(Term::Kind::kDecimal);
    term.text = text_field(value, "fval");
    if (const auto whole = parse_integer("a constant", term.text); whole.has_value()) {
      term.kind = Term::Kind::kInteger;  // too large for 32 bits, but not for 64
      term.integer = whole.value();
    }
    return term;
  }
  if (const json& value = field(constant, "boolval"); !value.is_null()) {
    Term term = leaf(Term::Kind::kTruth);
    term.truth = truth_field(value, "boolval");
    return term;
  }
  if (const json& value = field(constant, "sval"); !value.is_null()) {
    Term term = leaf(Term::Kind::kText);
    term.text = text_field(value, "sval");
    return term;
  }
  return invalid_argument("a constant is empty: write a number, a text in quotes, TRUE, FALSE or NULL");
}

Result<Term> read_column(const json& reference) {
  Term term = leaf(Term::Kind::kColumn);
  for (const json& part : field(reference, "fields")) {
    if (part.contains("A_Star")) {
      term.kind = Term::Kind::kStar;
    } else if (part.contains("String")) {
      term.path.push_back(text_field(part["String"], "sval"));
    }
  }
  const std::size_t most = term.kind == Term::Kind::kStar ? 1 : 2;
  if (term.path.size() > most || (most == 2 && term.path.empty()))
    return invalid_argument("a column is named as column or table.column: leave out the schema");
  return term;
}

Result<Term> read_operator(const json& expression) {
  NF_TRY(const std::vector<std::string> names, read_names(field(expression, "name")));
  if (names.size() != 1) return invalid_argument("OPERATOR(…) is not understood: write the operator alone");
  const std::string kind = text_field(expression, "kind");
  const json& right_node = field(expression, "rexpr");
  if (field(expression, "lexpr").is_null()) {
    if (kind != "AEXPR_OP" || (names[0] != "-" && names[0] != "+"))
      return invalid_argument(fmt::format("the operator {} is not understood before a value", shown(names[0])));
    NF_TRY(Term only, read_term(right_node));
    if (names[0] == "+") return only;
    if (only.kind == Term::Kind::kInteger && only.integer != INT64_MIN) {
      only.integer = -only.integer;
      return only;
    }
    std::vector<Term> one;
    one.push_back(std::move(only));
    return combined(Term::Kind::kOperator, std::move(one), "-");
  }
  NF_TRY(Term left, read_term(field(expression, "lexpr")));
  if (kind == "AEXPR_IN" || kind == "AEXPR_BETWEEN" || kind == "AEXPR_NOT_BETWEEN") {
    if (!right_node.is_object() || !right_node.contains("List")) return invalid_argument("a list is missing after IN");
    NF_TRY(std::vector<Term> items, read_terms(field(right_node["List"], "items")));
    if (kind == "AEXPR_IN") {
      items.insert(items.begin(), std::move(left));
      Term in = combined(Term::Kind::kIn, std::move(items));
      return names[0] == "=" ? in : negated(std::move(in));
    }
    if (items.size() != 2) return invalid_argument("BETWEEN takes two bounds");
    NF_TRY_VOID(check_size(left, 2));
    Term low = combined(Term::Kind::kOperator, pair_of(left, std::move(items[0])), ">=");
    Term high = combined(Term::Kind::kOperator, pair_of(std::move(left), std::move(items[1])), "<=");
    Term between = combined(Term::Kind::kAnd, pair_of(std::move(low), std::move(high)));
    return kind == "AEXPR_BETWEEN" ? between : negated(std::move(between));
  }
  NF_TRY(Term right, read_term(right_node));
  if (kind == "AEXPR_LIKE" || kind == "AEXPR_ILIKE") {
    if (kind == "AEXPR_ILIKE") {
      std::vector<Term> a;
      std::vector<Term> b;
      a.push_back(std::move(left));
      b.push_back(std::move(right));
      left = combined(Term::Kind::kCall, std::move(a), "lower");
      right = combined(Term::Kind::kCall, std::move(b), "lower");
    }
    Term like = combined(Term::Kind::kLike, pair_of(std::move(left), std::move(right)));
    return names[0].starts_with("!") ? negated(std::move(like)) : like;
  }
  if (kind == "AEXPR_NULLIF") {
    NF_TRY_VOID(check_size(left, 2));
    Term equal = combined(Term::Kind::kOperator, pair_of(left, std::move(right)), "=");
    std::vector<Term> parts = pair_of(std::move(equal), leaf(Term::Kind::kNull));
    parts.push_back(std::move(left));
    return combined(Term::Kind::kCase, std::move(parts));
  }
  static constexpr std::string_view known[] = {"+", "-", "*", "/", "%", "^", "=", "<>", "<", "<=", ">", ">=", "||"};
  for (std::string_view each : known)
    if (each == names[0]) return combined(Term::Kind::kOperator, pair_of(std::move(left), std::move(right)), names[0]);
  return invalid_argument(
      fmt::format("the operator {} is not understood: use + - * / % ^ || = <> < <= > >=", shown(names[0])));
}

Result<Term> read_truth_test(const json& test) {
  NF_TRY(Term argument, read_term(field(test, "arg")));
  const std::string type = text_field(test, "booltesttype");
  std::vector<Term> one;
  one.push_back(std::move(argument));
  if (type.ends_with("UNKNOWN")) {
    Term is_null = combined(Term::Kind::kIsNull, std::move(one));
    return type == "IS_UNKNOWN" ? is_null : negated(std::move(is_null));
  }
  const bool of_false = type.ends_with("FALSE");
  if (of_false) {
    Term inner = negated(std::move(one[0]));
    one.clear();
    one.push_back(std::move(inner));
  }
  one.push_back(leaf(Term::Kind::kTruth));  // false: a value that is not known is neither
  Term is_true = combined(Term::Kind::kCall, std::move(one), "coalesce");
  return type.starts_with("IS_NOT") ? negated(std::move(is_true)) : is_true;
}

Result<Term> read_case(const json& expression) {
  std::optional<Term> subject;
  if (!field(expression, "arg").is_null()) {
    NF_TRY(subject, read_term(field(expression, "arg")));
    NF_TRY_VOID(check_size(*subject, field(expression, "args").size()));
  }
  std::vector<Term> parts;
  for (const json& branch : field(expression, "args")) {
    if (!branch.contains("CaseWhen")) return invalid_argument("CASE takes WHEN … THEN … only");
    NF_TRY(Term condition, read_term(field(branch["CaseWhen"], "expr")));
    NF_TRY(Term result, read_term(field(branch["CaseWhen"], "result")));
    if (subject.has_value()) condition = combined(Term::Kind::kOperator, pair_of(*subject, std::move(condition)), "=");
    parts.push_back(std::move(condition));
    parts.push_back(std::move(result));
  }
  if (field(expression, "defresult").is_null()) {
    parts.push_back(leaf(Term::Kind::kNull));
  } else {
    NF_TRY(Term otherwise, read_term(field(expression, "defresult")));
    parts.push_back(std::move(otherwise));
  }
  return combined(Term::Kind::kCase, std::move(parts));
}

Result<Term> read_call(const json& call) {
  Term term = leaf(Term::Kind::kCall);
  NF_TRY(std::vector<std::string> names, read_names(field(call, "funcname")));
  if (names.size() == 2 && names[0] == "pg_catalog") names.erase(names.begin());
  if (names.size() != 1)
    return invalid_argument("functions of a schema are not understood: name a function of the dialect alone");
  term.name = std::move(names[0]);
  if (!field(call, "args").is_null()) {
    NF_TRY(term.arguments, read_terms(field(call, "args")));
  }
  term.star = truth_field(call, "agg_star");
  term.distinct = truth_field(call, "agg_distinct");
  term.within_group = truth_field(call, "agg_within_group");
  if (!field(call, "agg_order").is_null()) {
    if (!term.within_group) return invalid_argument("ORDER BY within an aggregate is not understood: leave it out");
    NF_TRY(term.order, read_sort(field(call, "agg_order")));
  }
  if (!field(call, "agg_filter").is_null()) {
    NF_TRY(Term filter, read_term(field(call, "agg_filter")));
    term.filter = std::make_shared<const Term>(std::move(filter));
  }
  if (!field(call, "over").is_null()) {
    WindowTerm window;
    const json& over = field(call, "over");
    if (!field(over, "partitionClause").is_null()) {
      NF_TRY(window.partition, read_terms(field(over, "partitionClause")));
    }
    if (!field(over, "orderClause").is_null()) {
      NF_TRY(window.order, read_sort(field(over, "orderClause")));
    }
    term.over = std::make_shared<const WindowTerm>(std::move(window));
  }
  return term;
}

Result<Term> read_cast(const json& cast) {
  NF_TRY(std::vector<std::string> names, read_names(field(field(cast, "typeName"), "names")));
  if (names.size() == 2 && names[0] == "pg_catalog") names.erase(names.begin());
  if (names.size() != 1)
    return invalid_argument("types of a schema are not understood: use integer, float8, text or date");
  NF_TRY(Term argument, read_term(field(cast, "arg")));
  std::vector<Term> one;
  one.push_back(std::move(argument));
  return combined(Term::Kind::kCast, std::move(one), names[0]);
}

Result<Term> read_subquery(const json& link) {
  const std::string type = text_field(link, "subLinkType");
  const json& inner = field(link, "subselect");
  if (!inner.is_object() || !inner.contains("SelectStmt")) return invalid_argument("a subquery must be a SELECT");
  NF_TRY(Select query, read_select(inner["SelectStmt"]));
  Term term = leaf(type == "EXISTS_SUBLINK" ? Term::Kind::kExists
                   : type == "ANY_SUBLINK"  ? Term::Kind::kInQuery
                                            : Term::Kind::kScalarQuery);
  if (term.kind == Term::Kind::kInQuery) {
    NF_TRY(Term tested, read_term(field(link, "testexpr")));
    term.arguments.push_back(std::move(tested));
  }
  term.query = std::make_shared<const Select>(std::move(query));
  return term;
}

}  // namespace

const json& field(const json& object, const char* name) {
  static const json nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string text_field(const json& object, const char* name) {
  const json& value = field(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool truth_field(const json& object, const char* name) {
  const json& value = field(object, name);
  return value.is_boolean() && value.get<bool>();
}

Result<std::vector<std::string>> read_names(const json& list) {
  std::vector<std::string> names;
  for (const json& part : list) {
    if (!part.contains("String")) return invalid_argument("a name is missing in a list of names");
    names.push_back(text_field(part["String"], "sval"));
  }
  return names;
}

Result<std::vector<Term>> read_terms(const json& list) {
  std::vector<Term> terms;
  for (const json& each : list) {
    NF_TRY(Term term, read_term(each));
    terms.push_back(std::move(term));
  }
  return terms;
}

Result<std::vector<SortTerm>> read_sort(const json& list) {
  std::vector<SortTerm> terms;
  for (const json& each : list) {
    if (!each.contains("SortBy")) return invalid_argument("ORDER BY takes expressions, each with ASC or DESC");
    const json& by = each["SortBy"];
    SortTerm term;
    NF_TRY(term.term, read_term(field(by, "node")));
    term.descending = text_field(by, "sortby_dir") == "SORTBY_DESC";
    const std::string nulls = text_field(by, "sortby_nulls");
    if (nulls == "SORTBY_NULLS_FIRST") term.nulls_first = true;
    if (nulls == "SORTBY_NULLS_LAST") term.nulls_first = false;
    terms.push_back(std::move(term));
  }
  return terms;
}

Result<Term> read_term(const json& node) {
  if (!node.is_object() || node.size() != 1) return invalid_argument("an expression is missing");
  const std::string& type = node.begin().key();
  const json& value = node.begin().value();
  if (type == "ColumnRef") return read_column(value);
  if (type == "A_Const") return read_constant(value);
  if (type == "A_Expr") return read_operator(value);
  if (type == "BoolExpr") {
    NF_TRY(std::vector<Term> arguments, read_terms(field(value, "args")));
    const std::string op = text_field(value, "boolop");
    return combined(op == "AND_EXPR"  ? Term::Kind::kAnd
                    : op == "OR_EXPR" ? Term::Kind::kOr
                                      : Term::Kind::kNot,
                    std::move(arguments));
  }
  if (type == "NullTest") {
    NF_TRY(Term argument, read_term(field(value, "arg")));
    std::vector<Term> one;
    one.push_back(std::move(argument));
    Term is_null = combined(Term::Kind::kIsNull, std::move(one));
    return text_field(value, "nulltesttype") == "IS_NULL" ? is_null : negated(std::move(is_null));
  }
  if (type == "BooleanTest") return read_truth_test(value);
  if (type == "CaseExpr") return read_case(value);
  if (type == "CoalesceExpr" || type == "MinMaxExpr") {
    NF_TRY(std::vector<Term> arguments, read_terms(field(value, "args")));
    return combined(Term::Kind::kCall, std::move(arguments),
                    type == "CoalesceExpr"                     ? "coalesce"
                    : text_field(value, "op") == "IS_GREATEST" ? "greatest"
                                                               : "least");
  }
  if (type == "FuncCall") return read_call(value);
  if (type == "TypeCast") return read_cast(value);
  if (type == "SubLink") return read_subquery(value);
  return invalid_argument(fmt::format("{} is not an expression that the dialect has", shown(type)));
}

std::string label_of(const Term& term) {
  const auto list = [](const std::vector<Term>& terms, std::string_view between) {
    std::string text;
    for (const Term& each : terms) text += (text.empty() ? "" : std::string(between)) + label_of(each);
    return text;
  };
  std::string text;
  switch (term.kind) {
    case Term::Kind::kColumn:
      return term.path.back();
    case Term::Kind::kStar:
      return "*";
    case Term::Kind::kNull:
      return "null";
    case Term::Kind::kTruth:
      return term.truth ? "true" : "false";
    case Term::Kind::kInteger:
      return fmt::format("{}", term.integer);
    case Term::Kind::kDecimal:
      return term.text;
    case Term::Kind::kText:
      return "'" + term.text + "'";
    case Term::Kind::kOperator:
      text = term.arguments.size() == 1 ? term.name + label_of(term.arguments[0])
                                        : list(term.arguments, " " + term.name + " ");
      break;
    case Term::Kind::kAnd:
      text = list(term.arguments, " and ");
      break;
    case Term::Kind::kOr:
      text = "(" + list(term.arguments, " or ") + ")";
      break;
    case Term::Kind::kNot:
      text = "not " + list(term.arguments, "");
      break;
    case Term::Kind::kIsNull:
      text = list(term.arguments, "") + " is null";
      break;
    case Term::Kind::kIn:
      text = label_of(term.arguments[0]) + " in (…)";
      break;
    case Term::Kind::kLike:
      text = list(term.arguments, " like ");
      break;
    case Term::Kind::kCase:
      text = "case";
      break;
    case Term::Kind::kCall:
      text =
          term.name + "(" + (term.distinct ? "distinct " : "") + (term.star ? "*" : list(term.arguments, ", ")) + ")";
      if (term.within_group && !term.order.empty())
        text += " of " + label_of(term.order[0].term) + (term.order[0].descending ? " descending" : "");
      if (term.filter != nullptr) text += " where " + label_of(*term.filter);
      break;
    case Term::Kind::kCast:
      text = list(term.arguments, "");
      break;
    case Term::Kind::kScalarQuery:
    case Term::Kind::kExists:
    case Term::Kind::kInQuery:
      text = "(select …)";
      break;
  }
  return text.size() > 120 ? term.name.empty() ? "expression" : term.name : text;
}

}  // namespace noisefloor::query
