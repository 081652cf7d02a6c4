// The text of a query, as a tree of what this project understands (syntax.h). The grammar is PostgreSQL's.
//
// Internal to query/.
//
// Guarantee:     never a crash, whatever the text: texts above 16 KiB are refused before they are parsed, and trees
//                deeper than 200 nodes after. Nodes and fields that are not listed (whitelist.h) are refused. Errors
//                depend on the text alone.
// Thread safety: any number of threads may parse at once. A thread's first parse takes a few KiB that stay with it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/query/syntax.h"

namespace noisefloor::query {

inline constexpr std::size_t kLongestQuery = std::size_t{16} * 1024;

// Exactly one SELECT, or EXPLAIN (PRIVACY) or EXPLAIN PRIVACY of one.
[[nodiscard]] Result<Statement> parse_statement(std::string_view text);

// The statements of a file, in order, without the semicolons between them. Comments and empty statements are left out.
[[nodiscard]] Result<std::vector<std::string>> split_statements(std::string_view text);

}  // namespace noisefloor::query
