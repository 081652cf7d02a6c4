#include "noisefloor/shell/sql_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "noisefloor/base/spelling.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

constexpr std::array<std::string_view, 46> kKeywords{"SELECT",   "FROM",
                                                     "WHERE",    "GROUP",
                                                     "BY",       "HAVING",
                                                     "ORDER",    "LIMIT",
                                                     "OFFSET",   "JOIN",
                                                     "LEFT",     "USING",
                                                     "ON",       "AND",
                                                     "OR",       "NOT",
                                                     "NULL",     "IS",
                                                     "IN",       "EXISTS",
                                                     "CASE",     "WHEN",
                                                     "THEN",     "ELSE",
                                                     "END",      "AS",
                                                     "DISTINCT", "FILTER",
                                                     "WITHIN",   "WITH",
                                                     "UNION",    "ALL",
                                                     "DESC",     "ASC",
                                                     "COUNT",    "SUM",
                                                     "AVG",      "MIN",
                                                     "MAX",      "STDDEV",
                                                     "ROLLUP",   "BETWEEN",
                                                     "LIKE",     "DATE",
                                                     "EXPLAIN",  "PERCENTILE_CONT"};
constexpr std::array<std::string_view, 5> kCommands{"\\budget", "\\explain", "\\help", "\\q", "\\tables"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool begins_with(std::string_view word, std::string_view start) {
  return word.size() >= start.size() &&
         std::equal(start.begin(), start.end(), word.begin(), [](char a, char b) { return small(a) == small(b); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Where the piece of SQL that begins here ends: a quoted text, a comment, or one character.
std::size_t piece_end(std::string_view text, std::size_t at) {
  const char c = text[at];
  const auto after = [&](std::string_view mark, std::size_t from) {
    const std::size_t found = text.find(mark, from);
    return found == std::string_view::npos ? text.size() + 1 : found + mark.size();
  };
  if (c == '\'' || c == '"') return after(text.substr(at, 1), at + 1);
  if (text.substr(at, 2) == "/*") return after("*/", at + 2);
  if (text.substr(at, 2) == "--") {
    const std::size_t end = text.find('\n', at);
    return end == std::string_view::npos ? text.size() : end;
  }
  return at + 1;
}

}  // namespace

bool ends_statement(std::string_view text) {
  bool ended = false;
  for (std::size_t at = 0; at < text.size();) {
    const bool comment = text.substr(at, 2) == "--" || text.substr(at, 2) == "/*";
    const char c = text[at];
    at = piece_end(text, at);
    if (at > text.size()) return false;  // a quote or a comment is open
    if (!comment && !is_blank(c)) ended = c == ';';
  }
  return ended;
}

SqlSession::SqlSession(std::string dataset, SqlSessionActs acts, std::vector<std::string> names)
    : dataset_(std::move(dataset)), acts_(std::move(acts)), names_(std::move(names)) {
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
}

std::string SqlSession::prompt() const {
  if (statement_.empty()) return dataset_ + "> ";
  return std::string(dataset_.size() > 1 ? dataset_.size() - 1 : 0, ' ') + "-> ";
}

SqlSession::Reply SqlSession::reply_of(const Result<std::string>& made) {
  if (made.has_value()) return {made.value()};
  return {.error = made.error()};
}

SqlSession::Reply SqlSession::take(const std::string& line) {
  const std::string_view text = trimmed(line);
  if (statement_.empty() && text.empty()) return {};
  if (statement_.empty() && text.front() == '\\') return command(text);
  statement_ += line + "\n";
  if (!ends_statement(statement_)) return {};
  const std::string statement = std::exchange(statement_, {});
  return reply_of(acts_.ask(std::string(trimmed(statement))));
}

SqlSession::Reply SqlSession::command(std::string_view line) {
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view name = line.substr(0, end);
  const std::string rest(trimmed(line.substr(end)));
  if (name == "\\q") return {.ended = true};
  if (name == "\\help" || name == "\\?") return {help()};
  if (name == "\\budget") return reply_of(acts_.budget());
  if (name == "\\tables") return reply_of(acts_.tables());
  if (name == "\\explain" && !rest.empty()) return reply_of(acts_.explain(rest));
  if (name == "\\explain") return {.error = invalid_argument("\\explain needs a query: \\explain SELECT …")};
  return {.error = invalid_argument(fmt::format("there is no command {}; {}", shown(name),
                                                suggestion(name, {kCommands.begin(), kCommands.end()})))};
}

LineEditor::Completion SqlSession::complete(std::string_view before_cursor) const {
  std::size_t begin = before_cursor.size();
  while (begin > 0 && is_word(before_cursor[begin - 1])) --begin;
  LineEditor::Completion found{begin, {}};
  if (statement_.empty() && begin == 1 && before_cursor.front() == '\\') {
    for (const std::string_view command : kCommands) {
      if (command.starts_with(before_cursor)) found.words.emplace_back(command);
    }
    return {0, std::move(found.words)};
  }
  const std::string_view word = before_cursor.substr(begin);
  if (word.empty()) return found;
  for (const std::string& name : names_) {
    if (begins_with(name, word)) found.words.push_back(name);
  }
  const bool is_small = word.front() >= 'a' && word.front() <= 'z';
  for (const std::string_view keyword : kKeywords) {
    if (!begins_with(keyword, word)) continue;
    std::string written(keyword);
    if (is_small) std::transform(written.begin(), written.end(), written.begin(), small);
    if (std::find(found.words.begin(), found.words.end(), written) == found.words.end()) {
      found.words.push_back(std::move(written));
    }
  }
  return found;
}

std::string SqlSession::help() {
  return "A query ends with a semicolon. It is paid for when it is answered; asking the same again is free.\n"
         "  \\budget         what is left of the dataset's budget\n"
         "  \\explain QUERY  what a query would cost, and how exact its answer would be; it is not asked\n"
         "  \\tables         the tables and columns that queries may name\n"
         "  \\help           this text\n"
         "  \\q              ends the session, as Ctrl-D does\n";
}

}  // namespace noisefloor
