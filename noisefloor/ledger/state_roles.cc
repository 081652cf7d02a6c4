#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/ledger/state.h"

namespace noisefloor {
namespace {

using Member = LedgerState::Member;

std::string in_words(const Member& member) {
  return fmt::format("the {} {}", name_of(member.role), shown(member.name));
}

// The periods before `since` have negative numbers.
std::int64_t period_of(const Member& member, TimeMs time) {
  TimeMs passed = 0;
  if (__builtin_sub_overflow(time, member.since, &passed)) passed = time < member.since ? INT64_MIN : INT64_MAX;
  const TimeMs length = member.quota->period;
  return passed / length - (passed % length < 0 ? 1 : 0);
}

TimeMs begin_of(const Member& member, std::int64_t period) {
  TimeMs begin = 0;
  if (__builtin_mul_overflow(period, member.quota->period, &begin)) return INT64_MAX;
  return __builtin_add_overflow(member.since, begin, &begin) ? INT64_MAX : begin;
}

// The terms of a quota: those of the budget, with another total. Everything that is in `terms` and does not depend on
// the total stays, so that a charge of the budget is a charge of the quota.
Result<BudgetTerms> quota_terms(const BudgetTerms& budget, const Quota& quota) {
  if (budget.rule == Rule::kPlanned) {
    return invalid_argument(fmt::format(
        "the budget {} is planned, and its plan says what may be used: give it without a quota", shown(budget.name)));
  }
  BudgetTerms terms = budget;
  terms.epsilon = quota.epsilon;
  terms.delta = quota.delta;
  if (terms.rule == Rule::kZcdp) {
    NF_TRY(const Rho rho, zcdp_budget_of(terms));
    terms.rho = rho.value();
  }
  return terms;
}

Result<void> check_quota(const BudgetTerms& budget, const Quota& quota) {
  if (quota.period < kShortestPeriod || quota.period > kLongestPeriod) {
    return invalid_argument(
        fmt::format("the period of a quota is at least 1h and at most 100 years; got {}", show_period(quota.period)));
  }
  const Result<BudgetTerms> terms = quota_terms(budget, quota);
  const Result<void> checked = terms.has_value() ? check_terms(terms.value()) : Result<void>(terms.error());
  if (checked.has_value()) return success();
  return Error{checked.error().code,
               fmt::format("the quota does not suit the budget {}: {}", shown(budget.name), checked.error().message)};
}

bool has_terms_of_analysts(const RoleEntry& e) {
  return !e.budgets.empty() || !e.uses.empty() || e.quota.has_value() || e.until.has_value();
}

}  // namespace

const LedgerState::Member* LedgerState::find_member(std::string_view name) const {
  if (name.empty()) return members_.empty() ? nullptr : &members_.front();
  const auto place = members_by_name_.find(std::string(name));
  return place == members_by_name_.end() ? nullptr : &members_[place->second];
}

const LedgerState::Member* LedgerState::find_member(const PublicKey& key) const {
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const Member& one) { return one.key == key; });
  return found == members_.end() ? nullptr : &*found;
}

bool LedgerState::may_sign_heads(const PublicKey& key) const {
  const Member* const member = find_member(key);
  return member != nullptr && member->role != Role::kAuditor;
}

std::uint32_t LedgerState::place_of(const Member& member) const {
  return static_cast<std::uint32_t>(&member - members_.data());
}

Result<void> LedgerState::check_in_force(const Member& member, TimeMs time) {
  if (member.revoked) {
    return invalid_argument(fmt::format("{} was revoked by entry {} ({}): ask an owner of the ledger for a new role",
                                        in_words(member), member.revoked->entry, shown(member.revoked->reason)));
  }
  if (member.role == Role::kAuditor) {
    return invalid_argument(
        fmt::format("{} reads, and writes nothing: open the ledger without a key, or ask an owner for another role",
                    in_words(member)));
  }
  if (member.closed) {
    return invalid_argument(
        fmt::format("the role of {} was over before entry {} set the clock back, and stays over: ask an owner of the "
                    "ledger for a new role",
                    in_words(member), *member.closed));
  }
  if (member.until && time >= *member.until) {
    return invalid_argument(fmt::format("the role of {} ended at {}: ask an owner of the ledger for a new role",
                                        in_words(member), show_time(*member.until)));
  }
  return success();
}

bool LedgerState::is_given(const Member& member, const Budget& budget) const {
  if (member.role == Role::kOwner) return true;
  for (const Budget* one = &budget; one != nullptr; one = find(one->terms->parent)) {
    const auto& given = member.budgets;
    if (std::find(given.begin(), given.end(), one->terms->name) != given.end()) return true;
  }
  return false;
}

Result<void> LedgerState::check_author(const Entry& entry) const {
  if (std::holds_alternative<GenesisEntry>(entry.body)) {
    if (entry.by.empty()) return success();
    return invalid_argument("the genesis entry has no author: its key is that of the first owner");
  }
  const Member* const author = find_member(entry.by);
  if (author == nullptr) {
    return invalid_argument(
        fmt::format("there is no member {} who could have written entry {}: roles are given by "
                    "`role add`",
                    shown(entry.by), entry.sequence));
  }
  NF_TRY_VOID(check_in_force(*author, entry.time));
  return author->role == Role::kOwner ? success() : check_analyst(entry, place_of(*author));
}

