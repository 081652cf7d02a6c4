// Writes and reads canonical JSON, in which every value has exactly one text: fields in a fixed order, no spaces, the
// shortest form of every number, the fewest escapes. The reader takes one pass and refuses any other text.
//
// Internal to ledger/.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace noisefloor {

// Appends `text` in quotes, with ", \ and control characters escaped.
void append_json_string(std::string& out, std::string_view text);
// Appends the shortest text that reads back as the same number; null for infinities.
void append_json_number(std::string& out, double value);

class CanonicalReader {
 public:
  explicit CanonicalReader(std::string_view text) : rest_(text) {}

  // False once anything was not as expected; all values read from then on are empty or zero.
  [[nodiscard]] bool good() const { return good_; }
  // True if everything was as expected and nothing is left.
  [[nodiscard]] bool done() const { return good_ && rest_.empty(); }
  void fail() { good_ = false; }

  void literal(std::string_view expected);
  // Consumes `expected` if it comes next.
  [[nodiscard]] bool maybe(std::string_view expected);
  [[nodiscard]] std::string string();
  [[nodiscard]] std::uint64_t count();
  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] double number();            // finite
  [[nodiscard]] double number_or_null();    // +∞ for null
  [[nodiscard]] std::string_view object();  // the text of an object; only its braces are checked
  // [item,item,…]: calls `item` for each.
  template <class Item>
  void list(Item&& item) {
    literal("[");
    if (maybe("]")) return;
    do {
      item();
    } while (good_ && maybe(","));
    literal("]");
  }
  // Hexadecimal text of exactly N bytes.
  template <std::size_t N>
  [[nodiscard]] std::array<std::uint8_t, N> bytes() {
    std::array<std::uint8_t, N> result{};
    read_hex(result);
    return result;
  }

 private:
  void read_hex(std::span<std::uint8_t> into);
  std::string_view take_number();

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace noisefloor
