#include "noisefloor/summary/budget_summary.h"

#include <fmt/format.h>

#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "noisefloor/base/hex.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/account.h"
#include "noisefloor/report/html.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
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
  if (t.blocks) {
    json["blocks"] = {{"by", name_of(t.blocks->by)},
                      {"column", t.blocks->column},
                      {"period", name_of(t.blocks->period)},
                      {"unlock", t.blocks->unlock}};
  }
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

// What a request is about and what it leaves, for programs.
void set_use(Summary& summary, const ReserveRequest& request, const LedgerState::Budget& after) {
  summary.set("budget", budget_json(after));
  summary.set("statement", Json::parse(to_json(request.statement)));
}

void add_earlier_answer(Summary& summary, const Reservation& reservation) {
  summary.line("answered before", to_hex(*reservation.earlier_release()));
  summary.set("release", to_hex(*reservation.earlier_release()));
  if (const std::optional<std::string>& answer = reservation.earlier_answer()) {
    summary.set("answer_hex", to_hex(bytes_of(*answer)));
  }
  summary.remark("This request was answered before: give out that answer, and draw no new noise.");
}

constexpr std::size_t kMostBlockLines = 12;

// The text is that of the block's last use: a part that was unlocked since is not in it.
void add_blocks(Summary& summary, const LedgerState::Budget& b) {
  const BlockTerms& terms = *b.terms->blocks;
  std::size_t hidden = b.blocks.size() > kMostBlockLines ? b.blocks.size() - kMostBlockLines : 0;
  if (hidden > 0) summary.line("blocks", fmt::format("{} were touched; these are the last ones", b.blocks.size()));
  for (const auto& [name, block] : b.blocks) {
    if (hidden > 0) {
      --hidden;
      continue;
    }
    std::string text = block.stages.empty() ? std::string("nothing was spent") : bar(block.stages.back().spent_share());
    if (!block.stages.empty()) text += ", left: " + block.stages.front().left();
    if (!block.stages.empty() && block.parts < terms.unlock) {
      text += fmt::format(" of {} parts of {}; the next one {}", block.parts, terms.unlock,
                          show_time(unlock_time(terms, block.begin, block.parts + 1)));
    }
    summary.line("block " + name, text);
  }
}

Json blocks_json(const LedgerState::Budget& b) {
  Json list = Json::array();
  for (const auto& [name, block] : b.blocks) {
    Json one{{"block", name}, {"begins", show_time(block.begin)}, {"uses", block.spends}};
    if (!block.stages.empty()) {
      one["parts_unlocked"] = block.parts;
      one["spent_share"] = block.stages.back().spent_share();
      one["left"] = block.stages.front().left();
      one["next_part"] = block.parts < b.terms->blocks->unlock
                             ? Json(show_time(unlock_time(*b.terms->blocks, block.begin, block.parts + 1)))
                             : Json();
    }
    list.push_back(one);
  }
  return list;
}

}  // namespace

std::string bar(double share) {
  constexpr int width = 30;
  const int filled = static_cast<int>(std::ceil(std::clamp(share, 0.0, 1.0) * width));
  std::string text;
  for (int i = 0; i < width; ++i) text += i < filled ? "█" : "░";
  return fmt::format("{} {:.1f} %", text, 100 * share);
}

void add_budget(Summary& summary, const LedgerState::Budget& b) {
  const BudgetTerms& t = *b.terms;
  summary.line("total", fmt::format("epsilon {}, delta {}", t.epsilon.value(), t.delta.value()));
  summary.line("neighbours",
               fmt::format("one {} {}", name_of(t.unit),
                           t.adjacency == Adjacency::kAddRemove ? "added or removed" : "exchanged for another"));
  summary.line("rule", rule_in_words(t));
  if (!t.parent.empty()) summary.line("part of", t.parent);
  if (t.from || t.until) {
    summary.line("open", fmt::format("{} to {}", t.from ? show_time(*t.from) : "always",
                                     t.until ? show_time(*t.until) : "always"));
  }
  if (b.closed) summary.line("closed", fmt::format("for good, by entry {}, which set the clock back", *b.closed));
  if (t.blocks) summary.line("renews", fmt::format("in {}: each has the total for itself", in_words(*t.blocks)));
  summary.line(t.blocks ? "spent at most" : "spent", bar(b.account.spent_share()));
  summary.line(t.blocks ? "left at least" : "left", b.account.left());
  if (t.blocks) add_blocks(summary, b);
  summary.line("uses", fmt::format("{} ({} committed, {} open, {} aborted)", b.spends, b.committed, b.open, b.aborted));
  if (!b.children.empty()) summary.line("parts", fmt::format("{}", fmt::join(b.children, ", ")));
}

Json budget_json(const LedgerState::Budget& b) {
  Json json = terms_json(*b.terms);
  if (b.closed) json["closed_by"] = *b.closed;
  json["spent_share"] = b.account.spent_share();
  json["left"] = b.account.left();
  if (b.terms->blocks) json["blocks_touched"] = blocks_json(b);
  json["uses"] = {{"reserved", b.spends}, {"committed", b.committed}, {"open", b.open}, {"aborted", b.aborted}};
  json["parts"] = b.children;
  return json;
}

