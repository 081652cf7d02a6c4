// Text that people can read on a screen without being misled: nothing in it moves the cursor, reorders what is read, or
// is there without being seen.
//
// Guarantee:     printable() returns UTF-8 in which every code point is printable. A text that is printable already
//                comes back unchanged, so text may pass through more than once. Nothing here depends on the locale.
// Implements:    The Unicode Standard, general categories Cc, Cf, Cs, Co, Zs (except U+0020), Zl and Zp, the property
//                Default_Ignorable_Code_Point, noncharacters, and planes that hold no characters.
// Thread safety: pure functions.
//
// Combining marks are printable, because most scripts of the world need some, and file systems decompose Latin letters.
// A mark may decorate the character before it, but it cannot move or hide another one. Joiners (U+200C, U+200D) and
// variation selectors are not printable although some scripts and emoji use them: they cannot be seen, so two names
// could look the same. Code points that Unicode has not assigned are printable outside of the planes and blocks above:
// they may get characters later.
//
// A backslash stays as it is. A text that spells out "\u{1b}" therefore looks like an escape, which is harmless; in
// return, escaping twice changes nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace noisefloor {

// The character that a text begins with, or a single byte without a code point if the text does not begin with UTF-8.
struct TextCharacter {
  std::size_t bytes;
  std::optional<char32_t> code;

  [[nodiscard]] bool is_printable() const;
};

// Reads strictly: overlong forms, surrogates and code points above U+10FFFF are not UTF-8. Requires a text that is not
// empty.
[[nodiscard]] TextCharacter next_character(std::string_view text);

[[nodiscard]] bool is_printable(char32_t code);
[[nodiscard]] bool is_printable(std::string_view text);

// The text with every code point that is not printable, and every byte that is not UTF-8, written out: "\u{202e}",
// "\xff".
[[nodiscard]] std::string printable(std::string_view text);
// The same, except that line breaks ("\n") stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

// The first thing in the text that is not printable, as an error names it: "U+202E", "the byte 0xff".
[[nodiscard]] std::optional<std::string> first_unprintable(std::string_view text);

}  // namespace noisefloor