Result<void> LedgerState::check_analyst(const Entry& entry, std::uint32_t place) const {
  const Member& author = members_[place];
  const auto expect_given = [&](const std::string& name) -> Result<void> {
    NF_TRY(const Budget* const budget, need(name));
    if (is_given(author, *budget)) return success();
    return invalid_argument(fmt::format("{} was not given the budget {}, but {}: ask an owner of the ledger",
                                        in_words(author), shown(name), fmt::join(author.budgets, ", ")));
  };
  const auto expect_own = [&](std::uint64_t reservation, std::string_view what) -> Result<void> {
    const Spend* const spend = find_spend(reservation);
    if (spend == nullptr || spend->by == place) return success();  // add() says that there is no such reservation
    return invalid_argument(fmt::format("reservation {} was made by {}: only that member or an owner may {} it",
                                        reservation, in_words(members_[spend->by]), what));
  };
  const auto reserve = [&](const ReserveEntry& e) -> Result<void> {
    NF_TRY_VOID(expect_given(e.budget));
    if (author.uses.empty()) return success();
    if (e.use && std::find(author.uses.begin(), author.uses.end(), *e.use) != author.uses.end()) return success();
    std::vector<std::string_view> allowed;
    for (const UseKind kind : author.uses) allowed.push_back(name_of(kind));
    return invalid_argument(fmt::format("{} may use budgets for {}, and this use is {}: ask an owner of the ledger",
                                        in_words(author), fmt::join(allowed, ", "),
                                        e.use ? name_of(*e.use) : "of no stated kind"));
  };
  const auto content = [&](const ContentEntry& e) -> Result<void> {
    NF_TRY(const Dataset* const dataset, need_dataset(e.dataset));
    if (!dataset->is_public()) return expect_given(dataset->budget);
    return invalid_argument(
        fmt::format("the dataset {} is public and has other rows than before: ask an owner of the "
                    "ledger to use it once with these",
                    shown(e.dataset)));
  };
  const auto exposure = [&](const ExposureEntry& e) -> Result<void> {
    return invalid_argument(fmt::format(
        "{} may not look at private rows without noise ({}): take test rows from a public file of their own, "
        "or ask an owner of the ledger",
        in_words(author), name_of(e.kind)));
  };
  const auto refuse = [&](const auto& /*body*/) -> Result<void> {
    return invalid_argument(
        fmt::format("{} reserves from budgets and settles what it reserved, and may do nothing "
                    "else: ask an owner of the ledger",
                    in_words(author)));
  };
  return std::visit(
      Overloaded{reserve, content, exposure, [&](const CommitEntry& e) { return expect_own(e.reservation, "commit"); },
                 [&](const AbortEntry& e) { return expect_own(e.reservation, "abort"); }, refuse},
      entry.body);
}

Result<Account> LedgerState::quota_account(const QuotaKey& key) const {
  if (const auto found = quotas_.find(key); found != quotas_.end()) return found->second;
  const auto& [member, budget, period] = key;
  NF_TRY(const BudgetTerms terms, quota_terms(*budgets_[budget].terms, *members_[member].quota));
  return Account::open(terms);
}

Result<std::optional<LedgerState::QuotaSpend>> LedgerState::charge_quota(const Entry& entry, const ReserveEntry& e,
                                                                         std::uint32_t budget) const {
  const Member& author = *find_member(entry.by);
  if (!author.quota) return std::optional<QuotaSpend>();
  const std::int64_t period = period_of(author, entry.time);
  const QuotaKey key(place_of(author), budget, period);
  NF_TRY(Account after, quota_account(key));
  const std::string left = after.left();
  const Result<void> spent = after.spend(e.charge, e.item);
  if (spent.has_value()) return std::optional(QuotaSpend{key, std::move(after)});
  if (spent.error().code != ErrorCode::kBudgetExhausted) return spent.error();
  return budget_exhausted(fmt::format(
      "the quota of {} for the budget {} is epsilon {}, delta {} in {}, and does not allow this: {}. Left of "
      "it: {}. The next period begins at {}",
      in_words(author), shown(e.budget), author.quota->epsilon.value(), author.quota->delta.value(),
      show_period(author.quota->period), spent.error().message, left, show_time(begin_of(author, period + 1))));
}

Result<void> LedgerState::return_quota(const Spend& spend, const Open& open) {
  if (!open.period) return success();
  const auto found = quotas_.find({spend.by, spend.budget, *open.period});
  NF_CHECK(found != quotas_.end(), "a reservation that was charged to a quota is in its account");
  return found->second.take_back(open.charge, open.item);
}

