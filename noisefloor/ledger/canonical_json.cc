#include "noisefloor/ledger/canonical_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "noisefloor/base/hex.h"

namespace noisefloor {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json_number(std::string& out, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += "null";
  }
}

void CanonicalReader::literal(std::string_view expected) {
  if (!maybe(expected)) fail();
}

bool CanonicalReader::maybe(std::string_view expected) {
  if (!good_ || rest_.substr(0, expected.size()) != expected) return false;
  rest_.remove_prefix(expected.size());
  return true;
}

std::string CanonicalReader::string() {
  literal("\"");
  std::string text;
  while (good_) {
    const std::size_t plain = std::min(rest_.find_first_of("\"\\"), rest_.size());
    const bool control = std::any_of(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(plain),
                                     [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (control || plain == rest_.size()) break;
    text.append(rest_.substr(0, plain));
    rest_.remove_prefix(plain);
    if (maybe("\"")) return text;
    if (maybe("\\\"")) {
      text += '"';
    } else if (maybe("\\\\")) {
      text += '\\';
    } else if (rest_.size() >= 6 && maybe("\\u00")) {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 2, value, 16);
      const bool lower = rest_[1] < 'A' || rest_[1] > 'F';
      if (error != std::errc() || end != rest_.data() + 2 || value >= 0x20 || !lower) break;
      text += static_cast<char>(value);
      rest_.remove_prefix(2);
    } else {
      break;
    }
  }
  fail();
  return {};
}

std::string_view CanonicalReader::take_number() {
  const std::size_t size = std::min(rest_.find_first_not_of("0123456789+-.e"), rest_.size());
  const std::string_view text = rest_.substr(0, good_ ? size : 0);
  rest_.remove_prefix(text.size());
  return text;
}

std::uint64_t CanonicalReader::count() {
  const std::string_view text = take_number();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool zeros = text.size() > 1 && text[0] == '0';
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || zeros) fail();
  return good_ ? value : 0;
}

std::int64_t CanonicalReader::integer() {
  const std::string_view text = take_number();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
      fmt::format_int(value).str() != text) {
    fail();
  }
  return good_ ? value : 0;
}

double CanonicalReader::number() {
  const std::string_view text = take_number();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    fail();
    return 0;
  }
  fmt::memory_buffer again;
  fmt::format_to(std::back_inserter(again), "{}", value);
  if (std::string_view(again.data(), again.size()) != text) fail();
  return good_ ? value : 0;
}

double CanonicalReader::number_or_null() { return maybe("null") ? std::numeric_limits<double>::infinity() : number(); }

std::string_view CanonicalReader::object() {
  const std::string_view start = rest_;
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; good_ && i < start.size(); ++i) {
    const char c = start[i];
    if (i == 0 && c != '{') break;
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) {
      rest_.remove_prefix(i + 1);
      return start.substr(0, i + 1);
    }
  }
  fail();
  return {};
}

void CanonicalReader::read_hex(std::span<std::uint8_t> into) {
  literal("\"");
  if (!good_ || !from_hex(rest_.substr(0, 2 * into.size()), into)) return fail();
  rest_.remove_prefix(2 * into.size());
  literal("\"");
}

}  // namespace noisefloor
