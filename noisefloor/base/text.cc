#include "noisefloor/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "noisefloor/base/printable.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxShown = 40;  // bytes between the quotes

Error not_a_number(std::string_view what, std::string_view kind, std::string_view text) {
  return invalid_argument(fmt::format("{} must be {}; got {}", what, kind, shown(text)));
}

template <class Integer>
Result<Integer> parse_whole(std::string_view what, std::string_view kind, std::string_view text) {
  Integer value = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {
    return invalid_argument(fmt::format("{} is out of range: {}", what, shown(text)));
  }
  if (error != std::errc{} || rest != end) return not_a_number(what, kind, text);
  return value;
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string shown(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = next_character(text).bytes;
    const std::string next = printable(text.substr(0, bytes));
    if (out.size() + next.size() > kMaxShown) return "'" + out + "…'";
    out += next;
    text.remove_prefix(bytes);
  }
  return "'" + out + "'";
}

std::optional<double> parse_finite(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

Result<double> parse_number(std::string_view what, std::string_view text) {
  std::optional<double> value = parse_finite(text);
  if (!value) return not_a_number(what, "a finite number", text);
  return *value;
}

Result<std::int64_t> parse_integer(std::string_view what, std::string_view text) {
  return parse_whole<std::int64_t>(what, "a whole number", text);
}

Result<std::uint64_t> parse_count(std::string_view what, std::string_view text) {
  return parse_whole<std::uint64_t>(what, "a whole number, 0 or above", text);
}

}  // namespace noisefloor