Result<Summary> summary_of_new_budget(const LedgerState::Budget& budget, const UsedLedger& ledger) {
  Summary summary(fmt::format("Budget {}", budget.terms->name));
  add_budget(summary, budget);
  if (budget.terms->rule == Rule::kPlanned) {
    NF_TRY(const Interval whole, plan_epsilon(*budget.terms));
    summary.line("whole plan", fmt::format("epsilon {}", shown_interval(whole.lower, whole.upper)));
    summary.set("plan_epsilon", interval_json(whole.lower, whole.upper));
  }
  add_ledger(summary, ledger);
  summary.set("budget", budget_json(budget));
  return summary;
}

Summary summary_of_part(const LedgerState::Budget& part, const LedgerState::Budget& parent, bool rehearsed) {
  const std::string& of = parent.terms->name;
  Summary summary(fmt::format("Budget {}, part of {}{}", part.terms->name, of, rehearsed ? ": it would fit" : ""));
  add_budget(summary, part);
  summary.remark(fmt::format("{} in {}: {}.", rehearsed ? "Nothing was made or spent. It would leave" : "Left", of,
                             parent.account.left()));
  summary.set("budget", budget_json(part));
  summary.set("parent", budget_json(parent));
  if (rehearsed) summary.set("dry_run", true);
  return summary;
}

Summary summary_of(const Reservation& reservation, const ReserveRequest& request, const LedgerState::Budget& after) {
  const bool repeated = reservation.earlier_release().has_value();
  Summary summary(fmt::format("Reservation {} of {}", reservation.sequence(), request.budget));
  summary.set("reservation", reservation.sequence());
  summary.set("repeated", repeated);
  set_use(summary, request, after);
  if (repeated) {
    add_earlier_answer(summary, reservation);
    return summary;
  }
  summary.line("event", to_json(request.statement.event));
  summary.line("spent", bar(after.account.spent_share()));
  summary.line("left", after.account.left());
  return summary;
}

Summary summary_of_rehearsal(const ReserveRequest& request, const LedgerState::Budget& after) {
  Summary summary(fmt::format("It would fit into {}", request.budget));
  summary.set("dry_run", true);
  set_use(summary, request, after);
  summary.line("event", to_json(request.statement.event));
  summary.line("would be spent", bar(after.account.spent_share()));
  summary.line("would be left", after.account.left());
  return summary;
}

Summary summary_of_commit(std::uint64_t reservation, const Digest& release, std::optional<std::size_t> kept) {
  Summary summary(fmt::format("Reservation {} is committed", reservation));
  summary.line("release", to_hex(release));
  if (kept) summary.line("answer", fmt::format("{} bytes are kept for the same request", *kept));
  summary.set("reservation", reservation);
  summary.set("release", to_hex(release));
  summary.set("kept", kept.has_value());
  return summary;
}

Summary summary_of(const BudgetSummary& found) {
  Summary summary(fmt::format("Budget {}", found.budget.terms->name));
  add_budget(summary, found.budget);
  const double delta = found.at.value();
  const bool planned = found.budget.terms->rule == Rule::kPlanned;
  summary.line("epsilon so far", fmt::format("{:.6g} at delta {:g}{}", found.odometer, delta,
                                             planned ? "" : " (however the uses were chosen)"));
  summary.line("had all been fixed before", shown_interval(found.if_planned.lower, found.if_planned.upper));
  Json beside = Json::object();
  for (const AccountantAnswer& answer : found.beside) {
    summary.line(fmt::format("by {} composition", name_of(answer.accountant)),
                 fmt::format("{:.6g} ({})", answer.epsilon, answer.how));
    beside[std::string(name_of(answer.accountant))] = answer.epsilon;
  }
  summary.set("budget", budget_json(found.budget));
  summary.set("delta", delta);
  summary.set("epsilon_spent", found.odometer);
  summary.set("epsilon_if_planned", interval_json(found.if_planned.lower, found.if_planned.upper));
  if (found.budget.terms->blocks) {
    summary.remark(
        "Epsilon so far is that of the block that most was spent from. The others add up all uses of the "
        "budget, which is at least what any row has paid.");
  }
  summary.set("beside", beside);
  return summary;
}

Summary summary_of_forecast(const LedgerState::Budget& budget, const std::optional<Forecast>& forecast) {
  Summary summary(fmt::format("Forecast of {}", budget.terms->name));
  summary.line("spent", bar(budget.account.spent_share()));
  summary.line("left", budget.account.left());
  summary.set("budget", budget.terms->name);
  summary.set("spent_share", budget.account.spent_share());
  summary.set("left", budget.account.left());
  summary.set("more", forecast ? Json(forecast->more) : Json());
  summary.set("exhausted", forecast && forecast->exhausted ? Json(show_time(*forecast->exhausted)) : Json());
  if (!forecast) {
    summary.remark("Nothing was spent yet, so that there is no rate to go by.");
    return summary;
  }
  summary.set("like_reservation", forecast->last);
  summary.remark(fmt::format("Uses like the last one (reservation {}): {}{} more, then it is exhausted.",
                             forecast->last, forecast->at_least ? "more than " : "", forecast->more));
  if (forecast->exhausted && forecast->more > 0) {
    summary.remark(fmt::format("At the rate of the last uses that is on {}.", show_time(*forecast->exhausted)));
  }
  return summary;
}

}  // namespace noisefloor
