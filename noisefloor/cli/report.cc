#include "noisefloor/cli/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "noisefloor/event/json.h"

namespace noisefloor::cli {

std::string shown(double value) { return fmt::format("{:.10g}", value); }

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

std::string Report::as_json() const { return json_.dump(2) + "\n"; }

std::string Report::as_text() const {
  std::size_t width = 0;
  for (const auto& [label, text] : lines_) width = std::max(width, label.size());
  std::string out = title_ + "\n";
  for (const auto& [label, text] : lines_) out += fmt::format("  {:<{}}  {}\n", label, width, text);
  for (const std::string& remark : remarks_) out += remark + "\n";
  return out;
}

}  // namespace noisefloor::cli
