#include "noisefloor/base/printable.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace noisefloor {
namespace {

// Encodes without asking whether the code point exists.
std::string utf8(char32_t code) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0U | code >> 6U), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0U | code >> 12U), tail(6), tail(0)};
  return {static_cast<char>(0xF0U | code >> 18U), tail(12), tail(6), tail(0)};
}

TEST(Printable, LeavesPrintableTextAsItIs) {
  for (const char* text : {"", "toy", "a b", "~ \\ \" '", "naïve ε ≤ 3 … 10⁻⁵ ▁▂█", "模型", "Привет", "שלום", "مرحبا",
                           "हिन्दी", "e\u0301", "😀", "\uFFFD", "C:\\u{1b}"}) {
    EXPECT_TRUE(is_printable(std::string_view(text))) << text;
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(first_unprintable(text), std::nullopt) << text;
  }
}

TEST(Printable, WritesOutWhatMovesReordersOrHides) {
  for (const auto& [text, written] : std::initializer_list<std::pair<std::string, std::string>>{
           {"\x1b[2J", "\\u{1b}[2J"},
           {std::string("a\0b", 3), "a\\u{0}b"},
           {"a\r\n\tb", "a\\u{d}\\u{a}\\u{9}b"},
           {"\x7f", "\\u{7f}"},
           {"\u009B31m", "\\u{9b}31m"},
           {"total\u202Elatot", "total\\u{202e}latot"},
           {"\u2066a\u2069", "\\u{2066}a\\u{2069}"},
           {"a\u200Bb\u200Dc\uFEFF", "a\\u{200b}b\\u{200d}c\\u{feff}"},
           {"soft\u00ADhyphen", "soft\\u{ad}hyphen"},
           {"a\u2028b\u2029", "a\\u{2028}b\\u{2029}"},
           {"a\u00A0b\u3000", "a\\u{a0}b\\u{3000}"},
           {"\U000E0041\U000E0001", "\\u{e0041}\\u{e0001}"},
           {"\u2764\uFE0F", "\u2764\\u{fe0f}"}}) {
    EXPECT_FALSE(is_printable(std::string_view(text))) << written;
    EXPECT_EQ(printable(text), written);
    EXPECT_EQ(printable(written), written) << "a second time changes nothing";
  }
}

TEST(Printable, WritesOutBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable("\xC0\xBC"), "\\xc0\\xbc") << "an overlong <";
  EXPECT_EQ(printable("\xE0\x80\xBC"), "\\xe0\\x80\\xbc") << "another one";
  EXPECT_EQ(printable("\xF0\x80\x80\xBC"), "\\xf0\\x80\\x80\\xbc") << "the longest one";
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(printable("\xE2\x80"), "\\xe2\\x80") << "cut off";
  EXPECT_EQ(printable("\xE2\x80z"), "\\xe2\\x80z") << "what comes after it stays";
  EXPECT_EQ(printable("\x9b[m"), "\\x9b[m") << "a control of eight-bit terminals";
}

TEST(Printable, KeepsLineBreaksOnlyWhereAsked) {
  EXPECT_EQ(printable_lines("a\n\x1b\r\n"), "a\n\\u{1b}\\u{d}\n");
  EXPECT_EQ(printable("a\n"), "a\\u{a}");
}

TEST(Printable, NamesTheFirstOffender) {
  EXPECT_EQ(first_unprintable("a\u202Eb\x1b"), "U+202E");
  EXPECT_EQ(first_unprintable("\x1b"), "U+001B");
  EXPECT_EQ(first_unprintable("\U000E0041"), "U+E0041");
  EXPECT_EQ(first_unprintable("é\xff"), "the byte 0xff");
}

// What comes out can be printed, for every code point of planes 0 and 1, and for some of the others and beyond.
TEST(Printable, AlwaysGivesPrintableText) {
  for (char32_t code = 0; code < 0x120000; code += code < 0x20000 ? 1 : 0x101) {
    const std::string text = utf8(code);
    const std::string out = printable(text);
    ASSERT_TRUE(is_printable(std::string_view(out))) << static_cast<unsigned>(code);
    ASSERT_EQ(out == text, is_printable(code)) << static_cast<unsigned>(code);
  }
}

TEST(Printable, RefusesWholeClasses) {
  for (const auto& [first, last] : std::initializer_list<std::pair<char32_t, char32_t>>{{0x00, 0x1F},
                                                                                        {0x7F, 0xA0},
                                                                                        {0x200B, 0x200F},
                                                                                        {0x2028, 0x202F},
                                                                                        {0x2060, 0x206F},
                                                                                        {0xD800, 0xDFFF},
                                                                                        {0xE000, 0xF8FF},
                                                                                        {0xFDD0, 0xFDEF},
                                                                                        {0xFE00, 0xFE0F},
                                                                                        {0xFFFE, 0xFFFF},
                                                                                        {0x1FFFE, 0x1FFFF},
                                                                                        {0xE0000, 0xE0FFF},
                                                                                        {0xF0000, 0x110000}}) {
    for (char32_t code = first; code <= last; ++code) {
      EXPECT_FALSE(is_printable(code)) << static_cast<unsigned>(code);
    }
  }
}

}  // namespace
}  // namespace noisefloor
