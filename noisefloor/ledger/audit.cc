#include "noisefloor/ledger/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/what_fits.h"

namespace noisefloor {
namespace {

constexpr std::uint64_t kMostForecast = 100'000;
constexpr std::size_t kRateOver = 100;  // uses

// The uses of one budget. Equal ones are counted together.
class Uses {
 public:
  void add(const std::string& event) { ++counts_[event]; }
  [[nodiscard]] bool is_empty() const { return counts_.empty(); }
  [[nodiscard]] Result<DpEvent> event() const {
    std::vector<DpEvent> parts;
    for (const auto& [text, count] : counts_) {
      NF_TRY(DpEvent one, parse_event(text));
      NF_TRY(const Steps times, Steps::make(count));
      parts.emplace_back(SelfComposedEvent{times, std::move(one)});
    }
    return DpEvent(ComposedEvent{std::move(parts)});
  }

 private:
  std::map<std::string, std::uint64_t> counts_;
};

// Calls `take` with each entry after parsing it.
Result<void> for_each_entry(Ledger& ledger, const std::function<Result<void>(const Entry&)>& take) {
  return ledger.history(0, [&](const StoredEntry& stored) -> Result<void> {
    NF_TRY(const Entry entry, parse_entry(stored.text));
    return take(entry);
  });
}

struct Settled {
  SpendStatus status = SpendStatus::kOpen;
  std::optional<Digest> release;
  std::optional<double> accuracy;
};

Result<std::unordered_map<std::uint64_t, Settled>> settlements(Ledger& ledger) {
  std::unordered_map<std::uint64_t, Settled> all;
  NF_TRY_VOID(for_each_entry(ledger, [&](const Entry& entry) -> Result<void> {
    if (const auto* commit = std::get_if<CommitEntry>(&entry.body)) {
      all[commit->reservation] = {SpendStatus::kCommitted, commit->release, commit->accuracy};
    } else if (const auto* abort = std::get_if<AbortEntry>(&entry.body)) {
      all[abort->reservation] = {SpendStatus::kAborted, std::nullopt, std::nullopt};
    }
    return success();
  }));
  return all;
}

// The ε spent at δ. It is never more than the total, which the rule guarantees.
Result<double> spent_at(const LedgerState::Budget& budget, const Uses& uses, Delta delta) {
  const double total = budget.terms->epsilon.value();
  if (uses.is_empty() && budget.children.empty()) return 0.0;
  const bool capped = delta.value() >= budget.terms->delta.value();
  if (budget.terms->rule == Rule::kPlanned) {
    NF_TRY(const DpEvent event, uses.event());
    NF_TRY(const Interval found, pld_epsilon(event, budget.terms->adjacency, delta));
    return capped ? std::min(total, found.upper) : found.upper;
  }
  NF_TRY(const PrivacyLoss found, budget.account.odometer(delta));
  return capped ? std::min(total, found.value()) : found.value();
}

}  // namespace

std::string to_json(const AuditRecord& r, const std::string& version) {
  nlohmann::ordered_json json;
  json["reservation"] = r.sequence;
  json["pipeline"] = r.use.note.pipeline;
  json["time"] = show_time(r.time);
  json["status"] = name_of(r.status);
  if (!r.by.empty()) json["by"] = r.by;
  if (r.use.use) json["use"] = name_of(*r.use.use);
  json["budget"] = r.use.budget;
  if (!r.use.blocks.empty()) json["blocks"] = r.use.blocks;
  json["key"] = r.use.key;
  json["purpose"] = r.use.note.purpose;
  if (!r.use.item.empty()) json["item"] = r.use.item;
  json["configuration"] =
      nlohmann::ordered_json::parse(r.use.note.configuration.empty() ? "{}" : r.use.note.configuration, nullptr, false);
  json["events"] = nlohmann::ordered_json::array({nlohmann::ordered_json::parse(r.use.event, nullptr, false)});
  json["epsilon_spent"] = r.epsilon_spent;
  json["delta_spent"] = r.delta_spent;
  json["epsilon_left"] = r.epsilon_left;
  json["delta_left"] = r.delta_left;
  json["techniques"] = r.use.note.techniques;
  json["accuracy"] = r.accuracy ? nlohmann::ordered_json(*r.accuracy) : nlohmann::ordered_json();
  json["release"] = r.release ? nlohmann::ordered_json(to_hex(*r.release)) : nlohmann::ordered_json();
  json["accounting"] = {{"method", name_of(r.rule)}, {"program", "noisefloor"}, {"version", version}};
  return json.dump();
}

Result<void> for_each_record(Ledger& ledger, const std::optional<std::string>& budget,
                             const std::function<void(const AuditRecord&)>& take) {
  NF_TRY(const auto settled, settlements(ledger));
  bool has_roles = false;
  NF_TRY_VOID(ledger.read([&](const LedgerState& now) -> Result<void> {
    has_roles = now.has_roles();
    return success();
  }));
  LedgerState state;
  std::unordered_map<std::string, Uses> uses;
  return for_each_entry(ledger, [&](const Entry& entry) -> Result<void> {
    NF_TRY_VOID(state.apply(entry));
    const auto* use = std::get_if<ReserveEntry>(&entry.body);
    if (use == nullptr || (budget && use->budget != *budget)) return success();
    const auto place = settled.find(entry.sequence);
    const Settled outcome = place == settled.end() ? Settled{} : place->second;
    uses[use->budget].add(use->event);
    NF_TRY(const LedgerState::Budget* const account, state.need(use->budget));
    const BudgetTerms& terms = *account->terms;
    NF_TRY(const double spent, spent_at(*account, uses[use->budget], terms.delta));
    const double failures = account->account.failures_spent();
    take({entry.sequence, entry.time, outcome.status, *use, outcome.release, outcome.accuracy, terms.rule, spent,
          failures, std::max(0.0, terms.epsilon.value() - spent), std::max(0.0, terms.delta.value() - failures),
          has_roles ? state.last_author().name : std::string()});
    return success();
  });
}

Result<std::vector<ClockChange>> clock_changes(Ledger& ledger) {
  std::vector<ClockChange> changes;
  TimeMs before = 0;
  NF_TRY_VOID(for_each_entry(ledger, [&](const Entry& entry) -> Result<void> {
    if (const auto* clock = std::get_if<ClockEntry>(&entry.body)) {
      changes.push_back({entry.sequence, entry.time, before, clock->reason});
    }
    before = entry.time;
    return success();
  }));
  return changes;
}

Result<std::vector<RoleChange>> role_changes(Ledger& ledger) {
  std::vector<RoleChange> changes;
  NF_TRY_VOID(for_each_entry(ledger, [&](const Entry& entry) -> Result<void> {
    const std::string by = entry.by.empty() ? std::string(kFirstOwner) : entry.by;
    if (const auto* role = std::get_if<RoleEntry>(&entry.body)) {
      changes.push_back(
          {entry.sequence, entry.time, fmt::format("{} becomes an {}", role->name, name_of(role->role)), by});
    } else if (const auto* revoke = std::get_if<RevokeEntry>(&entry.body)) {
      changes.push_back(
          {entry.sequence, entry.time, fmt::format("{} is revoked: {}", revoke->name, revoke->reason), by});
    }
    return success();
  }));
  return changes;
}

Result<std::vector<GuardChange>> guard_changes(Ledger& ledger) {
  std::vector<GuardChange> changes;
  NF_TRY_VOID(for_each_entry(ledger, [&](const Entry& entry) -> Result<void> {
    if (const auto* adopt = std::get_if<AdoptEntry>(&entry.body)) {
      const std::string lost =
          adopt->missing ? fmt::format("without entries up to {} that were seen: ", *adopt->missing) : "";
      changes.push_back({entry.sequence, entry.time, "adopt", lost + adopt->reason, adopt->missing});
    } else if (const auto* witness = std::get_if<WitnessEntry>(&entry.body)) {
      const std::string place = without_password(witness->place);
      changes.push_back({entry.sequence, entry.time, "witness",
                         witness->dropped.empty() ? place + " is asked from here on"
                                                  : fmt::format("{} is dropped: {}", place, witness->dropped)});
    }
    return success();
  }));
  return changes;
}

Result<BudgetSummary> summarize(Ledger& ledger, const std::string& budget, std::optional<Delta> at) {
  NF_TRY(const LedgerState::Budget found, ledger.budget(budget));
  NF_TRY(const auto settled, settlements(ledger));
  Uses uses;
  NF_TRY_VOID(for_each_entry(ledger, [&](const Entry& entry) -> Result<void> {
    if (const auto* use = std::get_if<ReserveEntry>(&entry.body); use != nullptr && use->budget == budget) {
      const auto place = settled.find(entry.sequence);
      if (place == settled.end() || place->second.status != SpendStatus::kAborted) uses.add(use->event);
    } else if (const auto* part = std::get_if<BudgetEntry>(&entry.body);
               part != nullptr && part->terms.parent == budget) {
      NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(part->terms.epsilon.value()));
      uses.add(to_json(DpEvent(EpsilonDeltaEvent{epsilon, part->terms.delta})));
    }
    return success();
  }));
  BudgetSummary summary{found, at.value_or(found.terms->delta), 0, {0, 0}, {}};
  if (uses.is_empty()) return summary;
  NF_TRY(summary.odometer, spent_at(found, uses, summary.at));
  NF_TRY(const DpEvent event, uses.event());
  NF_TRY(summary.if_planned, pld_epsilon(event, found.terms->adjacency, summary.at));
  for (Accountant accountant : {Accountant::kBasic, Accountant::kAdvanced}) {
    const Result<AccountantAnswer> answer = epsilon_by(accountant, event, found.terms->adjacency, summary.at);
    if (answer.has_value()) summary.beside.push_back(answer.value());
  }
  return summary;
}

