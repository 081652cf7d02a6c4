#include "noisefloor/query/dialect.h"

#include <fmt/format.h>

#include <algorithm>

#include "noisefloor/query/binder.h"
#include "noisefloor/query/bound.h"
#include "noisefloor/query/parse.h"
#include "noisefloor/query/whitelist.h"

namespace noisefloor::query {
namespace {

constexpr const char* kBegin = R"(# The dialect of SQL

A query is one `SELECT` in PostgreSQL's grammar. What is on this page is understood, and nothing else: everything else
is refused in one line that says why, before anything is read or spent. The tables of this page are written from the
lists that the program goes by (`noisefloor/query/dialect.cc`), and a test compares the two.
[Bounds and intervals](../sql.md) says what the numbers of an answer mean.

## Clauses

| clause | what is understood |
|---|---|
| `SELECT` list | aggregates, keys of `GROUP BY`, and arithmetic on both. `SELECT DISTINCT` of keys names groups |
| `FROM` | tables of the dataset's description, subqueries, `WITH`, `JOIN` and `LEFT JOIN` |
| joins | a private table with a public one on anything; two private tables where the columns that tell persons apart are equal |
| `WHERE` | conditions on single rows; `person IN (SELECT person …)` and `EXISTS` on the person's column |
| `GROUP BY` | columns and expressions; `ROLLUP`, `CUBE`, `GROUPING SETS`: the finest grouping is bought, and the others are sums of it |
| `HAVING`, `ORDER BY`, `LIMIT`, `OFFSET` | computed from noised numbers, and free. A number that only they ask for is bought |
| subqueries | every row still belongs to one person: `GROUP BY person`, `DISTINCT`, `row_number() OVER (PARTITION BY person ORDER BY …)`, `UNION ALL` |
| `EXPLAIN (PRIVACY)` | says what the query would cost and how exact it would be; reads and spends nothing |

## Aggregates

| aggregate | answered by |
|---|---|
| `count(*)`, `count(x)` | a noised count |
| `count(DISTINCT person)` | a noised number of persons; free beside private groups, whose choice needs it |
| `count(DISTINCT x)` | a noised number of different values: integers, texts, dates |
| `sum(x)` | a noised sum on a grid. `x` needs public bounds |
| `avg(x)` | a noised sum and a noised count, each bought once |
| `var_pop`, `var_samp`, `variance`, `stddev_pop`, `stddev_samp`, `stddev` | one more noised sum, that of squares |
| `median(x)`, `percentile_cont(q)`, `percentile_disc(q)` `WITHIN GROUP (ORDER BY x)` | a private choice by rank: a value of the grid |
| `min(x)`, `max(x)` | the same at the ranks 0 and 1: never the exact extreme |

Each takes `FILTER (WHERE …)`. The names that are understood:

)";

constexpr const char* kOperators = R"(
## Operators

| operator | meaning |
|---|---|
| `+` `-` `*` | integers must be proved to stay within 64 bits, from public bounds alone; numbers beyond ±1e150 are NULL |
| `/` | NULL for a divisor of 0; of two integers, towards 0 |
| `%` | of integers; NULL for 0 |
| `^` | `power` |
| `\|\|` | texts, one after the other |
| `=` `<>` `<` `<=` `>` `>=` | texts compare byte by byte |
| `AND` `OR` `NOT` `IS NULL` `IS TRUE` … | truth with three values |
| `IN (…)`, `BETWEEN`, `LIKE` | constants in the list and in the pattern |
| `CASE`, `COALESCE`, `NULLIF` | as in PostgreSQL; no branch can fail |
| `CAST(x AS type)`, `x::type` | to integer, float8, text, date or boolean; NULL where the value does not fit |
| `DATE '2026-01-31'` | a day; days can be subtracted, and moved by integers |

## Functions

No function fails: each has a value, or NULL, for every row.

| function | arguments | value |
|---|---|---|
)";

// Words in lines of at most 118 characters (all of this is ASCII but for some signs, which count for more).
std::string wrapped(const std::string& text, const std::string& begin, const std::string& next) {
  std::string lines;
  std::string line = begin;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const bool is_first = line == begin || line == next;
    if (!is_first && line.size() + 1 + word.size() > 118) {
      lines += line + "\n";
      line = next + word;
    } else {
      line += (is_first ? "" : " ") + word;
    }
    at = end + 1;
  }
  return lines + line + "\n";
}

}  // namespace

std::string dialect_page() {
  std::string page = kBegin;
  std::string names;
  for (const std::string_view name : aggregate_names()) names += fmt::format("{}`{}`", names.empty() ? "" : ", ", name);
  page += wrapped(names + ".", "", "") + kOperators;
  for (const FunctionEntry& entry : listed_functions()) {
    page += fmt::format("| `{}` | {} | {} |\n", entry.name, entry.arguments, entry.meaning);
  }
  page += fmt::format(R"(
## Limits

| limit | value |
|---|---|
| text of one query | {} bytes |
| depth of a query's tree | {} |
| groups with public names | {} |

## Refused in words of their own

)",
                      kLongestQuery, kDeepestNode, kMostGroups);
  for (const std::string& text : listed_refusals()) page += wrapped(text, "- ", "  ");
  page += R"(
Beyond these: a comparison of the column that tells persons apart with a constant, that column as a group or as a
number, a join that would give a row two owners, aggregates over persons inside a subquery, and columns and tables that
the description does not state. No refusal depends on rows.
)";
  return page;
}

}  // namespace noisefloor::query
