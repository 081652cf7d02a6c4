#include "noisefloor/base/hex.h"

#include <cstddef>

namespace noisefloor {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// 16 for what is not a digit.
unsigned value_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return 16;
}

}  // namespace

std::string to_hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

bool from_hex(std::string_view text, std::span<std::uint8_t> into) {
  if (text.size() != 2 * into.size()) return false;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const unsigned high = value_of(text[2 * i]);
    const unsigned low = value_of(text[2 * i + 1]);
    if (high > 15 || low > 15) return false;
    into[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

}  // namespace noisefloor
