#include "noisefloor/summary/page_summary.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "noisefloor/summary/summary_json.h"

namespace noisefloor {

using Json = nlohmann::ordered_json;

Summary summary_of(const HtmlReport& page, const std::string& file, std::size_t bytes) {
  Summary summary(fmt::format("Report on {}", page.name));
  const HtmlReport::Promise& promise = page.promise;
  summary.set("report", file);
  summary.set("bytes", bytes);
  summary.set("name", page.name);
  summary.set("private", std::isfinite(promise.epsilon_upper));
  summary.set("epsilon", interval_json(promise.epsilon_lower, promise.epsilon_upper));
  summary.set("delta", promise.delta);
  summary.set("ledger_checked", page.budget.has_value());
  summary.line("report", file);
  summary.line("says", promise_in_words(page));
  return summary;
}

void add_report_page(Summary& summary, const std::string& path) {
  if (path.empty()) return;
  summary.set("report", path);
  summary.line("report", path);
}

void add_steps(Summary& summary, std::span<const RanCommand> commands) {
  Json steps = Json::array();
  for (const RanCommand& ran : commands) {
    Json step{{"command", ran.command}, {"exit_code", ran.exit_code}};
    if (ran.result) step["result"] = Json::parse(*ran.result, nullptr, false);
    steps.push_back(std::move(step));
  }
  summary.set("steps", steps);
}

}  // namespace noisefloor
