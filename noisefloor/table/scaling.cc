#include "noisefloor/table/scaling.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "noisefloor/table/byte_source.h"

namespace noisefloor {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes digits with at most one point among them, few enough that the whole number and the power of ten are doubles:
// then one division rounds exactly as the number itself would (Clinger 1990).
std::optional<double> parse_short(std::string_view digits) {
  constexpr std::array<double, 16> kTens = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  if (digits.size() >= kTens.size()) return std::nullopt;
  std::size_t point = digits.size();
  std::uint64_t whole = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (is_digit(digits[i])) {
      whole = whole * 10 + static_cast<std::uint64_t>(digits[i] - '0');
    } else if (digits[i] == '.' && point == digits.size()) {
      point = i;
    } else {
      return std::nullopt;
    }
  }
  const std::size_t places = point == digits.size() ? 0 : digits.size() - point - 1;
  if (digits.size() == 1 && point == 0) return std::nullopt;
  return static_cast<double>(whole) / kTens[places];
}

// Whether a number that no double holds is too large or too small: the sign of its decimal exponent tells.
bool is_large(std::string_view digits) {
  const std::size_t mark = digits.find_first_of("eE");
  const std::string_view mantissa = digits.substr(0, mark);
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  std::int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view text = digits.substr(mark + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error == std::errc::result_out_of_range) return !text.starts_with('-');
  }
  // No line is so long that the places of its digits matter beside an exponent of this size.
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  return std::clamp(exponent, -kHuge, kHuge) + point - static_cast<std::int64_t>(first) > 0;
}

}  // namespace

Result<void> check_bounds(std::string_view what, double lower, double upper) {
  constexpr double most = std::numeric_limits<float>::max();
  if (lower >= -most && upper <= most && lower < upper) return success();
  return invalid_argument(one_line(fmt::format(
      "{} needs finite bounds, the lower below the upper, of at most 3.4e38; got {} and {}", what, lower, upper)));
}

std::optional<double> parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  // Refuses names such as "inf", and a second sign.
  if (text.empty() || !(is_digit(text.front()) || text.front() == '.')) return std::nullopt;
  if (const std::optional<double> value = parse_short(text)) return negative ? -*value : *value;
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (rest != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    value = is_large(text) ? std::numeric_limits<double>::infinity() : 0;
  }
  return negative ? -value : value;
}

}  // namespace noisefloor
