// The parts of PostgreSQL's grammar that queries may use, as a table of node types, their fields and allowed values.
//
// Internal to query/.
//
// Guarantee:     a parse tree that passes check_tree() holds listed nodes with listed fields alone, each of the stated
//                kind; everything else is refused, with the reason. So whoever reads the tree afterwards can rely on
//                its shape, and a field that a later grammar adds is refused until somebody lists it.
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor::query {

// Nodes that are deeper than this are refused.
inline constexpr int kDeepestNode = 200;

// A tree of one statement, as {"SelectStmt": {…}} or {"ExplainStmt": {…}}.
[[nodiscard]] Result<void> check_tree(const nlohmann::json& statement);

// The names of all listed node types: for the reference of the dialect.
[[nodiscard]] std::vector<std::string> listed_nodes();
// What is refused in words of its own, sorted, each once: likewise.
[[nodiscard]] std::vector<std::string> listed_refusals();

}  // namespace noisefloor::query
