// Text as HTML: every text from a file or a user must pass through here.
//
// Guarantee:     the result of `escaped` holds no character that could end a text or a quoted attribute, is UTF-8, and
//                is printable (base/printable.h) except for line breaks and tabs: characters that control a terminal,
//                reorder text or cannot be seen, and bytes that are not UTF-8, are written out, as in "\u{202e}".
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace noisefloor {

[[nodiscard]] std::string escaped(std::string_view text);

// Numbers for people, with `digits` significant digits: rounded to nearest, or to the stated side of the value.
[[nodiscard]] std::string shown_near(double value, int digits);
[[nodiscard]] std::string shown_at_least(double value, int digits);
[[nodiscard]] std::string shown_at_most(double value, int digits);

// A certified interval as text, with as many digits as both bounds share and two more: "1.0012 (certified: at least
// 1.0009)".
[[nodiscard]] std::string shown_interval(double lower, double upper);

// A number with commas: "10,000".
[[nodiscard]] std::string shown_count(std::uint64_t value);

// A small probability as a power of ten: "10⁻⁵", "3.3 × 10⁻⁶". Rounded up to two digits.
[[nodiscard]] std::string shown_power(double value);
// An exponent in superscript: "⁻⁵".
[[nodiscard]] std::string superscript(int exponent);

}  // namespace noisefloor
