// The changes that the writers of one transaction make to the ledger. Internal to ledger/.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/ledger/ledger.h"

namespace noisefloor {

// Collects the entries that the writers of one transaction add, and writes them at once.
class Ledger::Batch {
 public:
  Batch(Ledger& ledger, LedgerTransaction& transaction, TimeMs time, std::string by,
        std::optional<std::uint64_t> missing)
      : ledger_(ledger), transaction_(transaction), time_(time), by_(std::move(by)), missing_(missing) {}

  [[nodiscard]] const LedgerState& state() const { return ledger_.state_; }
  [[nodiscard]] TimeMs time() const { return time_; }
  // The last entry that was seen and is missing, in an adoption that gives it up.
  [[nodiscard]] std::optional<std::uint64_t> missing() const { return missing_; }
  [[nodiscard]] bool is_empty() const { return staged_.empty(); }

  // Returns the entry's sequence, or an error with the rule that the entry breaks.
  [[nodiscard]] Result<std::uint64_t> append(EntryBody body) {
    const Entry entry{state().next_sequence(), time_, std::move(body), by_};
    NF_TRY_VOID(ledger_.state_.apply_new(entry));
    version_ = std::max(version_, store_version_of(entry.body));
    std::string text = to_json(entry);
    ledger_.hash_ = chain_hash(ledger_.hash_, text);
    staged_.push_back({entry.sequence, std::move(text), ledger_.hash_});
    return entry.sequence;
  }
  void keep_answer(std::uint64_t reservation, std::string_view answer) { answers_.emplace(reservation, answer); }
  void keep_sketch(std::uint64_t entry, std::string sealed) { sketches_.emplace(entry, std::move(sealed)); }

  // Ties a role of the database to a member, and takes such ties away, when everything is written.
  void allow(std::string database_role, std::string member, Role role) {
    allowed_.push_back({std::move(database_role), std::move(member), role});
  }
  void disallow(std::string member) { disallowed_.push_back(std::move(member)); }

  // The digest of a release, from the entry that committed it in this transaction or before.
  [[nodiscard]] Result<Digest> release_of(std::uint64_t commit_sequence) {
    const bool staged = !staged_.empty() && commit_sequence >= staged_.front().sequence;
    NF_TRY(const std::optional<StoredEntry> stored,
           staged ? std::optional(staged_[commit_sequence - staged_.front().sequence])
                  : transaction_.entry(commit_sequence));
    if (stored) {
      NF_TRY(const Entry entry, parse_entry(stored->text));
      if (const auto* commit = std::get_if<CommitEntry>(&entry.body)) return commit->release;
    }
    return verification_failed(
        fmt::format("entry {} is no longer the commit that it was: restore the ledger from a copy", commit_sequence));
  }
  [[nodiscard]] Result<std::optional<std::string>> answer(std::uint64_t reservation) {
    if (const auto place = answers_.find(reservation); place != answers_.end()) return std::optional(place->second);
    return transaction_.answer(reservation);
  }

  // The sealed sketch of an entry of this transaction or before. Its digest was checked against the entry.
  [[nodiscard]] Result<std::string> sketch(const LedgerState::Dataset::Content& content) {
    const auto place = sketches_.find(content.entry);
    NF_TRY(std::optional<std::string> sealed,
           place != sketches_.end() ? std::optional(place->second) : transaction_.sketch(content.entry));
    if (sealed && blake2b(*sealed) == content.sketch) return *std::move(sealed);
    return verification_failed(
        fmt::format("the sketch of a dataset's rows at entry {} {}: restore the ledger from a copy", content.entry,
                    sealed ? "was altered" : "is gone"));
  }

  // Writes everything and makes it durable.
  [[nodiscard]] Result<Head> commit() {
    if (version_ > 1) NF_TRY_VOID(transaction_.raise_version(version_));
    for (const StoredEntry& entry : staged_) NF_TRY_VOID(transaction_.append(entry));
    for (const auto& [reservation, answer] : answers_) NF_TRY_VOID(transaction_.keep_answer(reservation, answer));
    for (const auto& [entry, sealed] : sketches_) NF_TRY_VOID(transaction_.keep_sketch(entry, sealed));
    for (const std::string& member : disallowed_) NF_TRY_VOID(transaction_.disallow(member));
    for (const Allowed& one : allowed_) NF_TRY_VOID(transaction_.allow(one.database_role, one.member, one.role));
    const Head head = sign_head(*ledger_.key_, state().genesis().ledger, state().epoch(), staged_.back().sequence,
                                staged_.back().hash);
    NF_TRY_VOID(transaction_.set_head(head));
    NF_TRY_VOID(transaction_.commit());
    return head;
  }

 private:
  Ledger& ledger_;
  LedgerTransaction& transaction_;
  TimeMs time_;
  std::string by_;
  struct Allowed {
    std::string database_role;
    std::string member;
    Role role;
  };
  std::vector<Allowed> allowed_;
  std::vector<std::string> disallowed_;
  std::optional<std::uint64_t> missing_;
  std::uint64_t version_ = 1;  // of a store that may hold the staged entries
  std::vector<StoredEntry> staged_;
  std::map<std::uint64_t, std::string> answers_;
  std::map<std::uint64_t, std::string> sketches_;
};

}  // namespace noisefloor
