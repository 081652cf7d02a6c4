#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/event/json.h"
#include "noisefloor/report/report_parts.h"

namespace noisefloor::internal {
namespace {

using Json = nlohmann::ordered_json;  // keeps settings in the order in which they were written

std::string with_spaces(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string cell_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.8g}", value.get<double>());
  return value.dump();
}

void add_rows(HtmlReport::Table& table, const std::string& before, const Json& json) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = before.empty() ? with_spaces(key) : before + ": " + with_spaces(key);
    if (value.is_object()) {
      add_rows(table, name, value);
    } else {
      table.rows.push_back({name, cell_of(value)});
    }
  }
}

std::string shown_bounds(const Interval& epsilon) {
  if (!std::isfinite(epsilon.upper)) return "infinite";
  return fmt::format("{:.10g} to {:.10g}", epsilon.lower, epsilon.upper);
}

HtmlReport::Table privacy_table(const Verdict& verdict) {
  const Certificate& c = verdict.certificate();
  HtmlReport::Table table{"Privacy", {}, {}};
  table.rows = {{"ε, certified bounds", shown_bounds(c.epsilon)},
                {"δ", fmt::format("{}", c.delta.value())},
                {"neighbours", std::string(name_of(c.statement.adjacency))},
                {"unit", std::string(name_of(c.statement.unit))},
                {"randomness", c.replayed ? "repeatable: not private" : "secure"},
                {"accountant", verdict.accountant},
                {"event", to_json(c.statement.event)},
                {"taken as public", c.data}};
  return table;
}

HtmlReport::Table release_table(const Verdict& verdict) {
  const Certificate& c = verdict.certificate();
  const std::optional<PublicKey>& key = verdict.release.certificate.key;
  HtmlReport::Table table{"Release", {}, {}};
  table.rows = {{"program", "noisefloor " + c.program_version},
                {"digest of what was released", to_hex(c.released)},
                {"signed by", key ? to_hex(*key) : "nobody"}};
  if (const std::string start = start_of(verdict); !start.empty()) table.rows.push_back({"started from", start});
  if (const std::string seen = exposures_of(verdict); !seen.empty()) table.rows.push_back({"seen before", seen});
  if (!c.spend) return table;
  std::string reservations;
  for (const std::uint64_t n : c.spend->reservations) {
    reservations += (reservations.empty() ? "" : ", ") + std::to_string(n);
  }
  table.rows.push_back({"ledger", to_hex(c.spend->ledger)});
  table.rows.push_back({"budget", c.spend->budget});
  table.rows.push_back({"reservations", reservations});
  table.rows.push_back({"entries of the ledger at that time", std::to_string(c.spend->head)});
  table.rows.push_back({"hash of the last one", to_hex(c.spend->head_hash)});
  return table;
}

HtmlReport::Table plan_table(const PlanFile& p) {
  HtmlReport::Table table{"Plan", {}, {}};
  table.rows = {
      {"phase", fmt::format("{} of at most {}", p.phase, p.phases)},
      {"ε of this phase", fmt::format("at most {:g}; certified {:.6g}", p.epsilon.value(), p.certified.upper)},
      {"δ of this phase", fmt::format("{:g}", p.delta.value())},
      {"ε of earlier phases", fmt::format("{:.6g}", p.epsilon_before)},
      {"clip norm, noise multiplier", fmt::format("{:g}, {:g}", p.clip.value(), p.noise.value())},
      {"steps, batch", fmt::format("{}, {} of {} rows", p.steps.value(), p.batch.value(), p.rows.value())},
      {"rests on", p.utility}};
  if (p.target_accuracy) table.rows.push_back({"target accuracy", fmt::format("{:g}", *p.target_accuracy)});
  return table;
}

}  // namespace

void add_settings(HtmlReport& page, const RunFolder& folder) {
  const Certificate& c = folder.verdict.certificate();
  page.parameters.push_back(privacy_table(folder.verdict));
  page.parameters.push_back(release_table(folder.verdict));
  if (folder.plan) page.parameters.push_back(plan_table(*folder.plan));
  HtmlReport::Table settings{"Settings", {}, {}};
  add_rows(settings, "", Json::parse(c.configuration.empty() ? "{}" : c.configuration, nullptr, false));
  if (c.kind == ReleaseKind::kModel) settings.rows.push_back({"steps taken", std::to_string(c.steps)});
  page.parameters.push_back(std::move(settings));
}

}  // namespace noisefloor::internal
