#include "noisefloor/engine/text_functions.h"

#include <algorithm>

namespace noisefloor::engine {
namespace {

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

// The bytes of the first `count` characters.
std::size_t bytes_of_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (at < text.size() && count > 0) {
    ++at;
    while (at < text.size() && !begins_character(text[at])) ++at;
    --count;
  }
  return at;
}

}  // namespace

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string upper_ascii(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string_view substring(std::string_view text, std::size_t start, std::size_t length) {
  text.remove_prefix(bytes_of_characters(text, start - 1));
  return text.substr(0, bytes_of_characters(text, length));
}

bool is_like(std::string_view text, std::string_view pattern) {
  // After a mismatch, the last % takes one byte more.
  std::size_t t = 0;
  std::size_t p = 0;
  std::size_t after_any = std::string_view::npos;
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '%') {
      after_any = ++p;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == '_' && begins_character(text[t])) {
      t += bytes_of_characters(text.substr(t), 1);
      ++p;
    } else if (p < pattern.size() && pattern[p] != '_' && pattern[p] == text[t]) {
      ++t;
      ++p;
    } else if (after_any != std::string_view::npos) {
      t = ++taken;
      p = after_any;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('%', p) == std::string_view::npos;
}

}  // namespace noisefloor::engine
