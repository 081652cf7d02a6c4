#include "noisefloor/cli/budget_report.h"

#include "noisefloor/cli/report_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/event/json.h"
#include "noisefloor/ledger/audit.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

Json terms_json(const BudgetTerms& t) {
  Json json{{"name", t.name},           {"epsilon", t.epsilon.value()},
            {"delta", t.delta.value()}, {"adjacency", name_of(t.adjacency)},
            {"unit", name_of(t.unit)},  {"rule", name_of(t.rule)}};
  if (t.rule == Rule::kZcdp) json["rho"] = t.rho;
  if (t.rule == Rule::kRdp) json["orders"] = t.orders;
  if (t.rule == Rule::kPlanned) {
    json["plan"] = Json::array();
    for (const PlanItem& item : t.plan) {
      json["plan"].push_back(
          {{"name", item.name}, {"times", item.times.value()}, {"event", Json::parse(to_json(item.event))}});
    }
  }
  if (!t.parent.empty()) json["parent"] = t.parent;
  if (t.from) json["from"] = show_time(*t.from);
  if (t.until) json["until"] = show_time(*t.until);
  return json;
}

std::string rule_in_words(const BudgetTerms& t) {
  switch (t.rule) {
    case Rule::kPlanned:
      return fmt::format("planned: {} items fixed in advance, composed by their privacy losses", t.plan.size());
    case Rule::kZcdp:
      return fmt::format("zcdp: uses may be chosen one after the other, up to rho {:.6g}", t.rho);
    case Rule::kRdp:
      return fmt::format("rdp: uses may be chosen one after the other; {} Renyi orders", t.orders.size());
    case Rule::kApproxDp:
      return "approx-dp: uses may be chosen one after the other, at the rate of advanced composition";
    case Rule::kBasic:
      return "basic: epsilon and delta add up";
  }
  return {};
}

}  // namespace

std::string bar(double share) {
  constexpr int width = 30;
  const int filled = static_cast<int>(std::ceil(std::clamp(share, 0.0, 1.0) * width));
  std::string text;
  for (int i = 0; i < width; ++i) text += i < filled ? "█" : "░";
  return fmt::format("{} {:.1f} %", text, 100 * share);
}

void describe(Report& report, const LedgerState::Budget& b) {
  const BudgetTerms& t = *b.terms;
  report.line("total", fmt::format("epsilon {}, delta {}", t.epsilon.value(), t.delta.value()));
  report.line("neighbours",
              fmt::format("one {} {}", name_of(t.unit),
                          t.adjacency == Adjacency::kAddRemove ? "added or removed" : "exchanged for another"));
  report.line("rule", rule_in_words(t));
  if (!t.parent.empty()) report.line("part of", t.parent);
  if (t.from || t.until) {
    report.line("open", fmt::format("{} to {}", t.from ? show_time(*t.from) : "always",
                                    t.until ? show_time(*t.until) : "always"));
  }
  report.line("spent", bar(b.account.spent_share()));
  report.line("left", b.account.left());
  report.line("uses", fmt::format("{} ({} committed, {} open, {} aborted)", b.spends, b.committed, b.open, b.aborted));
  if (!b.children.empty()) report.line("parts", fmt::format("{}", fmt::join(b.children, ", ")));
}

Json budget_json(const LedgerState::Budget& b) {
  Json json = terms_json(*b.terms);
  json["spent_share"] = b.account.spent_share();
  json["left"] = b.account.left();
  json["uses"] = {{"reserved", b.spends}, {"committed", b.committed}, {"open", b.open}, {"aborted", b.aborted}};
  json["parts"] = b.children;
  return json;
}

}  // namespace noisefloor::cli