std::optional<std::string> LedgerState::quota_left(const Member& member, const Budget& budget, TimeMs time) const {
  if (!member.quota) return std::nullopt;
  const Result<Account> account =
      quota_account({place_of(member), static_cast<std::uint32_t>(&budget - budgets_.data()), period_of(member, time)});
  return account.has_value() ? account.value().left() : account.error().message;
}

void LedgerState::close_members(std::uint64_t clock_entry) {
  for (Member& member : members_) {
    if (member.until && *member.until <= last_time_ && !member.closed) member.closed = clock_entry;
  }
}

Result<void> LedgerState::add(const Entry& entry, const RoleEntry& e) {
  NF_TRY_VOID(check_kept_name("the name of a member", e.name));
  if (find_member(e.name) != nullptr) {
    return invalid_argument(fmt::format("there is or was a member {} already: choose another name", shown(e.name)));
  }
  if (const Member* const holder = find_member(e.key)) {
    return invalid_argument(
        fmt::format("this key is or was that of {}: every role needs a key of its own", in_words(*holder)));
  }
  if (members_.size() >= UINT32_MAX) return invalid_argument("the ledger has too many members");
  NF_TRY_VOID(check_public_key(e.key));
  if ((e.role == Role::kAuditor) == e.row_keys.has_value()) {
    return invalid_argument("owners and analysts get the keys that rows are recognised with, and auditors do not");
  }
  if (e.role != Role::kAnalyst) {
    if (has_terms_of_analysts(e)) {
      return invalid_argument(
          fmt::format("budgets, kinds of use, a quota and an end are for analysts: give {} {} none of them",
                      e.role == Role::kOwner ? "the owner" : "the auditor", shown(e.name)));
    }
  } else if (e.budgets.empty() || e.budgets.size() > kMaxRoleBudgets) {
    return invalid_argument(fmt::format("an analyst is given 1 to {} budgets; {} has {}", kMaxRoleBudgets,
                                        shown(e.name), e.budgets.size()));
  }
  for (std::size_t i = 0; i < e.budgets.size(); ++i) {
    NF_TRY(const Budget* const budget, need(e.budgets[i]));
    if (std::find(e.budgets.begin(), e.budgets.begin() + static_cast<std::ptrdiff_t>(i), e.budgets[i]) !=
        e.budgets.begin() + static_cast<std::ptrdiff_t>(i)) {
      return invalid_argument(fmt::format("the budget {} is given twice: name it once", shown(e.budgets[i])));
    }
    if (e.quota) NF_TRY_VOID(check_quota(*budget->terms, *e.quota));
  }
  if (e.until && *e.until <= entry.time) {
    return invalid_argument(
        fmt::format("the role of {} would end at {}, before it begins", shown(e.name), show_time(*e.until)));
  }
  members_by_name_.emplace(e.name, static_cast<std::uint32_t>(members_.size()));
  members_.push_back(
      {e.name, e.role, e.key, entry.sequence, entry.time, e.budgets, e.uses, e.quota, e.until, e.row_keys});
  return success();
}

Result<void> LedgerState::add(const Entry& entry, const RevokeEntry& e) {
  NF_TRY_VOID(check_kept_name("the reason", e.reason));
  const auto place = members_by_name_.find(e.name);
  if (place == members_by_name_.end()) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < members_.size() && i < 10; ++i) names.push_back(shown(members_[i].name));
    return invalid_argument(fmt::format("there is no member {}; there are: {}", shown(e.name), fmt::join(names, ", ")));
  }
  Member& member = members_[place->second];
  if (member.revoked) {
    return invalid_argument(fmt::format("{} was revoked by entry {} already", in_words(member), member.revoked->entry));
  }
  const bool another = std::any_of(members_.begin(), members_.end(), [&](const Member& one) {
    return &one != &member && one.role == Role::kOwner && !one.revoked;
  });
  if (member.role == Role::kOwner && !another) {
    return invalid_argument(
        fmt::format("{} is the last one, and a ledger needs an owner: add another owner first", in_words(member)));
  }
  member.revoked = {entry.sequence, e.reason};
  return success();
}

Result<const LedgerState::Member*> LedgerState::signer_of(std::string_view what, const PublicKey& key,
                                                          std::span<const std::uint64_t> reservations,
                                                          std::uint64_t as_of) const {
  const Member* const signer = find_member(key);
  if (signer == nullptr) {
    return verification_failed(fmt::format("{} was signed with another key than the ledger's", what));
  }
  if (signer->role == Role::kOwner) {
    if (signer->entry < as_of && (!signer->revoked || signer->revoked->entry >= as_of)) return signer;
  }
  for (const std::uint64_t sequence : reservations) {
    const Spend* const spend = find_spend(sequence);
    if (spend != nullptr && spend->by == place_of(*signer)) continue;
    return verification_failed(
        fmt::format("{} was signed by {}, who did not make reservation {}: only whoever made it, or an owner, may sign",
                    what, in_words(*signer), sequence));
  }
  if (!reservations.empty()) return signer;
  return verification_failed(fmt::format("{} was signed by {}, and names no reservation", what, in_words(*signer)));
}

}  // namespace noisefloor
