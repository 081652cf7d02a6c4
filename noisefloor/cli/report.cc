#include "noisefloor/cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/cli/report_json.h"
#include "noisefloor/event/json.h"
#include "noisefloor/report/html.h"

namespace noisefloor::cli {

std::string shown(double value) { return fmt::format("{:.10g}", value); }

nlohmann::ordered_json interval_json(double lower, double upper) {
  const auto finite = [](double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json("infinite");
  };
  return nlohmann::ordered_json{{"lower", finite(lower)}, {"upper", finite(upper)}};
}

std::string shown_interval(double lower, double upper) { return noisefloor::shown_interval(lower, upper); }

Report report_of_fields(std::string title, const nlohmann::ordered_json& json) {
  Report report(std::move(title));
  for (const auto& [name, value] : json.items()) {
    if (name == "certificate") continue;
    report.line(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return report;
}

Report::Report(std::string title) : title_(std::move(title)), fields_(std::make_unique<ReportFields>()) {}
Report::Report(const Report& other)
    : title_(other.title_),
      above_(other.above_),
      exit_code_(other.exit_code_),
      fields_(std::make_unique<ReportFields>(*other.fields_)),
      lines_(other.lines_),
      remarks_(other.remarks_) {}
Report::Report(Report&& other) noexcept = default;
Report& Report::operator=(const Report& other) {
  if (this != &other) *this = Report(other);
  return *this;
}
Report& Report::operator=(Report&& other) noexcept = default;
Report::~Report() = default;

void Report::set_truth(const char* key, bool value) { fields_->json[key] = value; }
void Report::set_number(const char* key, double value) { fields_->json[key] = value; }
void Report::set_integer(const char* key, std::int64_t value) { fields_->json[key] = value; }
void Report::set_count(const char* key, std::uint64_t value) { fields_->json[key] = value; }
void Report::set_text(const char* key, std::string_view value) { fields_->json[key] = value; }

void Report::state(const DpStatement& statement) {
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

std::string Report::as_json() const {  // A name of a file need not be UTF-8, and JSON must be.
  return fields_->json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string Report::as_text() const {
  std::size_t width = 0;
  for (const auto& [label, text] : lines_) width = std::max(width, label.size());
  std::string out = above_ + title_ + "\n";
  for (const auto& [label, text] : lines_) {
    out += label.empty() && text.empty() ? "\n" : fmt::format("  {:<{}}  {}\n", label, width, text);
  }
  for (const std::string& remark : remarks_) out += remark + "\n";
  return out;
}

}  // namespace noisefloor::cli
