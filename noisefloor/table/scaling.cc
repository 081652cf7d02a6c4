#include "noisefloor/table/scaling.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "noisefloor/table/byte_source.h"

namespace noisefloor {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Of a number that no double holds: is it too large, or too small? The sign of its decimal exponent tells.
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
  // Neither names such as "inf" nor a second sign.
  if (text.empty() || !(is_digit(text.front()) || text.front() == '.')) return std::nullopt;
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
