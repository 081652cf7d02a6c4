// The state that a history leads to: the rules of the ledger, as a pure function of its entries.
//
// Guarantee:     apply() accepts an entry only if it keeps every rule: sequence and time never go back (a time only by
//                an entry that says so, and that reopens nothing), names exist, no
//                budget is overspent, a parent pays for its parts, a reservation is committed once or aborted by the
//                token that it was locked with, a budget belongs to one dataset and those that share its rows, and a
//                retired dataset spends nothing. A refused entry changes nothing. Writing and verifying call the same
//                code. apply_new() also keeps the rules that version 0.1 did not know, and which its ledgers may hence
//                have broken: a part of a budget is open only while every budget above it is, and names can be read.
// Errors:        kBudgetExhausted if the budget does not allow the entry, kInvalidArgument if it breaks another rule.
// Thread safety: not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/ledger/account.h"
#include "noisefloor/ledger/entry.h"

namespace noisefloor {

enum class SpendStatus : std::uint8_t { kOpen, kCommitted, kAborted };

[[nodiscard]] std::string_view name_of(SpendStatus status);  // "open", "committed", "aborted"

class LedgerState {
 public:
  struct Budget {
    std::shared_ptr<const BudgetTerms> terms;
    Account account;
    std::uint64_t entry;  // the entry that made it
    std::uint64_t spends = 0;
    std::uint64_t open = 0;
    std::uint64_t committed = 0;
    std::uint64_t aborted = 0;
    std::vector<std::string> children;
    std::string dataset = {};                 // the dataset that owns it, or empty
    std::optional<std::string> retired = {};  // why nothing more may be spent
    // The entry that set the clock back after the budget's time was over: the budget stays closed.
    std::optional<std::uint64_t> closed = {};
  };
  struct Dataset {
    struct Content {
      std::uint64_t entry;  // the entry that the sketch is kept for
      Digest fingerprint;
      Digest sketch;
    };
    std::string name;
    Digest description;   // at the time it was added
    std::string budget;   // empty: public
    std::string same_as;  // or empty
    std::string person;   // the column that tells persons apart; empty: rows are protected
    std::uint64_t entry;  // the entry that added it
    std::vector<Content> contents = {};
    std::optional<std::string> retired = {};  // the reason

    [[nodiscard]] bool is_public() const { return budget.empty(); }
  };
  struct Spend {
    std::uint32_t budget;  // its place in budgets()
    SpendStatus status;
    Digest request;
    std::uint64_t settled = 0;  // the entry of the commit or abort
  };

  // Takes an entry of a history, whichever program wrote it.
  [[nodiscard]] Result<void> apply(const Entry& entry);
  // Takes an entry that is being written now, or rehearsed. The names that it introduces must pass check_name(); a name
  // that it refers to may be an old one.
  [[nodiscard]] Result<void> apply_new(const Entry& entry);

  [[nodiscard]] bool is_empty() const { return next_ == 0; }
  [[nodiscard]] std::uint64_t next_sequence() const { return next_; }
  [[nodiscard]] TimeMs last_time() const { return last_time_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] const GenesisEntry& genesis() const { return genesis_; }

  [[nodiscard]] const std::vector<Budget>& budgets() const { return budgets_; }
  // Returns nullptr if there is none of this name.
  [[nodiscard]] const Budget* find(std::string_view name) const;
  // Returns kInvalidArgument, with names that exist, if there is none of this name.
  [[nodiscard]] Result<const Budget*> need(std::string_view name) const;
  [[nodiscard]] const Spend* find_spend(std::uint64_t sequence) const;
  [[nodiscard]] std::optional<std::uint64_t> find_key(std::string_view budget, std::string_view key) const;

  [[nodiscard]] const std::vector<Dataset>& datasets() const { return datasets_; }
  // Returns nullptr if there is none of this name.
  [[nodiscard]] const Dataset* find_dataset(std::string_view name) const;
  // Returns kInvalidArgument, with names that exist, if there is none of this name.
  [[nodiscard]] Result<const Dataset*> need_dataset(std::string_view name) const;
  // The budget at the top, of which this one is a part, or a part of a part; itself if it has no parent. Requires that
  // `budget` exists.
  [[nodiscard]] const Budget& payer_of(std::string_view budget) const;
  // Checks that a budget allows spending at all: kBudgetExhausted, with the reason, if its dataset was retired, or the
  // dataset of a budget that it is part of.
  [[nodiscard]] Result<void> check_open(const Budget& budget) const;
  // Checks that this budget is open at this time, and every budget that it is part of: kBudgetExhausted, with the name
  // and the times of the one that is not.
  [[nodiscard]] Result<void> check_times(const Budget& budget, TimeMs time) const;
  // Checks that a dataset may be added. `budget_is_new`: the budget will be made right before it.
  [[nodiscard]] Result<void> check_dataset(const DatasetEntry& e, bool budget_is_new) const;

  // Whether heads that are signed with this key are those of this ledger.
  [[nodiscard]] bool may_sign_heads(const PublicKey& key) const { return key == genesis_.key; }
  // The places that every writer asks before it writes, in the order in which they were added.
  [[nodiscard]] const std::vector<std::string>& witnesses() const { return witnesses_; }
  // Whether the owner has declared lost what was seen in this epoch up to this entry, when the ledger was adopted
  // later.
  [[nodiscard]] bool has_given_up(std::uint64_t epoch, std::uint64_t sequence) const;

  // The cost to a parent of a child with these terms.
  [[nodiscard]] static Result<Charge> parent_charge(const BudgetTerms& parent, const BudgetTerms& child);

 private:
  // What an abort needs to know about an open reservation.
  struct Open {
    Charge charge;
    std::string item;
    Digest abort_lock;
  };

  [[nodiscard]] Result<void> add(const Entry& entry, const GenesisEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const BudgetEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const ReserveEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const CommitEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const AbortEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const AdoptEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const DatasetEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const ContentEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const RetireEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const ClockEntry& e);
  [[nodiscard]] Result<void> add(const Entry& entry, const WitnessEntry& e);
  // Checks the rules that only new entries need to keep.
  [[nodiscard]] Result<void> check_new(const Entry& entry) const;
  [[nodiscard]] Result<Dataset*> open_dataset(const std::string& name);
  [[nodiscard]] Result<Spend*> open_spend(std::uint64_t sequence);

  std::uint64_t next_ = 0;
  TimeMs last_time_ = 0;
  bool clock_was_set_ = false;  // programs that do not know apply_new's rules cannot have written what follows
  std::uint64_t epoch_ = 0;
  std::vector<std::string> witnesses_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> given_up_;  // epochs of adoptions, and the last entry of each
  GenesisEntry genesis_{};
  std::vector<Budget> budgets_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<Dataset> datasets_;
  std::unordered_map<std::string, std::uint32_t> datasets_by_name_;
  std::unordered_map<std::uint64_t, Spend> spends_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::unordered_map<std::string, std::uint64_t> by_key_;  // budget and key → reservation
};

}  // namespace noisefloor
