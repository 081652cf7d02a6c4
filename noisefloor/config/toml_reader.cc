#include "noisefloor/config/toml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "noisefloor/base/spelling.h"
#include "noisefloor/base/text.h"
#include "noisefloor/config/blank.h"
#include "noisefloor/config/toml_obstacle.h"

namespace noisefloor::internal {
namespace {

constexpr double kLargestExactWhole = 9007199254740992.0;  // 2^53

// Whether the value is the mark that starter files have where a person must fill in something.
bool is_blank(const toml::node& node) {
  const toml::array* list = node.as_array();
  if (list != nullptr) return list->size() == 1 && is_blank(*list->get(0));
  return node.value_exact<std::string_view>() == kBlank;
}

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

std::optional<toml::table> parse_document(std::string_view text, std::string if_too_large, Findings& findings) {
  if (text.size() > kMaxPipelineBytes) {
    findings.error("too_large", {1, 1},
                   fmt::format("the text has {} bytes, and at most {} are allowed", text.size(), kMaxPipelineBytes),
                   std::move(if_too_large));
    return std::nullopt;
  }
  if (auto obstacle = find_obstacle(text)) {
    findings.error("syntax", obstacle->place, std::move(obstacle->message), std::move(obstacle->remedy));
    return std::nullopt;
  }
  toml::parse_result parsed = toml::parse(text);
  if (parsed) return std::move(parsed).table();
  std::string what(parsed.error().description());
  for (char& c : what) c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  findings.error("syntax", place_of(parsed.error().source()), "this is not valid TOML: " + what,
                 "correct the syntax at this place: names and texts need quotes, numbers do not");
  return std::nullopt;
}

const toml::node* SectionReader::take(std::string_view key, Place& place) {
  known_.push_back(key);
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  place = place_of(node->source());
  if (!is_blank(*node)) return node;
  refuse("blank", key, place, "is still blank",
         fmt::format("replace \"{}\" with a value that is known without looking at the data", kBlank));
  return nullptr;
}

void SectionReader::refuse(std::string code, std::string_view key, Place place, std::string_view what,
                           std::string remedy) {
  error(std::move(code), place, fmt::format("{} of {} {}", key, section_, what), std::move(remedy));
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

void SectionReader::number(std::string_view key, Located<double>& field, const Range& range) {
  const toml::node* node = take(key, field.place);
  if (node == nullptr) return;
  const std::optional<double> number = real(key, *node);
  if (!number) return;
  if (range.holds(*number)) {
    field.value = number;
  } else {
    refuse("out_of_range", key, field.place, fmt::format("is {}, and must be {}", *number, range.requirement),
           fmt::format("give a value that is {}", range.requirement));
  }
}

void SectionReader::count(std::string_view key, Located<std::uint64_t>& field) {
  if (const toml::node* node = take(key, field.place)) field.value = whole(key, *node);
}

std::optional<std::size_t> SectionReader::size_of(std::string_view key, const toml::node& node, std::size_t least,
                                                  std::size_t most) {
  const std::optional<std::uint64_t> number = whole(key, node);
  if (!number || (*number >= least && *number <= most)) return number;
  refuse("out_of_range", key, place_of(node.source()),
         fmt::format("is {}, and must be a whole number from {} to {}", *number, least, most),
         "give a value in that range");
  return std::nullopt;
}

void SectionReader::size(std::string_view key, std::size_t least, std::size_t most, Located<std::size_t>& field) {
  if (const toml::node* node = take(key, field.place)) field.value = size_of(key, *node, least, most);
}

bool SectionReader::expect_list(std::string_view key, const toml::node& node, std::string_view example) {
  if (node.is_array()) return true;
  refuse("wrong_type", key, place_of(node.source()), fmt::format("is {}, and a list is needed", type_name(node)),
         fmt::format("write it in brackets, as in {} = {}", key, example));
  return false;
}

void SectionReader::sizes(std::string_view key, std::size_t least, std::size_t most,
                          Located<std::vector<std::size_t>>& field) {
  const toml::node* node = take(key, field.place);
  if (node == nullptr || !expect_list(key, *node, "[64, 32]")) return;
  one_or_more(key, *node, field, [&](const toml::node& item) { return size_of(key, item, least, most); });
}

void SectionReader::texts(std::string_view key, Located<std::vector<std::string>>& field) {
  const toml::node* node = take(key, field.place);
  if (node == nullptr || !expect_list(key, *node, R"(["a", "b"])")) return;
  std::set<std::string> seen;
  one_or_more(key, *node, field, [&](const toml::node& item) {
    std::optional<std::string> text = item.value_exact<std::string>();
    const Place place = place_of(item.source());
    if (!text) {
      refuse("wrong_type", key, place, fmt::format("has {} among its texts", type_name(item)),
             "write each in quotes, numbers too");
    } else if (!seen.insert(*text).second) {
      refuse("out_of_range", key, place, fmt::format("lists {} twice", shown(*text)), "remove one of the two");
      text.reset();
    }
    return text;
  });
}

const toml::table* SectionReader::section(std::string_view key) {
  known_.push_back(key);
  const auto found = table_.find(key);
  if (found == table_.end()) return nullptr;
  if (const toml::table* table = found->second.as_table()) return table;
  error("wrong_type", place_of(found->first.source()),
        fmt::format("{} is {}, and a section is needed", key, type_name(found->second)),
        fmt::format("write [{}] on a line of its own, and its keys below", key));
  return nullptr;
}

const toml::table* SectionReader::required_section(std::string_view key) {
  const toml::table* table = section(key);
  if (!holds(key))
    missing("section_missing", fmt::format("[{}]", key), fmt::format("add [{}], and its keys below", key));
  return table;
}

std::vector<const toml::table*> SectionReader::sections(std::string_view key, std::string_view header) {
  known_.push_back(key);
  std::vector<const toml::table*> tables;
  const auto found = table_.find(key);
  if (found == table_.end()) return tables;
  const toml::array* list = found->second.as_array();
  if (list == nullptr || !list->is_array_of_tables()) {
    std::string_view what = type_name(found->second);
    if (list != nullptr) what = list->empty() ? "an empty list" : "a list of something else";
    error("wrong_type", place_of(found->first.source()),
          fmt::format("{} is {}, and a list of sections is needed", key, what),
          fmt::format("write [[{}]], with double brackets, above each {}", header, key));
    return tables;
  }
  for (const toml::node& item : *list) tables.push_back(item.as_table());
  return tables;
}

void SectionReader::refuse_unused(std::string_view key, std::string_view selector,
                                  const std::vector<std::string_view>& names) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return;
  known_.push_back(key);
  refuse("key_not_used", key, place_of(node->source()),
         fmt::format("would do nothing: it belongs to {} = \"{}\"", selector, fmt::join(names, "\" or \"")),
         fmt::format("remove {}, or set {} = \"{}\"", key, selector, names.front()));
}

void SectionReader::unused(std::string_view key, std::string_view belongs_to) {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return;
  known_.push_back(key);
  refuse("key_not_used", key, place_of(node->source()), fmt::format("would do nothing: it belongs to {}", belongs_to),
         fmt::format("remove {}", key));
}

Place SectionReader::place() const {
  const Place place = place_of(table_.source());
  return place.line == 0 ? Place{1, 1} : place;
}

void SectionReader::error(std::string code, Place place, std::string message, std::string remedy) {
  good_ = false;
  findings_.error(std::move(code), place.line == 0 ? this->place() : place, std::move(message), std::move(remedy));
}

void SectionReader::missing(std::string code, std::string_view key, std::string remedy) {
  error(std::move(code), {}, fmt::format("{} has no {}", section_, key), std::move(remedy));
}

void SectionReader::conflict(std::string_view a, std::string_view b, Place place, const std::string& remedy) {
  error("conflicting_keys", place, fmt::format("{} has both {} and {}", section_, a, b), remedy);
}

void SectionReader::elsewhere(std::string_view key, std::string remedy) {
  const auto found = table_.find(key);
  if (found == table_.end()) return;
  known_.push_back(key);
  error("unknown_key", place_of(found->first.source()), fmt::format("{} has no key '{}'", section_, key),
        std::move(remedy));
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

void SectionReader::day(std::string_view key, Located<double>& field) {
  const toml::node* node = take(key, field.place);
  if (node == nullptr) return;
  std::optional<toml::date> date = node->value_exact<toml::date>();
  if (const auto text = node->value_exact<std::string_view>()) {
    const toml::parse_result parsed = toml::parse("x = " + std::string(text->substr(0, 11)));
    if (parsed) date = parsed.table()["x"].value_exact<toml::date>();
  }
  if (!date) {
    refuse("wrong_type", key, field.place, "is no date", fmt::format("write it as in {} = 2026-01-31", key));
    return;
  }
  using namespace std::chrono;
  field.value = static_cast<double>(
      sys_days(year(date->year) / month(date->month) / std::chrono::day(date->day)).time_since_epoch().count());
}

void SectionReader::finish() {
  for (const auto& [key, node] : table_) {
    if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
    const bool is_section = node.is_table() || node.is_array_of_tables();
    error(is_section ? "unknown_section" : "unknown_key", place_of(key.source()),
          fmt::format("{} has no {} {}", section_, is_section ? "section" : "key", shown(key.str())),
          suggestion(key.str(), known_));
  }
}

}  // namespace noisefloor::internal
