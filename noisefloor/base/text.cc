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

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// Where a place without an @ says something after a colon that is no port, as in scheme://user:password; npos if it
// does not. Addresses in brackets have colons of their own.
std::size_t not_a_port(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin; i < text.size() && text[i] != '/' && text[i] != '?'; ++i) {
    if (text[i] == '[') i = std::min(text.find(']', i), text.size());
    if (i >= text.size() || text[i] != ':') continue;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", i + 1), text.size());
    if (end < text.size() && std::string_view(",/?' ").find(text[end]) == std::string_view::npos) return i + 1;
  }
  return std::string_view::npos;
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

std::string without_password(std::string_view text) {
  std::string out(text);
  if (const std::size_t scheme = out.find("://"); scheme != std::string::npos) {
    const std::size_t begin = scheme + 3;
    const std::size_t colon = out.find(':', begin);
    const std::size_t query = out.find('?', begin);
    // A keyword may be written in any case and with %70 for p: then nothing of the query is shown.
    const std::string rest = query == std::string::npos ? "" : lower_case(out.substr(query));
    const bool hides = rest.find("pass") != std::string::npos || rest.find('%') != std::string::npos;
    if (hides) out.erase(query);
    const std::size_t at = out.rfind('@');
    if (at != std::string::npos && at >= begin) {
      // Everything up to the last @ may belong to the password.
      if (colon < at) out.erase(colon, at - colon);
    } else if (hides && rest.find('@') != std::string::npos && colon < out.size()) {
      out = out.substr(0, colon) + ":***";  // the query may be the end of a password with a ? in it
    } else if (const std::size_t odd = not_a_port(out, begin); odd != std::string::npos) {
      out = out.substr(0, odd) + "***";
    }
  }
  // The value of a keyword goes to the end of the text, because quotes and spaces may be part of it.
  const std::string lower = lower_case(out);
  for (std::size_t place = lower.find("password"); place != std::string::npos; place = lower.find("password", place)) {
    place += std::string_view("password").size();
    const std::size_t next = lower.find_first_not_of(" \t\n\r\f\v", place);
    if (next == std::string::npos || lower[next] != '=') continue;
    return out.substr(0, place) + "=***";
  }
  return out;
}

std::string shown(std::string_view text) {
  const std::string open = without_password(text);
  text = open;
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
