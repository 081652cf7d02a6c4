// "Did you mean": the known name that is nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace noisefloor {

// The name of least edit distance (insert, delete, replace, swap neighbours; case and - _ do not count), or "" if all
// differ in more than a third of their letters.
[[nodiscard]] std::string_view nearest_name(std::string_view text, const std::vector<std::string_view>& known);

// A remedy: "did you mean 'epsilon'?", or the list of what is known.
[[nodiscard]] std::string suggestion(std::string_view text, const std::vector<std::string_view>& known);

}  // namespace noisefloor
