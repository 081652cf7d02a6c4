#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/charge_check.h"
#include "noisefloor/ledger/guards.h"
#include "noisefloor/ledger/ledger_batch.h"

namespace noisefloor {
namespace {

constexpr std::string_view kRowPurpose = "noisefloor ledger: rows";
constexpr std::string_view kSealPurpose = "noisefloor ledger: sketches";
constexpr std::size_t kMaxChecked = 4'096;

}  // namespace

Result<const LedgerState::Member*> Ledger::self() const {
  if (const LedgerState::Member* const member = state_.find_member(key_->public_key())) return member;
  return invalid_argument(
      fmt::format("this is not the key of the ledger {}: use the key that the ledger was made with{}",
                  shown(store_->place()), state_.has_roles() ? ", or that of one of its members" : ""));
}

std::string Ledger::author() const {
  const LedgerState::Member* member = key_ ? state_.find_member(key_->public_key()) : nullptr;
  for (const LedgerState::Member& one : state_.members()) {
    if (member == nullptr && one.role == Role::kOwner && !one.revoked) member = &one;
  }
  return member == nullptr || member->name == kFirstOwner ? std::string() : member->name;
}

void Ledger::find_row_keys() {
  const std::lock_guard lock(store_mutex_);
  const LedgerState::Member* const member = state_.find_member(key_->public_key());
  if (member == nullptr || member->name == kFirstOwner) {
    row_keys_ = RowKeys{key_->derive(kRowPurpose), key_->derive(kSealPurpose)};
    return;
  }
  Secret<64> both;
  if (!member->row_keys || !key_->open(*member->row_keys, both.bytes())) return;
  RowKeys keys;
  std::copy_n(both.bytes().begin(), 32, keys.rows.bytes().begin());
  std::copy_n(both.bytes().begin() + 32, 32, keys.seals.bytes().begin());
  row_keys_ = std::move(keys);
}

Result<void> Ledger::add_role(const NewRole& role) {
  NF_TRY_VOID(check_name("the name of a member", role.name));
  NF_TRY_VOID(check_public_key(role.key));
  RoleEntry entry{role.name, role.role, role.key, role.budgets, role.uses, role.quota, role.until, {}};
  std::sort(entry.uses.begin(), entry.uses.end());
  entry.uses.erase(std::unique(entry.uses.begin(), entry.uses.end()), entry.uses.end());
  if (role.role != Role::kAuditor && row_keys_) {
    Secret<64> both;
    std::copy_n(row_keys_->rows.bytes().begin(), 32, both.bytes().begin());
    std::copy_n(row_keys_->seals.bytes().begin(), 32, both.bytes().begin() + 32);
    NF_TRY(const std::vector<std::uint8_t> sealed, seal_for(role.key, both.bytes()));
    std::copy(sealed.begin(), sealed.end(), entry.row_keys.emplace().begin());
  }
  const auto work = [&](Batch& batch) -> Result<void> {
    NF_TRY_VOID(batch.append(entry));
    if (!role.database_role.empty()) batch.allow(role.database_role, role.name, role.role);
    return success();
  };
  return write_alone(work, Purpose::kOrdinary, {});
}

Result<void> Ledger::revoke_role(const std::string& name, const std::string& reason) {
  NF_TRY_VOID(check_name("the reason", reason));
  const auto work = [&](Batch& batch) -> Result<void> {
    NF_TRY_VOID(batch.append(RevokeEntry{name, reason}));
    batch.disallow(name);
    return success();
  };
  return write_alone(work, Purpose::kOrdinary, {});
}

// An analyst holds a key of the ledger and can write entries with another program than this one. apply() holds the
// charges against the budget; what they ought to be follows from the events. Equal events are computed once.
Result<void> Ledger::check_charge(const Entry& entry) {
  const auto* use = std::get_if<ReserveEntry>(&entry.body);
  if (use == nullptr || entry.by.empty()) return success();
  const LedgerState::Member* const author = state_.find_member(entry.by);
  const LedgerState::Budget* const budget = state_.find(use->budget);
  // apply() finds what is missing.
  if (author == nullptr || author->role == Role::kOwner || budget == nullptr) return success();
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}", use->budget, use->item, use->delta ? *use->delta : -1.0, use->event);
  auto known = checked_charges_.find(key);
  if (known == checked_charges_.end()) {
    if (checked_charges_.size() >= kMaxChecked) checked_charges_.clear();
    known = checked_charges_.emplace(key, internal::charge_due(*budget->terms, *use)).first;
  }
  const Result<void> checked = internal::check_charged(use->charge, known->second);
  if (checked.has_value()) return success();
  return verification_failed(
      fmt::format("entry {}, by {}: {}", entry.sequence, shown(entry.by), checked.error().message));
}

}  // namespace noisefloor
