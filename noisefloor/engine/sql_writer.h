// Internal to engine/: a relation as one SELECT statement.
//
// Guarantee:     the text holds names and constants in quotes, and nothing else that came from outside. Its length
//                grows with the relation, not with the number of ways through it: what a function needs twice becomes a
//                column of a subquery.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/sql_dialect.h"

namespace noisefloor::engine {

// A SELECT whose columns are named c0, c1, … .
struct SqlRows {
  std::string select;
  std::vector<NamedColumn> columns;
  // How much text each column would be if the engine put everything below into one expression.
  std::vector<std::size_t> weights;
};

[[nodiscard]] Result<SqlRows> sql_of(const Relation& relation, const SqlDialect& dialect);

// The expressions over these rows, as columns c0, c1, … of one SELECT. `condition`: of rows that are kept; may be null.
[[nodiscard]] Result<SqlRows> sql_project(const SqlRows& input, const std::vector<NamedExpression>& expressions,
                                          const Expression* condition, const SqlDialect& dialect);

}  // namespace noisefloor::engine