Result<std::optional<BudgetShares>> shares_of(Ledger& ledger, const std::string& budget,
                                              std::span<const std::uint64_t> reservations) {
  NF_TRY(LedgerState::Budget payer, ledger.budget(budget));
  std::string part;  // the part of the payer's budget that pays for the uses; or empty
  while (!payer.terms->parent.empty()) {
    part = payer.terms->name;
    NF_TRY(payer, ledger.budget(payer.terms->parent));
  }
  if (payer.terms->rule == Rule::kPlanned) return std::optional<BudgetShares>();
  const std::string& name = payer.terms->name;
  BudgetShares shares{payer.terms, 0, 0, 0, payer.account.left()};
  LedgerState state;
  double spent = 0;
  bool begun = false;
  const auto add_up = [&](const Entry& entry) -> Result<void> {
    NF_TRY_VOID(state.apply(entry));
    const auto* use = std::get_if<ReserveEntry>(&entry.body);
    const auto* child = std::get_if<BudgetEntry>(&entry.body);
    const bool costs = (use != nullptr && use->budget == name) || (child != nullptr && child->terms.parent == name);
    const bool takes_back = std::holds_alternative<AbortEntry>(entry.body);
    if (!costs && !takes_back) return success();
    const LedgerState::Budget* const now = state.find(name);
    if (now == nullptr || (now->spends == now->aborted && now->children.empty())) {
      spent = 0;
      return success();
    }
    NF_TRY(const PrivacyLoss loss, now->account.odometer(now->terms->delta));
    const double total = std::min(loss.value(), now->terms->epsilon.value());
    const bool own = part.empty() ? use != nullptr && std::find(reservations.begin(), reservations.end(),
                                                                entry.sequence) != reservations.end()
                                  : child != nullptr && child->terms.name == part;
    if (own && !begun) shares.before = spent;
    if (own) shares.own += total - spent;
    begun |= own;
    spent = total;
    return success();
  };
  NF_TRY_VOID(for_each_entry(ledger, add_up));
  // If other uses were taken back since, less was spent before.
  shares.before = std::clamp(shares.before, 0.0, std::max(0.0, spent - shares.own));
  shares.after = std::max(0.0, spent - shares.before - shares.own);
  return std::optional(shares);
}

