// Reads a TOML document, and its sections key by key. Mistakes become findings, and keys that nobody asks for are
// errors.
//
// Internal to config/: the only header that includes toml++.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The parser is compiled in, so that the library needs no shared object for it, and does not throw.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// Version 3.3 asserts, and with NDEBUG lets clang assume, that a header such as "[[[" does not occur, although it
// handles one well. Here it does neither: text from outside must not end the process.
#define TOML_ASSERT(condition) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "noisefloor/config/pipeline.h"

namespace noisefloor::internal {

// The names of an enumeration's values.
template <class E, std::size_t N>
using Names = std::array<std::pair<std::string_view, E>, N>;

// Enumerations of other folders bring their own names.
template <class E, class... Values>
constexpr auto names_of(Values... values) {
  return Names<E, sizeof...(values)>{{{name_of(values), values}...}};
}

inline constexpr Names<SamplerKind, 3> kSamplers{
    {{"poisson", SamplerKind::kPoisson}, {"fixed-size", SamplerKind::kFixedSize}, {"shuffle", SamplerKind::kShuffle}}};

// A key whose value decides which other keys there are, such as format, and the value that was found.
template <class E, std::size_t N>
struct Selector {
  std::string_view key;
  const Names<E, N>& names;
  std::optional<E> value;
};
template <class E, std::size_t N>
[[nodiscard]] Selector<E, N> selector(std::string_view key, const Names<E, N>& names, const Located<E>& field,
                                      std::optional<E> by_default = std::nullopt) {
  return {key, names, field.stated() ? field.value : by_default};
}

// The range that a number must be in.
struct Range {
  bool (*holds)(double);
  std::string_view requirement;  // as it reads after "must be"
};
inline constexpr Range kAnyNumber{[](double /*x*/) { return true; }, "a number"};
inline constexpr Range kAboveZero{[](double x) { return x > 0; }, "above 0"};
inline constexpr Range kNotNegative{[](double x) { return x >= 0; }, "0 or above"};
inline constexpr Range kBelowOne{[](double x) { return x >= 0 && x < 1; }, "0 or above and below 1"};
inline constexpr Range kBetweenZeroAndOne{[](double x) { return x > 0 && x < 1; }, "above 0 and below 1"};

[[nodiscard]] inline Place place_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

[[nodiscard]] std::string_view type_name(const toml::node& node);  // "a text", "a number", …

// Returns nothing, and adds a finding, if the text has more than kMaxPipelineBytes or is not valid TOML. `if_too_large`
// is the remedy for the former.
[[nodiscard]] std::optional<toml::table> parse_document(std::string_view text, std::string if_too_large,
                                                        Findings& findings);

// Reads one section. Keys must outlive the reader, which remembers them for finish().
class SectionReader {
 public:
  // `section` as messages name it: "[budget]".
  SectionReader(const toml::table& table, std::string section, Findings& findings)
      : table_(table), section_(std::move(section)), findings_(findings) {}

  // Reads a quantity of base/privacy_types.h. Whole quantities may be written as 1e6.
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

  void number(std::string_view key, Located<double>& field, const Range& range = kAnyNumber);  // finite
  void count(std::string_view key, Located<std::uint64_t>& field);                             // whole, 0 or above
  void size(std::string_view key, std::size_t least, std::size_t most, Located<std::size_t>& field);
  void flag(std::string_view key, Located<bool>& field);
  void text(std::string_view key, Located<std::string>& field);  // not empty
  void day(std::string_view key, Located<double>& field);        // a date: its days since 1970-01-01

  // Read lists of at least one item. Texts may be empty; a text that is listed twice is an error.
  void texts(std::string_view key, Located<std::vector<std::string>>& field);
  void sizes(std::string_view key, std::size_t least, std::size_t most, Located<std::vector<std::size_t>>& field);

  // Reads one quantity or a list of them.
  template <class Q>
  void quantities(std::string_view key, Located<std::vector<Q>>& field) {
    if (const toml::node* node = take(key, field.place)) {
      one_or_more(key, *node, field, [&](const toml::node& item) -> std::optional<Q> {
        const std::optional<double> number = real(key, item);
        if (!number) return std::nullopt;
        Located<Q> one{std::nullopt, place_of(item.source())};
        keep(key, Q::make(*number), one);
        return one.value;
      });
    }
  }

  // Reads one of a list of names.
  template <class E, std::size_t N>
  void choice(std::string_view key, const Names<E, N>& names, Located<E>& field) {
    const toml::node* node = take(key, field.place);
    if (node != nullptr) field.value = name(key, *node, names);
  }

