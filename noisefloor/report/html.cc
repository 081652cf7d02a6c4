#include "noisefloor/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace noisefloor {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

// The character that begins here, and its number of bytes; no bytes if that is not UTF-8.
struct Character {
  std::size_t bytes;
  std::uint32_t code;
};

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + bytes > text.size()) return {0, 0};
  std::uint32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {0, 0};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return {0, 0};
  return {bytes, code};
}

bool is_control(std::uint32_t code) {
  if (code == '\n' || code == '\t') return false;
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

// `side`: −1 for not above the value, 1 for not below it, 0 for the nearest.
std::string rounded(double value, int digits, int side) {
  if (!std::isfinite(value)) return std::isnan(value) ? "unknown" : value > 0 ? "∞" : "−∞";
  std::string text = fmt::format("{:.{}g}", value, digits);
  const double step = value == 0 ? 0 : std::pow(10, std::floor(std::log10(std::abs(value))) - digits + 1);
  for (int tries = 1; side != 0 && tries <= 2; ++tries) {
    const double read = std::strtod(text.c_str(), nullptr);
    if (side > 0 ? read >= value : read <= value) break;
    text = fmt::format("{:.{}g}", value + side * tries * step, digits);
  }
  return text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [bytes, code] = character_at(text, at);
    if (bytes == 0 || is_control(code)) {
      out += kReplacement;
    } else if (code == '&') {
      out += "&amp;";
    } else if (code == '<') {
      out += "&lt;";
    } else if (code == '>') {
      out += "&gt;";
    } else if (code == '"') {
      out += "&quot;";
    } else if (code == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(at, bytes);
    }
    at += bytes == 0 ? 1 : bytes;
  }
  return out;
}

std::string shown_near(double value, int digits) { return rounded(value, digits, 0); }
std::string shown_at_least(double value, int digits) { return rounded(value, digits, 1); }
std::string shown_at_most(double value, int digits) { return rounded(value, digits, -1); }

std::string shown_interval(double lower, double upper) {
  if (!std::isfinite(upper)) return "infinite";
  const double width = upper - lower;
  const int digits = width <= 0 ? 12 : std::clamp(static_cast<int>(std::ceil(-std::log10(width / upper))) + 2, 4, 12);
  return fmt::format("{:.{}g} (certified: at least {:.{}g})", upper, digits, lower, digits);
}

std::string shown_count(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string superscript(int exponent) {
  constexpr std::array<const char*, 10> kDigits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits.at(static_cast<std::size_t>(digit - '0'));
  return text;
}

std::string shown_power(double value) {
  if (!(value > 0 && value < 0.01)) return shown_at_least(value, 2);
  const double rounded = std::strtod(shown_at_least(value, 2).c_str(), nullptr);
  const auto exponent = static_cast<int>(std::floor(std::log10(rounded) + 1e-9));
  const std::string factor = fmt::format("{:.2g}", rounded / std::pow(10, exponent));
  return (factor == "1" ? "10" : factor + " × 10") + superscript(exponent);
}

}  // namespace noisefloor
