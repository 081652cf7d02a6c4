// Rows that are understood: what an engine reads, whose rows they are, and what is proved of them.
//
// Internal to query/.
//
// Guarantee:     every private row belongs to exactly one unit, whose value is `unit`; a join that would give a row two
//                owners is refused. What is proved (rows of a unit, what is unique, what is the same in all rows of a
//                unit, how many rows there are) holds for these exact rows: each step that does not prove that it
//                keeps a property drops it.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/relation.h"
#include "noisefloor/query/bound.h"
#include "noisefloor/query/policy.h"

namespace noisefloor::query {

// No statement reads more rows than this: an engine would need a week, and the statement ends by its time limit.
inline constexpr std::uint64_t kMostRows = std::uint64_t{1} << 43;
// More groups than this are not listed.
inline constexpr std::size_t kMostGroups = 100'000;

struct Column {
  std::string table;  // the alias of what it is a column of
  std::string name;
  Bound bound;
  bool merged = false;  // by USING: named without a table, it is the other one
};

// What is public about a column of the engine's rows.
struct Fact {
  std::optional<std::vector<std::string>> values = {};
  bool public_range = false;
  IntegerRange integers = {};
};

// A column that refers to a row of another table, on the way to the unit.
struct Link {
  std::string column;  // of the engine's rows
  const DescribedTable* table;
  std::string refers;
};

struct ContributionLimits {
  std::uint64_t max_groups = 1;
  std::uint64_t max_rows_per_group = 1;
  std::optional<std::uint64_t> max_rows_per_unit = {};
};

struct Rows {
  // What the engine reads: these, joined where the pairs of columns are equal, and then what fulfils all conditions.
  std::vector<engine::RelationPtr> leaves;
  std::vector<std::pair<std::string, std::string>> equal = {};
  std::vector<engine::Expression> conditions = {};
  std::vector<Column> columns = {};

  bool is_public = false;
  bool row_unit = false;                        // every row is a unit of its own
  std::optional<engine::Expression> unit = {};  // the engine's column that tells units apart
  ContributionLimits limits = {};
  std::uint64_t max_rows = kMostRows;
  std::optional<std::uint64_t> rows_per_unit = {};  // proved
  // Expressions that, together with the unit, differ in all rows.
  std::optional<std::vector<engine::Expression>> unique_with_unit = {};
  std::set<std::string> unique = {};                           // columns whose values differ in all rows
  std::set<std::string> row_numbers = {};                      // columns that number the rows of a unit
  std::set<std::string> tables = {};                           // private tables that are read
  std::map<std::string, Fact> facts = {};                      // by the engine's columns
  std::map<std::string, const DescribedColumn*> origins = {};  // columns of tables as they are
  std::vector<Link> links = {};
  // What the conditions say, by canonical text: integers that an expression is within, and values that it is among.
  std::map<std::string, IntegerRange> integers = {};
  std::map<std::string, NumberRange> numbers = {};
  std::map<std::string, std::vector<engine::Expression>> listed = {};
};

// The columns by name, as SQL finds them; the value is narrowed by the conditions.
[[nodiscard]] Result<Bound> find_column(const Rows& rows, const std::vector<std::string>& path);
// The bound of a column, with what the conditions say about it.
[[nodiscard]] Bound narrowed(const Rows& rows, Bound bound);
[[nodiscard]] bool has_column(const Rows& rows, const std::vector<std::string>& path);

// Adds conditions, and takes note of what they say about ranges and values.
void add_condition(Rows& rows, const engine::Expression& condition);

// One relation in the place of all leaves, with the conditions applied.
void collapse(Rows& rows);
// The rows with these columns alone.
[[nodiscard]] engine::RelationPtr built(const Rows& rows, const std::vector<engine::NamedExpression>& columns);
// The relation without columns that nobody needs.
[[nodiscard]] engine::RelationPtr pruned(const engine::RelationPtr& relation, const std::set<std::string>& needed);

// All values that the expression may have and that are public, ascending: from the policy or from the query's text.
// With NULL only where a value that is not NULL leads to it. Nothing if there is no such list, or if it is too long.
[[nodiscard]] std::optional<std::vector<engine::Cell>> public_values(const Rows& rows, const Bound& bound);

}  // namespace noisefloor::query
