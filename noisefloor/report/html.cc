#include "noisefloor/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "noisefloor/base/printable.h"

namespace noisefloor {
namespace {

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
  for (; !text.empty(); text.remove_prefix(next_character(text).bytes)) {
    switch (text.front()) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
      case '\t':
        out += text.front();
        break;
      default:
        out += printable(text.substr(0, next_character(text).bytes));
    }
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
