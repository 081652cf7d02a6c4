#include "noisefloor/ledger/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/block_accounts.h"

namespace noisefloor {
namespace {

// Names hold no line breaks.
std::string key_of(std::string_view budget, std::string_view key) {
  return std::string(budget).append("\n").append(key);
}

// Checks the names and reasons that an entry introduces.
Result<void> check_new_names(const EntryBody& body) {
  const auto check_optional = [](std::string_view what, const std::string& text) -> Result<void> {
    return text.empty() ? Result<void>(success()) : check_name(what, text);
  };
  const auto of_budget = [](const BudgetEntry& e) -> Result<void> {
    NF_TRY_VOID(check_name("the name of a budget", e.terms.name));
    for (const PlanItem& item : e.terms.plan) NF_TRY_VOID(check_name("the name of an item", item.name));
    return success();
  };
  const auto of_reservation = [&](const ReserveEntry& e) -> Result<void> {
    NF_TRY_VOID(check_name("the key", e.key));
    NF_TRY_VOID(check_optional("the pipeline", e.note.pipeline));
    NF_TRY_VOID(check_optional("the purpose", e.note.purpose));
    for (const std::string& technique : e.note.techniques) NF_TRY_VOID(check_name("a technique", technique));
    return success();
  };
  return std::visit(
      Overloaded{of_budget, of_reservation, [](const AdoptEntry& e) { return check_name("the reason", e.reason); },
                 [](const DatasetEntry& e) { return check_name("the name of a dataset", e.name); },
                 [](const RetireEntry& e) { return check_name("the reason", e.reason); },
                 [](const ClockEntry& e) { return check_name("the reason", e.reason); },
                 [&](const ExposureEntry& e) -> Result<void> {
                   NF_TRY_VOID(check_name("the key", e.key));
                   return check_optional("the purpose", e.purpose);
                 },
                 [](const RoleEntry& e) { return check_name("the name of a member", e.name); },
                 [](const RevokeEntry& e) { return check_name("the reason", e.reason); },
                 [&](const WitnessEntry& e) { return check_optional("the reason", e.dropped); },
                 [](const auto&) -> Result<void> { return success(); }},
      body);
}

bool is_open_at(const BudgetTerms& terms, TimeMs time) {
  return !(terms.from && time < *terms.from) && !(terms.until && time >= *terms.until);
}

std::string times_of(const BudgetTerms& terms) {
  return (terms.from ? " from " + show_time(*terms.from) : "") +
         (terms.until ? " until " + show_time(*terms.until) : "");
}

}  // namespace

std::string_view name_of(SpendStatus status) {
  switch (status) {
    case SpendStatus::kOpen:
      return "open";
    case SpendStatus::kCommitted:
      return "committed";
    case SpendStatus::kAborted:
      return "aborted";
  }
  NF_UNREACHABLE("a status outside the closed list");
}

Result<void> LedgerState::apply(const Entry& entry) {
  if (entry.sequence != next_) {
    return invalid_argument(fmt::format("found entry {} where entry {} should be", entry.sequence, next_));
  }
  if (next_ > 0 && entry.time < last_time_ && !std::holds_alternative<ClockEntry>(entry.body)) {
    return invalid_argument(fmt::format("entry {} is older than the one before it", entry.sequence));
  }
  if ((next_ == 0) != std::holds_alternative<GenesisEntry>(entry.body)) {
    return invalid_argument("a ledger has exactly one genesis entry, and it comes first");
  }
  if (clock_was_set_) NF_TRY_VOID(check_new(entry));
  NF_TRY_VOID(check_author(entry));
  NF_TRY_VOID(std::visit([&](const auto& body) { return add(entry, body); }, entry.body));
  ++next_;
  last_time_ = entry.time;
  last_author_ = place_of(*find_member(entry.by));
  return success();
}

Result<void> LedgerState::apply_new(const Entry& entry) {
  NF_TRY_VOID(check_new_names(entry.body));
  NF_TRY_VOID(check_new(entry));
  return apply(entry);
}

Result<void> LedgerState::check_new(const Entry& entry) const {
  const auto* part = std::get_if<BudgetEntry>(&entry.body);
  const auto* use = std::get_if<ReserveEntry>(&entry.body);
  const std::string& spends_from = part != nullptr ? part->terms.parent : use != nullptr ? use->budget : std::string();
  const Budget* const budget = find(spends_from);
  return budget == nullptr ? success() : check_times(*budget, entry.time);
}

Result<void> LedgerState::check_times(const Budget& budget, TimeMs time) const {
  for (const Budget* one = &budget; one != nullptr; one = find(one->terms->parent)) {
    const std::string part =
        one == &budget ? "" : fmt::format(", and the budget {} is part of it", shown(budget.terms->name));
    if (one->closed) {
      return budget_exhausted(fmt::format(
          "the budget {} was closed before entry {} set the clock back, and stays closed{}: make a new budget",
          shown(one->terms->name), *one->closed, part));
    }
    if (is_open_at(*one->terms, time)) continue;
    return budget_exhausted(fmt::format("the budget {} is not open at this time ({}): it is open{}{}",
                                        shown(one->terms->name), show_time(time), times_of(*one->terms), part));
  }
  return success();
}

const LedgerState::Budget* LedgerState::find(std::string_view name) const {
  const auto place = by_name_.find(std::string(name));
  return place == by_name_.end() ? nullptr : &budgets_[place->second];
}

Result<const LedgerState::Budget*> LedgerState::need(std::string_view name) const {
  if (const Budget* budget = find(name)) return budget;
  std::string known;
  for (std::size_t i = 0; i < budgets_.size() && i < 10; ++i)
    known += (i > 0 ? ", " : "") + shown(budgets_[i].terms->name);
  return invalid_argument(fmt::format("there is no budget {}; {}", shown(name),
                                      known.empty() ? "make one with `budget create`" : "there are: " + known));
}

const LedgerState::Spend* LedgerState::find_spend(std::uint64_t sequence) const {
  const auto place = spends_.find(sequence);
  return place == spends_.end() ? nullptr : &place->second;
}

std::optional<std::uint64_t> LedgerState::find_key(std::string_view budget, std::string_view key) const {
  const auto place = by_key_.find(key_of(budget, key));
  if (place == by_key_.end()) return std::nullopt;
  return place->second;
}

Result<Charge> LedgerState::parent_charge(const BudgetTerms& parent, const BudgetTerms& child) {
  if (parent.adjacency != child.adjacency || parent.unit != child.unit) {
    return invalid_argument(fmt::format("the budget {} is for {} of one {}: its parts must be for the same",
                                        shown(parent.name), name_of(parent.adjacency), name_of(parent.unit)));
  }
  if (parent.blocks) return internal::blocks_cannot_be_split(parent.name);
  if (parent.rule == Rule::kPlanned) {
    return invalid_argument(
        fmt::format("the budget {} is planned, and its items take all of it: split a budget with another rule",
                    shown(parent.name)));
  }
  // A part that is ρ-zCDP as a whole costs ρ, which is far less than its ε would cost.
  if (parent.rule == Rule::kZcdp && child.rule == Rule::kZcdp) {
    return Charge{{child.rho}, child.delta.value() * child.failures};
  }
  NF_TRY(const PrivacyLoss epsilon, PrivacyLoss::make(child.epsilon.value()));
  return charge_for(parent, EpsilonDeltaEvent{epsilon, child.delta}, child.delta);
}

Result<void> LedgerState::add(const Entry& entry, const GenesisEntry& e) {
  genesis_ = e;
  members_.push_back({std::string(kFirstOwner), Role::kOwner, e.key, entry.sequence, entry.time});
  members_by_name_.emplace(kFirstOwner, 0);
  return success();
}

Result<void> LedgerState::add(const Entry& entry, const BudgetEntry& e) {
  if (find(e.terms.name) != nullptr) {
    return invalid_argument(fmt::format("there is a budget {} already: choose another name", shown(e.terms.name)));
  }
  if (budgets_.size() >= UINT32_MAX) return invalid_argument("the ledger has too many budgets");
  NF_TRY(Account account, Account::open(e.terms));
  if (e.terms.blocks) NF_TRY_VOID(internal::check_blocked_terms(e.terms));
  if (!e.terms.parent.empty()) {
    NF_TRY(const Budget* const found, need(e.terms.parent));
    Budget& parent = budgets_[static_cast<std::size_t>(found - budgets_.data())];
    if (parent.terms->blocks) return internal::blocks_cannot_be_split(e.terms.parent);
    NF_TRY_VOID(check_open(parent));
    NF_TRY_VOID(parent.account.spend(e.parent_charge, {}));
    parent.children.push_back(e.terms.name);
  }
  by_name_.emplace(e.terms.name, static_cast<std::uint32_t>(budgets_.size()));
  budgets_.push_back({std::make_shared<const BudgetTerms>(e.terms),
                      std::move(account),
                      entry.sequence,
                      0,
                      0,
                      0,
                      0,
                      {},
                      {},
                      {},
                      {},
                      {}});
  return success();
}

Result<void> LedgerState::add(const Entry& entry, const ReserveEntry& e) {
  NF_TRY(const Budget* const found, need(e.budget));
  const auto place = static_cast<std::size_t>(found - budgets_.data());
  Budget& budget = budgets_[place];
  NF_TRY_VOID(check_open(budget));
  if (!is_open_at(*budget.terms, entry.time)) {
    return budget_exhausted(fmt::format("the budget {} is not open at this time", shown(e.budget)));
  }
  std::string key = key_of(e.budget, e.key);
  if (by_key_.contains(key)) {
    return invalid_argument(fmt::format("the key {} is in use: use a new key for each request", shown(e.key)));
  }
  NF_TRY(std::optional<QuotaSpend> quota, charge_quota(entry, e, static_cast<std::uint32_t>(place)));
  NF_TRY_VOID(spend(budget, entry.time, e));
  std::optional<std::int64_t> period;
  if (quota) {
    period = std::get<2>(quota->key);
    quotas_.insert_or_assign(quota->key, std::move(quota->after));
  }
  ++budget.spends;
  ++budget.open;
  by_key_.emplace(std::move(key), entry.sequence);
  const std::uint32_t by = entry.by.empty() ? 0 : members_by_name_.at(entry.by);
  spends_.emplace(entry.sequence,
                  Spend{static_cast<std::uint32_t>(place), SpendStatus::kOpen, e.request, 0, by, e.use});
  open_.emplace(entry.sequence, Open{e.charge, e.item, e.abort_lock, e.blocks, period});
  return success();
}

Result<LedgerState::Spend*> LedgerState::open_spend(std::uint64_t sequence) {
  const auto place = spends_.find(sequence);
  if (place == spends_.end()) return invalid_argument(fmt::format("there is no reservation {}", sequence));
  if (place->second.status != SpendStatus::kOpen) {
    return invalid_argument(fmt::format("reservation {} is {} already", sequence, name_of(place->second.status)));
  }
  return &place->second;
}

Result<void> LedgerState::add(const Entry& entry, const CommitEntry& e) {
  NF_TRY(Spend* const spend, open_spend(e.reservation));
  spend->status = SpendStatus::kCommitted;
  spend->settled = entry.sequence;
  Budget& budget = budgets_[spend->budget];
  --budget.open;
  ++budget.committed;
  open_.erase(e.reservation);
  return success();
}

Result<void> LedgerState::add(const Entry& entry, const AbortEntry& e) {
  NF_TRY(Spend* const spend, open_spend(e.reservation));
  const Open& open = open_.at(e.reservation);
  if (blake2b({reinterpret_cast<const char*>(e.token.data()), e.token.size()}) != open.abort_lock) {
    return invalid_argument(fmt::format(
        "reservation {} cannot be aborted without the token that proves that nothing was drawn for it", e.reservation));
  }
  Budget& budget = budgets_[spend->budget];
  NF_TRY_VOID(take_back(budget, open));
  NF_TRY_VOID(return_quota(*spend, open));
  spend->status = SpendStatus::kAborted;
  spend->settled = entry.sequence;
  --budget.open;
  ++budget.aborted;
  open_.erase(e.reservation);
  return success();
}

Result<void> LedgerState::add(const Entry& entry, const ClockEntry& e) {
  NF_TRY_VOID(check_name("the reason", e.reason));
  if (entry.time >= last_time_) {
    return invalid_argument(
        fmt::format("entry {} sets the clock back, and its time is not before the last one", entry.sequence));
  }
  // Nobody can tell whether the time of a budget was over by the real time or by the wrong one.
  for (Budget& budget : budgets_) {
    if (budget.terms->until && *budget.terms->until <= last_time_ && !budget.closed) budget.closed = entry.sequence;
  }
  close_members(entry.sequence);
  clock_was_set_ = true;
  return success();
}

Result<void> LedgerState::add(const Entry& /*entry*/, const AdoptEntry& e) {
  if (e.epoch != epoch_ + 1) {
    return invalid_argument(fmt::format("found epoch {} where epoch {} should be", e.epoch, epoch_ + 1));
  }
  epoch_ = e.epoch;
  if (e.missing) given_up_.emplace_back(e.epoch, *e.missing);
  return success();
}

}  // namespace noisefloor