Result<std::optional<Forecast>> forecast(Ledger& ledger, const std::string& budget) {
  NF_TRY(const LedgerState::Budget found, ledger.budget(budget));
  std::optional<std::pair<std::uint64_t, ReserveEntry>> last;
  std::deque<TimeMs> times;
  NF_TRY_VOID(for_each_entry(ledger, [&](const Entry& entry) -> Result<void> {
    const auto* use = std::get_if<ReserveEntry>(&entry.body);
    if (use == nullptr || use->budget != budget) return success();
    last.emplace(entry.sequence, *use);
    times.push_back(entry.time);
    if (times.size() > kRateOver) times.pop_front();
    return success();
  }));
  if (!last) return std::optional<Forecast>();
  const Account* account = &found.account;
  if (found.terms->blocks) {
    // More uses of the same blocks: new ones have budgets of their own.
    NF_TRY(const std::vector<std::string> touched, blocks_in(*found.terms->blocks, last->second.blocks));
    for (const std::string& one : touched) {
      const Account& whole = found.blocks.at(one).stages.back();
      if (account == &found.account || whole.spent_share() > account->spent_share()) account = &whole;
    }
  }
  const std::uint64_t more = how_many_fit(*account, last->second.charge, last->second.item, kMostForecast);
  Forecast result{last->first, more, more == kMostForecast, std::nullopt};
  if (times.size() >= 2 && times.back() > times.front()) {
    const double between = static_cast<double>(times.back() - times.front()) / static_cast<double>(times.size() - 1);
    const double end = static_cast<double>(times.back()) + between * static_cast<double>(more);
    if (end < 253'402'300'800'000.0) result.exhausted = static_cast<TimeMs>(end);  // the year 10000
  }
  return std::optional(result);
}

}  // namespace noisefloor
