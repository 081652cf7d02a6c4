#include "noisefloor/config/toml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "noisefloor/base/text.h"
#include "noisefloor/config/spelling.h"

namespace noisefloor::config_internal {
namespace {

constexpr double kLargestExactWhole = 9007199254740992.0;  // 2^53

}  // namespace

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a section";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

const toml::node* SectionReader::take(std::string_view key, Place& place) {
  known_.push_back(key);
  const toml::node* node = table_.get(key);
  if (node != nullptr) place = place_of(node->source());
  return node;
}

void SectionReader::refuse(std::string code, std::string_view key, Place place, std::string_view what,
                           std::string remedy) {
  good_ = false;
  findings_.error(std::move(code), place, fmt::format("{} of {} {}", key, section_, what), std::move(remedy));
}

void SectionReader::refuse_name(std::string_view key, const toml::node& node,
                                const std::vector<std::string_view>& known) {
  const Place place = place_of(node.source());
  if (const auto text = node.value_exact<std::string_view>()) {
    refuse("unknown_value", key, place, fmt::format("cannot be {}", shown(*text)), suggestion(*text, known));
  } else {
    refuse("wrong_type", key, place, fmt::format("is {}, and a name in quotes is needed", type_name(node)),
           fmt::format("there are: \"{}\"", fmt::join(known, "\", \"")));
  }
}

std::optional<double> SectionReader::real(std::string_view key, const toml::node& node) {
  const Place place = place_of(node.source());
  std::optional<double> number = node.value_exact<double>();
  if (const auto whole = node.value_exact<std::int64_t>()) number = static_cast<double>(*whole);
  if (!number) {
    refuse("wrong_type", key, place, fmt::format("is {}, and a number is needed", type_name(node)),
           fmt::format("write it without quotes, as in {} = 0.5", key));
  } else if (!std::isfinite(*number)) {
    refuse("out_of_range", key, place, fmt::format("is {}", *number), "give a finite number");
    number.reset();
  }
  return number;
}

std::optional<std::uint64_t> SectionReader::whole(std::string_view key, const toml::node& node) {
  const Place place = place_of(node.source());
  const auto integer = node.value_exact<std::int64_t>();
  if (integer && *integer >= 0) return static_cast<std::uint64_t>(*integer);
  const auto real = node.value_exact<double>();
  if (real && *real >= 0 && *real <= kLargestExactWhole && std::floor(*real) == *real) {
    return static_cast<std::uint64_t>(*real);
  }
  const std::string remedy = fmt::format("write it as in {} = 1000", key);
  if (integer) {
    refuse("out_of_range", key, place, fmt::format("is {}, and cannot be negative", *integer), remedy);
  } else if (real) {
    refuse("out_of_range", key, place, fmt::format("is {}, and must be a whole number, 0 or above", *real), remedy);
  } else {
    refuse("wrong_type", key, place, fmt::format("is {}, and a whole number is needed", type_name(node)), remedy);
  }
  return std::nullopt;
}

void SectionReader::number(std::string_view key, Located<double>& field) {
  if (const toml::node* node = take(key, field.place)) field.value = real(key, *node);
}

void SectionReader::positive_number(std::string_view key, Located<double>& field) {
  number(key, field);
  if (field.has() && *field <= 0) {
    refuse("out_of_range", key, field.place, fmt::format("is {}, and must be above 0", *field), "give a value above 0");
    field.value.reset();
  }
}

void SectionReader::count(std::string_view key, Located<std::uint64_t>& field) {
  if (const toml::node* node = take(key, field.place)) field.value = whole(key, *node);
}

void SectionReader::flag(std::string_view key, Located<bool>& field) {
  const toml::node* node = take(key, field.place);
  if (node == nullptr) return;
  field.value = node->value_exact<bool>();
  if (!field.has()) {
    refuse("wrong_type", key, field.place, fmt::format("is {}, and true or false is needed", type_name(*node)),
           fmt::format("write {} = true or {} = false, without quotes", key, key));
  }
}

void SectionReader::text(std::string_view key, Located<std::string>& field) {
  const toml::node* node = take(key, field.place);
  if (node == nullptr) return;
  field.value = node->value_exact<std::string>();
  if (!field.has()) {
    refuse("wrong_type", key, field.place, fmt::format("is {}, and a text is needed", type_name(*node)),
           fmt::format("write it in quotes, as in {} = \"…\"", key));
  } else if (field.value->empty()) {
    refuse("out_of_range", key, field.place, "is empty", "give it a text, or leave it out");
    field.value.reset();
  }
}

void SectionReader::finish() {
  for (const auto& [key, node] : table_) {
    if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
    good_ = false;
    findings_.error("unknown_key", place_of(key.source()), fmt::format("{} has no key {}", section_, shown(key.str())),
                    suggestion(key.str(), known_));
  }
}

}  // namespace noisefloor::config_internal
