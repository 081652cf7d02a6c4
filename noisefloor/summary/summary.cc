#include "noisefloor/summary/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/printable.h"
#include "noisefloor/event/json.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

// nlohmann escapes U+0000 to U+001F only. Whatever else is not printable can stand in texts alone, where an escape
// means the same.
std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const TextCharacter next = next_character(json);
    if (next.is_printable() || !next.code || *next.code < 0x20) {
      out += json.substr(0, next.bytes);
    } else if (*next.code < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(*next.code));
    } else {
      const std::uint32_t rest = *next.code - 0x10000;
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10U), 0xDC00 + (rest & 0x3FFU));
    }
    json.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace

std::string shown(double value) { return fmt::format("{:.10g}", value); }

nlohmann::ordered_json interval_json(double lower, double upper) {
  const auto finite = [](double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json("infinite");
  };
  return nlohmann::ordered_json{{"lower", finite(lower)}, {"upper", finite(upper)}};
}

Summary summary_of_fields(std::string title, const nlohmann::ordered_json& json) {
  Summary summary(std::move(title));
  for (const auto& [name, value] : json.items()) {
    if (name == "certificate") continue;
    summary.line(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return summary;
}

Summary::Summary(std::string title) : title_(std::move(title)), fields_(std::make_unique<SummaryFields>()) {}
Summary Summary::of_data(std::string data) {
  Summary summary("");
  summary.data_ = std::move(data);
  return summary;
}
Summary::Summary(const Summary& other)
    : title_(other.title_),
      above_(other.above_),
      data_(other.data_),
      failure_(other.failure_),
      fields_(std::make_unique<SummaryFields>(*other.fields_)),
      lines_(other.lines_),
      remarks_(other.remarks_) {}
Summary::Summary(Summary&& other) noexcept = default;
Summary& Summary::operator=(const Summary& other) {
  if (this != &other) *this = Summary(other);
  return *this;
}
Summary& Summary::operator=(Summary&& other) noexcept = default;
Summary::~Summary() = default;

void Summary::set_truth(const char* key, bool value) { fields_->json[key] = value; }
void Summary::set_number(const char* key, double value) { fields_->json[key] = value; }
void Summary::set_integer(const char* key, std::int64_t value) { fields_->json[key] = value; }
void Summary::set_count(const char* key, std::uint64_t value) { fields_->json[key] = value; }
void Summary::set_text(const char* key, std::string_view value) { fields_->json[key] = value; }

void Summary::state(const DpStatement& statement) {
  const bool is_private = !contains<NonPrivateEvent>(statement.event);
  set("adjacency", name_of(statement.adjacency));
  set("unit", name_of(statement.unit));
  set("private", is_private);
  set("statement", nlohmann::ordered_json::parse(to_json(statement)));
  line("neighbours",
       fmt::format("one {} {}", name_of(statement.unit),
                   statement.adjacency == Adjacency::kAddRemove ? "added or removed" : "exchanged for another"));
  line("event", to_json(statement.event));
  if (!is_private) remark("NOT PRIVATE: the noise was replayed from a seed. Whoever knows the seed can subtract it.");
}

std::string Summary::as_json() const {  // A name of a file need not be UTF-8, and JSON must be.
  return printable_json(fields_->json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

// A name must not forge a line of the table, so only this function ends lines; above_ alone brings lines of its own.
std::string Summary::as_text() const {
  if (data_) return *data_;
  std::vector<std::pair<std::string, std::string>> lines;
  std::size_t width = 0;
  for (const auto& [label, text] : lines_) {
    lines.emplace_back(printable(label), printable(text));
    width = std::max(width, lines.back().first.size());
  }
  std::string out = printable_lines(above_) + printable(title_) + "\n";
  for (const auto& [label, text] : lines) {
    out += label.empty() && text.empty() ? "\n" : fmt::format("  {:<{}}  {}\n", label, width, text);
  }
  for (const std::string& remark : remarks_) out += printable(remark) + "\n";
  return out;
}

}  // namespace noisefloor
