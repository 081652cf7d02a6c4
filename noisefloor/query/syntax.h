// A query as it is written, before any name is looked up: a small tree, and nothing that this project does not
// understand. Spellings of one thing are one thing here: BETWEEN is two comparisons, NOT IN is NOT of IN.
//
// Internal to query/.
//
// Thread safety: plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace noisefloor::query {

struct Select;
struct Term;

struct SortTerm;

struct WindowTerm;

// An expression.
struct Term {
  enum class Kind : std::uint8_t {
    kColumn,       // path: column, or table and column
    kStar,         // path: table, if it is named
    kNull,         //
    kTruth,        // truth
    kInteger,      // integer
    kDecimal,      // text: as it is written
    kText,         // text
    kOperator,     // name: + - * / % ^ = <> < <= > >= ||; one argument: a sign
    kAnd,          //
    kOr,           //
    kNot,          //
    kIsNull,       //
    kIn,           // the first argument is among the others
    kLike,         // text, pattern
    kCase,         // condition, value, …, value otherwise
    kCall,         // name: a function, in lower case
    kCast,         // name: the type
    kScalarQuery,  // (SELECT …)
    kExists,       // EXISTS (SELECT …)
    kInQuery,      // argument IN (SELECT …)
  };
  Kind kind = Kind::kNull;
  std::string name = {};
  std::vector<std::string> path = {};
  std::string text = {};
  std::int64_t integer = 0;
  bool truth = false;
  std::vector<Term> arguments = {};
  // Of a call
  bool star = false;                            // count(*)
  bool distinct = false;                        // count(DISTINCT x)
  bool within_group = false;                    // … WITHIN GROUP (ORDER BY order)
  std::vector<SortTerm> order;                  // no = {}: clang 14 would want SortTerm to be complete here
  std::shared_ptr<const Term> filter = {};      // … FILTER (WHERE filter)
  std::shared_ptr<const WindowTerm> over = {};  // … OVER (…)
  // Of a subquery
  std::shared_ptr<const Select> query = {};
};

struct SortTerm {
  Term term;
  bool descending = false;
  std::optional<bool> nulls_first = {};
};

struct WindowTerm {
  std::vector<Term> partition;
  std::vector<SortTerm> order;
};

struct Target {
  std::string name;  // after AS; or empty
  Term term;
};

// What stands after FROM.
struct From {
  enum class Kind : std::uint8_t { kTable, kQuery, kInner, kLeft };
  Kind kind = Kind::kTable;
  std::string table = {};  // as it is written; with its schema, if one is named
  std::string alias = {};
  std::vector<std::string> columns = {};  // new names of columns
  std::shared_ptr<const Select> query = {};
  std::vector<From> sides = {};  // of a join: left, right
  std::vector<std::string> common = {};
  std::optional<Term> on = {};
};

struct GroupTerm {
  enum class Kind : std::uint8_t { kTerms, kRollup, kCube, kSets };
  Kind kind = Kind::kTerms;
  std::vector<Term> terms = {};              // of terms, rollup, cube
  std::vector<std::vector<Term>> sets = {};  // of sets
};

struct CommonTable {
  std::string name;
  std::vector<std::string> columns;
  std::shared_ptr<const Select> query;
};

struct Select {
  std::vector<CommonTable> with = {};
  bool distinct = false;
  std::vector<Target> targets = {};
  std::vector<From> from = {};
  std::optional<Term> where = {};
  std::vector<GroupTerm> group = {};
  std::optional<Term> having = {};
  std::vector<SortTerm> order = {};
  std::optional<std::uint64_t> limit = {};
  std::uint64_t offset = 0;
  std::vector<Select> all = {};  // UNION ALL of these, instead of targets and all that follows
};

struct Statement {
  bool explain = false;  // EXPLAIN (PRIVACY) …
  Select select;
};

// A column's name or a short text for people: "sum(cost)".
[[nodiscard]] std::string label_of(const Term& term);

}  // namespace noisefloor::query
