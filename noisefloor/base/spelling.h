// "Did you mean": finds the known name that is nearest to a misspelt one.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace noisefloor {

// True if the names differ in nothing but case, and in whether - or _ or a space separates their words.
[[nodiscard]] bool same_spelling(std::string_view a, std::string_view b);

// The name of least edit distance (insert, delete, replace, swap neighbours; case and - _ do not count), or "" if every
// name differs in more than a third of its letters.
[[nodiscard]] std::string_view nearest_name(std::string_view text, const std::vector<std::string_view>& known);

// A remedy: "did you mean 'epsilon'?", or the list of what is known.
[[nodiscard]] std::string suggestion(std::string_view text, const std::vector<std::string_view>& known);

}  // namespace noisefloor
