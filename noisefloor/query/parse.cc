#include "noisefloor/query/parse.h"

#include <fmt/format.h>
#include <pg_query.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "noisefloor/base/printable.h"
#include "noisefloor/base/text.h"
#include "noisefloor/query/parse_term.h"
#include "noisefloor/query/whitelist.h"

namespace noisefloor::query {

namespace {

using nlohmann::json;

constexpr std::size_t kLongestFile = std::size_t{1} << 20;

Result<void> check_text(std::string_view text, std::size_t longest) {
  if (text.size() > longest)
    return invalid_argument(
        fmt::format("the query has {} bytes, and at most {} are read: shorten it", text.size(), longest));
  for (std::string_view rest = text; !rest.empty();) {
    const TextCharacter next = next_character(rest);
    const bool space = rest[0] == '\n' || rest[0] == '\t' || rest[0] == '\r';
    if (!space && !next.is_printable())
      return invalid_argument(
          fmt::format("the query holds {}: leave it out",
                      first_unprintable(rest.substr(0, next.bytes)).value_or("a control character")));
    rest.remove_prefix(next.bytes);
  }
  return success();
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// "EXPLAIN PRIVACY SELECT …" does not parse; "EXPLAIN (PRIVACY) SELECT …" does.
std::string with_brackets(std::string_view text) {
  std::string_view rest = text;
  const auto word = [&rest](std::string_view wanted) {
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\t' || rest[0] == '\r'))
      rest.remove_prefix(1);
    if (lower_case(rest.substr(0, wanted.size())) != wanted) return false;
    const std::string_view after = rest.substr(wanted.size());
    if (after.empty() || (after[0] != ' ' && after[0] != '\n' && after[0] != '\t' && after[0] != '\r')) return false;
    rest = after;
    return true;
  };
  if (word("explain") && word("privacy")) return "EXPLAIN (PRIVACY) " + std::string(rest);
  return std::string(text);
}

Result<json> tree_of(const std::string& text) {
  const auto release = [](PgQueryParseResult* result) { pg_query_free_parse_result(*result); };
  PgQueryParseResult parsed = pg_query_parse(text.c_str());
  const std::unique_ptr<PgQueryParseResult, decltype(release)> owner(&parsed, release);
  if (parsed.error != nullptr)
    return invalid_argument(
        fmt::format("the query does not parse: {}", printable(std::string_view(parsed.error->message).substr(0, 200))));
  json tree = json::parse(parsed.parse_tree, nullptr, false);
  if (tree.is_discarded() || !tree.is_object()) return internal_error("the parser gave no tree");
  return tree;
}

// The whole number whose text begins here: 0, or one with a sign before it; nothing if it is written in another way.
std::optional<std::int64_t> integer_at(std::string_view text, std::size_t at) {
  bool negative = false;
  while (at < text.size() && (text[at] == '-' || text[at] == '(' || text[at] == ' ' || text[at] == '\n' ||
                              text[at] == '\t' || text[at] == '\r')) {
    negative = negative != (text[at] == '-');
    ++at;
  }
  std::size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  const auto value = parse_integer("a constant", text.substr(at, end - at));
  if (!value.has_value()) return std::nullopt;
  return negative ? -value.value() : value.value();
}

// The parser writes an integer that is not above 0 as if it were 0: what it is stands in the text.
Result<void> restore_integers(json& node, std::string_view text) {
  if (node.is_object() && node.contains("A_Const")) {
    json& constant = node["A_Const"];
    const bool is_lost = constant.is_object() && constant.contains("ival") && constant["ival"].is_object() &&
                         !constant["ival"].contains("ival");
    if (is_lost) {
      const json& location = field(constant, "location");
      const auto value = location.is_number_unsigned() ? integer_at(text, location.get<std::size_t>()) : std::nullopt;
      if (!value || *value > 0) {
        return invalid_argument("a number with a sign is written in an unusual way: write it as in -5");
      }
      constant["ival"]["ival"] = *value;
    }
  }
  if (!node.is_structured()) return success();
  for (json& part : node) NF_TRY_VOID(restore_integers(part, text));
  return success();
}

Result<void> check_explain(const json& explain) {
  const json& options = field(explain, "options");
  const bool good = options.is_array() && options.size() == 1 && options[0].contains("DefElem") &&
                    text_field(options[0]["DefElem"], "defname") == "privacy";
  if (!good) return invalid_argument("only EXPLAIN (PRIVACY) is understood: engines are not asked to explain");
  if (!field(explain, "query").is_object() || !field(explain, "query").contains("SelectStmt"))
    return invalid_argument("EXPLAIN (PRIVACY) explains a SELECT: this statement does something else");
  return success();
}

}  // namespace

Result<Statement> parse_statement(std::string_view text) {
  NF_TRY_VOID(check_text(text, kLongestQuery));
  const std::string bracketed = with_brackets(text);
  NF_TRY(json tree, tree_of(bracketed));
  const json& statements = field(tree, "stmts");
  if (!statements.is_array() || statements.empty())
    return invalid_argument("there is no statement: write SELECT … FROM a described table");
  if (statements.size() > 1)
    return invalid_argument(
        fmt::format("there are {} statements: ask one at a time, or give them as a file", statements.size()));
  const json& node = field(statements[0], "stmt");
  NF_TRY_VOID(check_tree(node));
  NF_TRY_VOID(restore_integers(tree, bracketed));
  Statement statement;
  const json* select = &node;
  if (node.contains("ExplainStmt")) {
    statement.explain = true;
    NF_TRY_VOID(check_explain(node["ExplainStmt"]));
    select = &node["ExplainStmt"]["query"];
  }
  NF_TRY(statement.select, read_select((*select)["SelectStmt"]));
  return statement;
}

Result<std::vector<std::string>> split_statements(std::string_view text) {
  NF_TRY_VOID(check_text(text, kLongestFile));
  const std::string copy(text);
  const auto release = [](PgQuerySplitResult* result) { pg_query_free_split_result(*result); };
  PgQuerySplitResult split = pg_query_split_with_scanner(copy.c_str());
  const std::unique_ptr<PgQuerySplitResult, decltype(release)> owner(&split, release);
  if (split.error != nullptr)
    return invalid_argument(fmt::format("the statements do not parse: {}",
                                        printable(std::string_view(split.error->message).substr(0, 200))));
  std::vector<std::string> statements;
  for (int i = 0; i < split.n_stmts; ++i) {
    const auto at = static_cast<std::size_t>(split.stmts[i]->stmt_location);
    const auto length = static_cast<std::size_t>(split.stmts[i]->stmt_len);
    if (at > copy.size() || length > copy.size() - at) return internal_error("the parser splits beyond the text");
    statements.push_back(copy.substr(at, length));
  }
  return statements;
}

}  // namespace noisefloor::query
