#include "noisefloor/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// In increasing order. Noncharacters at the end of each plane (U+nFFFE, U+nFFFF) are found by their low bits.
constexpr auto kNotPrintable = std::to_array<Range>({
    {0x0000, 0x001F},     // controls
    {0x007F, 0x00A0},     // delete, C1 controls, no-break space
    {0x00AD, 0x00AD},     // soft hyphen
    {0x034F, 0x034F},     // combining grapheme joiner, which is not seen
    {0x0600, 0x0605},     // Arabic number signs: format characters
    {0x061C, 0x061C},     // Arabic letter mark
    {0x06DD, 0x06DD},     // Arabic end of ayah
    {0x070F, 0x070F},     // Syriac abbreviation mark
    {0x0890, 0x0891},     // Arabic currency marks
    {0x08E2, 0x08E2},     // Arabic disputed end of ayah
    {0x115F, 0x1160},     // Hangul fillers
    {0x1680, 0x1680},     // Ogham space
    {0x17B4, 0x17B5},     // Khmer inherent vowels, which are not seen
    {0x180B, 0x180F},     // Mongolian variation selectors and vowel separator
    {0x2000, 0x200F},     // spaces, zero-width characters, directional marks
    {0x2028, 0x202F},     // line and paragraph separators, bidirectional embeddings, narrow space
    {0x205F, 0x206F},     // mathematical space, word joiner, bidirectional isolates
    {0x2800, 0x2800},     // blank Braille pattern
    {0x3000, 0x3000},     // ideographic space
    {0x3164, 0x3164},     // Hangul filler
    {0xD800, 0xF8FF},     // surrogates, private use
    {0xFDD0, 0xFDEF},     // noncharacters
    {0xFE00, 0xFE0F},     // variation selectors
    {0xFEFF, 0xFEFF},     // zero-width no-break space, byte order mark
    {0xFFA0, 0xFFA0},     // halfwidth Hangul filler
    {0xFFF0, 0xFFFB},     // reserved for what is not seen, interlinear annotation
    {0x110BD, 0x110BD},   // Kaithi number sign
    {0x110CD, 0x110CD},   // Kaithi number sign above
    {0x13430, 0x1343F},   // Egyptian hieroglyph format controls
    {0x1BCA0, 0x1BCA3},   // shorthand format controls
    {0x1D159, 0x1D159},   // musical null notehead
    {0x1D173, 0x1D17A},   // musical format characters
    {0x40000, 0x10FFFF},  // planes without characters, tags, more variation selectors, private use
});

std::string escape_of(std::string_view bytes, const TextCharacter& character) {
  if (character.code) return fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(*character.code));
  return fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes.front()));
}

std::string written_out(std::string_view text, bool keep_line_breaks) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const TextCharacter next = next_character(text);
    if (next.is_printable() || (keep_line_breaks && text.front() == '\n')) {
      out += text.substr(0, next.bytes);
    } else {
      out += escape_of(text, next);
    }
    text.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace

bool TextCharacter::is_printable() const { return code && noisefloor::is_printable(*code); }

TextCharacter next_character(std::string_view text) {
  NF_CHECK(!text.empty(), "there is a next character");
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const TextCharacter invalid{1, std::nullopt};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes > text.size()) return invalid;
  char32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return invalid;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return invalid;
  return {bytes, code};
}

bool is_printable(char32_t code) {
  const auto* const range = std::lower_bound(kNotPrintable.begin(), kNotPrintable.end(), code,
                                             [](const Range& one, char32_t wanted) { return one.last < wanted; });
  const bool listed = range != kNotPrintable.end() && range->first <= code;
  return !listed && code <= 0x10FFFF && (code & 0xFFFEU) != 0xFFFE;
}

bool is_printable(std::string_view text) { return !first_unprintable(text); }

std::string printable(std::string_view text) { return written_out(text, false); }
std::string printable_lines(std::string_view text) { return written_out(text, true); }

std::optional<std::string> first_unprintable(std::string_view text) {
  while (!text.empty()) {
    const TextCharacter next = next_character(text);
    if (!next.code) return fmt::format("the byte 0x{:02x}", static_cast<unsigned char>(text.front()));
    if (!next.is_printable()) return fmt::format("U+{:04X}", static_cast<std::uint32_t>(*next.code));
    text.remove_prefix(next.bytes);
  }
  return std::nullopt;
}

}  // namespace noisefloor
