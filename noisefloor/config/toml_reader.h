// Reads one section of a TOML document key by key, and remembers which keys there are to know.
//
// Internal to config/: the only header that includes toml++.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The parser is compiled in, so that the library needs no shared object for it, and does not throw.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// Version 3.3 asserts, and with NDEBUG lets clang assume, that a header such as "[[[" does not occur, and then handles it
// well. So neither: text from outside must not end the process.
#define TOML_ASSERT(condition) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "noisefloor/config/pipeline.h"

namespace noisefloor::config_internal {

// The names of an enumeration's values.
template <class E, std::size_t N>
using Names = std::array<std::pair<std::string_view, E>, N>;

[[nodiscard]] inline Place place_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

[[nodiscard]] std::string_view type_name(const toml::node& node);  // "a text", "a number", …

class SectionReader {
 public:
  // `section` as messages name it: "[budget]".
  SectionReader(const toml::table& table, std::string section, Findings& findings)
      : table_(table), section_(std::move(section)), findings_(findings) {}

  // A quantity of base/privacy_types.h. Whole quantities may be written as 1e6.
  template <class Q>
  void quantity(std::string_view key, Located<Q>& field) {
    const toml::node* node = take(key, field.place);
    if (node == nullptr) return;
    if constexpr (std::is_same_v<typename Q::Value, double>) {
      if (const auto number = real(key, *node)) keep(key, Q::make(*number), field);
    } else {
      if (const auto number = whole(key, *node)) keep(key, Q::make(*number), field);
    }
  }

  void number(std::string_view key, Located<double>& field);           // finite
  void positive_number(std::string_view key, Located<double>& field);  // finite, above 0
  void count(std::string_view key, Located<std::uint64_t>& field);     // whole, 0 or above
  void flag(std::string_view key, Located<bool>& field);
  void text(std::string_view key, Located<std::string>& field);  // not empty

  // One of a list of names.
  template <class E, std::size_t N>
  void choice(std::string_view key, const Names<E, N>& names, Located<E>& field) {
    const toml::node* node = take(key, field.place);
    if (node != nullptr) field.value = name(key, *node, names);
  }

  // One name or a list of names.
  template <class E, std::size_t N>
  void choices(std::string_view key, const Names<E, N>& names, Located<std::vector<E>>& field) {
    const toml::node* node = take(key, field.place);
    if (node == nullptr) return;
    std::vector<E> values;
    const toml::array* list = node->as_array();
    bool good = list == nullptr || !list->empty();
    if (!good) refuse("out_of_range", key, field.place, "is an empty list", "name at least one");
    const auto add = [&](const toml::node& item) {
      const std::optional<E> value = name(key, item, names);
      good = good && value;
      if (value) values.push_back(*value);
    };
    if (list == nullptr) {
      add(*node);
    } else {
      for (const toml::node& item : *list) add(item);
    }
    if (good) field.value = std::move(values);
  }

  // Keys that were not asked for are errors. To be called last.
  void finish();

  // Whether everything so far could be read.
  [[nodiscard]] bool good() const { return good_; }

 private:
  [[nodiscard]] const toml::node* take(std::string_view key, Place& place);
  [[nodiscard]] std::optional<double> real(std::string_view key, const toml::node& node);
  [[nodiscard]] std::optional<std::uint64_t> whole(std::string_view key, const toml::node& node);
  void refuse(std::string code, std::string_view key, Place place, std::string_view what, std::string remedy);
  void refuse_name(std::string_view key, const toml::node& node, const std::vector<std::string_view>& known);

  template <class Q>
  void keep(std::string_view key, const Result<Q>& made, Located<Q>& field) {
    if (made.has_value()) {
      field.value = made.value();
    } else {
      refuse("out_of_range", key, field.place, "is out of range: " + made.error().message,
             "give a value in that range");
    }
  }

  template <class E, std::size_t N>
  std::optional<E> name(std::string_view key, const toml::node& node, const Names<E, N>& names) {
    const auto text = node.value_exact<std::string_view>();
    std::vector<std::string_view> known;
    for (const auto& [known_name, value] : names) {
      if (text == known_name) return value;
      known.push_back(known_name);
    }
    refuse_name(key, node, known);
    return std::nullopt;
  }

  const toml::table& table_;
  std::string section_;
  Findings& findings_;
  std::vector<std::string_view> known_;
  bool good_ = true;
};

}  // namespace noisefloor::config_internal
