// Finds the place of a text in a public list.
//
// Internal to table/.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace noisefloor::internal {

class TextIndex {
 public:
  explicit TextIndex(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) places_.emplace(text, places_.size());
  }

  [[nodiscard]] std::optional<std::size_t> find(std::string_view text) const {
    const auto found = places_.find(text);
    if (found == places_.end()) return std::nullopt;
    return found->second;
  }

 private:
  // Looks up a view without copying it.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> places_;
};

}  // namespace noisefloor::internal
