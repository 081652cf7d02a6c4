// A limit for JSON from outside: writing a value back takes as many nested calls as the value has levels, so that a
// hostile file of a million brackets would overflow the stack.
#pragma once

#include <cstddef>
#include <string_view>

namespace noisefloor::internal {

// Events are the deepest values that are written here; each of their levels takes at most two.
inline constexpr std::size_t kMaxJsonDepth = 256;

// Whether brackets outside strings are nested deeper than that. If the text is not JSON, either reply is right.
[[nodiscard]] inline bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxJsonDepth) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace noisefloor::internal
