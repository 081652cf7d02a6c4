// From PostgreSQL's parse tree to terms. Internal to query/.
//
// Requires:      a tree that passed check_tree() (whitelist.h).
// Thread safety: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/query/syntax.h"

namespace noisefloor::query {

[[nodiscard]] Result<Term> read_term(const nlohmann::json& node);
[[nodiscard]] Result<std::vector<Term>> read_terms(const nlohmann::json& list);
[[nodiscard]] Result<std::vector<SortTerm>> read_sort(const nlohmann::json& list);
[[nodiscard]] Result<std::vector<std::string>> read_names(const nlohmann::json& list);
[[nodiscard]] Result<Select> read_select(const nlohmann::json& select);

// A field, or null if the tree leaves it out.
[[nodiscard]] const nlohmann::json& field(const nlohmann::json& object, const char* name);
[[nodiscard]] std::string text_field(const nlohmann::json& object, const char* name);
[[nodiscard]] bool truth_field(const nlohmann::json& object, const char* name);

}  // namespace noisefloor::query
