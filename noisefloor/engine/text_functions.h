// Internal to engine/: what expressions do with texts, which are UTF-8: characters are code points, letters are those
// of ASCII.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace noisefloor::engine {

[[nodiscard]] std::size_t characters_of(std::string_view text);
[[nodiscard]] std::string lower_ascii(std::string_view text);
[[nodiscard]] std::string upper_ascii(std::string_view text);
// Without spaces at either end. Other white space stays.
[[nodiscard]] std::string_view trimmed(std::string_view text);
// `length` characters from the one with the number `start`, which counts from 1.
[[nodiscard]] std::string_view substring(std::string_view text, std::size_t start, std::size_t length);
// % stands for any text, _ for one character; nothing escapes them.
[[nodiscard]] bool is_like(std::string_view text, std::string_view pattern);

}  // namespace noisefloor::engine
