#include "noisefloor/engine/keyed_order.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/crypto/hkdf.h"

namespace noisefloor::engine {
namespace {

ShortKey key_for(const Secret32& order_key, std::string_view use) {
  return derive<16>(order_key.bytes(), bytes_of("noisefloor keyed order"), bytes_of(use));
}

// Little-endian, so that every machine hashes the same bytes.
std::array<char, 8> eight_bytes(std::uint64_t value) {
  std::array<char, 8> bytes{};
  for (char& byte : bytes) {
    byte = static_cast<char>(value & 0xFFU);
    value >>= 8U;
  }
  return bytes;
}

// Compilers know this for one instruction.
std::uint64_t big_endian(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value = value << 8U | bytes[i];
  return value;
}

template <std::size_t N>
KeyedOrder::Rank rank_of(const ShortKey& key, const std::array<char, N>& text) {
  const ShortHash hash = short_hash(key, {text.data(), text.size()});
  return static_cast<KeyedOrder::Rank>(big_endian(hash.data())) << 64U | big_endian(hash.data() + 8);
}

template <std::size_t N>
void put(std::array<char, N>& text, std::size_t at, const KeyedOrder::Tag& tag) {
  std::memcpy(text.data() + at, tag.data(), tag.size());
}

}  // namespace

void append_null(std::string& text) { text += '\0'; }
void append_integer(std::string& text, std::int64_t value) {
  const auto bytes = eight_bytes(static_cast<std::uint64_t>(value));
  text += '\1';
  text.append(bytes.data(), bytes.size());
}
void append_text(std::string& text, std::string_view value) {
  const auto length = eight_bytes(value.size());
  text += '\2';
  text.append(length.data(), length.size());
  text += value;
}
void append_cell(std::string& text, const Cell& cell) {
  std::visit(
      Overloaded{[&](std::monostate) { append_null(text); }, [&](std::int64_t value) { append_integer(text, value); },
                 [&](const std::string& value) { append_text(text, value); }},
      cell);
}

KeyedOrder::KeyedOrder(const Secret32& order_key)
    : units_(key_for(order_key, "units")),
      cells_(key_for(order_key, "cells")),
      groups_(key_for(order_key, "groups")),
      rows_(key_for(order_key, "rows")),
      values_(key_for(order_key, "values")) {}

KeyedOrder::Tag KeyedOrder::unit_tag(std::int64_t unit) {
  Tag tag{};
  const auto bytes = eight_bytes(static_cast<std::uint64_t>(unit));
  std::memcpy(tag.data(), bytes.data(), bytes.size());
  return tag;
}

KeyedOrder::Rank KeyedOrder::of_group(const Tag& unit, const Tag& group) const {
  std::array<char, 32> text{};
  put(text, 0, unit);
  put(text, 16, group);
  return rank_of(groups_, text);
}

KeyedOrder::Rank KeyedOrder::of_row(const Tag& unit, const Tag& group, const Tag& content, std::uint64_t number) const {
  std::array<char, 56> text{};
  put(text, 0, unit);
  put(text, 16, group);
  put(text, 32, content);
  const auto bytes = eight_bytes(number);
  std::memcpy(text.data() + 48, bytes.data(), bytes.size());
  return rank_of(rows_, text);
}

KeyedOrder::Rank KeyedOrder::of_value(const Tag& unit, const Tag& group, const Tag& value) const {
  std::array<char, 48> text{};
  put(text, 0, unit);
  put(text, 16, group);
  put(text, 32, value);
  return rank_of(values_, text);
}

}  // namespace noisefloor::engine
