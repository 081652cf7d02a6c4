#include "noisefloor/cli/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/event/json.h"

namespace noisefloor::cli {

std::string shown(double value) { return fmt::format("{:.10g}", value); }

nlohmann::ordered_json interval_json(double lower, double upper) {
  const auto finite = [](double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json("infinite");
  };
  return nlohmann::ordered_json{{"lower", finite(lower)}, {"upper", finite(upper)}};
}

std::string shown_interval(double lower, double upper) {
  if (!std::isfinite(upper)) return "infinite";
  // As many digits as both bounds share, and two more.
  const double width = upper - lower;
  const int digits = width <= 0 ? 12 : std::clamp(static_cast<int>(std::ceil(-std::log10(width / upper))) + 2, 4, 12);
  return fmt::format("{:.{}g} (certified: at least {:.{}g})", upper, digits, lower, digits);
}

Report Report::of_fields(std::string title, const nlohmann::ordered_json& json) {
  Report report(std::move(title));
  for (const auto& [name, value] : json.items()) {
    if (name == "certificate") continue;
    report.line(name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return report;
}

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
  return json_.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
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