  // Reads one name or a list of names.
  template <class E, std::size_t N>
  void choices(std::string_view key, const Names<E, N>& names, Located<std::vector<E>>& field) {
    if (const toml::node* node = take(key, field.place)) {
      one_or_more(key, *node, field, [&](const toml::node& item) { return name(key, item, names); });
    }
  }

  // The section of this name; nullptr if there is none, or if it is not a section.
  [[nodiscard]] const toml::table* section(std::string_view key);
  // The same; that there is none is an error.
  [[nodiscard]] const toml::table* required_section(std::string_view key);
  // The sections under [[header]], of which `key` is the last part.
  [[nodiscard]] std::vector<const toml::table*> sections(std::string_view key, std::string_view header);

  // Whether to ask for a key, as far as a selector decides. If not, and the key is there all the same, that is an
  // error: it would do nothing.
  template <class E, std::size_t N>
  [[nodiscard]] bool takes(std::string_view key, const Selector<E, N>& selector, std::initializer_list<E> uses) {
    if (!selector.value || std::find(uses.begin(), uses.end(), *selector.value) != uses.end()) return true;
    std::vector<std::string_view> names;
    for (const auto& [name, value] : selector.names) {
      if (std::find(uses.begin(), uses.end(), value) != uses.end()) names.push_back(name);
    }
    refuse_unused(key, selector.key, names);
    return false;
  }

  [[nodiscard]] bool holds(std::string_view key) const { return table_.contains(key); }
  [[nodiscard]] bool holds_list(std::string_view key) const { return table_[key].is_array(); }
  [[nodiscard]] Place place() const;  // of the section

  // Reports a mistake beyond single values. A place that is nowhere becomes the place of the section.
  void error(std::string code, Place place, std::string message, std::string remedy);
  // Requires that a key is there.
  template <class T>
  void require(std::string_view key, const Located<T>& field, std::string remedy) {
    if (!field.stated()) missing("key_missing", key, std::move(remedy));
  }
  void missing(std::string code, std::string_view key, std::string remedy);
  // Allows only one of two keys.
  template <class A, class B>
  void exclude(std::string_view a_key, const Located<A>& a, std::string_view b_key, const Located<B>& b,
               const std::string& remedy) {
    if (a.stated() && b.stated()) conflict(a_key, b_key, std::max(a.place, b.place), remedy);
  }
  // Refuses a key that would do nothing here, because it belongs to something else.
  void unused(std::string_view key, std::string_view belongs_to);
  // Accepts a known key without reading it.
  void skip(std::string_view key) { known_.push_back(key); }
  // Refuses a key that a user might write here but that belongs elsewhere.
  void elsewhere(std::string_view key, std::string remedy);

  // Reports keys that were not asked for as errors. Call this last.
  void finish();

  // Whether everything so far could be read.
  [[nodiscard]] bool good() const { return good_; }

 private:
  [[nodiscard]] const toml::node* take(std::string_view key, Place& place);
  [[nodiscard]] std::optional<double> real(std::string_view key, const toml::node& node);
  [[nodiscard]] std::optional<std::uint64_t> whole(std::string_view key, const toml::node& node);
  void refuse(std::string code, std::string_view key, Place place, std::string_view what, std::string remedy);
  void refuse_name(std::string_view key, const toml::node& node, const std::vector<std::string_view>& known);
  void refuse_unused(std::string_view key, std::string_view selector, const std::vector<std::string_view>& names);
  void conflict(std::string_view a, std::string_view b, Place place, const std::string& remedy);
  [[nodiscard]] bool expect_list(std::string_view key, const toml::node& node, std::string_view example);
  [[nodiscard]] std::optional<std::size_t> size_of(std::string_view key, const toml::node& node, std::size_t least,
                                                   std::size_t most);

  // Calls read() with a single value, or with each value of a list of at least one. Keeps the results if all are good.
  template <class T, class Read>
  void one_or_more(std::string_view key, const toml::node& node, Located<std::vector<T>>& field, Read read) {
    std::vector<T> values;
    const toml::array* list = node.as_array();
    bool good = list == nullptr || !list->empty();
    if (!good) refuse("out_of_range", key, field.place, "is an empty list", "name at least one");
    const auto add = [&](const toml::node& item) {
      std::optional<T> value = read(item);
      good = good && value;
      if (value) values.push_back(std::move(*value));
    };
    if (list == nullptr) {
      add(node);
    } else {
      for (const toml::node& item : *list) add(item);
    }
    if (good) field.value = std::move(values);
  }

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

}  // namespace noisefloor::internal
